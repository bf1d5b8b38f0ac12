"""What can go wrong in `judging`, in words for the person who can put it right."""

from collections.abc import Sequence

from annotation.errors import AnnotationError


class JudgingError(AnnotationError):
    """Base of every error that a user of this package may meet; its text is shown to them."""


class UnknownJudge(JudgingError):
    """No judge, endpoint or judging method has this name."""


class BadSettings(JudgingError):
    """A judge or an endpoint can't be set up as asked."""


class BadPrompt(BadSettings):
    """A researcher's prompt file that can't be used; `problems` says why, one sentence each."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = list(problems)
        super().__init__("\n".join(self.problems))


class EndpointRefused(JudgingError):
    """The endpoint's host is on a loopback or private network and not on ENDPOINT_ALLOWLIST."""


class UnparsedVerdict(JudgingError):
    """A completion without a verdict that was on offer: stored as unparsed, never as a vote."""


class BadVectors(JudgingError):
    """An endpoint's vectors for texts can't be used: not numbers, not of one length, or not one for each text."""


class RunBusy(JudgingError):
    """Another process is working on this run."""


class RunStopped(JudgingError):
    """The run can't go on; its open cells stay open, and starting it again resumes it."""


class CallFailed(JudgingError):
    """One call came to nothing; base of the kinds below.

    kind : what went wrong, in a word or two: failures are counted by it
    """

    def __init__(self, reason: str, *, kind: str = "no answer") -> None:
        super().__init__(reason)
        self.kind = kind


class TransientFailure(CallFailed):
    """The same call may work later: too many requests, a server error, a dropped connection, a time-out.

    throttled : the endpoint wants fewer calls
    """

    def __init__(
        self, reason: str, *, retry_after: float | None = None, throttled: bool = False, kind: str = "no answer"
    ) -> None:
        super().__init__(reason, kind=kind)
        self.retry_after = retry_after
        self.throttled = throttled or retry_after is not None


class RejectedCall(CallFailed):
    """The endpoint won't take this request, now or later."""


class AccessDenied(CallFailed):
    """The endpoint won't take any request: a wrong key, or no credit."""
