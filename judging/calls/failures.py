"""The rule by which failed calls stop the work."""

from collections import Counter, deque
from dataclasses import dataclass

from judging.calls.cases import StoredAnswer
from judging.core.constants import FINAL_CAUSES, LAST_CALLS, MOST_FAILURES, MOST_REJECTIONS, NO_ANSWER
from judging.core.errors import RunStopped


@dataclass(frozen=True)
class FailedCall:
    """A call without an answer, after all retries.

    rejected : the endpoint rejects this request, but may accept others
    charged  : unusable answer that has to be paid; `again`: the request may be sent again
    cause, kind : why it failed, as it is stored with a judgment, and as failures are counted
    """

    key: str
    reason: str
    rejected: bool = False
    charged: StoredAnswer | None = None
    again: bool = False
    cause: str = NO_ANSWER
    kind: str = "no answer"


class FailureRate:
    """Failures among the last calls.

    Rejections of a request for its length or by a filter never count. Other rejections of a request alone count only
    before the first answer.
    """

    def __init__(self) -> None:
        self._last: deque[str] = deque(maxlen=LAST_CALLS)  # kinds of failures; empty for answers
        self._rejections: Counter[str] = Counter()
        self._has_answers = False

    def note_answer(self) -> None:
        """Count a call that was answered."""
        self._last.append("")
        self._has_answers = True

    def note_failure(self, failed: FailedCall) -> RunStopped | None:
        """Count a failed call; return why the work can't continue, if it can't."""
        if failed.cause in FINAL_CAUSES:
            return None
        if failed.rejected:
            self._rejections[failed.kind] += 1
            if self._has_answers or self._rejections[failed.kind] < MOST_REJECTIONS:
                return None
            return RunStopped(
                f"the first {self._rejections[failed.kind]} calls were rejected ({failed.kind}), the last one: "
                f"{failed.reason}"
            )
        self._last.append(failed.kind)
        kinds = Counter(filter(None, self._last))
        if kinds.total() < MOST_FAILURES:
            return None
        [(kind, number)] = kinds.most_common(1)
        return RunStopped(
            f"{kinds.total()} of the last {len(self._last)} calls got no answer ({number} × {kind}), the last one: "
            f"{failed.reason}"
        )
