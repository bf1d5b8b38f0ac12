"""The answer of a study that only judges rated: what each of them says, how far they agree, and what to do next."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

Findings = Mapping[str, Any]
Said = tuple[str, list[str], dict[str, Any]]  # rule, evidence, values
LEAST_INSTANCES = 5  # below it nothing is claimed, as no interval is given
MOST_JUDGES = 5  # each with a sentence
PREFIX = "judge:"


def judges_alone(findings: Findings) -> Iterator[Said]:
    """Yield the sentences, if any judge was asked."""
    baselines = set(findings.get("baselines") or ())
    judges = list(
        dict.fromkeys(
            rater["rater"]
            for configuration in findings["configurations"]
            for rater in configuration["raters"]
            if rater["rater"].startswith(PREFIX)
        )
    )
    judges.sort(key=lambda judge: judge.removeprefix(PREFIX) in baselines)  # models first, in the order of the findings
    if not judges:
        return
    yield "judges_alone", ["configurations.raters"], {}
    for judge in judges[:MOST_JUDGES]:
        rule, evidence, values = _of_judge(findings, judge)
        name = judge.removeprefix(PREFIX)
        yield rule, evidence, {"judge": name, **values, **({"baseline": True} if name in baselines else {})}
    if more := len(judges[MOST_JUDGES:]):
        yield "judges_more", ["rankings"], {"number": more}
    if len(findings["judge_agreement"]["together"]) > 1:
        yield from _agreement(findings, baselines)
    yield _next(findings, are_baselines=all(judge.removeprefix(PREFIX) in baselines for judge in judges))


def _of_judge(findings: Findings, judge: str) -> Said:
    ranked = {ranking["measure"]: ranking for ranking in findings["rankings"] if ranking["rater"] == judge}
    rates = ranked["win_rate"]
    compared = [row for row in rates["systems"] if row["value"] is not None]
    evidence = [f"rankings.{judge}.win_rate"]
    if not compared:
        presentations = sum(
            rater.get("asked", 0)
            for configuration in findings["configurations"]
            for rater in configuration["raters"]
            if rater["rater"] == judge
        )
        return (
            ("judge_silent" if presentations else "judge_pending"),
            ["configurations.raters"],
            {"asked": presentations},
        )
    counts = counts_of(findings, judge)
    if not counts["a"] + counts["b"]:
        return "judge_all_ties", ["configurations.raters"], {"verdicts": counts["tie"]}
    ranking = ranked.get("bradley_terry", rates)
    first = ranking["first"]
    leader = next((row for row in compared if row["system"] == first["system"]), compared[0])
    if leader["n_instances"] < LEAST_INSTANCES or leader["low"] is None:
        return "judge_few", evidence, {"instances": leader["n_instances"], "needed": LEAST_INSTANCES}
    values = {
        "first": leader["system"],
        "rate": leader["value"],
        **{f"rate_{key}": leader[key] for key in ("low", "high", "level")},
        "instances": leader["n_instances"],
        **uneven(leader),
        **_position(findings, judge),
    }
    evidence += ["pooled.preferred_first"] * ("position" in values)
    if len(rates["systems"]) == 2:
        second = next(row["system"] for row in compared if row is not leader)
        return "judge_prefers" if leader["low"] > 0.5 else "judge_level", evidence, {**values, "second": second}
    evidence.append(f"rankings.{judge}.bradley_terry")
    if first["system"] is None:
        return (
            "judge_unranked",
            evidence[1:],
            {key: values[key] for key in values if key == "position"} | {"systems": len(compared)},
        )
    rule = {True: "judge_first", False: "judge_leads", None: "judge_untested"}[first["by_more_than_chance"]]
    return rule, evidence, {**values, "systems": len(compared)}


def counts_of(findings: Findings, rater: str) -> Counter[str]:
    """Count a rater's verdicts for A, for B and ties, over all configurations."""
    counts: Counter[str] = Counter()
    for configuration in findings["configurations"]:
        for own in configuration["raters"]:
            if own["rater"] == rater:
                counts.update(own["counts"])
    return counts


def uneven(estimate: Findings) -> dict[str, Any]:
    """Return the effective number of instances, where few of them have most of the verdicts."""
    return {"effective_n": estimate["effective_n"]} if "effective_n" in estimate else {}


def _position(findings: Findings, judge: str) -> dict[str, Any]:
    share = next((row for row in findings["pooled"]["preferred_first"] if row["rater"] == judge), None)
    if share is None or share["low"] is None:
        return {}
    return {"position": {key: share[key] for key in ("value", "low", "high")}}


def _agreement(findings: Findings, baselines: set[str]) -> Iterator[Said]:
    agreement = findings["judge_agreement"]
    raw, alpha = agreement["raw_agreement"], agreement["krippendorff_alpha"]["ordinal"]
    if raw["value"] is None:
        yield "judges_apart", ["judge_agreement"], {}
        return
    values = {"rate": raw["value"], **{f"rate_{key}": raw[key] for key in ("low", "high", "level")}}
    values["instances"] = raw["n_instances"]
    if baselines.difference(agreement["together"]):
        values["models_alone"] = True
    if alpha["value"] is None:
        yield "judges_agree", ["judge_agreement"], values
        return
    limits = {f"alpha_{key}": alpha[key] for key in ("low", "high", "level")}
    yield "judges_agree_alpha", ["judge_agreement"], {**values, "alpha": alpha["value"], **limits}


def _next(findings: Findings, *, are_baselines: bool) -> Said:
    agreement = findings["judge_agreement"]
    if are_baselines:
        return "let_model_judge", ["configurations.raters"], {}
    if agreement["different"]:
        counts = {key: agreement[key] for key in ("different", "pairs")}
        return "rate_differing_pairs", ["judge_agreement"], counts
    return "rate_pairs", ["configurations.raters"], {}
