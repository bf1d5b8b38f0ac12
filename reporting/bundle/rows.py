"""The readable rows of a bundle."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from django.db.models.functions import Length

from annotation.models import Pair, Study
from annotation.studies.log import shown_with_results
from judging.outcomes.judgment_rows import RECORDS, judgment_rows
from reporting.bundle.layout import Contents
from reporting.exports.content_rows import (
    IDENTITY,
    SEPARABILITY_RECORDS,
    rater_rows,
    separability_rows,
    table_rows,
    text_rows,
)
from reporting.exports.rows import RATING_IDS, flag_rows, history_rows, rating_columns, rating_rows, read_rows

Row = Mapping[str, Any]
# What of a row a bundle leaves out without raters' reasons; and of a judgment without completions: why there is no verdict
# can quote an answer.
REASONS, QUOTES = ("reason", "comment"), ("rationale", "reason")

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


def _judgments(study: Study, contents: Contents) -> Iterator[Row]:
    for row in _emptied(judgment_rows(study, RECORDS), contents, completions=QUOTES):
        yield row if contents.has("completions") else {**row, "completion_keys": []}


def _emptied(rows: Iterable[Row], contents: Contents, **of_choice: Collection[str]) -> Iterator[Row]:
    """Empty what raters or judges wrote, by the choice that it stays here with."""
    emptied = [name for choice, names in of_choice.items() if not contents.has(choice) for name in names]
    for row in rows:
        yield {**row, **{name: "" for name in emptied if name in row}} if emptied else row


READABLE: dict[str, Callable[[Study, Contents], Iterator[Row]]] = {
    "instances": lambda study, contents: text_rows(study, texts=contents.has("texts")),
    "pairs": pair_rows,
    "tables": lambda study, contents: table_rows(study) if contents.has("texts") else iter(()),
    "raters": lambda study, _contents: rater_rows(study),
    "ratings": lambda study, contents: _emptied(
        rating_rows(study, (*rating_columns(study), *RATING_IDS)), contents, reasons=REASONS
    ),
    "history": lambda study, contents: _emptied(history_rows(study), contents, reasons=REASONS),
    "flags": lambda study, contents: _emptied(flag_rows(study), contents, reasons=REASONS),
    "judgments": _judgments,
    "separability": lambda study, _contents: separability_rows(study, SEPARABILITY_RECORDS),
}


def description_of(study: Study) -> dict[str, Any]:
    """Return a study's settings, questions, systems, and the amendments that stand with its results."""
    settings = {field.name: field.value_from_object(study) for field in study._meta.fields}
    return {
        "study": study.slug,
        "settings": {name: value for name, value in settings.items() if name not in IDENTITY},
        "questions": [asdict(question) for question in study.questions],
        "systems": [{"name": system.name, "family": system.family} for system in study.systems.order_by("position")],
        "amendments": shown_with_results(study),
    }
