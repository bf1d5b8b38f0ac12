"""Statements of the answer before they are written, and what their rules share."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from reporting.core.raters import PEOPLE
from reporting.core.text import JUDGE
from reporting.findings.reasons import FOLLOWS_LENGTH, NO_OVERLAP

Findings = Mapping[str, Any]
ONE_PAIR = "with one pair an instance a rating set is one rating, and its consistency says only whether that is a tie"
LEAST_INSTANCES = 5  # below it nothing is claimed, as no interval is given


@dataclass(frozen=True)
class Statement:
    """A sentence by its rule, with the keys of the findings that it rests on, and the values in its text."""

    rule: str
    evidence: list[str] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)


def estimate(row: Findings) -> dict[str, Any]:
    """Return a value with its interval, or with the code of the reason why there is none."""
    reason = {"why_code": row["why_code"]} if "why_code" in row else {}
    return {**{key: row.get(key) for key in ("value", "low", "high", "level")}, **reason}


def uneven(row: Findings) -> dict[str, Any]:
    """Return the effective number of instances, where few of them have most of the verdicts."""
    return {"effective_n": row["effective_n"]} if "effective_n" in row else {}


def leading_system(findings: Findings) -> str | None:
    """Return the system whose win rates are shown of two: the one that people prefer, or else most judges. None of more.

    Baselines count only where nobody else rated.
    """
    rankings = [
        ranking
        for ranking in findings["rankings"]
        if ranking["measure"] == "win_rate" and all(row["value"] is not None for row in ranking["systems"])
    ]
    if not rankings or len(rankings[0]["systems"]) != 2:
        return None
    baselines = {f"{JUDGE}{name}" for name in findings.get("baselines") or ()}
    raters = [ranking for ranking in rankings if ranking["rater"] not in baselines] or rankings
    people = [ranking for ranking in raters if ranking["rater"] == PEOPLE]
    firsts = Counter(str(ranking["systems"][0]["system"]) for ranking in people or raters)
    return firsts.most_common(1)[0][0]


def position_of_judges(findings: Findings, judges: list[str]) -> Iterator[Statement]:
    """Name the judge whose share of verdicts for the text shown first is furthest from half, and how many are biased."""
    names = {JUDGE + judge for judge in judges}
    shares = [
        row for row in findings["pooled"].get("preferred_first", ()) if row["rater"] in names and row["low"] is not None
    ]
    if not shares:
        return
    biased = [row for row in shares if row.get("biased")]
    share = max(biased or shares, key=lambda row: abs(row["value"] - 0.5))
    values = {"judge": share["rater"].removeprefix(JUDGE), "share": estimate(share)}
    if len(shares) > 1:
        first = sum(row["value"] > 0.5 for row in biased)
        counts = {"biased": len(biased), "tested": len(shares), "first": first, "second": len(biased) - first}
        values |= counts if biased else {"furthest": len(shares)}
    yield Statement("position_bias" if biased else "no_position_bias", ["pooled.preferred_first"], values)


def without_baselines(judges: list[Any], findings: Findings) -> list[Any]:
    """Return the findings on judges without those on baselines, which count only where there is no other judge."""
    baselines = findings.get("baselines") or ()
    return [judge for judge in judges if judge["judge"] not in baselines] or judges


def counts_of(findings: Findings, rater: str) -> Counter[str]:
    """Count a rater's verdicts for A, for B and ties, over all configurations."""
    counts: Counter[str] = Counter()
    for configuration in findings["configurations"]:
        for own in configuration["raters"]:
            if own["rater"] == rater:
                counts.update(own["counts"])
    return counts


def outer_means(findings: Findings) -> list[tuple[Findings, Findings]]:
    """Return the first and the last pooled bin with people's mean consistency, of the bins that have its interval."""
    means = [
        (bin_, rater["mean_consistency"])
        for bin_ in findings["pooled"].get("mean_consistency_by_bin") or ()
        for rater in bin_["raters"]
        if rater["rater"] == PEOPLE and rater["mean_consistency"]["low"] is not None
    ]
    return [means[0], means[-1]] if means else []


def rises(means: list[tuple[Findings, Findings]]) -> bool:
    """Tell whether consistency rises with separability: whether the intervals of the outer bins don't overlap."""
    return bool(means) and means[0][1]["high"] < means[1][1]["low"]


def has_one_pair(configurations: Iterable[Mapping[str, Any]]) -> bool:
    """Tell whether no instance has two pairs, so that rating sets have no consistency to speak of."""
    return all(configuration["pairs"] <= configuration["instances"] for configuration in configurations)


def sets_by_consistency(distributions: Iterable[Mapping[str, int]]) -> tuple[int, int, int]:
    """Count rating sets that are fully consistent, those between, and those with consistency 0. Each set is one of the three.

    distributions : rating sets by consistency, as findings have them
    """
    counts = [(float(value), n) for row in distributions for value, n in row.items()]
    full, none = (sum(n for value, n in counts if value == requested) for requested in (1.0, 0.0))
    return full, sum(n for _, n in counts) - full - none, none


LITTLE = 0.01  # of a win rate: never worth a sentence
RULES = {  # by what the win rate says as it is and at equal lengths
    (False, True): "length_newly",
    (True, False): "length_no_longer",
    (True, True): "length_turned",
}


def length_rule(findings: Findings) -> tuple[str, dict[str, Any]] | None:
    """Return a rule with its values where length matters to people's win rates, or where that is unknown, or None.

    Length matters in a configuration if the interval of its coefficient is without 0, by Holm's method over configurations, and
    the paired interval of the change of the win rate is too. Of several configurations the rule is about their number, and the
    one that changes most.
    """
    raters = findings.get("length_adjusted") or ()
    every = [configuration for rater in raters if rater["rater"] == PEOPLE for configuration in rater["configurations"]]
    tested = [item for item in every if item.get("matters") is not None]
    changed = [row for row in tested if row["matters"] and _moved(row) > LITTLE]
    if not changed:
        apart = "length_apart" if len(every) == 1 else "length_few"
        for rule, reason in {"length_alone": FOLLOWS_LENGTH, apart: NO_OVERLAP}.items():
            unknown = sum(item["win_rate_a"].get("why_code") == reason.code for item in every)
            if unknown and not tested:
                return rule, {"changed": unknown, "known": len(every)}
        return None
    largest = max(changed, key=lambda item: (_turns(item), _moved(item)))
    plain, equal = largest["plain"], largest["win_rate_a"]
    ahead = next((rate for rate in (equal, plain) if side(rate)), plain)
    first, second, change = largest["system_a"], largest["system_b"], largest["change"]
    if ahead["value"] < 0.5:
        first, second, plain, equal = second, first, mirrored(plain), mirrored(equal)
        change = mirrored(change, 0)
    values = {
        "first": first,
        "second": second,
        "plain": plain["value"],
        "rate": estimate(equal),
        "change": estimate(change),
        "p_value": largest["length_effect_adjusted"],
    }
    if len(every) == 1:
        turned = (
            RULES[bool(side(largest["plain"])), bool(side(largest["win_rate_a"]))]
            if _turns(largest)
            else "length_moves"
        )
        return turned, values
    return "length_some", {**values, "dataset": largest["dataset"], "changed": len(changed), "known": len(tested)}


def unchanged_by_length(findings: Findings, first: str | None) -> dict[str, Any]:
    """Return people's win rate of the headline's system at equal lengths where no change is shown, or in how many configurations."""
    raters = findings.get("length_adjusted") or ()
    every = [configuration for rater in raters if rater["rater"] == PEOPLE for configuration in rater["configurations"]]
    tested = [item for item in every if item.get("matters") is not None]
    if first is None or not tested:
        return {}
    if len(every) > 1:
        return {"unchanged": len(tested)}
    return {"equal": estimate(seen_from(tested[0], first)["win_rate_a"])}


def side(rate: Findings) -> int | None:
    """Return 1 or -1 for a rate above or below one half by more than chance, 0 for neither, None without an interval."""
    if rate["low"] is None:
        return None
    return int(rate["low"] > 0.5) - int(rate["high"] < 0.5)


def _turns(findings: Findings) -> bool:
    sides = {side(findings["plain"]), side(findings["win_rate_a"])}
    return None not in sides and len(sides) > 1


def _moved(findings: Findings) -> float:
    return float(abs(findings["change"]["value"]))


def seen_from(configuration: Findings, system: str | None) -> Findings:
    """Return a configuration with the win rates of `system`, if it is its B, and their change."""
    if configuration["system_b"] != system:
        return configuration
    rates = {key: mirrored(configuration[key]) for key in ("plain", "win_rate_a")}
    return {**configuration, **rates, "change": mirrored(configuration["change"], 0)}


def mirrored(rate: Findings, total: int = 1) -> dict[str, Any]:
    """Return a share seen from the other side, or with a total of 0 a difference."""
    value, low, high = (None if rate[key] is None else total - rate[key] for key in ("value", "high", "low"))
    return {**rate, "value": value, "low": low, "high": high}
