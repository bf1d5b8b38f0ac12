"""The rule by which failed calls stop the work."""

from collections import Counter, deque
from dataclasses import dataclass

from annotation.core.reasons import Reason, reason
from judging.calls.cases import StoredAnswer
from judging.calls.results import Reading
from judging.core.constants import LAST_CALLS, MOST_FAILURES, NO_ANSWER
from judging.core.errors import RunStopped
from judging.models import Judgment


@dataclass(frozen=True)
class FailedCall:
    """A call without an answer, after all retries.

    rejected : the endpoint rejects this request, but may accept others
    charged  : unusable answer that has to be paid; `again`: the request may be sent again
    cause, kind : why it failed, as it is stored with a judgment, and as failures are counted
    """

    key: str
    reason: Reason
    rejected: bool = False
    charged: StoredAnswer | None = None
    again: bool = False
    cause: str = NO_ANSWER
    kind: str = "no answer"

    @property
    def reading(self) -> Reading:
        """The result of a cell that ends with this call."""
        return Reading(Judgment.Status.ERROR, failure=self.reason, cause=self.cause, code=self.kind)


class FailureRate:
    """Failures among the last calls. A rejection of a request alone never counts, as it says nothing about others."""

    def __init__(self) -> None:
        self._last: deque[str] = deque(maxlen=LAST_CALLS)  # kinds of failures; empty for answers

    def note_answer(self) -> None:
        """Count a call that was answered."""
        self._last.append("")

    def note_failure(self, failed: FailedCall) -> RunStopped | None:
        """Count a failed call and return why the work can't continue, if it can't."""
        if failed.rejected:
            return None
        self._last.append(failed.kind)
        kinds = Counter(filter(None, self._last))
        if kinds.total() < MOST_FAILURES:
            return None
        [(kind, number)] = kinds.most_common(1)
        values = {"failures": kinds.total(), "calls": len(self._last), "number": number, "kind": kind}
        return RunStopped(reason("many_failures", **values, error=failed.reason))
