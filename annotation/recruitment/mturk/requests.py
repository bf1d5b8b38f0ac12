"""Sending stored requests to MTurk. Repeated requests are recognised by their token for a day, and by look-up."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from annotation.models import PlatformAction
from annotation.recruitment.mturk.client import MturkClient, MturkRefused, MturkUnreachable
from annotation.recruitment.outbox import Json, State, ask_once, begin

Send = Callable[[MturkClient, PlatformAction], Json]


@dataclass
class RunSummary:
    """The result of a run. `waiting` counts requests that aren't answered or sent yet. The next run continues them."""

    done: list[str] = field(default_factory=list)
    unchanged: int = 0
    refused: dict[str, str] = field(default_factory=dict)
    waiting: int = 0
    trouble: str = ""

    def summary(self, done: str) -> str:
        """Return the result in one line, which begins with what was done."""
        parts = [f"{done}: {len(self.done)}."]
        if self.unchanged:
            parts.append(f"Done before: {self.unchanged}.")
        if self.refused:
            listed = "; ".join(f"{key}: {words}" for key, words in list(self.refused.items())[:5])
            parts.append(f"Refused: {len(self.refused)} ({listed}).")
        if self.waiting:
            parts.append(f"Not done yet: {self.waiting}. Repeat the action to continue.")
        return " ".join([*parts, self.trouble]).strip()


def send_requests(
    *, client: MturkClient, actions: Iterable[PlatformAction], send: Send, at: datetime, limit: int | None = None
) -> RunSummary:
    """Send the requests that aren't done, one by one. Each attempt is stored before it is sent.

    Stops at the first without an answer, since MTurk is likely unavailable.
    limit : the most requests to send; the rest waits
    """
    summary = RunSummary()
    sent = 0
    for action in actions:
        if action.state == State.DONE:
            summary.unchanged += 1
        elif summary.trouble or (limit is not None and sent >= limit):
            summary.waiting += 1
        else:
            sent += 1
            _send_one(client, action, send, at, summary)
    return summary


def _send_one(client: MturkClient, action: PlatformAction, send: Send, at: datetime, summary: RunSummary) -> None:
    if not begin(action, at=at):
        summary.unchanged += 1
        return
    try:
        ask_once(action, partial(send, client), at=at)
    except MturkUnreachable as trouble:
        summary.waiting += 1
        summary.trouble = str(trouble)
    except MturkRefused as refusal:
        summary.refused[action.key] = str(refusal)
    else:
        summary.done.append(action.key)


def was_done_before(refusal: MturkRefused) -> bool:
    """Tell whether MTurk refuses because it has carried out this request, by its token, already."""
    return "already been processed" in str(refusal) or "already exists" in str(refusal)


def wrong_state(refusal: MturkRefused) -> bool:
    """Tell whether MTurk refuses because of the assignment's state, which may be the intended one."""
    return "can be called with a status of" in str(refusal)


def status_of(client: MturkClient, assignment_id: str) -> Any:
    """Return MTurk's status of a submitted assignment: Submitted, Approved or Rejected.

    Raises: MturkRefused; MturkUnreachable.
    """
    return client.call("get_assignment", AssignmentId=assignment_id)["Assignment"].get("AssignmentStatus")
