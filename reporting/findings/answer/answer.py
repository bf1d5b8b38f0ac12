"""The answer of a study: a few sentences that follow from the findings by rule, each with its evidence."""

from collections.abc import Iterable, Iterator, Mapping
from statistics import NormalDist
from typing import Any, cast

from analysis.planning.sample_sizes import instances_needed
from analysis.planning.variance import Components
from reporting.core.raters import PEOPLE
from reporting.findings.answer.answer_text import english
from reporting.findings.answer.judges_alone import LEAST_INSTANCES, counts_of, judges_alone, uneven
from reporting.findings.answer.lengths import length_rule
from reporting.findings.configurations.rater_findings import has_one_pair, sets_by_consistency
from reporting.findings.data.separability_bins import lacks_separability
from reporting.findings.judges.verdicts import MAY_REPLACE, OUT_OF_REACH, UNTESTED

Findings = Mapping[str, Any]
Sentence = dict[str, Any]
MOST_SENTENCES = 6
MOST_NAMED = 3  # systems in one sentence
# From the best verdict on a judge down; see reporting.findings.judges.verdicts.
VERDICTS = (*MAY_REPLACE, "narrow", "open", "few", "chance", "worse", "nothing")
# The greatest kappa or alpha that each word is for.
DEGREES = {
    0.0: "poor",
    0.2: "slight",
    0.4: "fair",
    0.6: "moderate",
    0.8: "substantial",
    1.0: "almost perfect",
}


def answer(findings: Findings) -> list[Sentence]:
    """Return up to six sentences as {rule, values, text, evidence}. `text` is English, `evidence` names keys of findings.

    The rules, in this order: who is preferred; whether length changes that; how much of the ratings informs; whether
    separability tells where; how far people agree; which judge may stand in; what would change it. Where programs rated
    under “people”, that is said first, beyond the six. Where judges alone rated, the answer is about them.
    """
    if not findings["configurations"]:
        return []
    if not _people(findings) and (alone := list(judges_alone(findings))):
        return [
            {**_sentence(rule, evidence, **values), "text": english(rule, values)} for rule, evidence, values in alone
        ]
    preference = list(_preference(findings))
    sentences = [
        *preference,
        *_length(findings),
        *_information(findings),
        *_agreement(findings),
        *_judges(findings),
        *_changes(findings, preference),
    ]
    if len(sentences) < MOST_SENTENCES:
        after = next(
            (at for at, sentence in enumerate(sentences) if sentence["rule"].startswith("consistency")),
            len(sentences) - 1,
        )
        sentences[after + 1 : after + 1] = _separability(findings)
    statements = [*_scripted(findings), *sentences[:MOST_SENTENCES]]
    return [{**item, "text": english(item["rule"], item["values"])} for item in statements]


def being_computed() -> list[Sentence]:
    """Return the answer of a first pass, which has no intervals: that it is being computed."""
    return [{**_sentence("being_computed", []), "text": english("being_computed", {})}]


def _sentence(rule: str, evidence: Iterable[str], **values: Any) -> Sentence:
    return {"rule": rule, "values": values, "evidence": list(evidence)}


def _people(findings: Findings) -> list[Findings]:
    """Return people's findings in each configuration that they rated."""
    people = (configuration["raters"][0] for configuration in findings["configurations"])
    return [person for person in people if person["ratings"]]


def _ranking(findings: Findings, measure: str) -> Findings | None:
    return next(
        (ranking for ranking in findings["rankings"] if ranking["rater"] == PEOPLE and ranking["measure"] == measure),
        None,
    )


def _scripted(findings: Findings) -> Iterator[Sentence]:
    raters = findings.get("raters") or ()
    if scripted := sum(rater["scripted"] for rater in raters):
        rule = "all_scripted" if scripted == len(raters) else "scripted"
        yield _sentence(rule, ["raters.scripted"], scripted=scripted, raters=len(raters))


def _preference(findings: Findings) -> Iterator[Sentence]:
    rates = _ranking(findings, "win_rate")
    if not _people(findings) or rates is None:
        yield _sentence("no_people", ["configurations.raters"])
        return
    compared = [system for system in rates["systems"] if system["value"] is not None]
    counts = counts_of(findings, PEOPLE)
    if counts["tie"] and not counts["a"] + counts["b"]:
        yield _sentence("all_ties", ["configurations.raters"], ratings=counts["tie"])
        return
    if len(rates["systems"]) > 2:
        yield from _first_of_many(findings, rates)
    elif len(compared) == 2:
        yield _of_two(
            compared[0], compared[1], sum(configuration["instances"] for configuration in findings["configurations"])
        )


def _of_two(first: Findings, second: Findings, n_instances: int) -> Sentence:
    """Compare two systems by their win rates, which mirror each other. The first has the higher one."""
    evidence = [f"rankings.{PEOPLE}.win_rate"]
    instances = first.get("n_instances", n_instances)
    if instances < LEAST_INSTANCES or first["low"] is None:
        return _sentence("too_few", evidence, instances=instances, needed=LEAST_INSTANCES)
    return _sentence(
        "preferred" if first["low"] > 0.5 else "no_preference",
        evidence,
        first=first["system"],
        second=second["system"],
        rate=first["value"],
        low=first["low"],
        high=first["high"],
        level=first["level"],
        instances=instances,
        **uneven(first),
    )


def _first_of_many(findings: Findings, rates: Findings) -> Iterator[Sentence]:
    strengths = _ranking(findings, "bradley_terry")
    if strengths is None:
        yield _sentence("unranked", [f"rankings.{PEOPLE}.win_rate"], systems=len(rates["systems"]))
        return
    evidence, systems = [f"rankings.{PEOPLE}.bradley_terry"], len(strengths["systems"])
    groups, verdict = strengths.get("groups", []), strengths["first"]
    if len(groups) > 1:
        yield _sentence("disconnected", evidence, systems=systems, groups=len(groups))
        return
    ranked = [system for system in strengths["systems"] if system["value"] is not None]
    leader = next((row for row in ranked if row["system"] == verdict["system"]), None)
    if leader is None:
        yield _sentence("unranked", evidence, systems=systems)
    elif leader["n_instances"] < LEAST_INSTANCES:
        yield _sentence("too_few", evidence, instances=leader["n_instances"], needed=LEAST_INSTANCES)
    else:
        rule = {True: "first", False: "leads", None: "untested"}[verdict["by_more_than_chance"]]
        yield _sentence(
            rule,
            [*evidence, *(["system_tests"] if findings.get("system_tests") else [])],
            first=leader["system"],
            systems=len(ranked),
            rating=leader["value"],
            rank_low=leader["rank_low"],
            rank_high=leader["rank_high"],
            p_value=verdict.get("p_value"),
            instances=leader["n_instances"],
            **_inferred(findings, leader, ranked),
        )


def _inferred(findings: Findings, leader: Findings, ranked: list[Findings]) -> dict[str, Any]:
    """Return those that the first system never met, the best first, if there are any."""
    met, first = leader.get("opponents"), leader["system"]
    unmet = [row["system"] for row in ranked if row["system"] not in (first, *(met or ()))]
    if met is None or not unmet:
        return {}
    names = ", ".join(unmet) if len(unmet) <= MOST_NAMED else None
    on_other_data = all(_data_sets(findings, first).isdisjoint(_data_sets(findings, item)) for item in unmet)
    return {"inferred": {"unmet": names, "number": len(unmet), "other_data": on_other_data}}


def _data_sets(findings: Findings, system: str) -> set[str]:
    """Return the data sets on which people rated a system."""
    return {
        configuration["dataset"]
        for configuration in findings["configurations"]
        if system in (configuration["system_a"], configuration["system_b"]) and configuration["raters"][0]["ratings"]
    }


def _length(findings: Findings) -> Iterator[Sentence]:
    if rule_and_values := length_rule(findings):
        rule, values = rule_and_values
        yield _sentence(rule, ["length_adjusted"], **values)


def _information(findings: Findings) -> Iterator[Sentence]:
    people = _people(findings)
    if not people:
        return
    evidence = ["configurations.raters.consistency_distribution", "pooled.uninformative"]
    if has_one_pair(findings["configurations"]):
        yield _sentence("one_pair", evidence)
        return
    people = _people(
        {
            "configurations": [
                configuration for configuration in findings["configurations"] if not has_one_pair([configuration])
            ]
        }
    )
    incomplete = sum(person.get("incomplete_rating_sets", 0) for person in people)
    full, part, none = sets_by_consistency(person["consistency_distribution"] for person in people)
    if not full + part + none and incomplete:
        yield _sentence("all_incomplete", evidence, rating_sets=incomplete)
    if sets := full + part + none:
        shares = {"none": none / sets, "part": part / sets, "full": full / sets}
        counts = {"none_sets": none, "part_sets": part, "full_sets": full, "rating_sets": sets}
        uninformative = next(row for row in findings["pooled"]["uninformative"] if row["rater"] == PEOPLE)
        counts |= {"silent": uninformative["count"], "instances": uninformative["instances"]}
        if not incomplete:
            yield _sentence("consistency", evidence, **shares, **counts)
        elif findings.get("filters", {}).get("with_incomplete"):
            yield _sentence("consistency_with_incomplete", evidence, **shares, **counts, incomplete_sets=incomplete)
        else:
            yield _sentence("consistency", evidence, **shares, **counts, incomplete=incomplete)


def _separability(findings: Findings) -> Iterator[Sentence]:
    """Say that consistency rises with separability, where the intervals of the outer bins don't overlap."""
    if has_one_pair(findings["configurations"]):
        return
    bins = findings["pooled"].get("mean_consistency_by_bin") or []
    means = [
        (bin_, rater["mean_consistency"])
        for bin_ in bins
        for rater in bin_["raters"]
        if rater["rater"] == PEOPLE and rater["mean_consistency"]["low"] is not None
    ]
    if len(means) > 1 and means[0][1]["high"] < means[-1][1]["low"]:
        (lowest, lowest_mean), (highest, highest_mean) = means[0], means[-1]
        yield _sentence(
            "rises",
            ["pooled.mean_consistency_by_bin"],
            **_of_bin("least", lowest, lowest_mean),
            **_of_bin("most", highest, highest_mean),
        )


def _of_bin(name: str, bin_: Findings, mean: Findings) -> dict[str, Any]:
    limits = {f"{name}_{key}": mean[key] for key in ("low", "high", "level")}
    edges = {f"{name}_from": bin_["low"], f"{name}_to": bin_["high"]}
    return {name: mean["value"], **limits, **edges, f"{name}_instances": mean["n_instances"]}


def _agreement(findings: Findings) -> Iterator[Sentence]:
    if not _people(findings):
        return
    agreement = findings["pooled"]["people_agreement"]
    raw, alpha = agreement["raw_agreement"], agreement["krippendorff_alpha"]["ordinal"]
    rates = {"rate": raw["value"], "rate_low": raw["low"], "rate_high": raw["high"]}
    rates |= {"rate_level": raw.get("level"), "instances": raw.get("n_instances")}
    evidence = ["pooled.people_agreement.raw_agreement", "pooled.people_agreement.krippendorff_alpha"]
    if raw["value"] is None:
        yield _sentence("agreement_unknown", evidence[:1])
    elif alpha["value"] is None:
        yield _sentence("agreement", evidence[:1], **rates)
    else:
        by_chance = alpha["low"] is not None and alpha["low"] <= 0
        rule = "agreement_by_chance" if by_chance else "agreement_above_chance"
        limits = {f"alpha_{key}": alpha.get(key) for key in ("low", "high", "level")}
        yield _sentence(rule, evidence, **rates, alpha=alpha["value"], **limits, degree=degree(alpha["value"]))


def _judges(findings: Findings) -> Iterator[Sentence]:
    names = {rater["rater"] for configuration in findings["configurations"] for rater in configuration["raters"][1:]}
    verdicts = [judge for judge in findings.get("replacement") or () if judge["verdict"]["rule"] in VERDICTS]
    if not names:
        yield _sentence("no_judge", ["configurations.raters"])
    elif verdicts and _people(findings):
        tested = [verdict for verdict in verdicts if verdict["verdict"]["rule"] not in UNTESTED]
        if len(verdicts) > 1 and not tested:
            available = max(verdict["verdict"]["values"].get("instances", 0) for verdict in verdicts)
            counts = {"judges": len(verdicts), "available": available, "needed": LEAST_INSTANCES}
            yield _sentence("judges_untested", ["replacement"], **counts)
            return
        best = min(tested or verdicts, key=_standing)
        verdict = {key: best["verdict"][key] for key in ("rule", "values")}
        may = sum(verdict["verdict"]["rule"] in MAY_REPLACE for verdict in verdicts)
        alike = _alike(best["judge"], {verdict["judge"] for verdict in verdicts}, findings.get("judge_tests") or ())
        rule = "judge" if len(verdicts) == 1 else f"{'judges' if may else 'no_judge_may'}{'_alike' * alike}"
        evidence = ["replacement", *(["judge_tests"] if alike else [])]
        yield _sentence(rule, evidence, judges=len(verdicts), may=may, judge=best["judge"], verdict=verdict)


def _alike(judge: str, other_judges: set[str], tests: Iterable[Findings]) -> bool:
    """Tell whether some other judge is not shown to agree less with people than this one."""
    farther = {
        ({test["judge_a"], test["judge_b"]} - {judge}).pop()
        for test in tests
        if judge in (test["judge_a"], test["judge_b"]) and _is_first(test, judge)
    }
    return bool(other_judges - {judge} - farther)


def _is_first(test: Findings, judge: str) -> bool:
    """Tell whether a judge agrees more with people than the other one of a test, by more than chance."""
    adjusted, difference = test["adjusted"], test["difference"]
    nearer = test["judge_a"] if (difference["value"] or 0) > 0 else test["judge_b"]
    return adjusted is not None and adjusted < 1 - difference["level"] and nearer == judge


def _standing(judge: Findings) -> tuple[bool, int, float, str]:
    rule, values = judge["verdict"]["rule"], judge["verdict"]["values"]
    difference = float("-inf") if values.get("difference") is None else values["difference"]
    return "kappa" in values, VERDICTS.index(rule), -difference, judge["judge"]


def _changes(findings: Findings, preference: list[Sentence]) -> Iterator[Sentence]:
    """Say what would settle the preference, or else what is missing first."""
    statement = preference[0] if preference else None
    if statement is not None and statement["rule"] == "no_preference":
        yield _more_instances(statement["values"], statement["evidence"])
    elif statement is not None and (unmet := statement["values"].get("inferred", {}).get("unmet")):
        yield _sentence("compare_unmet", statement["evidence"], first=statement["values"]["first"], unmet=unmet)
    elif statement is not None and statement["rule"] == "leads":
        yield _more_for_first(findings, statement)
    elif any(map(lacks_separability, findings["configurations"])):
        yield _sentence("no_separability", ["configurations.separability"])


def _more_for_first(findings: Findings, statement: Sentence) -> Sentence:
    """Say how many more ratings would settle the first place, where that is planned."""
    next_place, first = (
        (_ranking(findings, "bradley_terry") or {}).get("next_place") or {},
        statement["values"]["first"],
    )
    if (next_place.get("place"), next_place.get("system")) != (1, first) or not next_place.get("more"):
        return _sentence("more_for_first", statement["evidence"], first=first)
    planned = {"more": next_place["more"], "made": next_place["comparisons"], "chance": next_place["chance"]}
    return _sentence("more_to_be_first", statement["evidence"], first=first, **planned)


def _more_instances(values: Mapping[str, Any], evidence: list[str]) -> Sentence:
    """Plan the instances whose interval would leave one half out, were the rate to stay what it is."""
    instances, away = values["instances"], values["rate"] - 0.5
    if away <= 0:
        return _sentence("level", evidence)
    # As if the other side were as long as that towards one half, which has to shrink.
    width = 2 * (values["rate"] - values["low"])
    # The variance of one instance's mean, as an interval of this width over so many instances implies it.
    spread = width / (2 * NormalDist().inv_cdf((1 + values["level"]) / 2))
    components = Components(instance=instances * spread**2, pair=0.0, rater=0.0, residual=0.0)
    # Always a number: further instances have no bound, and those at hand are too few.
    needed = cast("int", instances_needed(components, pairs=1, raters=1, width=2 * away, level=values["level"]))
    needed = max(needed, instances + 1)
    if needed > OUT_OF_REACH * instances:
        return _sentence("out_of_reach", evidence, rate=values["rate"], needed=needed, times=OUT_OF_REACH)
    return _sentence("more_instances", evidence, rate=values["rate"], needed=needed, instances=instances)


def degree(value: float) -> str:
    """Return the word for a kappa or alpha.

    Source: Landis and Koch 1977, The Measurement of Observer Agreement for Categorical Data, §4. They name no value between
    two of their ranges, such as .205; it has the word of the higher one.
    """
    return next(word for maximum, word in DEGREES.items() if value <= maximum or maximum == 1)
