"""Changes of a study's settings after rating has begun: refused, or logged as amendments."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from annotation.core.errors import AmendmentNeeded, SettingFixed
from annotation.models import Assignment, Batch, Event, Rating, Study
from annotation.questions.questions import without_wording
from annotation.studies.log import log
from annotation.studies.questions import answered_questions

FIXED_BY_DRAWS = frozenset({"protocol", "arms", "arm_unit"})
FIXED_BY_VOTES = FIXED_BY_DRAWS | {
    *("ties_allowed", "pair_order"),
    *("strength", "tie_kinds", "question_key", "criteria", "first_reason"),
}
# The answers that have what a question asks for beside a verdict.
ANSWERED = {"strength": Q(strength__isnull=False), "tie_kinds": ~Q(tie_kind="")}
FOR_RESEARCHERS = frozenset({"title"})  # seen by researchers only, so no amendment


def rating_has_begun(study: Study) -> bool:
    """Tell whether a HIT for rating was ever claimed. Imported ratings don't count."""
    claims = Assignment.objects.filter(
        hit__batch__study=study,
        hit__batch__origin=Batch.Origin.COLLECTED,
        hit__batch__purpose=Batch.Purpose.RATING,
    )
    return claims.exists()


def refuse_fixed(study: Study, changes: Mapping[str, tuple[Any, Any]]) -> None:
    """Refuse to change settings that existing votes, judgments or arm draws depend on. Questions may be reworded.

    changes : setting → (before, after)
    Raises: SettingFixed.
    """
    changed = set(changes)
    if "criteria" in changes:
        before, after = map(without_wording, changes["criteria"])
        if before == after:
            changed.remove("criteria")
        _refuse_other_keys(study, [question["key"] for question in before], [question.get("key") for question in after])
    _refuse_to_hide(study, changes)
    of_people = Q(display__assignment__hit__batch__origin=Batch.Origin.COLLECTED)
    if (fixed := sorted(changed & FIXED_BY_VOTES)) and _ratings(study).filter(of_people).exists():
        raise SettingFixed(fixed, "there are votes already; choose this in a new study")
    if (fixed := sorted(changed & FIXED_BY_DRAWS)) and study.arm_draws.exists():
        raise SettingFixed(fixed, "arms are drawn already; choose this in a new study")


def _refuse_other_keys(study: Study, before: Sequence[str], after: Sequence[object]) -> None:
    """Refuse to remove, rename or move a further question with answers, which are stored under its place.

    Imported ratings and judgments count too.
    Raises: SettingFixed.
    """
    if before == after[: len(before)]:
        return
    for number in sorted(answered_questions(study)):
        if before[number - 1 : number] != after[number - 1 : number]:
            raise SettingFixed(
                ["criteria"], f"there are answers to {before[number - 1]}, which keeps its key and place"
            )


def _refuse_to_hide(study: Study, changes: Mapping[str, tuple[Any, Any]]) -> None:
    """Refuse to switch off strengths or kinds of ties that answers have, since exports would leave them out.

    Imported answers count too.
    Raises: SettingFixed.
    """
    criteria = list(zip(*changes.get("criteria", ([], [])), strict=False))
    for switch, answered in ANSWERED.items():
        switches = ((before.get(switch), after.get(switch)) for before, after in criteria)
        for number, (before, after) in enumerate([changes.get(switch, (False, False)), *switches]):
            if before and not after and _ratings(study).filter(answered, question=number).exists():
                key = study.questions[number].key
                raise SettingFixed(["criteria" if number else switch], f"answers to {key} have it and would lose it")


def needs_amendment(study: Study, changed: set[str], reason: str) -> bool:
    """Tell whether a change is an amendment of the protocol.

    Raises: AmendmentNeeded when it is one and no reason is given.
    """
    amended = sorted(changed - FOR_RESEARCHERS)
    if not amended or not rating_has_begun(study):
        return False
    if not re.search(r"\w", reason):
        raise AmendmentNeeded(
            amended, "rating has begun, so this change is an amendment, shown with the results; say why it is made"
        )
    return True


def log_amendment(
    *,
    study: Study,
    changes: Mapping[str, tuple[Any, Any]],
    reason: str,
    by: User | None = None,
    at: datetime | None = None,
) -> Event:
    """Log an amendment. `changes`: setting → (before, after)."""
    stored = {name: [_storable(before), _storable(after)] for name, (before, after) in changes.items()}
    return log(study=study, kind=Event.Kind.AMENDMENT, by=by, at=at, reason=reason, changes=stored)


def _storable(value: Any) -> Any:
    return str(value) if isinstance(value, Decimal) else value


def _ratings(study: Study) -> QuerySet[Rating]:
    return Rating.objects.filter(display__assignment__hit__batch__study=study)
