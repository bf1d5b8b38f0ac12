"""Writing and reading the study's log. Events about raters who have withdrawn are not read."""

from datetime import UTC, datetime
from typing import Any

from django.contrib.auth.models import User
from django.db.models import F, QuerySet
from django.utils import timezone

from annotation.core.reasons import in_words
from annotation.models import Event, Study
from annotation.questions.questions import described


def log(*, study: Study, kind: str, by: User | None = None, at: datetime | None = None, **details: Any) -> Event:
    """Add an event to a study's log. `details`: batch, annotator, assignment, reason and changes."""
    return Event.objects.create(study=study, kind=kind, by=by, happened_at=at or timezone.now(), **details)


LONGEST_SHOWN = 200  # characters of a value; the log's page shows all


def events_of(study: Study) -> QuerySet[Event]:
    """Return a study's log, the latest first."""
    visible = study.events.filter(annotator__withdrawn_at=None, assignment__annotator__withdrawn_at=None)
    relations = ("batch", "annotator", "assignment__annotator", "assignment__hit", "by")
    return visible.select_related(*relations).order_by("-happened_at", "-pk")


def stops_of(study: Study) -> QuerySet[Event]:
    """Return the events by which stop rules closed the batches that are closed now."""
    closed = study.events.filter(kind=Event.Kind.CLOSED, changes__has_key="stopped_by", batch__status="closed")
    return closed.filter(happened_at=F("batch__closed_at")).select_related("batch")


def shown_with_results(study: Study) -> list[dict[str, str]]:
    """List the events that affect the results, the earliest first."""
    events = events_of(study).filter(kind__in=Event.SHOWN_WITH_RESULTS).reverse()
    return [
        {
            "at": event.happened_at.astimezone(UTC).isoformat(timespec="seconds"),
            "kind": event.kind,
            "what": what(event),
            "reason": event.reason,
        }
        for event in events
    ]


def what(event: Event) -> str:
    """Describe an event and its changes in one line, with raters named by their codes."""
    return "; ".join([*about(event), *(f"{name}: {_change(value)}" for name, value in _changes(event))])


def about(event: Event) -> list[str]:
    """Name the batch, rater and HIT of an event."""
    rater = event.annotator or (event.assignment.annotator if event.assignment else None)
    named = [
        ("batch", event.batch.name if event.batch else ""),
        ("rater", rater.code if rater else ""),
        ("HIT", (event.assignment.hit.external_id or event.assignment.hit.key) if event.assignment else ""),
    ]
    return [f"{noun} {name}" for noun, name in named if name]


def changes_of(event: Event) -> list[tuple[str, str, str | None]]:
    """List an event's changes: name, value before (or the only one), value after."""
    listed: list[tuple[str, str, str | None]] = []
    for name, value in _changes(event):
        if _is_step(value):
            listed.append((name, _text(value[0]), _text(value[1])))
        else:
            listed.append((name, _text(value), None))
    return listed


def _changes(event: Event) -> list[tuple[str, Any]]:
    """Return changes sorted by name, since PostgreSQL doesn't keep the order of JSON keys."""
    return sorted(shown_changes(event).items()) if isinstance(event.changes, dict) else []


def shown_changes(event: Event) -> Any:
    """Return an event's changes, with stored reasons as their English text."""
    return in_words(event.changes)


def _is_step(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2


def _change(value: Any) -> str:
    if _is_step(value):
        return f"{_abridged(_text(value[0]))} → {_abridged(_text(value[1]))}"
    return _abridged(_text(value))


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(described(item) if isinstance(item, dict) else str(item) for item in value) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "nothing" if value in (None, "") else str(value)


def _abridged(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_SHOWN else f"{line[:LONGEST_SHOWN]}…"
