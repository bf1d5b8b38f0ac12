"""Importing comparisons that people and judges made elsewhere: AlpacaEval's annotations, Arena battles, Label Studio's tasks."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from django.conf import settings as django_settings

from annotation.core.counting import number_of
from annotation.core.files.file_bounds import FOR_COMMANDS, Bound, bound_of_upload
from annotation.core.files.lines import FileData
from annotation.core.files.mapping import NOTHING, FieldMapping, recorded
from annotation.core.reasons import Reason, reason
from annotation.importing.comparisons import stage_comparisons
from annotation.importing.formats import alpacaeval, arena, label_studio
from annotation.importing.formats.comparisons import Comparison, Read, read_comparisons
from annotation.importing.notices import with_notices
from annotation.importing.staging import open_import
from annotation.models import Study
from judging.importing.judgments import parse_judgments
from judging.importing.services import stage_judgments

READERS: dict[str, Callable[..., Read]] = {
    "alpacaeval": alpacaeval.reader,
    "battles": arena.reader,
    "label-studio": label_studio.reader,
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
    comparisons = read_comparisons(data, name, READERS[kind](**options), bound, mapping)
    with open_import(slug, rows=len(comparisons), settings=settings) as target:
        stored, ratings = stage_comparisons(target=target, comparisons=comparisons, name=name)
        lines = [json.dumps(line, ensure_ascii=False) for line in _judgments(comparisons)]
        data_of_judges = "\n".join(lines).encode()
        judged = (
            stage_judgments(target, parse_judgments(data_of_judges, name), data_of_judges, name).added if lines else 0
        )
        counts = {**stored.counts, "ratings": ratings.added, "judgments": judged}
        if stored.added or stored.extended or ratings.added:
            target.record(kind=kind, name=name, data=data, counts=counts, **recorded(mapping))
    study = target.study
    added = {"instance": stored.added, "rating": ratings.added, "judgment": judged}
    parts = ", ".join(number_of(count, subject) for subject, count in added.items() if count)
    summary = reason("imported_into", name=name, contents=f"{parts} added", study=study.slug)
    if not parts:
        summary = reason("nothing_new_in", name=name, study=study.slug)
    return study, with_notices(summary, (*stored.notices, *ratings.notices))


def import_upload(
    *, kind: str, data: FileData, name: str, slug: str, dataset: str, bound: Bound | None = None, **settings: Any
) -> tuple[Study, Reason]:
    """Import an uploaded file with the default options."""
    options: dict[str, Any] = {"dataset": dataset or kind}
    options |= {"people": False} if kind == "alpacaeval" else {}
    bound = bound or bound_of_upload(kind, django_settings.UPLOAD_MAX_ROWS)
    return import_elsewhere(kind=kind, data=data, name=name, slug=slug, options=options, bound=bound, **settings)


def _judgments(comparisons: Iterable[Comparison]) -> Iterator[dict[str, Any]]:
    """Yield the judgments among comparisons as rows of an export."""
    for comparison in comparisons:
        if not comparison.by_judge:
            continue
        a = comparison.system_a or comparison.systems[0]
        turned = a != comparison.systems[0]
        p_b = comparison.p_second if not turned or comparison.p_second is None else 1 - comparison.p_second
        yield {
            "instance_id": comparison.instance_id,
            "pair_index": comparison.index,
            "system_a": a,
            "system_b": comparison.systems[0] if turned else comparison.systems[1],
            "judge": comparison.rater,
            "order": "ba" if turned else "ab",
            "repeat": comparison.repeat,
            "status": "unparsed" if comparison.verdict is None else "parsed",
            "verdict": None if comparison.verdict is None else -comparison.verdict if turned else comparison.verdict,
            "p_b": p_b,
            "rated_at": comparison.rated_at.isoformat() if comparison.rated_at else None,
        }
