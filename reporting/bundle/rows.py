"""The readable rows of a bundle: texts, pairs, people's and judges' verdicts, tables, separability, raters."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.db.models.functions import Length

from annotation.models import Alignment, Annotator, ComparisonTable, Generation, Pair, Study
from judging.outcomes.judgments import RECORDS, judgment_rows
from reporting.bundle.layout import Contents
from reporting.exports.rows import RATING_IDS, flag_rows, history_rows, rating_columns, rating_rows

CHUNK = 2000
Row = Mapping[str, Any]
# What of a row a bundle leaves out without raters' reasons, and without completions.
REASONS, RATIONALES = ("reason", "comment"), ("rationale",)


def instance_rows(study: Study, contents: Contents) -> Iterator[Row]:
    """Yield the instances as in a study file; without texts, how many generations there are is all that is said of them."""
    texts = contents.has("texts")
    generations = groupby(
        Generation.objects.filter(instance__study=study)
        .order_by("instance__position", "system__position", "index")
        .values_list("instance_id", "system__name", "text" if texts else "index")
        .iterator(chunk_size=CHUNK),
        key=itemgetter(0),
    )
    of, found = next(generations, (None, iter(())))
    for instance in study.instances.order_by("position").iterator(chunk_size=CHUNK):
        by_system: dict[str, list[str | None]] = {}
        if of == instance.pk:
            for _, system, text in found:
                by_system.setdefault(system, []).append(text if texts else None)
            of, found = next(generations, (None, iter(())))
        gold = instance.gold
        if gold and not texts:
            gold = {name: value for name, value in gold.items() if name != "why"}
        yield {
            "instance_id": instance.instance_id,
            "dataset": instance.dataset,
            "source": instance.source if texts else None,
            "generations": by_system,
            "gold": gold,
            "metadata": instance.metadata if texts else {},
        }


PAIR_FIELDS = {
    "id": "pk",
    "instance_id": "matchup__instance__instance_id",
    "dataset": "matchup__instance__dataset",
    "system_a": "matchup__system_a__name",
    "system_b": "matchup__system_b__name",
    "pair_index": "index",
    "generation_a_index": "generation_a__index",
    "generation_b_index": "generation_b__index",
}


def pair_rows(study: Study, _contents: Contents) -> Iterator[Row]:
    """Yield the pairs, with the lengths of the two texts in characters."""
    pairs = Pair.objects.filter(matchup__instance__study=study).order_by("pk")
    lengths = (Length("generation_a__text"), Length("generation_b__text"))
    columns = (*PAIR_FIELDS, "length_a", "length_b")
    for values in pairs.values_list(*PAIR_FIELDS.values(), *lengths).iterator(chunk_size=CHUNK):
        yield dict(zip(columns, values, strict=True))


def table_rows(study: Study, contents: Contents) -> Iterator[Row]:
    """Yield the comparison tables in the form that `import_tables` reads."""
    if not contents.has("texts"):
        return
    fields = {
        "table_id": "table_id",
        "instance_id": "pair__matchup__instance__instance_id",
        "system_a": "pair__matchup__system_a__name",
        "system_b": "pair__matchup__system_b__name",
        "pair_index": "pair__index",
        **{name: name for name in ("variant", "aspects", "rows", "made_by")},
    }
    tables = ComparisonTable.objects.filter(study=study).order_by("pk")
    for values in tables.values_list(*fields.values()).iterator(chunk_size=CHUNK):
        yield dict(zip(fields, values, strict=True))


def separability_rows(study: Study, _contents: Contents) -> Iterator[Row]:
    """Yield the alignments of each matchup by each measure, and the separability that follows from them."""
    runs = {run.pk: run for run in study.separability_runs.all()}
    fields = {
        "run": "run_id",
        "matchup": "matchup_id",
        "instance_id": "matchup__instance__instance_id",
        "dataset": "matchup__instance__dataset",
        "system_a": "matchup__system_a__name",
        "system_b": "matchup__system_b__name",
        **{name: name for name in ("self_a", "self_b", "cross", "separability")},
    }
    rows = Alignment.objects.filter(run__study=study).order_by("run_id", "matchup_id")
    for values in rows.values_list(*fields.values()).iterator(chunk_size=CHUNK):
        row = dict(zip(fields, values, strict=True))
        yield {"measure": runs[row["run"]].label, **row}


def rater_rows(study: Study, _contents: Contents) -> Iterator[Row]:
    """Yield the raters under their pseudonyms."""
    fields = ("code", "kind", "joined_at", "excluded", "exclusion_reason", "warned_at", "blocked_at", "block_reason")
    people = Annotator.objects.present().filter(study=study).order_by("pk")
    for values in people.values_list(*fields).iterator(chunk_size=CHUNK):
        yield {"rater": values[0], **dict(zip(fields[1:], values[1:], strict=True))}


def _ratings(study: Study, contents: Contents) -> Iterator[Row]:
    return _emptied(rating_rows(study, (*rating_columns(study), *RATING_IDS)), contents)


def _history(study: Study, contents: Contents) -> Iterator[Row]:
    return _emptied(history_rows(study), contents)


def _judgments(study: Study, contents: Contents) -> Iterator[Row]:
    return _emptied(judgment_rows(study, RECORDS), contents)


def _flags(study: Study, contents: Contents) -> Iterator[Row]:
    return _emptied(flag_rows(study), contents)


def _emptied(rows: Iterable[Row], contents: Contents) -> Iterator[Row]:
    """Empty what raters and judges wrote, where it stays here."""
    left = [*(() if contents.has("completions") else RATIONALES), *(() if contents.has("reasons") else REASONS)]
    for row in rows:
        yield {**row, **{name: "" for name in left if name in row}} if left else row


READABLE: dict[str, Callable[[Study, Contents], Iterator[Row]]] = {
    "instances": instance_rows,
    "pairs": pair_rows,
    "tables": table_rows,
    "raters": rater_rows,
    "ratings": _ratings,
    "history": _history,
    "flags": _flags,
    "judgments": _judgments,
    "separability": separability_rows,
}
