"""Exceptions of `annotation`. Their messages are shown to users."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString

from annotation.core.reasons import Reason, reason, restored


class AnnotationError(Exception):
    """Base class. The message is shown to the user.

    on_page : shown instead on a page, where that may lead to another page (HTML)
    """

    on_page: SafeString | None = None

    @property
    def reason(self) -> Reason:
        """The message as it is stored: a reason that the error was made of, or its text."""
        return restored(self.args[0] if self.args and isinstance(self.args[0], Reason) else str(self))


class JobBusy(AnnotationError):
    """Another process is working on this job."""


class Interrupted(AnnotationError):
    """The work was stopped on request. What it has stored stays."""

    def __init__(self) -> None:
        super().__init__(reason("interrupted"))


MOST_BAD_LINES = 1_000  # reading stops here: the file is probably of another kind
LONGEST_REASON = 500


@dataclass(frozen=True)
class BadLine:
    """A line of a file that was refused, and why. `file`: its name where several were sent."""

    number: int
    reason: Reason
    file: str = ""

    @property
    def text(self) -> str:
        """The reason in English, after the name of the file."""
        return f"{self.file}: {self.reason.text}" if self.file else self.reason.text

    def __str__(self) -> str:
        text = self.text if len(self.text) <= LONGEST_REASON else f"{self.text[:LONGEST_REASON]}…"
        return f"line {self.number}: {text}"


class BadFile(AnnotationError):
    """A file with bad lines. Nothing of it was stored."""

    def __init__(self, name: str, lines: list[BadLine]) -> None:
        self.name = name
        self.lines = sorted(lines, key=lambda line: line.number)[:MOST_BAD_LINES]
        super().__init__(self.abridged(len(self.lines)))

    @property
    def reason(self) -> Reason:
        """The message without the lines."""
        count = len(self.lines)
        code = "bad_lines_at_least" if count >= MOST_BAD_LINES else "bad_line" if count == 1 else "bad_lines"
        return reason(code, name=self.name, number=count)

    def abridged(self, limit: int) -> str:
        """Return the message with at most `limit` lines listed, or only its head for 0."""
        count = len(self.lines)
        listed = [f"  {line}" for line in self.lines[:limit]]
        if 0 < limit < count:
            listed.append(f"  and {count - limit:,} more")
        return "\n".join([self.reason.text, *listed])


class UnknownStudy(AnnotationError):
    """No study has this slug."""


class UnknownName(AnnotationError):
    """The study has no system, data set, batch or user of this name. `field`: of forms, in which it was given."""

    def __init__(self, message: Reason | str, field: str | None = None) -> None:
        self.field = field
        super().__init__(message)


class InvalidSelection(AnnotationError):
    """Instances can't be selected by these settings."""


class SettingsRefused(AnnotationError):
    """Settings (`fields`) that can't be changed like this."""

    def __init__(self, fields: Sequence[str], why: str) -> None:
        self.fields, self.why = list(fields), why
        super().__init__(f"{', '.join(field.replace('_', ' ') for field in fields)}: {why}")


class SettingFixed(SettingsRefused):
    """Settings that can't be changed any more, since votes were given under them."""


class ModelUnavailable(AnnotationError):
    """A language model is missing or unusable, or the library that runs it is not installed."""


class ClaimRefused(AnnotationError):
    """This annotator can't get a HIT now."""


class AssignmentClosed(AnnotationError):
    """The HIT was submitted, returned, or went to another annotator."""


class VotesMissing(AnnotationError):
    """The HIT can't be submitted or locked. `places`: of the pairs without a vote, if that is the only reason."""

    def __init__(self, message: str, rows: Sequence[int] = ()) -> None:
        self.places = list(rows)
        super().__init__(message)


class Unacceptable(AnnotationError):
    """A value that isn't on offer or too short. The sender may correct it."""


class BadFields(Unacceptable):
    """Invalid values. `fields` maps their names to the problems, and `codes` to the codes of these."""

    def __init__(self, fields: Mapping[str, Sequence[str]], codes: Mapping[str, Sequence[str]] | None = None) -> None:
        self.codes = codes or {}
        self.fields = {name: [str(problem) for problem in problems] for name, problems in fields.items()}
        listed = [f"{name}: {' '.join(problems)}" for name, problems in self.fields.items()]
        super().__init__("\n".join(listed).replace("__all__: ", ""))


class AmendmentNeeded(SettingsRefused, Unacceptable):
    """A change of settings while rating is under way needs a reason."""


class VoteConflict(AnnotationError):
    """The vote was changed from another page since the sender's page was loaded."""


class FirstVotesLocked(AnnotationError):
    """First votes can't be changed after the second stage has begun."""


class SecondStageClosed(AnnotationError):
    """The second vote on this pair isn't open yet, or the HIT has no second stage."""


class OtherAccount(AnnotationError):
    """The page was loaded by another account than the one that is signed in now."""


class ConsentNeeded(AnnotationError):
    """The annotator hasn't accepted the study's current consent text."""
