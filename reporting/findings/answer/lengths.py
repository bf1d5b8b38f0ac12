"""What the answer says of length: how people's win rates change at equal lengths of the two texts."""

from collections.abc import Mapping
from typing import Any

from reporting.core.raters import PEOPLE
from reporting.findings.reasons import NO_OVERLAP

Findings = Mapping[str, Any]
LITTLE = 0.01  # of a win rate: never worth a sentence
RULES = {  # by what the win rate says as it is and at equal lengths
    (False, True): "length_newly",
    (True, False): "length_no_longer",
    (True, True): "length_turned",
}


def length_rule(found: Findings) -> tuple[str, dict[str, Any]] | None:
    """Return a rule with its values where length matters to people's win rates, or where that cannot be told; else None.

    Length matters in a configuration if the interval of its coefficient is without 0, by Holm's method over configurations, and
    the paired interval of the change of the win rate is too. Of several configurations the rule is about their number, and the
    one that changes most.
    """
    raters = found.get("length_adjusted") or ()
    every = [one for rater in raters if rater["rater"] == PEOPLE for one in rater["configurations"]]
    tested = [one for one in every if one.get("matters") is not None]
    changed = [one for one in tested if one["matters"] and _moved(one) > LITTLE]
    if not changed:
        apart = [one for one in every if one["win_rate_a"].get("why_code") == NO_OVERLAP.code]
        return ("length_apart", {"changed": len(apart), "known": len(every)}) if apart and not tested else None
    most = max(changed, key=lambda one: (_turns(one), _moved(one)))
    values = {**_values(most), "p_value": most["length_effect_adjusted"]}
    if len(every) == 1:
        turned = RULES[bool(side(most["plain"])), bool(side(most["win_rate_a"]))] if _turns(most) else "length_moves"
        return turned, values
    return "length_some", {**values, "dataset": most["dataset"], "changed": len(changed), "known": len(tested)}


def side(rate: Findings) -> int | None:
    """Return 1 or -1 for a rate above or below one half by more than chance, 0 for neither, None without an interval."""
    if rate["low"] is None:
        return None
    return int(rate["low"] > 0.5) - int(rate["high"] < 0.5)


def _turns(one: Findings) -> bool:
    sides = {side(one["plain"]), side(one["win_rate_a"])}
    return None not in sides and len(sides) > 1


def _moved(one: Findings) -> float:
    return float(abs(one["change"]["value"]))


def _values(one: Findings) -> dict[str, Any]:
    """Return both win rates of the system that is preferred at equal lengths, or else as it is."""
    plain, equal = one["plain"], one["win_rate_a"]
    ahead = next((rate for rate in (equal, plain) if side(rate)), equal)
    first, second = one["system_a"], one["system_b"]
    if ahead["value"] < 0.5:
        first, second, plain, equal = second, first, _mirrored(plain), _mirrored(equal)
    return {
        "first": first,
        "second": second,
        "plain": plain["value"],
        "rate": equal["value"],
        **{key: equal[key] for key in ("low", "high", "level")},
        "instances": equal["n_instances"],
    }


def _mirrored(rate: Findings) -> dict[str, Any]:
    low, high = (None if one is None else 1 - one for one in (rate["high"], rate["low"]))
    return {**rate, "value": 1 - rate["value"], "low": low, "high": high}
