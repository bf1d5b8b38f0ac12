"""Candidates of a tuning, which differ from the judge in method, wording, examples and ties."""

from collections.abc import Mapping, Sequence
from typing import Any

from judging.calls.requests import setting_of
from judging.core.errors import BadSettings, JudgingError
from judging.methods import AskingMethod, find_method
from judging.methods.options import MOST_SHOTS
from judging.models import Judge, PromptFile
from judging.runs.judges import check_judge
from judging.wordings.prompt_files import find_prompt

METHODS = ("direct", "pairwise", "pairwise-cot", "few-shot", "pointwise")  # tried besides the judge's own
SHOTS = (1, 3, 5)
MOST = 32
EXAMPLES, LOGPROBS = "examples", "logprobs"
# Clearness below which a verdict is taken for a tie: shares, and points of scores.
THRESHOLDS = {"share": (0.0, 0.1, 0.2, 0.4, 0.6, 0.8), "points": (0.0, 0.25, 0.5, 1.0, 2.0)}
Candidate = dict[str, Any]  # method, prompt (NAME.vN or empty) and params; the first one is the untuned judge


def candidates_of(
    judge: Judge, *, methods: Sequence[str] = METHODS, prompts: Sequence[PromptFile] = (), shots: Sequence[int] = SHOTS
) -> list[Candidate]:
    """Return what is tried for a judge: itself, and each method with its own wording and with the prompts that fit it.

    shots : numbers of examples with few-shot, drawn from the votes; the task's own examples are tried too
    Raises: BadSettings for a judge that asks no model or was tuned itself, for a method that can't be tried, or for too much
    """
    method = find_method(judge.method)
    if not isinstance(method, AskingMethod) or judge.endpoint is None:
        raise BadSettings(f"judge {judge} can't be tuned: method {judge.method} asks no model")
    if judge.tuned:
        raise BadSettings(f"judge {judge} was created by tuning: tune the judge that it was created from")
    if odd := [number for number in shots if not 1 <= number <= MOST_SHOTS]:
        raise BadSettings(f"examples shown are 1 to {MOST_SHOTS}, got {odd[0]}")
    results = [{"method": judge.method, "prompt": str(judge.prompt_file or ""), "params": dict(judge.params)}]
    for name in methods:
        tried = find_method(name)
        if not isinstance(tried, AskingMethod):
            raise BadSettings(f"method {name} asks no model: it can't be tried")
        params = _params(judge, tried)
        wordings = ["", *(map(str, prompts) if getattr(tried, "own_wording", False) else ())]
        results += [{"method": name, "prompt": wording, "params": params} for wording in wordings]
        drawn = [{**params, "shots": number, EXAMPLES: "drawn"} for number in shots if EXAMPLES in tried.options]
        results += [{"method": name, "prompt": "", "params": with_examples} for with_examples in drawn]
    unique = [item for index, item in enumerate(results) if item not in results[:index]]
    if len(unique) < 2:
        raise BadSettings("there is only one candidate: give more methods or prompts")
    if len(unique) > MOST:
        raise BadSettings(
            f"{len(unique)} candidates are too many; at most {MOST}: give fewer methods, prompts or shots"
        )
    return unique


def _params(judge: Judge, method: AskingMethod) -> dict[str, Any]:
    """Return a judge's parameters for another method: what is sent stays, options stay where the method has them."""
    own = find_method(judge.method).options
    params = {name: value for name, value in judge.params.items() if name not in own or name in method.options}
    if LOGPROBS in method.options and judge.endpoint is not None and judge.endpoint.supports.get(LOGPROBS) is True:
        params.setdefault(LOGPROBS, True)  # they show how clear a verdict is
    return params


def as_judge(base: Judge, candidate: Candidate, *, name: str, examples: Sequence[Mapping[str, str]] = ()) -> Judge:
    """Return the judge of a candidate, not stored.

    Raises: BadSettings for settings that don't fit together
    """
    params = dict(candidate["params"])
    if params.get(EXAMPLES) == "drawn":
        params[EXAMPLES] = [dict(example) for example in examples[: params["shots"]]]
    fields = ("endpoint", "order", "combine", "task", "family", "seed", "system_prompt", "texts_first")
    shared = {field: getattr(base, field) for field in fields}
    judge = Judge(
        name=name,
        method=candidate["method"],
        prompt_file=find_prompt(candidate["prompt"]) if candidate["prompt"] else None,
        params=params,
        table_endpoint=base.table_endpoint if candidate["method"] == base.method else None,
        table_variant=base.table_variant if candidate["method"] == base.method else "",
        **shared,
    )
    try:
        check_judge(judge)
    except JudgingError as error:
        raise BadSettings(f"{described(candidate)} can't be tried: {error}") from error
    return judge


def settled_schemas(judge: Judge) -> dict[str, bool]:
    """Return what the last test of a judge's endpoints decides of its options, which a later test may change."""
    setting, options = setting_of(judge), find_method(judge.method).options
    schemas = {"schema": setting.schema, "verdict_schema": setting.verdict_schema}
    return {name: held for name, held in schemas.items() if judge.params.get(name, options.get(name)) == "auto"}


def described(candidate: Candidate) -> str:
    """Name a candidate in a few words."""
    params = candidate["params"]
    listed = {name: value for name, value in params.items() if name != EXAMPLES}
    parts = [candidate["method"], candidate["prompt"], *(f"{name}={value}" for name, value in listed.items())]
    return ", ".join([*filter(None, parts), *(["examples of the votes"] * (EXAMPLES in params))])
