"""The readable rows of a bundle: texts, pairs, people's and judges' verdicts, tables, separability, raters."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from django.db.models.functions import Length

from annotation.models import Pair, Study
from judging.outcomes.judgment_rows import RECORDS, judgment_rows
from reporting.bundle.layout import Contents
from reporting.exports.content_rows import SEPARABILITY_RECORDS, rater_rows, separability_rows, table_rows, text_rows
from reporting.exports.rows import RATING_IDS, flag_rows, history_rows, rating_columns, rating_rows, read_rows

Row = Mapping[str, Any]
# What of a row a bundle leaves out without raters' reasons, and without completions.
REASONS, RATIONALES = ("reason", "comment"), ("rationale",)

# Whole numbers that exports do not have.
NUMBERED = frozenset({"id", "length_a", "length_b", *RATING_IDS, *RECORDS, *SEPARABILITY_RECORDS})

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
    lengths = {"length_a": Length("generation_a__text"), "length_b": Length("generation_b__text")}
    yield from read_rows(pairs, {**PAIR_FIELDS, **lengths})


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


def _instances(study: Study, contents: Contents) -> Iterator[Row]:
    return text_rows(study, texts=contents.has("texts"))


def _tables(study: Study, contents: Contents) -> Iterator[Row]:
    return table_rows(study) if contents.has("texts") else iter(())


READABLE: dict[str, Callable[[Study, Contents], Iterator[Row]]] = {
    "instances": _instances,
    "pairs": pair_rows,
    "tables": _tables,
    "raters": lambda study, _contents: rater_rows(study),
    "ratings": _ratings,
    "history": _history,
    "flags": _flags,
    "judgments": _judgments,
    "separability": lambda study, _contents: separability_rows(study, SEPARABILITY_RECORDS),
}
