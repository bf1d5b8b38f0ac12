"""Requests that MTurk must carry out once: stored before they are sent, so that they can be retried safely.

A request whose answer was lost may have taken effect. Its row stays pending, and the next run checks before sending it
again: by its token, which MTurk remembers for a day, and by a look-up.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext as _

from annotation.core.errors import Unacceptable
from annotation.models import Channel, PlatformAction, Submission
from annotation.recruitment.mturk.client import Json, MturkClient, MturkRefused, MturkUnreachable

State = PlatformAction.State
Send = Callable[[MturkClient, PlatformAction], Json]


@dataclass
class RunSummary:
    """The result of a run; `waiting` counts requests without an answer or not sent yet, which the next run continues."""

    done: list[str] = field(default_factory=list)
    unchanged: int = 0
    refused: dict[str, str] = field(default_factory=dict)
    waiting: int = 0
    trouble: str = ""

    @property
    def message(self) -> str:
        """The result in one line."""
        parts = [_("Done: %(count)d.") % {"count": len(self.done)}]
        if self.unchanged:
            parts.append(_("Done before: %(count)d.") % {"count": self.unchanged})
        if self.refused:
            listed = "; ".join(f"{key}: {words}" for key, words in list(self.refused.items())[:5])
            parts.append(_("Refused: %(count)d (%(told)s).") % {"count": len(self.refused), "told": listed})
        if self.waiting:
            parts.append(_("Not done yet: %(count)d. Repeat the action to continue.") % {"count": self.waiting})
        return " ".join([*parts, self.trouble]).strip()


@transaction.atomic
def plan(
    *, channel: Channel, kind: str, key: str, payload: Json, submission: Submission | None = None
) -> PlatformAction:
    """Store a request, or return the existing one with this key.

    Raises: Unacceptable when the existing one has another payload and may have taken effect.
    """
    Channel.objects.select_for_update(of=("self",)).get(pk=channel.pk)
    action, made = channel.actions.get_or_create(
        key=key, defaults={"kind": kind, "payload": payload, "submission": submission}
    )
    if made or action.payload == payload:
        return action
    if action.state == State.DONE or (action.state == State.PENDING and action.attempts):
        raise Unacceptable(
            _("%(key)s was asked for before, in other words, and may have been done: %(before)s.")
            % {"key": key, "before": ", ".join(f"{name} {value}" for name, value in action.payload.items())}
        )
    action.payload = payload
    action.save(update_fields=["payload"])
    return action


def send_requests(
    *, client: MturkClient, actions: Iterable[PlatformAction], send: Send, at: datetime, limit: int | None = None
) -> RunSummary:
    """Send the requests that aren't done, one by one; each attempt is stored before it is sent.

    Stops at the first without an answer, since MTurk is likely unavailable.
    limit : the most requests to send; the rest waits
    """
    summary = RunSummary()
    asked = 0
    for action in actions:
        if action.state == State.DONE:
            summary.unchanged += 1
        elif summary.trouble or (limit is not None and asked >= limit):
            summary.waiting += 1
        else:
            asked += 1
            _send_one(client, action, send, at, summary)
    return summary


def _send_one(client: MturkClient, action: PlatformAction, send: Send, at: datetime, summary: RunSummary) -> None:
    PlatformAction.objects.filter(pk=action.pk).exclude(state=State.DONE).update(
        attempts=F("attempts") + 1, state=State.PENDING
    )
    try:  # `action.attempts` is still the number of earlier attempts
        answer = send(client, action)
    except MturkUnreachable as trouble:
        summary.waiting += 1
        summary.trouble = str(trouble)
        _end(action, State.PENDING, {"error": str(trouble)}, None)
    except MturkRefused as refusal:
        summary.refused[action.key] = str(refusal)
        _end(action, State.FAILED, {"error": str(refusal), "code": refusal.code}, at)
    else:
        summary.done.append(action.key)
        _end(action, State.DONE, answer, at)


def _end(action: PlatformAction, state: State, answer: Json, at: datetime | None) -> None:
    """Store the answer, unless another run has stored that it is done."""
    open_still = PlatformAction.objects.filter(pk=action.pk).exclude(state=State.DONE)
    open_still.update(state=state, answer=answer, ended_at=at)
    action.state, action.answer, action.ended_at = state, answer, at


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
