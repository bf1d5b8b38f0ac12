"""Requests that a platform must carry out once: stored before they are sent, so that they can be repeated safely.

A request whose answer was lost may have taken effect. Its row stays pending, and what sends it again knows the number of
earlier attempts, and looks it up first.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils.dateparse import parse_datetime

from annotation.core.errors import AnnotationError, Unacceptable
from annotation.core.reasons import Reason
from annotation.models import Channel, PlatformAction, Submission

Json = dict[str, Any]
State = PlatformAction.State
PENDING, DONE, FAILED = State.PENDING, State.DONE, State.FAILED
Ask = Callable[[PlatformAction], Json]


class PlatformUnreachable(AnnotationError):
    """No usable answer. `may_have_worked` tells whether the request can have taken effect."""

    def __init__(self, words: Reason | str, *, may_have_worked: bool = True) -> None:
        self.may_have_worked = may_have_worked
        super().__init__(words)


class PlatformRefused(AnnotationError):
    """A refusal by the platform, with its message and code."""

    def __init__(self, words: Reason | str, code: str | int = "") -> None:
        self.code = code
        super().__init__(words)


def lock_channel(channel: Channel | int) -> Channel:
    """Lock a channel, within a transaction: requests of it are stored one after another."""
    pk = channel if isinstance(channel, int) else channel.pk
    return Channel.objects.select_for_update(of=("self",)).get(pk=pk)


@transaction.atomic
def write_down(
    *, channel: Channel, kind: str, key: str, payload: Json, submission: Submission | None = None, fixed: bool = True
) -> PlatformAction:
    """Store a request, or return the existing one with this key, with this payload unless it is done.

    fixed : one that may have taken effect keeps its payload
    Raises: Unacceptable when that is another one.
    """
    lock_channel(channel)
    action, created = channel.actions.get_or_create(
        key=key, defaults={"kind": kind, "payload": payload, "submission": submission}
    )
    if created or action.payload == payload:
        return action
    if fixed and (action.state == DONE or (action.state == PENDING and action.attempts)):
        before = ", ".join(f"{name} {value}" for name, value in action.payload.items())
        raise Unacceptable(f"{key} was asked for before, in other words, and may have been done: {before}.")
    if action.state != DONE:
        action.payload = payload
        action.save(update_fields=["payload"])
    return action


@transaction.atomic
def begin(action: PlatformAction, *, at: datetime, busy_for: timedelta | None = None) -> bool:
    """Store an attempt at a request before it is sent. Return False if it is done. `action.attempts` stays.

    busy_for : how long another process may not send it too; `None` where sending it twice does no harm
    Raises: Unacceptable while another process sends it.
    """
    row = PlatformAction.objects.select_for_update(of=("self",)).get(pk=action.pk)
    action.state, action.attempts, action.answer = row.state, row.attempts, row.answer
    if row.state == DONE:
        return False
    busy = parse_datetime(str(row.answer.get("busy_until", "")))
    if busy is not None and at < busy:
        raise Unacceptable("This is being sent at this moment. Please look again in some minutes.")
    if busy_for is not None:
        row.answer = {**row.answer, "busy_until": (at + busy_for).isoformat()}
    row.state, row.ended_at, row.attempts = PENDING, None, row.attempts + 1
    row.save(update_fields=["state", "ended_at", "attempts", "answer"])
    action.state, action.answer = row.state, row.answer
    return True


def ask_once(action: PlatformAction, ask: Ask, *, at: datetime) -> None:
    """Send a request whose attempt is stored, and store its end.

    Raises: PlatformUnreachable; PlatformRefused
    """
    try:
        answer = ask(action)
    except PlatformUnreachable as trouble:
        _end(
            action,
            PENDING if trouble.may_have_worked else FAILED,
            {**action.answer, "error": trouble.reason.stored()},
            None,
        )
        raise
    except PlatformRefused as refusal:
        _end(action, FAILED, {**action.answer, "error": refusal.reason.stored(), "code": refusal.code}, at)
        raise
    _end(action, DONE, answer, at)


def note(action: PlatformAction, facts: Json) -> None:
    """Store what a retry needs, before the next step. `None` removes a value."""
    action.answer = {name: value for name, value in {**action.answer, **facts}.items() if value is not None}
    action.save(update_fields=["answer"])


def _end(action: PlatformAction, state: str, answer: Json, at: datetime | None) -> None:
    """Store the answer, unless another process has stored that it is done."""
    answer = {name: value for name, value in answer.items() if name != "busy_until"}
    open_still = PlatformAction.objects.filter(pk=action.pk).exclude(state=DONE)
    open_still.update(state=state, answer=answer, ended_at=at)
    action.state, action.answer, action.ended_at, action.attempts = state, answer, at, action.attempts + 1
