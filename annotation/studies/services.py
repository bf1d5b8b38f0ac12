"""Creating, changing and archiving studies, and recording imports."""

import hashlib
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from django.conf import settings as server_settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from annotation.core.arms import Arm
from annotation.core.errors import AnnotationError, InvalidSelection, UnknownName, UnknownStudy
from annotation.core.files.lines import FileData, opened
from annotation.core.names import short_name_problem
from annotation.hits.slots import reserve_slots
from annotation.models import Batch, ComparisonTable, Event, HitPair, ImportRecord, Pair, Slot, Study
from annotation.models.members import main_group
from annotation.studies.amendments import log_amendment, needs_amendment, refuse_fixed
from annotation.studies.log import log

MOST_NAMED = 10  # variants in a refusal
SHOWN_IN = (Batch.Purpose.RATING, Batch.Purpose.GOLD)  # a qualification has no second stage


def find_study(slug: str, *, lock: bool = False) -> Study:
    """Return the study with this slug. `lock`: by SELECT FOR UPDATE.

    Raises: UnknownStudy listing some that exist; AnnotationError while rows of an import move to it.
    """
    try:
        study = (Study.objects.select_for_update() if lock else Study.objects).get(slug=slug)
    except Study.DoesNotExist:
        Study.objects.refuse_former_name(slug)
        slugs = ", ".join(Study.objects.values_list("slug", flat=True)[:20]) or "none yet"
        raise UnknownStudy(f"there is no study {slug}; known: {slugs}") from None
    if study.merging:
        raise AnnotationError(f"an import into study {slug} is being completed; try again in a few seconds")
    return study


@transaction.atomic
def ensure_study(
    *, slug: str, must_be_new: bool = False, on_made: Callable[[Study], None] | None = None, **settings: Any
) -> Study:
    """Return the study with this slug. If there is none, create it with `settings`, in the main group by default.

    on_made : called with a new study, within the transaction

    Raises: AnnotationError for an invalid setting, or an existing study that must be new.
    """
    # Locked, since an import compares its rows with the stored ones before it adds any.
    existing = Study.objects.select_for_update().filter(slug=slug).first()
    if existing is not None and not must_be_new:
        return existing
    if problem := short_name_problem(Study, "slug", slug):
        raise AnnotationError(problem)
    study = Study(slug=slug, **{"title": slug, "group": settings.get("group") or main_group(), **settings})
    validate(study)  # checks uniqueness too; concurrent requests meet the constraint below
    try:
        with transaction.atomic():
            study.save()
    except IntegrityError:
        raise AnnotationError(f"the name {slug} was taken a moment ago; please try again") from None
    if on_made is not None:
        on_made(study)
    return study


def validate(row: Any) -> None:
    """Call `full_clean`, and raise its errors as one AnnotationError."""
    try:
        row.full_clean()
    except ValidationError as error:
        problems = [f"{field}: {' '.join(messages)}" for field, messages in error.message_dict.items()]
        raise AnnotationError("; ".join(problems).replace("__all__: ", "")) from None


def _normalized(value: Any) -> Any:
    return value.replace("\r\n", "\n").replace("\r", "\n").strip() if isinstance(value, str) else value


def record_import(
    *,
    study: Study,
    kind: str,
    name: str,
    data: FileData,
    counts: dict[str, int],
    added: dict[str, list[list[int]]] | None = None,
    **options: Any,
) -> None:
    """Record an imported file with its hash and what was added. `added`: as of `ImportRecord`."""
    with opened(data) as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    ImportRecord.objects.create(
        study=study,
        kind=kind,
        file_name=name[-255:],
        sha256=sha256,
        options=options,
        counts=counts,
        added=added or {},
    )


@transaction.atomic
def save_settings(
    *, study: Study, by: User | None = None, reason: str = "", at: datetime | None = None, **settings: Any
) -> Study:
    """Change a study's settings. A new consent text raises its version, and raters are asked again.

    After rating has begun, a change of anything but the title is logged as an amendment and needs a reason.
    Raises: AnnotationError for an invalid setting; SettingFixed for one that votes depend on; AmendmentNeeded without
    a reason; InvalidSelection if pairs of open batches lack the comparison tables of the arms.
    """
    study = Study.objects.select_for_update().get(pk=study.pk)
    # Browsers send line breaks as CR LF.
    settings = {name: _normalized(value) for name, value in settings.items()}
    before = {name: _normalized(getattr(study, name)) for name in settings}
    changed = {name for name, value in settings.items() if before[name] != value}
    refuse_fixed(study, {name: (before[name], settings[name]) for name in changed})
    is_amendment = needs_amendment(study, changed, _normalized(reason))
    if "consent_text" in changed:
        study.consent_version += 1
    for name in changed:
        setattr(study, name, settings[name])
    validate(study)
    if changed & {"protocol", "arms"}:
        refuse_missing_tables(study, study.batches.open().filter(origin=Batch.Origin.COLLECTED))
    study.save()
    if changed & {"protocol", "arms", "arm_unit", "balance_arms"}:
        reserve_slots(Slot.objects.filter(batch__study=study))
    if is_amendment:
        changes = {name: (before[name], getattr(study, name)) for name in settings if name in changed}
        log_amendment(study=study, changes=changes, reason=_normalized(reason), by=by, at=at)
    if "title" in changed:
        log(study=study, kind=Event.Kind.RENAMED, by=by, at=at, changes={"title": [before["title"], study.title]})
    return study


def refuse_missing_tables(study: Study, batches: QuerySet[Batch]) -> None:
    """Refuse batches of a two-stage study that have pairs without the comparison table that an arm would show.

    `table:VARIANT` needs this table of every pair, `placebo:VARIANT` one of a pair of another instance.
    Raises: InvalidSelection with the number of pairs that lack each variant.
    """
    arms_with_table = [arm for arm in map(Arm.parse, study.arms) if arm.shows_table]
    if not study.is_two_stage or not arms_with_table:
        return
    placed = HitPair.objects.filter(hit__batch__in=batches.filter(purpose__in=SHOWN_IN))
    pairs = Pair.objects.filter(pk__in=placed.values("pair_id"))
    instances = dict(pairs.values_list("pk", "matchup__instance_id"))
    lacking = []
    for arm in arms_with_table:
        tables = ComparisonTable.objects.filter(study=study, variant=arm.variant)
        if arm.kind == "table":
            missing = len(instances.keys() - set(tables.values_list("pair_id", flat=True)))
            problem = f"{missing} of {len(instances)} pairs have no comparison table of variant {arm.variant}"
        else:
            having = set(tables.order_by().values_list("pair__matchup__instance_id", flat=True).distinct())
            missing = sum(not having - {instance} for instance in instances.values())
            problem = f"for {missing} of {len(instances)} pairs no other instance has a table of variant {arm.variant}"
        if missing:
            lacking.append(f"{problem} (arm {arm.name})")
    if lacking:
        variants = ComparisonTable.objects.filter(study=study).order_by("variant").values_list("variant", flat=True)
        available = ", ".join(f"table:{variant}" for variant in variants.distinct()[:MOST_NAMED])
        raise InvalidSelection(
            f"{'; '.join(lacking)}. Import the tables first, with {server_settings.COMMAND} import_tables or on the study's page."
            + (f" Or change the arms in the settings: the study has tables for {available}." if available else "")
        )


@transaction.atomic
def set_families(*, study: Study, families: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Set the model families of systems by name, and return the changes: (before, after).

    Raises: UnknownName for an unknown system; AnnotationError for a family's name that is too long.
    """
    systems = {system.name: system for system in study.systems.select_for_update()}
    changed = {}
    for name, family in families.items():
        if name not in systems:
            raise UnknownName(f"study {study.slug} has no system {name}; it has: {', '.join(systems) or 'none yet'}")
        system, before = systems[name], systems[name].family
        if family != before:
            system.family = family
            validate(system)
            system.save(update_fields=["family"])
            changed[name] = (before, family)
    return changed


@transaction.atomic
def archive_study(*, study: Study, by: User | None = None, reason: str = "", at: datetime | None = None) -> bool:
    """Archive a study. Return False if it was archived before.

    Its batches keep their status, but no HIT is given out; claimed HITs may be finished.
    """
    return _put(study, archived_at=at or timezone.now(), kind=Event.Kind.ARCHIVED, by=by, reason=reason, at=at)


@transaction.atomic
def restore_study(*, study: Study, by: User | None = None, reason: str = "", at: datetime | None = None) -> bool:
    """Restore an archived study, or return False if it wasn't. HITs of its open batches are given out again."""
    return _put(study, archived_at=None, kind=Event.Kind.RESTORED, by=by, reason=reason, at=at)


def _put(
    study: Study, *, archived_at: datetime | None, kind: str, by: User | None, reason: str, at: datetime | None
) -> bool:
    locked = Study.objects.select_for_update(of=("self",)).get(pk=study.pk)
    if (locked.archived_at is None) == (archived_at is None):
        study.archived_at = locked.archived_at
        return False
    locked.archived_at = study.archived_at = archived_at
    locked.save(update_fields=["archived_at"])
    log(study=locked, kind=kind, by=by, reason=reason.strip(), at=at)
    return True
