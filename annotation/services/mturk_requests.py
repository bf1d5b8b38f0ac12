"""What is asked of MTurk once: written down before it is sent, so that asking again is the same request.

A request whose answer was lost may have taken effect. Its row stays open, and the next run finds out before anything
is sent that could do it twice: by its token, which MTurk remembers for a day, and by looking it up.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext as _

from annotation.errors import Unacceptable
from annotation.models import Channel, PlatformAction, Submission
from annotation.services.mturk_client import Json, MturkClient, MturkRefused, MturkUnreachable

State = PlatformAction.State
Send = Callable[[MturkClient, PlatformAction], Json]


@dataclass
class Tally:
    """What came of a run. waiting: not answered, or not asked yet; the same command goes on with them."""

    done: list[str] = field(default_factory=list)
    unchanged: int = 0
    refused: dict[str, str] = field(default_factory=dict)
    waiting: int = 0
    trouble: str = ""

    @property
    def as_json(self) -> Json:
        """The tally as commands print it."""
        return {
            "done": self.done,
            "unchanged": self.unchanged,
            "refused": self.refused,
            "waiting": self.waiting,
            "trouble": self.trouble,
        }

    @property
    def words(self) -> str:
        """The tally in one line."""
        parts = [_("Done: %(count)d.") % {"count": len(self.done)}]
        if self.unchanged:
            parts.append(_("Done before: %(count)d.") % {"count": self.unchanged})
        if self.refused:
            told = "; ".join(f"{key}: {words}" for key, words in list(self.refused.items())[:5])
            parts.append(_("Refused: %(count)d (%(told)s).") % {"count": len(self.refused), "told": told})
        if self.waiting:
            parts.append(_("Not done yet: %(count)d. Do the same again to go on.") % {"count": self.waiting})
        return " ".join([*parts, self.trouble]).strip()


@transaction.atomic
def plan(
    *, channel: Channel, kind: str, key: str, payload: Json, submission: Submission | None = None
) -> PlatformAction:
    """Write down a request, or return the one that is there under this key.

    Raises: Unacceptable when the one that is there asks for something else and may have taken effect.
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


def carry_out(
    *, client: MturkClient, actions: Iterable[PlatformAction], send: Send, at: datetime, limit: int | None = None
) -> Tally:
    """Send what isn't done, one by one; each is written down as tried before it is sent, and as done when it is.

    It ends at the first that isn't answered: MTurk is slow or away then, and would be for the others too.
    limit : at most so many requests; the rest waits
    """
    tally = Tally()
    asked = 0
    for action in actions:
        if action.state == State.DONE:
            tally.unchanged += 1
        elif tally.trouble or (limit is not None and asked >= limit):
            tally.waiting += 1
        else:
            asked += 1
            _send_one(client, action, send, at, tally)
    return tally


def _send_one(client: MturkClient, action: PlatformAction, send: Send, at: datetime, tally: Tally) -> None:
    PlatformAction.objects.filter(pk=action.pk).exclude(state=State.DONE).update(
        attempts=F("attempts") + 1, state=State.PENDING
    )
    try:  # `action` still tells how often it was tried before
        answer = send(client, action)
    except MturkUnreachable as trouble:
        tally.waiting += 1
        tally.trouble = str(trouble)
        _end(action, State.PENDING, {"error": str(trouble)}, None)
    except MturkRefused as refusal:
        tally.refused[action.key] = str(refusal)
        _end(action, State.FAILED, {"error": str(refusal), "code": refusal.code}, at)
    else:
        tally.done.append(action.key)
        _end(action, State.DONE, answer, at)


def _end(action: PlatformAction, state: State, answer: Json, at: datetime | None) -> None:
    """Write down what came back, unless another run has written that it is done."""
    open_still = PlatformAction.objects.filter(pk=action.pk).exclude(state=State.DONE)
    open_still.update(state=state, answer=answer, ended_at=at)
    action.state, action.answer, action.ended_at = state, answer, at


def was_done_before(refusal: MturkRefused) -> bool:
    """Tell whether MTurk refuses since it has done this very request, which its token names, already."""
    return "already been processed" in str(refusal) or "already exists" in str(refusal)


def wrong_state(refusal: MturkRefused) -> bool:
    """Tell whether MTurk refuses since the assignment is in another state, perhaps the wanted one."""
    return "can be called with a status of" in str(refusal)


def status_of(client: MturkClient, assignment_id: str) -> Any:
    """Return MTurk's status of a submitted assignment: Submitted, Approved or Rejected.

    Raises: MturkRefused; MturkUnreachable.
    """
    return client.call("get_assignment", AssignmentId=assignment_id)["Assignment"].get("AssignmentStatus")
