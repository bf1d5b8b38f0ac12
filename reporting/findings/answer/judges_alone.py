"""The answer of a study that only judges rated: what each of them prefers, how far they agree, and what to do next."""

import math
from collections.abc import Iterator
from typing import Any

from analysis.intervals.multiple_testing import holm
from reporting.core.raters import PEOPLE
from reporting.core.text import JUDGE
from reporting.findings.answer.statements import (
    LEAST_INSTANCES,
    Findings,
    Statement,
    counts_of,
    estimate,
    leading_system,
    position_of_judges,
    uneven,
)


def judges_alone(findings: Findings) -> Iterator[Statement]:
    """Yield the headline and the statements, if there is a judge. Baselines count only where there is no other judge."""
    judges = [
        ranking["rater"].removeprefix(JUDGE) for ranking in findings["rankings"] if ranking["measure"] == "win_rate"
    ]
    judges = [judge for judge in judges if judge != PEOPLE]
    baselines = set(findings.get("baselines") or ())
    models = [judge for judge in judges if judge not in baselines]
    if not judges:
        return
    headline = headline_of(findings, models or judges)
    if not models:
        headline.values["baselines"] = True
    elif baselines.intersection(judges):
        headline.values["models_alone"] = True
    yield headline
    yield from agreement(findings)
    yield from position_of_judges(findings, models or judges)
    yield _next(findings, has_models=bool(models))


def headline_of(findings: Findings, judges: list[str]) -> Statement:
    """Say which system each judge prefers, by tests that Holm's method adjusts over the judges."""
    leading = {judge: _leading(findings, judge) for judge in judges}
    adjusted = holm([leader["p_value"] for leader in leading.values()]).tolist()
    results: dict[tuple[str, str], dict[str, Any]] = {}
    unadjusted = sum(_is_below_level(leader, leader["p_value"]) for leader in leading.values())
    for (judge, leader), p_value in zip(leading.items(), adjusted, strict=True):
        result, system = leader["result"], leader.get("system", "")
        if system and not _is_below_level(leader, p_value):
            result, system = "open", ""
        row = results.setdefault((result, system), {**leader, "result": result, "judges": []})
        row["judges"].append(judge)
    keys = ("result", "judges", "system", "other", "systems")
    shown = leading_system(findings)
    listed = sorted(results.values(), key=lambda row: row.get("system") != shown)
    values: dict[str, Any] = {"results": [{key: row[key] for key in keys if key in row} for row in listed]}
    if sum(len(row["judges"]) for row in results.values() if row["result"] in ("prefers", "first")) < unadjusted:
        tests = sum(not math.isnan(p_value) for p_value in adjusted)
        values |= {"unadjusted": unadjusted, "tests": tests}
    rated = {judge: leader for judge, leader in leading.items() if "rate" in leader}
    if not rated:
        return Statement("judge_silent", ["configurations.raters"], values)
    values["rates"] = [{"judge": judge, "system": leader["shown"], **leader["rate"]} for judge, leader in rated.items()]
    values["instances"] = max(leader["instances"] for leader in rated.values())
    if len(rated) > 1:
        return Statement("judges", ["rankings"], values)
    (leader,) = rated.values()
    values |= {"first": leader["shown"], "rate": leader["rate"], **uneven(leader["rate"])}
    return Statement("judge_alone", ["rankings"], values)


def _is_below_level(leader: Findings, p_value: float) -> bool:
    return "rate" in leader and p_value < 1 - leader["rate"]["level"]


def _leading(findings: Findings, judge: str) -> dict[str, Any]:
    """Return the system that a judge has first, and the p-value of its being first, or NaN without a test.

    The rate is its own, or of two systems that of the `leading_system` of all.
    """
    ranked = {ranking["measure"]: ranking for ranking in findings["rankings"] if ranking["rater"] == JUDGE + judge}
    rates = ranked["win_rate"]["systems"]
    compared, counts = [row for row in rates if row["value"] is not None], counts_of(findings, JUDGE + judge)
    if len(compared) < 2:
        return {"result": "silent", "p_value": math.nan}
    if not counts["a"] + counts["b"]:
        return {"result": "ties", "p_value": math.nan}
    first = ranked.get("bradley_terry", ranked["win_rate"])["first"]
    row = next((row for row in compared if row["system"] == first["system"]), compared[0])
    if row["n_instances"] < LEAST_INSTANCES or row["low"] is None:
        return {"result": "few", "p_value": math.nan}
    leading = leading_system(findings)
    shown = next((item for item in compared if item["system"] == leading), row)
    p_value, is_ahead = first.get("p_value"), first["system"] is not None and (len(rates) > 2 or row["low"] > 0.5)
    return {
        "result": "prefers" if len(rates) == 2 else "first",
        "system": row["system"],
        "other": next(other["system"] for other in compared if other is not row),
        "systems": len(compared),
        "shown": shown["system"],
        "rate": {**estimate(shown), **uneven(shown)},
        "instances": row["n_instances"],
        "p_value": math.nan if p_value is None else p_value if is_ahead else 1.0,
    }


def agreement(findings: Findings) -> Iterator[Statement]:
    agreement = findings["judge_agreement"]
    if len(agreement["together"]) < 2:
        return
    raw, alpha = agreement["raw_agreement"], agreement["krippendorff_alpha"]["ordinal"]
    if raw["value"] is None:
        yield Statement("judges_apart", ["judge_agreement"])
        return
    values = {"rate": estimate(raw), "instances": raw["n_instances"]}
    if alpha["value"] is None:
        yield Statement("judges_agree", ["judge_agreement"], values)
    else:
        yield Statement(
            "judges_agree_alpha", ["judge_agreement"], {**values, "alpha": estimate(alpha), **_farthest(agreement)}
        )


def _farthest(agreement: Findings) -> dict[str, Any]:
    """Return the two judges that agree least, where there are more than two."""
    together = set(agreement["together"])
    pairs = [
        row
        for row in agreement["judges"]
        if {row["judge_a"], row["judge_b"]} <= together and row["agreement"]["value"] is not None
    ]
    if len(pairs) < 2:
        return {}
    pair = min(pairs, key=lambda row: row["agreement"]["value"])
    return {"least_alike": estimate(pair["agreement"]), "judge_a": pair["judge_a"], "judge_b": pair["judge_b"]}


def _next(findings: Findings, *, has_models: bool) -> Statement:
    agreement = findings["judge_agreement"]
    if not has_models:
        return Statement("let_model_judge", ["configurations.raters"])
    if agreement["different"]:
        counts = {key: agreement[key] for key in ("different", "pairs", "different_on") if key in agreement}
        return Statement("rate_differing_pairs", ["judge_agreement"], counts)
    return Statement("rate_pairs", ["configurations.raters"])
