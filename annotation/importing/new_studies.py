"""Creating studies from templates, optionally with a file."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User

from annotation.importing.uploads import read_upload
from annotation.members.accounts import grant_creator_role
from annotation.models import ImportRecord, ResearchGroup, Study
from annotation.studies.presets import BLANK, BatchDefaults, StudyTemplate
from annotation.studies.services import ensure_study


def create_study(
    *,
    slug: str,
    group: ResearchGroup,
    settings: Mapping[str, Any],
    template: StudyTemplate,
    by: User | None = None,
    file: Mapping[str, Any] | None = None,
) -> tuple[Study, str]:
    """Create a study with these settings; return it and the summary of the file's import, or "".

    template : recorded with the study, with its batch defaults
    by       : becomes a study admin of it
    file     : arguments of `read_upload` for a file of kind `study` or `mturk`; a bad file creates no study
    Raises: AnnotationError for a taken slug or an invalid setting; BadFile.
    """

    def finish(study: Study) -> None:
        if template.name != BLANK:
            record_origin(study=study, kind="template", name=template.name, select=template.batch.select)
        if by is not None:
            grant_creator_role(user=by, study=study)

    arguments = {**settings, "slug": slug, "group": group, "must_be_new": True, "on_made": finish}
    if file is not None:
        return read_upload(**file, **arguments)
    return ensure_study(**arguments), ""


def record_origin(*, study: Study, kind: str, name: str, select: str, **options: Any) -> ImportRecord:
    """Record a study's template or original: its name, a hash of the settings, and the batch defaults."""
    plan = BatchDefaults(select, study.pairs_per_hit, study.raters_per_hit)
    settings = {name: str(value) for name, value in settings_of(study).items()}
    return ImportRecord.objects.create(
        study=study,
        kind=kind,
        file_name=name,
        sha256=hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest(),
        options={"select": plan.select, "pairs": plan.pairs, "raters": plan.raters, **options},
    )


NOT_SETTINGS = frozenset({"id", "key", "group", "slug", "consent_version", "seed", "created_at", "archived_at"})


def settings_of(study: Study) -> dict[str, Any]:
    """Return a study's settings by name."""
    names = [field.name for field in Study._meta.fields if field.name not in NOT_SETTINGS]
    return {name: getattr(study, name) for name in names}
