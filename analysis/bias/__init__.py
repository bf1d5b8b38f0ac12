"""Effects on verdicts other than quality: length, changes of a text, and comparison tables. Uses intervals."""
