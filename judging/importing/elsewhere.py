"""Importing comparisons that people and judges made elsewhere: AlpacaEval's annotations, Arena battles, Label Studio's tasks."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from django.conf import settings as django_settings

from annotation.core.counting import number_of
from annotation.core.files.file_bounds import FOR_COMMANDS, Bound, bound_of_upload
from annotation.core.files.mapping import NOTHING, FieldMapping, recorded
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
    data: bytes,
    name: str,
    slug: str,
    options: dict[str, Any],
    bound: Bound = FOR_COMMANDS,
    mapping: FieldMapping = NOTHING,
    **settings: Any,
) -> tuple[Study, str]:
    """Import a file of comparisons, whole or not at all; return the study, and one line on what was added with a line for each notice.

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
    if not any(added.values()):
        return study, f"{name}: nothing new; everything in it is in study {study.slug} already"
    parts = ", ".join(number_of(count, what) for what, count in added.items() if count)
    return study, with_notices(f"{name}: {parts} added (study {study.slug})", (*stored.notices, *ratings.notices))


def import_upload(
    *, kind: str, data: bytes, name: str, slug: str, dataset: str, bound: Bound | None = None, **settings: Any
) -> tuple[Study, str]:
    """Import an uploaded file with the default options."""
    options: dict[str, Any] = {"dataset": dataset or kind}
    options |= {"people": False} if kind == "alpacaeval" else {}
    bound = bound or bound_of_upload(kind, django_settings.UPLOAD_MAX_ROWS)
    return import_elsewhere(kind=kind, data=data, name=name, slug=slug, options=options, bound=bound, **settings)


def _judgments(comparisons: Iterable[Comparison]) -> Iterator[dict[str, Any]]:
    """Yield the judgments among comparisons as rows of an export."""
    for one in comparisons:
        if not one.by_judge:
            continue
        a = one.system_a or one.systems[0]
        turned = a != one.systems[0]
        p_b = one.p_second if not turned or one.p_second is None else 1 - one.p_second
        yield {
            "instance_id": one.instance_id,
            "pair_index": one.index,
            "system_a": a,
            "system_b": one.systems[0] if turned else one.systems[1],
            "judge": one.rater,
            "order": "ba" if turned else "ab",
            "repeat": one.repeat,
            "status": "unparsed" if one.verdict is None else "parsed",
            "verdict": None if one.verdict is None else -one.verdict if turned else one.verdict,
            "p_b": p_b,
            "rated_at": one.rated_at.isoformat() if one.rated_at else None,
        }
