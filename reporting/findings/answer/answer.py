"""The answer of a study: a headline and up to five statements that follow from the findings by rule, each with its evidence."""

from collections.abc import Iterable, Iterator, Mapping
from statistics import NormalDist
from typing import Any, cast

from analysis.intervals.jackknife import student_quantile
from analysis.judges.non_inferiority import POWER
from analysis.planning.sample_sizes import instances_needed
from analysis.planning.variance import Components
from analysis.ranking.settling import CHANCE
from reporting.core.estimates import IntervalSettings
from reporting.core.raters import PEOPLE
from reporting.core.text import JUDGE
from reporting.findings.answer.answer_text import english
from reporting.findings.answer.judges_alone import headline_of as headline_of_judges
from reporting.findings.answer.judges_alone import judges_alone
from reporting.findings.answer.planned import CLAIM_OF_RULE, status_of
from reporting.findings.answer.statements import (
    LEAST_INSTANCES,
    Statement,
    counts_of,
    estimate,
    has_one_pair,
    length_rule,
    outer_means,
    position_of_judges,
    rises,
    unchanged_by_length,
    uneven,
    without_baselines,
)
from reporting.findings.data.separability_bins import lacks_separability
from reporting.findings.judges.verdicts import (
    MAY_REPLACE,
    OUT_OF_REACH,
    UNTESTED,
    alternative_text,
    correction_text,
    next_bin_text,
)
from reporting.findings.reasons import UNEQUAL

Findings = Mapping[str, Any]
MOST_STATEMENTS = 5  # below the headline
MOST_NAMED = 3  # systems in one sentence
UNEVEN = 1.5  # times as many verdicts on two systems as on two others: below it their order is hardly another one
# From the best verdict on a judge down; see reporting.findings.judges.verdicts.
VERDICTS = (*MAY_REPLACE, "narrow", "open", "few", "chance", "worse", "nothing")
SKEWED = 1.1  # times as far below a difference as above it: the limit is the test's, not Student's


def answer(findings: Findings) -> list[dict[str, Any]]:
    """Return the sentences as {rule, values, text, evidence}. `text` is English, `evidence` names keys of findings.

    With a frozen plan, claims have a `plan` too: planned or exploratory.

    The first is the headline: who is preferred, or that it is open. Then follow the first five of: that programs rated under
    “people”, or that votes are still coming in; how consistent raters are; how far people agree; which judge may replace a rater,
    and which prefers another system; what length does; what would settle it; that consistency rises; which judge has a position
    bias; that the effect of length is unknown. Where judges alone rated, all are about them.
    """
    if not findings["configurations"]:
        statements = [Statement("no_data")]
    elif not any(configuration["raters"][0]["ratings"] for configuration in findings["configurations"]):
        statements = list(judges_alone(findings)) or [Statement("no_ratings", ["configurations.raters"])]
        statements[1:1] = _collecting(findings)
    else:
        headline = headline_of(findings)
        length = [
            Statement(rule, ["length_adjusted"], values) for rule, values in filter(None, [length_rule(findings)])
        ]
        if not length:
            headline.values.update(unchanged_by_length(findings, headline.values.get("first")))
        changes = [statement for statement in length if CLAIM_OF_RULE.get(statement.rule)]
        statements = [
            *_scripted(findings),
            *_collecting(findings),
            *_consistency(findings),
            *agreement(findings),
            *_judges(findings),
            *_judges_that_differ(findings, headline),
            *changes,
            *_missing(findings, headline),
            *consistency_rises(findings),
            *_position_of_judges(findings),
            *(statement for statement in length if statement not in changes),
        ]
        if statements[:1] and statements[0].rule == "all_scripted":
            headline.values["by_programs"] = True
        statements = [headline, *statements[:MOST_STATEMENTS]]
    return [_as_json(statement, findings) for statement in statements]


def being_computed() -> list[dict[str, Any]]:
    """Return the answer of a first pass, which has no intervals: that it is being computed."""
    return [_as_json(Statement("being_computed"), {})]


def _as_json(statement: Statement, findings: Findings) -> dict[str, Any]:
    status = status_of(CLAIM_OF_RULE.get(statement.rule), findings)
    return {
        **({"plan": status} if status else {}),
        "rule": statement.rule,
        "values": statement.values,
        "evidence": statement.evidence,
        "text": english(statement.rule, statement.values),
    }


def _ranking(findings: Findings, measure: str) -> Findings | None:
    return next(
        (ranking for ranking in findings["rankings"] if ranking["rater"] == PEOPLE and ranking["measure"] == measure),
        None,
    )


def _collecting(findings: Findings) -> Iterator[Statement]:
    """Say why intervals are wider while a batch collects votes."""
    if findings.get("horizon"):
        yield Statement("collecting", ["horizon"], {})


def _scripted(findings: Findings) -> Iterator[Statement]:
    raters = findings.get("raters") or ()
    if scripted := sum(rater["scripted"] for rater in raters):
        rule = "all_scripted" if scripted == len(raters) else "scripted"
        yield Statement(rule, ["raters.scripted"], {"scripted": scripted, "raters": len(raters)})


def headline_of(findings: Findings) -> Statement:
    rates = _ranking(findings, "win_rate")
    evidence = [f"rankings.{PEOPLE}.win_rate"]
    compared = [row for row in rates["systems"] if row["value"] is not None] if rates else []
    counts = counts_of(findings, PEOPLE)
    if counts["tie"] and not counts["a"] + counts["b"]:
        return Statement("all_ties", ["configurations.raters"], {"ratings": counts["tie"]})
    if rates is None or len(compared) < 2:
        return Statement("no_ratings", ["configurations.raters"])
    if len(rates["systems"]) > 2:
        return _of_many(findings, rates)
    first, second = compared  # their rates mirror each other
    if first["n_instances"] < LEAST_INSTANCES or first["low"] is None:
        return _too_few(first, evidence)
    values = {
        "first": first["system"],
        "second": second["system"],
        "rate": estimate(first),
        "instances": first["n_instances"],
        "sample": _sample(first),
        **uneven(first),
    }
    return Statement("preferred" if first["low"] > 0.5 else "no_preference", evidence, values)


def _too_few(row: Findings, evidence: list[str]) -> Statement:
    return Statement("too_few", evidence, {"instances": row["n_instances"], "needed": LEAST_INSTANCES})


def _of_many(findings: Findings, rates: Findings) -> Statement:
    """Say who is first by Bradley and Terry's model, with the win rates of the first two."""
    strengths = _ranking(findings, "bradley_terry")
    evidence = [f"rankings.{PEOPLE}.bradley_terry", f"rankings.{PEOPLE}.win_rate"]
    if strengths is None:
        return Statement("unranked", evidence[1:], {"systems": len(rates["systems"])})
    ranked = [row for row in strengths["systems"] if row["value"] is not None]
    systems = {"systems": len(ranked)}
    if len(groups := strengths.get("groups", [])) > 1:
        return Statement("disconnected", evidence[:1], {**systems, "groups": len(groups)})
    verdict, (leader, second, *_) = strengths["first"], ranked
    if verdict["system"] is None:
        return Statement("unranked", evidence[:1], systems)
    if leader["n_instances"] < LEAST_INSTANCES:
        return _too_few(leader, evidence)
    row_of = {row["system"]: row for row in rates["systems"]}
    values = {
        **systems,
        "first": leader["system"],
        "rate": estimate(row_of[leader["system"]]),
        "opponents": len(leader.get("opponents") or ranked[1:]),
        "rank": _rank(leader),
        "second": second["system"],
        "second_rate": estimate(row_of[second["system"]]),
        "second_rank": _rank(second),
        "settled": {"places": strengths["settled"], "of": len(ranked)},
        "instances": leader["n_instances"],
        "sample": _sample(leader),
        "second_sample": _sample(second),
        **{key: verdict[key] for key in ("p_value", "against") if key in verdict},
        **uneven(row_of[leader["system"]]),
        **({"unequal": True} if rates["first"].get("why_code") == UNEQUAL.code and _is_uneven(ranked) else {}),
    }
    rule = {True: "first", False: "leads", None: "untested"}[verdict["by_more_than_chance"]]
    if rule == "untested" and "why" in verdict:
        values["why"] = verdict["why"]
    return Statement(rule, [*evidence, *(["system_tests"] if findings.get("system_tests") else [])], values)


def _sample(row: Findings) -> dict[str, int]:
    clusters = {"clusters": row["n_clusters"]} if "n_clusters" in row else {}
    return {"instances": row["n_instances"], **clusters}


def _is_uneven(ranked: list[Findings]) -> bool:
    """Tell whether some two systems never met, or met much less often than others."""
    opponents = [row.get("opponents") or {} for row in ranked]
    counts = [count for met in opponents for count in met.values()]
    never_met = any(len(met) < len(ranked) - 1 for met in opponents)
    return never_met or max(counts) > UNEVEN * min(counts)


def _rank(row: Findings) -> dict[str, Any]:
    return {"value": row["rank"], "low": row["rank_low"], "high": row["rank_high"]}


def _consistency(findings: Findings) -> Iterator[Statement]:
    """Say how often a rater chooses the same system on all pairs of an instance, where each instance has several pairs."""
    if any(has_one_pair([configuration]) for configuration in findings["configurations"]):
        return
    share = next(row for row in findings["pooled"]["fully_consistent"] if row["rater"] == PEOPLE)
    evidence = ["pooled.fully_consistent"]
    if share["value"] is None:
        if share["excluded"]:
            yield Statement("all_incomplete", evidence, {"rating_sets": share["excluded"]})
        return
    values = {"share": estimate(share), "sets": share["n"], "instances": share["n_instances"]}
    if findings.get("filters", {}).get("with_incomplete"):
        values["with_incomplete"] = True
    elif share["excluded"]:
        values["left_out"] = share["excluded"]
    if (independent := _independent(findings)) is not None and "with_incomplete" not in values:
        values["independent"] = independent
        if share["low"] is not None:
            is_below, is_above = independent < share["low"], independent > share["high"]
            values["below" if is_below else "above" if is_above else "within"] = True
    yield Statement("consistency", evidence, values)


def _independent(findings: Findings) -> float | None:
    """Return the share of fully consistent rating sets if each vote were independent, at its configuration's shares."""
    sets, consistent = 0, 0.0
    for configuration in findings["configurations"]:
        people = configuration["raters"][0]
        number = sum(people.get("consistency_distribution", {}).values())
        pairs, rest = divmod(configuration["pairs"], configuration["instances"])
        if not number or rest:
            return None
        ratings = sum(people["counts"].values())
        sets += number
        consistent += number * sum((people["counts"][side] / ratings) ** pairs for side in "ab")
    return consistent / sets if sets else None


def consistency_rises(findings: Findings) -> Iterator[Statement]:
    """Say that consistency rises with separability."""
    means = outer_means(findings)
    if rises(means) and not has_one_pair(findings["configurations"]):
        values: dict[str, Any] = {}
        for name, (bin_, mean) in zip(("least", "most"), means, strict=True):
            values |= {name: estimate(mean), f"{name}_from": bin_["low"], f"{name}_to": bin_["high"]}
        yield Statement("rises", ["pooled.mean_consistency_by_bin"], values)


def agreement(findings: Findings) -> Iterator[Statement]:
    agreement = findings["pooled"]["people_agreement"]
    raw, alpha = agreement["raw_agreement"], agreement["krippendorff_alpha"]["ordinal"]
    evidence = ["pooled.people_agreement.raw_agreement", "pooled.people_agreement.krippendorff_alpha"]
    if raw["value"] is None:
        yield Statement("agreement_unknown", evidence[:1])
        return
    values = {"rate": estimate(raw), "instances": raw["n_instances"]}
    if alpha["value"] is None:
        yield Statement("agreement", evidence[:1], values)
        return
    values["alpha"] = estimate(alpha)
    verdicts = [judge["verdict"] for judge in findings.get("replacement") or ()]
    by_chance = next((row["values"].get("by_chance") for row in verdicts if row["rule"] == "chance"), None)
    if alpha["low"] is None and by_chance is not None:
        yield Statement("agreement_not_shown", evidence, {**values, "by_chance": by_chance})
        return
    tested = "alpha" if alpha["low"] is None else "above_chance" if alpha["low"] > 0 else "by_chance"
    yield Statement(f"agreement_{tested}", evidence, values)


def _judges(findings: Findings) -> Iterator[Statement]:
    """Say which judge may replace a rater, or which comes closest to it."""
    every = [judge for judge in findings.get("replacement") or () if judge["verdict"]["rule"] in VERDICTS]
    judges = without_baselines(every, findings)
    if not judges:
        return
    left_out = {"models_alone": True} if len(judges) < len(every) else {}
    tested = [judge for judge in judges if judge["verdict"]["rule"] not in UNTESTED]
    if not tested:
        instances = max(judge["verdict"]["values"].get("instances", 0) for judge in judges)
        yield Statement("judges_untested", ["replacement"], {"instances": instances, "needed": LEAST_INSTANCES})
        return
    best = min(tested, key=_standing)
    rules, details = {judge["verdict"]["rule"] for judge in tested}, best["verdict"]["values"]
    rule = best["verdict"]["rule"]
    if rule == "chance":
        keys = ("above_chance", "instances")
        yield Statement("judges_chance", ["replacement"], {key: details[key] for key in keys})
        return
    values = {"judge": best["judge"], "difference": estimate({**details, "value": details["difference"]})}
    values |= {key: details[key] for key in ("epsilon", "from", "kappa") if key in details}
    if details["low"] is not None and _reach(details, "low") > SKEWED * _reach(details, "high"):
        values["skewed"] = True
    if rule == "narrow":
        values["correction"] = correction_text(details)
    if rule in MAY_REPLACE:
        can = sum(judge["verdict"]["rule"] in MAY_REPLACE for judge in judges)
        values |= {"also": can, "judges": len(judges), **left_out} if len(judges) > 1 else left_out
        if "next_bin" in details:
            values["next_bin"] = next_bin_text(rule, details)
        if details["alternative"].get("won") is not None:
            values["alternative"] = alternative_text(details["alternative"])
        yield Statement("judge_may_from" if rule == "from" else "judge_may", ["replacement"], values)
        return
    if until := best["verdict"].get("until"):
        values |= {"until": until, "instances": details["instances"], "chance": POWER}
    several, evidence = len(judges) > 1, ["replacement"]
    if alike := _alike(best["judge"], {judge["judge"] for judge in judges}, findings.get("judge_tests") or ()):
        values["alike"], evidence = alike, [*evidence, "judge_tests"]
    values |= left_out
    is_worse = rules == {"worse"} and len(tested) == len(judges)
    yield Statement(f"judge{'s' * several}_{'worse' if is_worse else 'open'}", evidence, values)


def _reach(details: Findings, end: str) -> float:
    return float(abs(details[end] - details["difference"]))


def _alike(judge: str, judges: set[str], tests: Iterable[Findings]) -> int:
    """Count the other judges that are not shown to agree less with people than this one."""
    farther = set()
    for test in tests:
        adjusted, difference = test["adjusted"], test["difference"]
        other, nearer = test["judge_a"], test["judge_b"]
        if (difference["value"] or 0) > 0:
            nearer, other = other, nearer
        if nearer == judge and adjusted is not None and adjusted < 1 - difference["level"]:
            farther.add(other)
    return len(judges - {judge} - farther)


def _standing(judge: Findings) -> tuple[bool, int, float, str]:
    rule, values = judge["verdict"]["rule"], judge["verdict"]["values"]
    difference = float("-inf") if values.get("difference") is None else values["difference"]
    return "kappa" in values, VERDICTS.index(rule), -difference, judge["judge"]


def _judges_that_differ(findings: Findings, headline: Statement) -> Iterator[Statement]:
    """Name judges that prefer another system than people do, or put another one first."""
    judges = [
        {"judge": row["rater"].removeprefix(JUDGE)}
        for row in findings["rankings"]
        if row["measure"] == "win_rate" and row["rater"] != PEOPLE
    ]
    names = [judge["judge"] for judge in without_baselines(judges, findings)]
    if headline.rule not in ("preferred", "first") or not names:
        return
    values = headline_of_judges(findings, names).values
    differing = [
        row
        for row in values["results"]
        if row["result"] in ("prefers", "first") and row["system"] != headline.values["first"]
    ]
    named = {judge for row in differing for judge in row["judges"]}
    if named:
        rates = [rate for rate in values["rates"] if rate["judge"] in named]
        yield Statement("judges_differ", ["rankings"], {"results": differing, "rates": rates})


def _position_of_judges(findings: Findings) -> Iterator[Statement]:
    judges = {row["rater"].removeprefix(JUDGE) for row in findings["pooled"].get("preferred_first", ())} - {PEOPLE}
    statements = position_of_judges(findings, sorted(judges - set(findings.get("baselines") or ())))
    yield from (statement for statement in statements if statement.rule == "position_bias")


def _missing(findings: Findings, headline: Statement) -> Iterator[Statement]:
    """Say what would settle the preference, or else what is missing first."""
    if headline.rule == "no_preference":
        yield _more_instances(headline, findings.get("horizon"))
    elif unmet := list(_unmet(findings, headline)):
        yield from unmet
    elif headline.rule == "leads":
        yield _more_for_first(findings, headline)
    elif any(map(lacks_separability, findings["configurations"])):
        yield Statement("no_separability", ["configurations.separability"])


def _unmet(findings: Findings, headline: Statement) -> Iterator[Statement]:
    """Name the systems that the first one never met, the best first, if there are any."""
    if headline.rule not in ("first", "leads", "untested"):
        return
    leader, *others = (_ranking(findings, "bradley_terry") or {})["systems"]
    if (met := leader.get("opponents")) is None:
        return
    unmet = [row["system"] for row in others if row["value"] is not None and row["system"] not in met]
    values = {"first": leader["system"], "number": len(unmet)}
    if len(unmet) > MOST_NAMED:
        yield Statement("unmet_many", headline.evidence[:1], values)
    elif unmet:
        yield Statement("unmet", headline.evidence[:1], {**values, "unmet": ", ".join(unmet)})


def _more_for_first(findings: Findings, headline: Statement) -> Statement:
    """Say how many more ratings would settle the first place, where that is planned."""
    planned = (_ranking(findings, "bradley_terry") or {}).get("next_place") or {}
    first = headline.values["first"]
    if (planned.get("place"), planned.get("system")) != (1, first) or not planned.get("more"):
        return Statement("more_for_first", headline.evidence, {"first": first})
    values = {"more": planned["more"], "made": planned["comparisons"], "chance": planned["chance"]}
    return Statement("more_to_be_first", headline.evidence, values)


def _more_instances(headline: Statement, horizon: int | None) -> Statement:
    """Plan the instances whose interval leaves one half out with a chance of 80 %, were the rate to stay what it is.

    The standard error follows from the interval, which is Student's t over so few clusters; that over many is nearly normal.
    """
    rate, instances = headline.values["rate"], headline.values["instances"]
    away = rate["value"] - 0.5
    if away <= 0:
        return Statement("level", headline.evidence)
    clusters = headline.values["sample"].get("clusters", instances)
    level = IntervalSettings(level=rate["level"], horizon=horizon).level_of(clusters)
    # As if the other side were as long as that towards one half, which has to shrink.
    effective = headline.values.get("effective_n", clusters)
    spread = (rate["value"] - rate["low"]) / student_quantile((1 + level) / 2, max(effective - 1, 1))
    quantile = NormalDist().inv_cdf((1 + rate["level"]) / 2)
    components = Components(instance=instances * spread**2, pair=0.0, rater=0.0, residual=0.0)
    # Always a number: further instances have no bound, and those at hand are too few.
    width = 2 * away * quantile / (quantile + NormalDist().inv_cdf(CHANCE))
    needed = cast("int", instances_needed(components, pairs=1, raters=1, width=width, level=rate["level"]))
    needed = max(needed, instances + 1)
    rule = "out_of_reach" if needed > OUT_OF_REACH * instances else "more_instances"
    return Statement(
        rule, headline.evidence, {"needed": needed, "instances": instances, "rate": rate["value"], "chance": CHANCE}
    )
