"""Making a study: from a template, with its first file or without."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User

from annotation.models import ImportRecord, ResearchGroup, Study
from annotation.services.accounts import keep_creator
from annotation.services.studies import ensure_study
from annotation.services.uploads import read_upload
from annotation.study_templates import BLANK, BatchPlan, StudyTemplate


def create_study(
    *,
    slug: str,
    group: ResearchGroup,
    settings: Mapping[str, Any],
    template: StudyTemplate,
    by: User | None = None,
    file: Mapping[str, Any] | None = None,
) -> tuple[Study, str]:
    """Make a study with these settings; returns it and one line on what came of its file, empty without one.

    template : what `settings` were filled in from; kept in the study's record, with the plan of its first batch
    by       : becomes a study admin of it, unless they are one already
    file     : what `read_upload` takes of a file of kind `study` or `mturk`; a bad one leaves no study behind
    Raises: AnnotationError for a name that is taken or a setting that isn't valid; BadFile.
    """

    def finish(study: Study) -> None:
        if template.name != BLANK:
            record_origin(study=study, kind="template", name=template.name, select=template.batch.select)
        if by is not None:
            keep_creator(user=by, study=study)

    made = {**settings, "slug": slug, "group": group, "must_be_new": True, "on_made": finish}
    if file is not None:
        return read_upload(**file, **made)
    return ensure_study(**made), ""


def record_origin(*, study: Study, kind: str, name: str, select: str, **options: Any) -> ImportRecord:
    """Keep what a study was begun from: its name, a hash of the settings as they were, and how its batches choose."""
    plan = BatchPlan(select, study.pairs_per_hit, study.raters_per_hit)
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
    """Return what an admin decides about a study, by name."""
    names = [field.name for field in Study._meta.fields if field.name not in NOT_SETTINGS]
    return {name: getattr(study, name) for name in names}
