"""A judge's contradictions with their texts and rationales: cycles of three, and verdicts that change with the order."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from django.db.models import Q

from annotation.models import Generation, Study
from judging.models import Judge, Judgment
from reporting.logic.audit import cycles, order_effects, preference_graphs
from reporting.logic.presentations import PENDING, Presentations

Answer = dict[str, Any]


def contradictions(
    study: Study, judge: Judge | None, asked: Presentations, *, most: int, question: int = 0
) -> dict[str, Any]:
    """Return the counts of both kinds, and of each kind the first ones with all that was shown and said.

    judge : whose rationales are shown; None for people, who give none here
    most  : how many of each kind are listed
    """
    found = {"cycles": cycles(preference_graphs(asked)), "order_effects": order_effects(asked)}
    listed = {kind: rows[:most] for kind, rows in found.items()}
    texts = _texts(asked, {item for rows in listed.values() for row in rows for item in row})
    steps = {kind: [_steps(kind, row) for row in rows] for kind, rows in listed.items()}
    presented = {step for rows in steps.values() for row in rows for step in row}
    said = _answers(study, judge, asked, presented, question)
    return {
        kind: {
            "count": len(found[kind]),
            "listed": [
                {
                    "instance_id": texts[row[0]]["instance_id"],
                    "texts": [{key: texts[item][key] for key in ("system", "index", "text")} for item in row],
                    "answers": [said[step] for step in _given(kind, shown, said)],
                }
                for row, shown in zip(rows, steps[kind], strict=True)
            ],
        }
        for kind, rows in listed.items()
    }


def _steps(kind: str, items: list[int]) -> list[tuple[int, int]]:
    """Return the presentations behind a contradiction, as the items shown first and second."""
    if kind == "order_effects":
        return [(items[0], items[1]), (items[1], items[0])]
    return [(min(pair), max(pair)) for pair in pairwise([*items, items[0]])]


def _given(kind: str, shown: list[tuple[int, int]], said: dict[tuple[int, int], Answer]) -> list[tuple[int, int]]:
    """Return the presentations that have an answer; a cycle's may have it in the other order only."""
    wanted = [step if step in said or kind == "order_effects" else step[::-1] for step in shown]
    return [step for step in wanted if step in said]


def _texts(asked: Presentations, items: Iterable[int]) -> dict[int, dict[str, Any]]:
    by_key = {int(asked.generation[item]): item for item in items}
    columns = ("pk", "instance__instance_id", "system__name", "index", "text")
    return {
        by_key[pk]: {"instance_id": instance, "system": system, "index": index, "text": text}
        for pk, instance, system, index, text in Generation.objects.filter(pk__in=by_key).values_list(*columns)
    }


def _answers(
    study: Study, judge: Judge | None, asked: Presentations, steps: set[tuple[int, int]], question: int
) -> dict[tuple[int, int], Answer]:
    """Return the latest first answer of the judge to each presentation: what was shown first, the verdict and the rationale."""
    if judge is None or not steps:
        return {}
    items = {int(asked.generation[item]): item for step in steps for item in step}
    stored = (
        Judgment.objects.of_question(question)
        .filter(Q(pair__generation_a__in=items) & Q(pair__generation_b__in=items))
        .filter(run__judge=judge, run__study=study, repeat=0, negated=False)
        .exclude(status=PENDING)
        .order_by("run__created_at", "run_id", "pk")
        .values_list(
            *("pair__generation_a_id", "pair__generation_b_id", "pair__generation_a__system__name"),
            *("pair__generation_b__system__name", "order", "verdict", "rationale"),
        )
    )
    found: dict[tuple[int, int], Answer] = {}
    for a, b, system_a, system_b, order, verdict, rationale in stored:
        a_first = order == Judgment.Order.AB
        step = (items[a], items[b]) if a_first else (items[b], items[a])
        preferred = {-1: system_a, 0: "tie", 1: system_b}.get(verdict)
        found[step] = {"shown_first": system_a if a_first else system_b, "preferred": preferred, "rationale": rationale}
    return found
