"""What can go wrong in `annotation`, in words for the person who can put it right."""

from dataclasses import dataclass


class AnnotationError(Exception):
    """Base of every error that a user of this package may meet; its text is shown to them."""


@dataclass(frozen=True)
class BadLine:
    """One line of a file that can't be taken, and why."""

    number: int
    reason: str

    def __str__(self) -> str:
        return f"line {self.number}: {self.reason}"


class BadFile(AnnotationError):
    """A file with lines that can't be taken; nothing of it was stored."""

    def __init__(self, name: str, lines: list[BadLine]) -> None:
        self.name = name
        self.lines = sorted(lines, key=lambda line: line.number)
        count = len(self.lines)
        listed = "\n".join(f"  {line}" for line in self.lines)
        super().__init__(f"{name}: {count} bad line{'s' if count != 1 else ''}; nothing was stored\n{listed}")


class UnknownStudy(AnnotationError):
    """No study has this slug."""


class UnknownName(AnnotationError):
    """A system, data set, batch or user that the study doesn't have."""


class NotChosen(AnnotationError):
    """Instances can't be chosen as asked."""


class ClaimRefused(AnnotationError):
    """This annotator can't get a HIT now; the text says why."""


class AssignmentClosed(AnnotationError):
    """The HIT was submitted, returned, or went to another annotator."""


class VotesMissing(AnnotationError):
    """The HIT can't be submitted: some pairs have no vote."""


class ConsentNeeded(AnnotationError):
    """The annotator hasn't accepted the study's current consent text."""
