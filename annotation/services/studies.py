"""Making studies and keeping a record of what was read into them."""

import hashlib
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from annotation.errors import AnnotationError, UnknownName, UnknownStudy
from annotation.models import Batch, ImportRecord, Study
from annotation.models.groups import main_group
from annotation.services import slot_arms
from annotation.services.amendments import log_amendment, needs_amendment, refuse_fixed
from annotation.services.arm_tables import pairs_shown, refuse_missing_tables


def find_study(slug: str, *, lock: bool = False) -> Study:
    """Return the study with this slug; `lock` keeps other imports out until the transaction ends.

    Raises: UnknownStudy naming those that exist.
    """
    try:
        return (Study.objects.select_for_update() if lock else Study.objects).get(slug=slug)
    except Study.DoesNotExist:
        known = ", ".join(Study.objects.values_list("slug", flat=True)[:20]) or "none yet"
        raise UnknownStudy(f"there is no study {slug}; known: {known}") from None


@transaction.atomic
def ensure_study(
    *, slug: str, must_be_new: bool = False, on_made: Callable[[Study], None] | None = None, **settings: Any
) -> Study:
    """Return the study with this slug, made with `settings` when it isn't there; an existing one keeps its own.

    It belongs to the main group unless `settings` names another one. `on_made` is called with a study that was made,
    within the transaction: what it raises unmakes the study.

    Raises: AnnotationError naming the setting that isn't valid, or saying that a study that must be new is there.
    """
    # Locked: an import looks at what is there before it adds to it.
    existing = Study.objects.select_for_update().filter(slug=slug).first()
    if existing is not None and not must_be_new:
        return existing
    study = Study(slug=slug, **{"title": slug, "group": settings.get("group") or main_group(), **settings})
    validate(study)  # of two that are made at the same moment one ends here, or at the database's own constraint
    try:
        with transaction.atomic():
            study.save()
    except IntegrityError:
        raise AnnotationError(f"the name {slug} was taken a moment ago; please try again") from None
    if on_made is not None:
        on_made(study)
    return study


def validate(row: Any) -> None:
    """Check a row's fields and constraints, and say what is wrong in one sentence.

    Raises: AnnotationError.
    """
    try:
        row.full_clean()
    except ValidationError as error:
        problems = [f"{field}: {' '.join(messages)}" for field, messages in error.message_dict.items()]
        raise AnnotationError("; ".join(problems).replace("__all__: ", "")) from None


def _plain(value: Any) -> Any:
    return value.replace("\r\n", "\n").replace("\r", "\n").strip() if isinstance(value, str) else value


def record_import(*, study: Study, kind: str, name: str, data: bytes, counts: dict[str, int], **options: Any) -> None:
    """Keep which file was read, with its hash and what came of it."""
    ImportRecord.objects.create(
        study=study,
        kind=kind,
        file_name=name[-255:],
        sha256=hashlib.sha256(data).hexdigest(),
        options=options,
        counts=counts,
    )


@transaction.atomic
def save_settings(
    *, study: Study, by: User | None = None, reason: str = "", at: datetime | None = None, **settings: Any
) -> Study:
    """Change a study's settings; another consent text is a new version, to be asked for again.

    Once rating has begun a change of anything but the title is an amendment: `reason` says why, and the study's log
    keeps it with the values before and after.
    Raises: AnnotationError naming the setting that isn't valid; SettingFixed for what votes were given under;
    AmendmentNeeded when a reason is missing; NotChosen when raters are at work on pairs whose comparison tables would
    be missing.
    """
    study = Study.objects.select_for_update().get(pk=study.pk)
    # A browser sends every line's end as CR LF, which is no change of the text.
    settings = {name: _plain(value) for name, value in settings.items()}
    before = {name: _plain(getattr(study, name)) for name in settings}
    changed = {name for name, value in settings.items() if before[name] != value}
    refuse_fixed(study, changed)
    is_amendment = needs_amendment(study, changed, _plain(reason))
    if "consent_text" in changed:
        study.consent_version += 1
    for name in changed:
        setattr(study, name, settings[name])
    validate(study)
    if study.is_two_stage and changed & {"protocol", "arms"}:
        at_work = study.batches.open().filter(origin=Batch.Origin.COLLECTED)
        refuse_missing_tables(study, study.arms, pairs_shown(at_work))
    study.save()
    if changed & {"protocol", "arms", "arm_unit", "balance_arms"}:
        slot_arms.keep_all(study)
    if is_amendment:
        changes = {name: (before[name], getattr(study, name)) for name in settings if name in changed}
        log_amendment(study=study, changes=changes, reason=_plain(reason), by=by, at=at)
    return study


@transaction.atomic
def set_families(*, study: Study, families: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Say of which family the models behind systems are, by the systems' names; return what changed: before, after.

    Raises: UnknownName for a system that the study doesn't have; AnnotationError when a family's name is too long.
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
