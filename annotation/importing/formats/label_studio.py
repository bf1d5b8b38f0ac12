"""Label Studio's pairwise tasks: two texts, people's annotations (left or right, or a choice `tie`), models' predictions."""

from collections.abc import Iterator
from typing import Any

from annotation.core.names import trim
from annotation.core.refusals import refusal
from annotation.importing.formats.comparisons import Comparison, Fields, moment

SIDES = {"left": -1, "right": 1}
TIE = "tie"
# Names in a task's data, by the texts that they hold; others are named when the file is read.
DATA = {"source": "prompt", "left": "left", "right": "right"}
NAMES = ("left_system", "right_system")


def read_task(fields: Fields, *, dataset: str, source: str = "", left: str = "", right: str = "") -> list[Comparison]:
    """Read one task. The names are those in its data."""
    data = fields.record.get("data")
    if not isinstance(data, dict):
        fields.problems.append(refusal("missing", field="data"))
        return []
    task = Fields(fields.number, data)
    prompt = task.content(source or DATA["source"])
    texts = tuple(task.content(name, may_be_blank=True) for name in (left or DATA["left"], right or DATA["right"]))
    # Where a task does not say whose texts they are, the sides are compared.
    systems = tuple(task.name(name, default=name.removesuffix("_system")) for name in NAMES)
    instance: dict[str, Any] = {**task.place(prompt, dataset, "task"), "systems": systems, "texts": texts}
    fields.problems += task.problems
    return [
        Comparison(
            fields.number,
            **instance,
            rater=trim(rater),
            by_judge=by_judge,
            verdict=verdict,
            rated_at=moment(answer.get("created_at")),
            repeat=answer["repeat"] if isinstance(answer.get("repeat"), int) else 0,
        )
        for answer, rater, by_judge in _answers(fields)
        for verdict in _verdicts(fields, answer)
    ]


def _answers(fields: Fields) -> Iterator[tuple[dict[str, Any], str, bool]]:
    """Yield people's annotations that were not cancelled, and models' predictions, with who made them."""
    for kind in ("annotations", "predictions"):
        answers = fields.record.get(kind) or []
        if not isinstance(answers, list) or not all(isinstance(answer, dict) for answer in answers):
            fields.problems.append(refusal("not_objects", field=kind))
            continue
        for answer in answers:
            if kind == "predictions":
                yield answer, str(answer.get("model_version") or "model"), True
            elif not answer.get("was_cancelled"):
                by = answer.get("completed_by")
                named = by.get("id") if isinstance(by, dict) else by
                yield answer, str(answer.get("rater") or f"label-studio-{named}"), False


def _verdicts(fields: Fields, answer: dict[str, Any]) -> Iterator[int]:
    """Yield the verdict of an answer, which may hold regions of other kinds. A missing one is a problem."""
    result = answer.get("result")
    for region in result if isinstance(result, list) else []:
        value = region.get("value") if isinstance(region, dict) else None
        if not isinstance(value, dict):
            continue
        if region.get("type") == "pairwise" and value.get("selected") in SIDES:
            yield SIDES[value["selected"]]
            return
        choices = value.get("choices")
        if isinstance(choices, list) and [str(choice).lower() for choice in choices] == [TIE]:
            yield 0
            return
    fields.problems.append(refusal("no_selection"))
