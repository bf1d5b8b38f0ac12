"""Names of raters, and reasons that several rooms give."""

JUDGE = "judge:"
ALL_TIES = "no verdict but ties"


def rater_name(name: str) -> str:
    """Return the name of a rater of findings as a page shows it: a judge's without its prefix."""
    return name.removeprefix(JUDGE)
