"""Numbers with what they count, for terminals and messages of files, which are in English."""


def number_of(count: int, noun: str) -> str:
    """Write a number with its noun, which is given in the singular and forms its plural with an s."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
