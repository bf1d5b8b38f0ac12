"""Importing comparisons that people and judges made elsewhere: AlpacaEval's annotations, Arena battles, Label Studio's tasks."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from django.conf import settings as django_settings

from annotation.core.files.file_bounds import FOR_COMMANDS, Bound, bound_of_upload
from annotation.core.files.lines import FileData, refuse
from annotation.core.files.mapping import NOTHING, FieldMapping, recorded
from annotation.core.reasons import Reason, reason
from annotation.importing.comparisons import stage_people
from annotation.importing.content import stage_instances
from annotation.importing.formats.alpacaeval import read_annotation
from annotation.importing.formats.arena import read_battle
from annotation.importing.formats.comparisons import Comparison, instances_of, read_comparisons
from annotation.importing.formats.label_studio import read_task
from annotation.importing.notices import with_notices
from annotation.importing.staging import open_import
from annotation.models import Study
from judging.importing.judgments import parse_judgments
from judging.importing.services import stage_judgments

READERS: Mapping[str, Callable[..., list[Comparison]]] = {
    "alpacaeval": read_annotation,
    "battles": read_battle,
    "label-studio": read_task,
}


def import_elsewhere(
    *,
    kind: str,
    data: FileData,
    name: str,
    slug: str,
    options: dict[str, Any],
    bound: Bound = FOR_COMMANDS,
    mapping: FieldMapping = NOTHING,
    **settings: Any,
) -> tuple[Study, Reason]:
    """Import a file of comparisons, whole or not at all. Return the study, and one line on what was added with a line for each notice.

    kind    : of READERS; options: its reader's
    mapping : see `annotation.core.files.mapping`
    Raises: BadFile listing the bad lines.
    """
    comparisons = read_comparisons(data, name, partial(READERS[kind], **options), bound, mapping)
    with open_import(slug, rows=len(comparisons), settings=settings) as target:
        instances, bad = instances_of(comparisons)
        refuse(name, bad)
        stored = stage_instances(target=target, rows=instances, name=name)
        ratings = stage_people(target=target, instances=instances, comparisons=comparisons, name=name)
        judged = 0
        if rows := [_judgment(comparison) for comparison in comparisons if comparison.by_judge]:
            by_judges = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode()
            judged = stage_judgments(target, parse_judgments(by_judges, name), by_judges, name).added
        counts = {**stored.counts, "ratings": ratings.added, "judgments": judged}
        if stored.added or stored.extended or ratings.added:
            target.record(kind=kind, name=name, data=data, counts=counts, **recorded(mapping))
    study = target.study
    added = {"instances": stored.added, "ratings": ratings.added, "judgments": judged}
    parts = [reason(code, number=number) for code, number in added.items() if number]
    summary = reason("imported_into", name=name, contents=reason("added", contents=parts), study=study.slug)
    if not parts:
        summary = reason("nothing_new_in", name=name, study=study.slug)
    return study, with_notices(summary, (*stored.notices, *ratings.notices))


def import_upload(*, dataset: str, kind: str, bound: Bound | None = None, **file: Any) -> tuple[Study, Reason]:
    """Import an uploaded file with the default options."""
    bound = bound or bound_of_upload(kind, django_settings.UPLOAD_MAX_ROWS)
    return import_elsewhere(kind=kind, options={"dataset": dataset or kind}, bound=bound, **file)


def _judgment(comparison: Comparison) -> dict[str, Any]:
    """Return a judge's comparison as a row of an export."""
    first, second = comparison.systems
    turned = comparison.system_a not in ("", first)
    verdict, p_b = comparison.verdict, comparison.p_second
    if turned:
        first, second = second, first
        verdict, p_b = None if verdict is None else -verdict, None if p_b is None else 1 - p_b
    return {
        "instance_id": comparison.instance_id,
        "pair_index": comparison.index,
        "system_a": first,
        "system_b": second,
        "judge": comparison.rater,
        "order": "ba" if turned else "ab",
        "repeat": comparison.repeat,
        "status": "unparsed" if verdict is None else "parsed",
        "verdict": verdict,
        "p_b": p_b,
        "rated_at": comparison.rated_at.isoformat() if comparison.rated_at else None,
    }
