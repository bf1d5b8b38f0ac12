"""Names of raters."""

JUDGE = "judge:"


def rater_name(name: str) -> str:
    """Return the name of a rater of findings as a page shows it: a judge's without its prefix."""
    return name.removeprefix(JUDGE)
