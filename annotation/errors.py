"""What can go wrong in `annotation`, in words for the person who can put it right."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


class AnnotationError(Exception):
    """Base of every error that a user of this package may meet; its text is shown to them."""


MOST_BAD_LINES = 10_000  # after so many a file is not read on: it is of another kind than it was taken for
LONGEST_REASON = 500


@dataclass(frozen=True)
class BadLine:
    """One line of a file that can't be taken, and why."""

    number: int
    reason: str

    def __str__(self) -> str:
        reason = self.reason if len(self.reason) <= LONGEST_REASON else f"{self.reason[:LONGEST_REASON]}…"
        return f"line {self.number}: {reason}"


class BadFile(AnnotationError):
    """A file with lines that can't be taken; nothing of it was stored."""

    def __init__(self, name: str, lines: list[BadLine]) -> None:
        self.name = name
        self.lines = sorted(lines, key=lambda line: line.number)
        super().__init__(self.abridged(len(self.lines)))

    def abridged(self, most: int) -> str:
        """Say what is wrong, listing at most so many lines."""
        count = len(self.lines)
        listed = [f"  {line}" for line in self.lines[:most]]
        if count > most:
            listed.append(f"  and {count - most:,} more")
        if count >= MOST_BAD_LINES:
            listed.append("  The file was not read any further.")
        head = f"{self.name}: {count} bad line{'s' if count != 1 else ''}; nothing was stored"
        return "\n".join([head, *listed])


class UnknownStudy(AnnotationError):
    """No study has this slug."""


class UnknownName(AnnotationError):
    """A system, data set, batch or user that the study doesn't have."""


class NotChosen(AnnotationError):
    """Instances can't be chosen as asked."""


class SettingFixed(AnnotationError):
    """Settings that can't be changed any more, since votes were given under them; `fields` names them."""

    def __init__(self, fields: list[str], why: str) -> None:
        self.fields = fields
        self.why = why
        super().__init__(f"{', '.join(field.replace('_', ' ') for field in fields)}: {why}")


class NoModel(AnnotationError):
    """A language model that is not there or can't be used, or what runs it is not installed."""


class ClaimRefused(AnnotationError):
    """This annotator can't get a HIT now; the text says why."""


class AssignmentClosed(AnnotationError):
    """The HIT was submitted, returned, or went to another annotator."""


class VotesMissing(AnnotationError):
    """The HIT can't be submitted or locked: some pairs have no vote; `places` on the page, where that is all."""

    def __init__(self, message: str, places: Sequence[int] = ()) -> None:
        self.places = list(places)
        super().__init__(message)


class Unacceptable(AnnotationError):
    """A value that isn't on offer, or too short; the sender may correct it."""


class BadFields(Unacceptable):
    """Values that can't be taken, each with what is wrong with it; `fields` maps names to problems."""

    def __init__(self, fields: Mapping[str, Sequence[str]]) -> None:
        self.fields = {name: [str(problem) for problem in problems] for name, problems in fields.items()}
        told = [f"{name}: {' '.join(problems)}" for name, problems in self.fields.items()]
        super().__init__("\n".join(told).replace("__all__: ", ""))


class AmendmentNeeded(Unacceptable):
    """Settings that change while rating is under way, without a reason for it; `fields` names them."""

    def __init__(self, fields: Sequence[str], why: str) -> None:
        self.fields = list(fields)
        self.why = why
        super().__init__(f"{', '.join(field.replace('_', ' ') for field in fields)}: {why}")


class VoteConflict(AnnotationError):
    """The choice was changed from another page since the sender's page was loaded."""


class FirstVotesLocked(AnnotationError):
    """First votes can't be changed once the second stage has begun."""


class SecondStageClosed(AnnotationError):
    """The second vote on this pair isn't open yet, or the HIT has no second stage."""


class OtherAccount(AnnotationError):
    """The page was loaded by another account than the one that is signed in in its browser now."""


class ConsentNeeded(AnnotationError):
    """The annotator hasn't accepted the study's current consent text."""
