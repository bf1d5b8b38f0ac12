"""Making studies and keeping a record of what was read into them."""

import hashlib
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from annotation.errors import AnnotationError, SettingFixed, UnknownStudy
from annotation.models import Batch, ImportRecord, Rating, Study
from annotation.models.groups import main_group
from annotation.services.arm_tables import pairs_shown, refuse_missing_tables

FIXED_BY_DRAWS = frozenset({"protocol", "arms", "arm_unit"})
FIXED_BY_VOTES = FIXED_BY_DRAWS | {"ties_allowed", "pair_order"}


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
def ensure_study(*, slug: str, must_be_new: bool = False, **settings: Any) -> Study:
    """Return the study with this slug, made with `settings` when it isn't there; an existing one keeps its own.

    It belongs to the main group unless `settings` names another one.

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


def _plain_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


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
def save_settings(*, study: Study, **settings: Any) -> Study:
    """Change a study's settings; another consent text is a new version, to be asked for again.

    Raises: AnnotationError naming the setting that isn't valid; SettingFixed for what votes were given under;
    NotChosen when raters are at work on pairs whose comparison tables would be missing.
    """
    study = Study.objects.select_for_update().get(pk=study.pk)
    # A browser sends every line's end as CR LF, which is no change of the text.
    settings = {name: _plain_lines(value) if isinstance(value, str) else value for name, value in settings.items()}
    if "consent_text" in settings and settings["consent_text"] != _plain_lines(study.consent_text):
        study.consent_version += 1
    changed = {name for name, value in settings.items() if getattr(study, name) != value}
    _refuse_fixed(study, changed)
    for name, value in settings.items():
        setattr(study, name, value)
    validate(study)
    if study.is_two_stage and changed & {"protocol", "arms"}:
        at_work = study.batches.open().filter(origin=Batch.Origin.COLLECTED)
        refuse_missing_tables(study, study.arms, pairs_shown(at_work))
    study.save()
    return study


def _refuse_fixed(study: Study, changed: set[str]) -> None:
    """Refuse to change what raters' answers depend on once there are any.

    An arm is drawn when a HIT is claimed, before the first vote, and stays: draws fix the arms as votes do.
    """
    if (fixed := sorted(changed & FIXED_BY_VOTES)) and _has_votes(study):
        raise SettingFixed(fixed, "votes have been given; this can be chosen in a new study only")
    if (fixed := sorted(changed & FIXED_BY_DRAWS)) and study.arm_draws.exists():
        raise SettingFixed(fixed, "arms have been drawn for raters or instances; choose this in a new study")


def _has_votes(study: Study) -> bool:
    collected = Rating.objects.filter(display__assignment__hit__batch__origin=Batch.Origin.COLLECTED)
    return collected.filter(display__assignment__hit__batch__study=study).exists()
