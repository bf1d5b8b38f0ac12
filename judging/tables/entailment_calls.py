"""Entailment checks of comparison tables: calls, reading of answers, estimates.

source : Predicting Text Preference Via Structured Comparative Reasoning, appendix, fig. 5, whose models are internal
"""

import re
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from analysis.judges.table_checks import CELLS, SUPPORTED, Cell, sentences, summarize_scores
from analysis.similarity.content_words import is_blank
from annotation.core.errors import AnnotationError
from annotation.core.reasons import reason
from annotation.models import ComparisonTable, Study
from judging.calls.dry_run import CallsEstimate, estimate_procedure
from judging.calls.requests import AdhocRequests
from judging.core.errors import BadSettings, UnparsedVerdict
from judging.methods import Call, Reply
from judging.methods.parsing.answers import answer_lines
from judging.methods.prompts import load_prompt
from judging.models import Endpoint, TableCheck
from judging.tables.checked_tables import rows_of, with_texts

ENTAILMENT, COVERAGE = "table-entailment.v1.txt", "table-coverage.v1.txt"
NAMES: Mapping[Cell, str] = {"only_a": "text A", "both": "both texts", "only_b": "text B"}
# Some models say yes or no all the same. A minus after a colon is one, and no dash.
LINE = re.compile(
    r"^\W*(?P<number>\d+)\W+?(?<![:=][-−])(?<![:=] [-−])(?P<score>yes\b|no\b|(?:[01](?:\.\d*)?|\.\d+)(?![.\d]|\s*[%/]))",
    re.IGNORECASE,
)
WORDS = {"yes": "1", "no": "0"}
Answers = list[list[float] | None]


@dataclass(frozen=True)
class OpenTable:
    """A table to be checked: its cells that say something, and the sentences of its texts."""

    table: ComparisonTable
    rows: Sequence[Mapping[str, str]]
    cells: Sequence[tuple[int, Cell]]
    sentences: Sequence[str]

    def calls(self) -> list[Call]:
        """Return the calls about it: none about nothing."""
        pair = self.table.pair
        notes = [f"({NAMES[cell]}) {self.rows[number][cell]}" for number, cell in self.cells]
        texts = {"first": pair.generation_a.text, "second": pair.generation_b.text, "notes": numbered(notes)}
        table = "\n".join(" | ".join(_line(row[name]) for name in ("aspect", *CELLS)) for row in self.rows)
        calls_to_make = [(ENTAILMENT, texts, len(self.cells))] if self.cells else []
        if self.sentences:
            texts_shown = {"table": f"aspect | only A | both | only B\n{table}", "notes": numbered(self.sentences)}
            calls_to_make.append((COVERAGE, texts_shown, len(self.sentences)))
        return [
            Call(
                name.partition(".")[0],
                [{"role": "user", "content": load_prompt(name).render({}, texts)}],
                partial(read_lines, lines=lines),
                reusable=True,
                optional=True,
                example=numbered(["0.5"] * lines),
            )
            for name, texts, lines in calls_to_make
        ]

    def found(self, answers: Iterable[list[float] | None]) -> dict[str, Any] | None:
        """Return the result as it is stored, or `None` where an answer can't be read."""
        parts = list(answers)
        if None in parts:
            return None
        follow = dict(zip(self.cells, (parts.pop(0) or []) if self.cells else [], strict=True))
        covered = parts.pop(0) if self.sentences else None
        rows: list[dict[Cell, float | None]] = [
            {cell: follow.get((number, cell)) for cell in CELLS} for number in range(len(self.rows))
        ]
        check = summarize_scores(rows, threshold=SUPPORTED)
        return {
            "threshold": SUPPORTED,
            "cells": list(check.rows),
            "n": check.n,
            "missing": check.cells - check.n,
            "supported": check.supported,
            "support": check.support,
            "coverage": sum(covered) / len(covered) if covered else None,
            "sentences": len(self.sentences),
        }


def numbered(lines: Iterable[str]) -> str:
    """Number some texts, a line each."""
    return "\n".join(f"{number}: {_line(text)}" for number, text in enumerate(lines, 1))


def _line(text: str) -> str:
    return " ".join(text.split())


def read_lines(reply: Reply, *, lines: int) -> list[float]:
    """Read an answer of numbered lines, each with a score.

    Raises: UnparsedVerdict unless each number is there, with one score from 0 to 1
    """
    answers = {
        (int(match["number"]), float(WORDS.get(match["score"].lower(), match["score"])))
        for line in answer_lines(reply.text)
        if (match := LINE.match(line)) and len(match["number"]) < len(str(lines)) + 1
    }
    scores = [score for _, score in sorted(answers)]
    if sorted(number for number, _ in answers) != list(range(1, lines + 1)) or max(scores) > 1:
        raise UnparsedVerdict(reason("no_scores_in", number=lines, text=reply.text[-200:]))
    return scores


def name_of(endpoint: Endpoint) -> str:
    """Return the name under which the checks of an endpoint's model are stored."""
    return f"{endpoint.model} (entailment)"[-200:]


def require_tables(study: Study, variant: str) -> None:
    """Raise AnnotationError if a study has no tables, or none of a variant."""
    if not study.tables.filter(**({"variant": variant} if variant else {})).exists():
        raise AnnotationError(reason("no_such_tables", study=study.slug))


def estimate_entailment(
    study: Study, *, endpoint: Endpoint, variant: str = "", params: Mapping[str, Any] | None = None
) -> CallsEstimate:
    """Return what `check_entailment` would take."""
    tables, _checked = open_tables(study, endpoint=endpoint, variant=variant)
    return estimate_procedure(asking(tables), endpoint=endpoint, requests=AdhocRequests(endpoint, params=params))


def open_tables(study: Study, *, endpoint: Endpoint, variant: str) -> tuple[list[OpenTable], int]:
    """Return the tables without a check by an endpoint's model, and how many have one.

    Raises: BadSettings if another endpoint has checked tables under this model's name
    """
    tables = ComparisonTable.objects.filter(study=study, **({"variant": variant} if variant else {}))
    earlier = TableCheck.objects.filter(table__in=tables.values("pk"), model=name_of(endpoint))
    other_check = earlier.exclude(endpoint=endpoint).select_related("endpoint").first()
    if other_check is not None:
        named = {"model": other_check.model, "other": other_check.endpoint.name, "endpoint": endpoint.name}
        raise BadSettings(reason("checked_elsewhere", **named))
    results = []
    for table in with_texts(tables.exclude(pk__in=earlier.values("table"))).order_by("pk"):
        rows = rows_of(table.rows)
        statements: list[tuple[int, Cell]] = [
            (number, cell) for number, row in enumerate(rows) for cell in CELLS if not is_blank(row[cell])
        ]
        texts = (table.pair.generation_a.text, table.pair.generation_b.text)
        results.append(OpenTable(table, rows, statements, [sentence for text in texts for sentence in sentences(text)]))
    return results, earlier.count()


def asking(tables: Sequence[OpenTable]) -> Generator[Sequence[Call], list[Any], Answers]:
    """Ask about all tables at once. An answer that can't be read is `None`."""
    calls = [call for table in tables for call in table.calls()]
    answers: Answers = (yield calls) if calls else []
    return answers
