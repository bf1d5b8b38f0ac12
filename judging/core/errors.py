"""The errors of `judging`. Their messages are shown to users."""

from collections.abc import Sequence
from typing import Any

from annotation.core.errors import AnnotationError
from annotation.core.reasons import Reason
from judging.core.constants import REJECTED


class JudgingError(AnnotationError):
    """Base of all errors of this package. Its message is shown to the user."""


class UnknownJudge(JudgingError):
    """No judge, endpoint or judging method has this name."""


class BadSettings(JudgingError):
    """The settings of a judge or an endpoint are invalid."""


class BadPrompt(BadSettings):
    """A researcher's prompt file is invalid. `problems` holds one sentence for each reason."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = list(problems)
        super().__init__("\n".join(self.problems))


class EndpointRefused(JudgingError):
    """The endpoint's host is on a loopback or private network and not on ENDPOINT_ALLOWLIST."""


class UnparsedVerdict(JudgingError):
    """A completion holds no verdict that was offered: stored as unparsed, never as a vote.

    token_mass : the part of a token's probability on the answers on offer, where too small a part is the reason
    """

    def __init__(self, reason: Reason | str, *, token_mass: float | None = None) -> None:
        super().__init__(reason)
        self.token_mass = token_mass


class RunBusy(JudgingError):
    """Another process is working on this run."""


class RunStopped(JudgingError):
    """The run stopped. Its open cells stay open, and starting it again resumes it."""


class CallFailed(JudgingError):
    """A call gave no answer. Base of the errors below.

    kind    : a word or two by which failures are counted
    charged : unusable response that the endpoint counted tokens for (`chat_answers.Answer`): it must be paid
    """

    charged: Any = None

    def __init__(self, reason: Reason | str, *, kind: str = "no answer") -> None:
        super().__init__(reason)
        self.kind = kind


class TransientFailure(CallFailed):
    """The same call may work later: too many requests, a server error, a dropped connection, a time-out.

    throttled : the endpoint asks for fewer calls
    """

    def __init__(
        self,
        reason: Reason | str,
        *,
        retry_after: float | None = None,
        throttled: bool = False,
        kind: str = "no answer",
    ) -> None:
        super().__init__(reason, kind=kind)
        self.retry_after = retry_after
        self.throttled = throttled or retry_after is not None


class RejectedCall(CallFailed):
    """The endpoint rejects this request for good.

    request_only : other requests may be accepted; false where none can be, as for an unknown model
    cause        : of `FINAL_CAUSES` where it is the request's length or a content filter
    """

    def __init__(
        self, reason: Reason | str, *, kind: str = "no answer", request_only: bool = True, cause: str = REJECTED
    ) -> None:
        super().__init__(reason, kind=kind)
        self.request_only = request_only
        self.cause = cause


class AccessDenied(CallFailed):
    """The endpoint rejects every request: a wrong key, or no credit."""


class CapReached(RunStopped):
    """The run has reached its cap on costs. A higher cap lets it continue."""


class StatusChanged(RunStopped):
    """The run was paused, cancelled or ended from elsewhere."""
