"""Judgments in long form: a row for each presentation, with what it took."""

from collections.abc import Container, Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Any

from annotation.models import Pair, Study
from annotation.questions.questions import Question
from annotation.studies.questions import named_questions
from judging.models import Judge, Judgment
from judging.outcomes.judgments import jury_answers
from judging.outcomes.presented import PENDING
from judging.outcomes.provenance import completions_with_cut_prompts

EXPORT_CHUNK = 1000

# The columns of an exported row that are read from the database unchanged.
FIELDS = {
    "id": "pk",
    "study": "run__study__slug",
    "batch": "run__batch__name",
    "instance_id": "pair__matchup__instance__instance_id",
    "dataset": "pair__matchup__instance__dataset",
    "pair_index": "pair__index",
    "system_a": "pair__matchup__system_a__name",
    "system_b": "pair__matchup__system_b__name",
    "generation_a_index": "pair__generation_a__index",
    "generation_b_index": "pair__generation_b__index",
    "shown_first": "order",
    "rating": "verdict",
    "reason": "failure",
    "rated_at": "judged_at",
    "software_version": "run__software_version",
    "judge": "run__judge__name",
    "method": "run__judge__method",
    "model": "run__judge__endpoint__model",
    "params": "run__judge__params",
} | {
    name: name
    for name in (
        *("prompt_version", "order", "repeat", "negated", "question", "status", "verdict", "p_b", "score_a", "score_b"),
        *("rationale", "calls", "prompt_tokens", "completion_tokens", "cost", "token_mass"),
    )
}
NAMES = {"served_models": "served_model", "fingerprints": "fingerprint", "providers": "provider"}
NOT_OF_JUDGES = {
    "hit": None,
    "rater_kind": "judge",
    "stage": "first",
    "arm": "",
    "table_variant": "",
    "active_seconds": None,
    "wall_seconds": None,
    "late": False,
    "excluded": False,
    "exclusion_reason": "",
}


_PLACE = ("matchup__instance__position", "matchup__system_a__position", "matchup__system_b__position", "index")
RECORDS = {"run": "run_id", "pair": "pair_id"}  # primary keys, for rows that name their records


def judgment_rows(study: Study, more: Mapping[str, str] = MappingProxyType({})) -> Iterator[dict[str, Any]]:
    """Yield every presentation that was asked, in a stable order. Unknown values are `None`.

    `question` is the key of the question, where the study asks several; else it is left out.
    Repeats and negated questions are separate rows; findings use repeat 0 of the plain question. `reason` says why there
    is no verdict. `prompt_cut`: the prompt of one of its answers was probably cut. Tokens and milliseconds are summed over the completions behind a row, which rows may share. `cost` was
    paid for this row alone: the column sums to the total cost. A jury has a row for each pair, without an order, made of its
    members' when it is read.

    more : `RECORDS`, or nothing
    """
    fields = {**FIELDS, **more}
    questions = named_questions(study)
    stored = (
        Judgment.objects.filter(run__study=study)
        .exclude(status=PENDING)
        .order_by(
            *("run__judge__name", "run_id"),
            *(f"pair__{name}" for name in _PLACE),
            *("order", "repeat", "negated", "question"),
        )
        .values_list(*fields.values())
        .iterator(chunk_size=EXPORT_CHUNK)
    )
    cut = completions_with_cut_prompts(study.judge_runs.values_list("pk", flat=True))
    while chunk := list(islice(stored, EXPORT_CHUNK)):
        rows = [dict(zip(fields, values, strict=True)) for values in chunk]
        spent = _spent([row["id"] for row in rows], cut)
        for row in rows:
            number = row.pop("question")
            named = {"question": questions[number].key} if questions else {}
            yield {**_export_row(row, spent.get(row.pop("id"), [])), **named}
    yield from _jury_rows(study, fields, questions)


def _jury_rows(study: Study, fields: Mapping[str, str], questions: Mapping[int, Question]) -> Iterator[dict[str, Any]]:
    """Yield the rows of juries: one for each pair that a member was asked about, without an order."""
    runs = study.judge_runs.filter(judge__method=Judge.JURY).select_related("judge").order_by("judge__name", "pk")
    position_fields = [name for name, path in fields.items() if path.startswith("pair")]
    for run, number in ((jury_run, number) for jury_run in runs for number in jury_run.questions):
        answers = jury_answers(study, run.judge, question=number)
        stored = Pair.objects.filter(matchup__instance__study=study).order_by(*_PLACE)
        paths = [fields[name].removeprefix("pair__").replace("pair_id", "pk") for name in position_fields]
        for pk, *values in stored.values_list("pk", *paths).iterator(chunk_size=EXPORT_CHUNK):
            if pk not in answers:
                continue
            status, verdict = answers[pk]
            row = {
                **dict.fromkeys(fields),
                **dict(zip(position_fields, values, strict=True)),
                **({"run": run.pk} if "run" in fields else {}),
                "study": study.slug,
                "judge": run.judge.name,
                "method": run.judge.method,
                "params": run.judge.params,
                "software_version": run.software_version,
                **dict.fromkeys(("rationale", "prompt_version", "order"), ""),
                "repeat": 0,
                "negated": False,
                "calls": 0,
                "rating": verdict,
                "verdict": verdict,
                "status": status,
                "reason": "" if verdict is not None else "no member has a verdict",
            }
            named = {"question": questions[number].key} if questions else {}
            del row["id"], row["question"]
            yield {**_export_row(row, []), "shown_first": "", **named}


def _export_row(row: dict[str, Any], completions: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        **NOT_OF_JUDGES,
        **row,
        "reason": str(row["reason"]),
        "rater": f"judge:{row['judge']}",
        "shown_first": "a" if row["order"] == Judgment.Order.AB else "b",
        "rated_at": row["rated_at"] and row["rated_at"].isoformat(),
        "prompt_tokens": _total(completions, "prompt_tokens", row["prompt_tokens"]),
        "completion_tokens": _total(completions, "completion_tokens", row["completion_tokens"]),
        "cost": None if row["cost"] is None else float(row["cost"]),  # exact to eight decimals below ten million
        "latency_ms": _total(completions, "latency_ms"),
        "completion_keys": [item["cache_key"] for item in completions if item["cache_key"]],
        "token_mass": row["token_mass"],
        **{column: sorted({item[name] for item in completions} - {""}) for column, name in NAMES.items()},
        "prompt_cut": any(completion["is_cut"] for completion in completions) if completions else None,
    }


def _spent(judgment_ids: list[int], cut: Container[int]) -> dict[int, list[dict[str, Any]]]:
    """Return the usage of each judgment's completions and who answered, in the order of the samples."""
    names = ("id", "cache_key", "prompt_tokens", "completion_tokens", "latency_ms", *NAMES.values())
    links = (
        Judgment.completions.through.objects.filter(judgment_id__in=judgment_ids)
        .order_by("judgment_id", "completion__sample", "completion_id")
        .values_list("judgment_id", *(f"completion__{name}" for name in names))
    )
    spent: dict[int, list[dict[str, Any]]] = {}
    for judgment_id, *values in links:
        used = dict(zip(names, values, strict=True))
        spent.setdefault(judgment_id, []).append({**used, "is_cut": used["id"] in cut})
    return spent


def _total(completions: list[dict[str, Any]], name: str, stored: float | None = None) -> float | None:
    """Sum over the completions, or return the `stored` value of a row without any, such as an imported one."""
    if not completions:
        return stored
    values = [completion[name] for completion in completions if completion[name] is not None]
    return sum(values) if values else None
