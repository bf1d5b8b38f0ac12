"""Making studies and keeping a record of what was read into them."""

import hashlib
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from annotation.errors import AnnotationError, UnknownStudy
from annotation.models import Batch, ImportRecord, Rating, Study


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

    Raises: AnnotationError naming the setting that isn't valid, or saying that a study that must be new is there.
    """
    # Locked: an import looks at what is there before it adds to it.
    existing = Study.objects.select_for_update().filter(slug=slug).first()
    if existing is not None and not must_be_new:
        return existing
    study = Study(slug=slug, **{"title": slug, **settings})
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

    Raises: AnnotationError naming the setting that isn't valid.
    """
    study = Study.objects.select_for_update().get(pk=study.pk)
    # A browser sends every line's end as CR LF, which is no change of the text.
    settings = {name: _plain_lines(value) if isinstance(value, str) else value for name, value in settings.items()}
    if "consent_text" in settings and settings["consent_text"] != _plain_lines(study.consent_text):
        study.consent_version += 1
    if settings.get("ties_allowed", study.ties_allowed) != study.ties_allowed and _has_votes(study):
        raise AnnotationError("votes have been given: “no preference” can be switched in a new study only")
    for name, value in settings.items():
        setattr(study, name, value)
    validate(study)
    study.save()
    return study


def _has_votes(study: Study) -> bool:
    collected = Rating.objects.filter(display__assignment__hit__batch__origin=Batch.Origin.COLLECTED)
    return collected.filter(display__assignment__hit__batch__study=study).exists()
