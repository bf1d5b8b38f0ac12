"""Submitted HITs that count, and why others don't, in one query for any number of raters."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from django.db.models import Exists, OuterRef

from annotation.models import Assignment, Slot

WITHDRAWN, EXCLUDED, REJECTED = "of a rater who withdrew", "of an excluded rater", "rejected here"
CHECK, TAKEN = "a hidden check", "came late: another rater has its place"
SHUT = "came late, and was refused: batch not open, rater blocked or at a limit"
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class SubmittedHit:
    """A submitted HIT. `why_not` says why it doesn't count, empty if it does."""

    assignment: int
    annotator: int
    at: datetime
    why_not: Any


@dataclass(frozen=True)
class WorkCount:
    """Numbers of submitted and of counted HITs, and of the others by reason."""

    done: int = 0
    counted: int = 0
    why_not: tuple[tuple[Any, int], ...] = ()


def submitted_by(annotators: Collection[int]) -> list[SubmittedHit]:
    """Return the HITs that these raters have submitted, without the qualification."""
    free = Slot.objects.free().filter(hit=OuterRef("hit"))
    rows = (
        Assignment.objects.filter(annotator__in=annotators, state=Assignment.State.SUBMITTED)
        .exclude(purpose=Assignment.Purpose.QUALIFICATION)
        .order_by()
        .annotate(place_free=Exists(free.order_by()))
        .values(
            *("pk", "annotator", "submitted_at", "purpose", "late", "excluded", "place_free"),
            *("slot", "annotator__excluded", "annotator__withdrawn_at"),
        )
    )
    return [SubmittedHit(row["pk"], row["annotator"], row["submitted_at"], _why_not(row)) for row in rows]


def _why_not(row: Mapping[str, Any]) -> Any:
    if row["annotator__withdrawn_at"] is not None:
        return WITHDRAWN
    if row["annotator__excluded"]:
        return EXCLUDED
    if row["excluded"]:
        return REJECTED
    if row["purpose"] != Assignment.Purpose.RATING:
        return CHECK
    if row["slot"] is None:
        return SHUT if row["late"] and row["place_free"] else TAKEN
    return ""


def count_by(hits: Iterable[SubmittedHit], key: Callable[[SubmittedHit], Key]) -> dict[Key, WorkCount]:
    """Count HITs by a key."""
    reasons: dict[Key, Counter[Any]] = defaultdict(Counter)
    for hit in hits:
        reasons[key(hit)][hit.why_not] += 1
    return {
        reason: WorkCount(counts.total(), counts[""], tuple((why, n) for why, n in counts.items() if why))
        for reason, counts in reasons.items()
    }
