"""Length in the answer: changes of people's win rates at equal lengths."""

from collections.abc import Mapping
from typing import Any

from reporting.core.raters import PEOPLE
from reporting.findings.answer.statements import estimate
from reporting.findings.reasons import FOLLOWS_LENGTH, NO_OVERLAP

Findings = Mapping[str, Any]
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
    values = {**_values(largest), "p_value": largest["length_effect_adjusted"]}
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


def _values(findings: Findings) -> dict[str, Any]:
    """Return win rates and their change: of the system preferred at equal lengths by more than chance, or the headline's."""
    plain, equal = findings["plain"], findings["win_rate_a"]
    ahead = next((rate for rate in (equal, plain) if side(rate)), plain)
    first, second, change = findings["system_a"], findings["system_b"], findings["change"]
    if ahead["value"] < 0.5:
        first, second, plain, equal = second, first, _mirrored(plain), _mirrored(equal)
        change = _mirrored(change, 0)
    return {
        "first": first,
        "second": second,
        "plain": plain["value"],
        "rate": estimate(equal),
        "change": estimate(change),
    }


def seen_from(configuration: Findings, system: str | None) -> Findings:
    """Return a configuration with the win rates of `system`, if it is its B, and their change."""
    if configuration["system_b"] != system:
        return configuration
    rates = {key: _mirrored(configuration[key]) for key in ("plain", "win_rate_a")}
    return {**configuration, **rates, "change": _mirrored(configuration["change"], 0)}


def _mirrored(rate: Findings, total: int = 1) -> dict[str, Any]:
    value, low, high = (None if rate[key] is None else total - rate[key] for key in ("value", "high", "low"))
    return {**rate, "value": value, "low": low, "high": high}
