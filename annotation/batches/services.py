"""Create batches, and open, pause and close them."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from annotation.batches.sampling import (
    BatchSpec,
    Choice,
    HitPlan,
    choose_instances,
    own_settings,
    plan_hits,
    refuse_rule_of_draw,
)
from annotation.batches.stop_rules import NO_RULE, StopRule, refuse_stop_rule
from annotation.core.errors import InvalidSelection
from annotation.hits.slots import make_slots
from annotation.members.mails import tell_of_stop
from annotation.models import Batch, Event, Hit, HitPair, Study
from annotation.planning.frozen_plans import content_today, frozen_plan
from annotation.quality.qualification import too_few_hits
from annotation.studies.amendments import needs_amendment
from annotation.studies.log import log
from annotation.studies.services import refuse_missing_tables, validate

MOST_SLOTS = 100_000

_CHUNK = 500
# Nothing leads back to a draft: raters have seen a launched batch.
_TRANSITIONS: dict[str, tuple[str, ...]] = {
    Batch.Status.DRAFT: (Batch.Status.OPEN, Batch.Status.CLOSED),
    Batch.Status.OPEN: (Batch.Status.PAUSED, Batch.Status.CLOSED),
    Batch.Status.PAUSED: (Batch.Status.OPEN, Batch.Status.CLOSED),
    Batch.Status.CLOSED: (Batch.Status.OPEN,),
}
_LOGGED = {
    Batch.Status.OPEN: Event.Kind.LAUNCHED,
    Batch.Status.PAUSED: Event.Kind.PAUSED,
    Batch.Status.CLOSED: Event.Kind.CLOSED,
}


@transaction.atomic
def create_batch(
    *, spec: BatchSpec, name: str, status: str = Batch.Status.OPEN, by: User | None = None, drawn: bool = False
) -> tuple[Batch, bool]:
    """Create a batch. Return it and whether it is new.

    status : open; or draft, whose HITs can't be claimed until it is launched
    drawn  : the seed was drawn now: a batch that was created with another one is the same
    Creating the same batch again changes nothing, also when it was extended or closed since.
    Raises: InvalidSelection saying why not.
    """
    study = Study.objects.select_for_update().get(pk=spec.configuration.study.pk)
    if existing := study.batches.filter(name=name).first():
        _refuse_other(existing, spec, same_seed=drawn)
        return existing, False
    refuse_archived(study)
    choice = choose_instances(spec)
    refuse_slots(len(choice.sample.places) * spec.raters, by)
    plans = plan_hits(choice, spec.pairs)
    return store_batch(study=study, name=name, spec=spec, choice=choice, plans=plans, status=status, by=by), True


def store_batch(
    *,
    study: Study,
    name: str,
    spec: BatchSpec,
    choice: Choice,
    plans: Sequence[HitPlan],
    status: str,
    by: User | None,
    **recorded: object,
) -> Batch:
    """Store a batch as it was planned, with its HITs and slots.

    recorded : more about the selection
    Raises: InvalidSelection as `create_batch`
    """
    batch = Batch(study=study, name=name, status=status, seed=spec.seed, **_fields_of(spec))
    batch.selection = {
        "asked": spec.selection.as_json,
        "spec": spec.selection.spec,
        **choice.sample.provenance,
        "pool": len(choice.pool.matchup_ids),
        "left_out": choice.pool.stored_left_out,
        **recorded,
    }
    if status == Batch.Status.OPEN:
        batch.launched_at = timezone.now()
    validate(batch)
    batch.save()
    add_hits(batch=batch, plans=plans)
    if status == Batch.Status.OPEN:
        refuse_missing_tables(study, study.batches.filter(pk=batch.pk))
        log(study=study, kind=Event.Kind.LAUNCHED, batch=batch, by=by, at=batch.launched_at)
    return batch


def _fields_of(spec: BatchSpec) -> dict[str, Any]:
    """Return the model fields of a batch with these settings."""
    return {
        "dataset": spec.configuration.dataset,
        "system_a": spec.configuration.system_a,
        "system_b": spec.configuration.system_b,
        "pairs_per_hit": spec.pairs,
        "raters_per_hit": spec.raters if spec.for_rating else 1,
        **own_settings(spec),
    }


def _refuse_other(existing: Batch, spec: BatchSpec, *, same_seed: bool) -> None:
    fields = {**_fields_of(spec), "seed": existing.seed if same_seed else spec.seed}
    present = {name: getattr(existing, name) for name in fields}
    present["raters_per_hit"] = existing.selection.get("raters_at_first", existing.raters_per_hit)
    if present != fields or existing.selection.get("asked") != spec.selection.as_json:
        raise InvalidSelection(f"the study has a batch {existing.name} with other settings; choose another name")


def refuse_slots(slots: int, by: User | None) -> None:
    """Refuse more slots than a web request may make, since raters wait meanwhile. Commands have no limit.

    Raises: InvalidSelection.
    """
    if by is not None and slots > MOST_SLOTS:
        raise InvalidSelection(
            f"{slots:,} slots (HITs × raters) are too many for a page, which creates at most {MOST_SLOTS:,}; choose "
            f"fewer instances or raters, or use {settings.COMMAND} create_batch or extend_batch"
        )


def refuse_archived(study: Study) -> None:
    """Refuse an archived study.

    Raises: InvalidSelection.
    """
    if study.archived_at is not None:
        raise InvalidSelection(f"study {study.slug} is archived; restore it first")


def add_hits(*, batch: Batch, plans: Sequence[HitPlan], after: int = 0) -> list[Hit]:
    """Store a batch's HITs with their pairs and free slots, from position `after` of its queue on."""
    hits = Hit.objects.bulk_create(
        (
            Hit(
                batch=batch,
                matchup_id=hit_plan.matchup_id,
                position=after + hit_plan.place,
                inclusion_probability=hit_plan.probability,
            )
            for hit_plan in plans
        ),
        batch_size=_CHUNK,
    )
    HitPair.objects.bulk_create(
        (
            HitPair(hit=hit, pair_id=pair_id, position=position)
            for hit, hit_plan in zip(hits, plans, strict=True)
            for position, pair_id in enumerate(hit_plan.pair_ids)
        ),
        batch_size=_CHUNK,
    )
    if batch.purpose == Batch.Purpose.RATING:  # the others go to every rater
        make_slots(batch=batch, hits=hits, numbers=range(1, batch.raters_per_hit + 1))
    return hits


def may_become(before: str, status: str) -> bool:
    """Tell whether a batch in one status may be set to another one."""
    return status in _TRANSITIONS[before]


@transaction.atomic
def set_batch_status(
    *,
    batch: Batch,
    status: str = "",
    stop_rule: str = "",
    by: User | None = None,
    reason: str = "",
    is_settled: bool = False,
) -> Batch:
    """Open, pause or close a batch, or change its stop rule, and log it. Claimed HITs can be finished.

    status     : empty for no change
    stop_rule  : empty for no change, NO_RULE for none
    is_settled : whether its stop rule closes it now; then researchers get a mail
    Raises: InvalidSelection for an unknown transition, for a batch of imported ratings, for opening one of
    an archived study, one whose pairs lack the comparison tables of the study's arms, or one that its stop rule would
    close again; for a stop rule that could never hold. AmendmentNeeded for a new stop rule without a reason after rating
    has begun.
    """
    if batch.origin == Batch.Origin.IMPORTED:
        raise InvalidSelection(f"the ratings of batch {batch.name} were imported; it can't be opened here")
    now = Batch.objects.select_for_update(of=("self",)).select_related("study").get(pk=batch.pk)
    before = now.status
    if stop_rule:
        _set_stop_rule(now, "" if stop_rule == NO_RULE else stop_rule, by, reason, opens=status == Batch.Status.OPEN)
    if status and status != before:
        if not may_become(before, status):
            raise InvalidSelection(
                f"batch {now.name} is {before}; it can become {' or '.join(_TRANSITIONS[before])}, not {status}"
            )
        if status == Batch.Status.OPEN:
            refuse_archived(now.study)
            refuse_missing_tables(now.study, now.study.batches.filter(pk=now.pk))
            _refuse_settled(now)
        _change_status(now, status)
        event = log(
            study=now.study,
            kind=_LOGGED[Batch.Status(status)],
            batch=now,
            by=by,
            at=now.closed_at,
            reason=reason,
            changes={"status": [before, status], **({"stopped_by": now.stop_rule} if is_settled else {})},
        )
        if is_settled:
            tell_of_stop(event)
    for name in ("status", "launched_at", "closed_at", "stop_rule"):
        setattr(batch, name, getattr(now, name))
    return batch


def _set_stop_rule(batch: Batch, rule: str, by: User | None, reason: str, *, opens: bool) -> None:
    if rule == batch.stop_rule:
        return
    if batch.status == Batch.Status.CLOSED and not opens:
        raise InvalidSelection(f"batch {batch.name} is closed; its stop rule can be changed only as it is opened again")
    if rule and batch.purpose != Batch.Purpose.RATING:
        raise InvalidSelection("Only a batch for ratings can have a stop rule.")
    if rule:
        refuse_stop_rule(batch.study, rule, batch)
        refuse_rule_of_draw(rule, batch.selection.get("asked", {}).get("spec", ""))
    needs_amendment(batch.study, {"stop_rule"}, reason)
    changes: dict[str, Any] = {"stop_rule": [batch.stop_rule, rule]}
    planned = _planned_rule(batch)
    if planned not in (None, rule):
        changes["planned"] = planned
    batch.stop_rule = rule
    batch.save(update_fields=["stop_rule"])
    log(study=batch.study, kind=Event.Kind.AMENDMENT, batch=batch, by=by, reason=reason, changes=changes)


def _planned_rule(batch: Batch) -> str | None:
    """Return the stop rule of the study's frozen plan, or None without a plan, or where it says nothing of the batch."""
    plan = frozen_plan(batch.study) if batch.purpose == Batch.Purpose.RATING else None
    return str(content_today(batch.study, plan)["stop_rule"]) if plan else None


def _refuse_settled(batch: Batch) -> None:
    """Refuse to open a batch with the stop rule that has closed it, which would close it again."""
    closed = batch.events.filter(kind=Event.Kind.CLOSED).order_by("pk").last()
    stopped_by = closed.changes.get("stopped_by") if closed else None
    if batch.stop_rule and stopped_by and StopRule.parse(stopped_by) == StopRule.parse(batch.stop_rule):
        raise InvalidSelection(
            f"Batch {batch.name} was closed by its stop rule {batch.stop_rule}, which would close it again. "
            f"Open it with another stop rule, such as a larger budget, or with {NO_RULE}."
        )


def _change_status(batch: Batch, status: str) -> None:
    at = timezone.now()
    batch.status = status
    if status == Batch.Status.OPEN and batch.launched_at is None:
        batch.launched_at = at
    batch.closed_at = at if status == Batch.Status.CLOSED else None
    batch.save(update_fields=["status", "launched_at", "closed_at"])


def notices_of(batch: Batch) -> list[str]:
    """Return notices about what the batch lacks."""
    notices = []
    if lacks_gold(batch):
        notices.append("No gold batch is open, so raters get no gold HITs. Create or open one.")
    planned = _planned_rule(batch)
    if planned not in (None, batch.stop_rule):
        stated = f"Stop rule: {batch.stop_rule or 'none'}; the frozen plan has {planned or 'none'}."
        notices.append(f"{stated} So all claims are exploratory.")
    if batch.purpose == Batch.Purpose.QUALIFICATION and (notice := too_few_hits(batch.study)):
        notices.append(notice)
    return notices


def lacks_gold(batch: Batch) -> bool:
    """Tell whether a batch has a gold rate but the study no open gold batch with as many pairs per HIT."""
    if not batch.gold_rate:
        return False
    gold = batch.study.batches.open().filter(purpose=Batch.Purpose.GOLD, pairs_per_hit=batch.pairs_per_hit)
    return not gold.exists()
