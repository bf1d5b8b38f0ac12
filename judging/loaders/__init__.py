"""Files of verdicts that judges gave elsewhere → checked rows."""
