"""A judge's contradictions with their texts and rationales: cycles of three, and verdicts that change with the order."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from django.db.models import Q

from annotation.core.conversations import stored_content
from annotation.models import Generation, Pair, Study
from judging.models import Judge, Judgment
from judging.outcomes.judgments import verdicts_by_pair
from reporting.logic.answers import PENDING
from reporting.logic.presentations import Presentations

Answer = dict[str, Any]


def opened(
    study: Study,
    judge: Judge | None,
    presentations: Presentations,
    kind: str,
    rows: Sequence[list[int]],
    *,
    question: int = 0,
) -> list[dict[str, Any]]:
    """Return contradictions of a kind with all that was shown and said.

    judge : whose rationales are shown; None for people, who give none here
    rows  : items of each, as of `audit.found_in`
    """
    items = {item for row in rows for item in row}
    by_key = {int(presentations.generation[item]): item for item in items}
    columns = ("pk", "instance__instance_id", "system__name", "index", "text", "messages")
    texts = {
        by_key[pk]: {"instance_id": instance, "system": system, "index": index, "text": stored_content(*content)}
        for pk, instance, system, index, *content in Generation.objects.filter(pk__in=by_key).values_list(*columns)
    }
    steps = [_steps(kind, row) for row in rows]
    answers = _answers(study, judge, presentations, {step for row in steps for step in row}, question)
    return [
        {
            "instance_id": texts[row[0]]["instance_id"],
            "texts": [{key: texts[item][key] for key in ("system", "index", "text")} for item in row],
            "answers": [answers[step] for step in _given(kind, entry, answers)],
        }
        for row, entry in zip(rows, steps, strict=True)
    ]


def _steps(kind: str, items: list[int]) -> list[tuple[int, int]]:
    """Return the presentations behind a contradiction, as the items shown first and second."""
    if kind == "order_effects":
        return [(items[0], items[1]), (items[1], items[0])]
    return [(min(pair), max(pair)) for pair in pairwise([*items, items[0]])]


def _given(kind: str, steps: list[tuple[int, int]], answers: dict[tuple[int, int], Answer]) -> list[tuple[int, int]]:
    """Return the presentations that have an answer. A cycle's may have it in the other order only."""
    steps_given = [step if step in answers or kind == "order_effects" else step[::-1] for step in steps]
    return [step for step in steps_given if step in answers]


def _answers(
    study: Study, judge: Judge | None, presentations: Presentations, steps: set[tuple[int, int]], question: int
) -> dict[tuple[int, int], Answer]:
    """Return the latest first answer of the judge to each presentation: what was shown first, what was preferred and the rationale.

    preferred : a system, None for a tie and where the answer was not read
    """
    if judge is None or not steps:
        return {}
    items = {int(presentations.generation[item]): item for step in steps for item in step}
    stored = (
        Judgment.objects.for_question(question)
        .filter(Q(pair__generation_a__in=items) & Q(pair__generation_b__in=items))
        .filter(run__judge=judge, run__study=study, repeat=0, negated=False)
        .exclude(status=PENDING)
        .order_by("run__created_at", "run_id", "pk")
        .values_list(
            *("pair__generation_a_id", "pair__generation_b_id", "pair__generation_a__system__name"),
            *("pair__generation_b__system__name", "order", "verdict", "rationale"),
        )
    )
    return _by_presentation(_of_jury(study, judge, items, question) if judge.is_jury else stored, items)


def _of_jury(study: Study, jury: Judge, items: Iterable[int], question: int) -> list[tuple[Any, ...]]:
    """Return a jury's verdicts on pairs of these texts, as if A were first."""
    verdicts = verdicts_by_pair(study, jury, question=question)
    pairs = Pair.objects.filter(generation_a__in=items, generation_b__in=items).order_by()
    names = ("generation_a_id", "generation_b_id", "generation_a__system__name", "generation_b__system__name")
    rows = pairs.values_list("pk", *names)
    return [(*row, Judgment.Order.AB, verdicts[pk], "") for pk, *row in rows if pk in verdicts]


def _by_presentation(stored: Iterable[tuple[Any, ...]], items: dict[int, int]) -> dict[tuple[int, int], Answer]:
    result: dict[tuple[int, int], Answer] = {}
    for a, b, system_a, system_b, order, verdict, rationale in stored:
        a_first = order == Judgment.Order.AB
        step = (items[a], items[b]) if a_first else (items[b], items[a])
        result[step] = {
            "shown_first": system_a if a_first else system_b,
            "preferred": {-1: system_a, 1: system_b}.get(verdict),
            "is_tie": verdict == 0,
            "rationale": rationale,
        }
    return result
