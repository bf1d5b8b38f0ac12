"""What the answer says of length: how people's win rates change at equal lengths of the two texts."""

from collections.abc import Mapping
from typing import Any

from reporting.core.raters import PEOPLE

Findings = Mapping[str, Any]
LEAST_INSTANCES = 5  # below it no win rate has an interval
MUCH, LITTLE = 0.1, 0.01  # of a win rate: what always, and what never is a change
RULES = {  # by what the win rate says as it is and at equal lengths
    (False, True): "length_newly",
    (True, False): "length_no_longer",
    (True, True): "length_turned",
}


def length_rule(found: Findings) -> tuple[str, dict[str, Any]] | None:
    """Return a rule with its values where people's win rates change at equal lengths, else None.

    A configuration changes if its estimate moves by more than the half-width of either interval, or than 0.1, and by more than
    0.01 in any case; half of that is enough where the win rate is above one half, below it or neither by more than chance, and at
    equal lengths another of these. One of fewer than five instances is not looked at, and one of several not without an interval
    at equal lengths: with few instances some always move far. Of several the rule is about the number that change, and the one
    that changes most.
    """
    raters = found.get("length_adjusted") or ()
    known = [one for rater in raters if rater["rater"] == PEOPLE for one in rater["configurations"] if _is_known(one)]
    single = len(known) == 1
    known = [one for one in known if single or one["win_rate_a"]["low"] is not None]
    changed = [one for one in known if _moved(one) > _reach(one) / (2 if _turns(one) else 1)]
    if not changed:
        return None
    most = max(changed, key=lambda one: (_turns(one), _moved(one)))
    if single:
        return _rule(most), _values(most)
    return "length_some", {**_values(most), "dataset": most["dataset"], "changed": len(changed), "known": len(known)}


def side(rate: Findings) -> int | None:
    """Return 1 or -1 for a rate above or below one half by more than chance, 0 for neither, None without an interval."""
    if rate["low"] is None:
        return None
    return int(rate["low"] > 0.5) - int(rate["high"] < 0.5)


def _is_known(one: Findings) -> bool:
    rates = one["plain"], one["win_rate_a"]
    return all(rate["value"] is not None and rate["n_instances"] >= LEAST_INSTANCES for rate in rates)


def _turns(one: Findings) -> bool:
    sides = {side(one["plain"]), side(one["win_rate_a"])}
    return None not in sides and len(sides) > 1


def _moved(one: Findings) -> float:
    return float(abs(one["win_rate_a"]["value"] - one["plain"]["value"]))


def _reach(one: Findings) -> float:
    rates = (rate for rate in (one["plain"], one["win_rate_a"]) if rate["low"] is not None)
    return max(LITTLE, min([MUCH, *(float(rate["high"] - rate["low"]) / 2 for rate in rates)]))


def _rule(one: Findings) -> str:
    if _turns(one):
        return RULES[bool(side(one["plain"])), bool(side(one["win_rate_a"]))]
    return "length_moves" if one["win_rate_a"]["low"] is not None else "length_untested"


def _values(one: Findings) -> dict[str, Any]:
    """Return both win rates of the system that is preferred at equal lengths, or else as it is."""
    plain, equal = one["plain"], one["win_rate_a"]
    ahead = next((rate for rate in (equal, plain) if side(rate)), equal)
    a_is_first = ahead["value"] >= 0.5
    first, second = one["system_a"], one["system_b"]
    if not a_is_first:
        first, second, plain, equal = second, first, _mirrored(plain), _mirrored(equal)
    return {
        "first": first,
        "second": second,
        "plain": plain["value"],
        "rate": equal["value"],
        **({} if equal["low"] is None else {key: equal[key] for key in ("low", "high", "level")}),
        "instances": equal["n_instances"],
    }


def _mirrored(rate: Findings) -> dict[str, Any]:
    low, high = (None if one is None else 1 - one for one in (rate["high"], rate["low"]))
    return {**rate, "value": 1 - rate["value"], "low": low, "high": high}
