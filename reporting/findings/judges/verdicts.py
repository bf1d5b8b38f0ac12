"""May a judge replace a single rater: one rule for what the tests showed, and its sentences."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, Literal

from django.template.defaultfilters import pluralize

from analysis.intervals.jackknife import MIN_CLUSTERS
from analysis.judges.non_inferiority import NonInferiority, instances_to_pass
from analysis.judges.replacement import MIN_INSTANCES, MIN_PEOPLE, AlternativeAnnotatorTest
from annotation.core.counting import fixed
from reporting.core.estimates import number

Status = Literal["nothing", "few", "passes", "worse", "chance", "open", "narrow"]
Values = dict[str, Any]
MAY_REPLACE = ("everywhere", "from", "overall", "overall_only")
UNTESTED = ("few", "nothing")  # rules of a judge with too few votes of two people beside its verdicts
ADJUSTED = (*MAY_REPLACE, "narrow")  # rules that depend on the number of judges
OUT_OF_REACH = 10  # times as many instances: more would hardly settle it

COMPARED = "it agrees with raters %(difference)s than raters agree with each other %(range)s"
ACCEPTABLE = "at most %(epsilon)s points less would be acceptable"
NOT_ABOVE_CHANCE = "%(instances)s do not show that raters agree more than by chance (%(above_chance)s)"
RULES = {
    "everywhere": f"Can replace a rater at any separability: {COMPARED}; {ACCEPTABLE}.",
    "from": (
        "Can replace a rater above separability %(from)s: it agrees with raters at most %(epsilon)s points less "
        "than raters do."
    ),
    "overall": f"Can replace a rater: {COMPARED}; {ACCEPTABLE}. By separability it is unknown.",
    "overall_only": f"Can replace a rater: {COMPARED}; {ACCEPTABLE}.",
    "worse": f"Cannot replace a rater: {COMPARED} (%(instances)s); {ACCEPTABLE}.",
    "open": f"Not shown that it can replace a rater: {COMPARED}; {ACCEPTABLE}.",
    "narrow": f"Not shown that it can replace a rater: {COMPARED}.",
    "chance": f"Cannot be tested: {NOT_ABOVE_CHANCE}.",
    "few": "Unknown whether it can replace a rater.",
    "nothing": "Unknown: no pair has ratings of two raters and a verdict of this judge.",
}
UNKNOWN_BIN = "From separability %(low)s to %(high)s it is unknown: no ratings of two raters."
NEXT_BIN = {  # the first bin from the top that does not pass
    "worse": "From separability %(low)s to %(high)s it cannot (%(bin)s).",
    "chance": f"From separability %(low)s to %(high)s alone it cannot be tested: {NOT_ABOVE_CHANCE}.",
    "needs": "Below separability %(high)s it is not shown (%(bin)s; about %(needed)s are needed).",
    "far": "Below separability %(high)s it is not shown (%(bin)s; about %(needed)s are needed, over %(times)s times as many).",
    "hopeless": "Below separability %(high)s it is not shown (%(bin)s), and more would hardly settle it.",
}
TOP_BIN = {  # the same where no bin passes
    rule: NEXT_BIN[rule].replace("Below separability %(high)s", "From separability %(low)s to %(high)s alone")
    for rule in ("needs", "far", "hopeless")
}
UNTESTED_BINS = "Less separable bins are then not tested."
MORE = {  # about all instances together
    "unknown": "With %(instances)s it is open, and there are too few to tell how many are needed.",
    "needs": "With %(instances)s it is open; about %(needed)s are needed.",
    "far": "With %(instances)s it is open; about %(needed)s are needed, over %(times)s times as many.",
    "hopeless": "With %(instances)s it is open, and more would hardly settle it.",
}
PASSING = "passing takes p ≤ %(limit)s (%(shares)s)"
PASSES_ALONE = f"It passes alone, but not after correction: p = %(p_value)s, and {PASSING}."
BY_CHANCE = (
    "But its own agreement with raters may be chance (Cohen's κ %(kappa)s), as for a judge that says the same of "
    "every pair."
)
TESTED_RATERS = "%(tested)s raters (%(min_instances)s instances or more%(fewer)s)"
ALTERNATIVE = {
    "passes": f"The alternative-annotator test shows that it can for %(won)s of {TESTED_RATERS}.",
    "fails": f"The alternative-annotator test shows that it can for only %(won)s of {TESTED_RATERS}.",
    "none": f"The alternative-annotator test does not show that it can for any of {TESTED_RATERS}.",
    "few": (
        "The alternative-annotator test gives no verdict: it needs %(min_people)s raters with %(min_instances)s "
        "instances or more, and has %(tested)s."
    ),
    "no person": "The alternative-annotator test gives no verdict: no rater rated more than %(most)s instances.",
}


@dataclass(frozen=True)
class NonInferiorityResult:
    """The result of a test of non-inferiority, over all instances or in a bin.

    needed : instances that would pass, were all as found; None where more would hardly help
    """

    status: Status
    n: int
    needed: int | None
    low: float | None = None
    high: float | None = None
    evidence: Values = field(default_factory=dict)


def shown(
    test: NonInferiority,
    like: NonInferiority | None = None,
    *,
    low: float | None = None,
    high: float | None = None,
    limit: float | None = None,
) -> NonInferiorityResult:
    """Sum up a test. Below five instances the number needed is taken from the difference and spread of `like`.

    limit : the p-value that passes in a verdict; by its interval alone when left out
    """
    has_few = test.n_instances < MIN_CLUSTERS
    source = like if has_few and like else test
    stricter = {} if limit is None else {"level": 1 - 2 * limit}
    needed = instances_to_pass(source, margin=test.margin, **stricter)
    status: Status
    if not test.n_votes:
        status = "nothing"
    elif test.high < -test.margin:
        status = "worse"
    elif test.refusal is not None and test.refusal.what == "chance":
        status = "chance"
    elif test.low > -test.margin:  # of a bin after one that did not pass too
        status = "passes" if limit is None or test.p_value <= limit else "narrow"
    else:
        status = "few" if has_few else "open"
    needed = None if status in ("passes", "chance") else needed
    above = test.above_chance
    return NonInferiorityResult(
        status,
        test.n_instances,
        needed,
        low,
        high,
        {
            "difference": {"value": number(test.difference), "low": number(test.low), "high": number(test.high)},
            "above_chance": {
                "value": number(test.people_above_chance),
                "low": number(above.low),
                "high": number(above.high),
            },
        },
    )


@dataclass(frozen=True)
class JudgeTests:
    """The tests of non-inferiority of a judge: over all instances, and in the bins from the least separable up."""

    overall: NonInferiority
    bins: Sequence[NonInferiority] = ()

    @property
    def are_made(self) -> bool:
        """True if there are enough instances for any of them."""
        return not all(math.isnan(test.p_value) for test in (self.overall, *self.bins))

    def limits(self, level: float) -> tuple[float, float]:
        """Return the greatest p-values that pass in a verdict at a one-sided level: over all instances, and in each bin.

        All instances are one way to a verdict, the bins from the top, which are tested in a fixed sequence, are another. Each
        has half of the level, and leaves it to the other once it passes entirely.

        source : Bretz, Maurer, Brannath and Posch 2009, A graphical approach to sequentially rejective multiple test
                 procedures, of which Holm's method is another case
        """
        if not self._tested_bins():
            return level, level
        half = level / 2
        all_pass = self._bins_pass(half)
        return level if all_pass else half, level if _passes(self.overall, half) else half

    def all_pass(self, level: float) -> bool:
        """Tell whether the tests over all instances and in every bin with votes pass at a one-sided level."""
        of_whole, of_bins = self.limits(level)
        return _passes(self.overall, of_whole) and self._bins_pass(of_bins)

    def _tested_bins(self) -> list[NonInferiority]:
        return [test for test in self.bins if test.n_votes]

    def _bins_pass(self, limit: float) -> bool:
        return all(_passes(test, limit) for test in self._tested_bins())


@dataclass(frozen=True)
class Family:
    """The judges that are tested on the same raters. Each has a part of the level of all.


    judges  : that are tested
    sharing : of these, the judges that share the level still
    level   : one-sided, the part of a judge
    """

    judges: int
    sharing: int
    level: float

    @classmethod
    def of(cls, judges: Iterable[JudgeTests], *, level: float, not_shown: int = 0) -> "Family":
        """Share a one-sided level by Holm's method: equally, and that of a judge whose tests all pass among the others.

        not_shown : judges that filters leave out; they keep their parts, or a choice of judges would make one pass
        """
        tested = remaining = [tests for tests in judges if tests.are_made]
        while True:
            part = level / max(len(remaining) + not_shown, 1)
            failing = [tests for tests in remaining if not tests.all_pass(part)]
            if len(failing) in (0, len(remaining)):
                return cls(len(tested) + not_shown, len(remaining) + not_shown, part)
            remaining = failing


def _passes(test: NonInferiority, limit: float) -> bool:
    return shown(test, limit=limit).status == "passes"


def verdict(
    tests: JudgeTests,
    edges: Sequence[tuple[float, float]],
    alternative: AlternativeAnnotatorTest,
    kappa: Mapping[str, Any],
    family: Family,
) -> dict[str, Any]:
    """Return {rule, values, text} and, where it is a number, `until` (instances needed).

    edges : of the bins
    kappa : of the judge with people, on the votes over all instances; said where its interval does not lie above 0
    """
    overall = tests.overall
    of_whole, of_bins = tests.limits(family.level)
    overall_result = shown(overall, limit=of_whole)
    bins = [
        shown(test, overall, low=low, high=high, limit=of_bins)
        for test, (low, high) in zip(tests.bins, edges, strict=True)
    ]
    upper_bins = list(takewhile(lambda item: item.status in ("passes", "nothing"), reversed(bins)))
    stop = bins[-1 - len(upper_bins)] if len(upper_bins) < len(bins) else None
    while upper_bins and upper_bins[-1].status == "nothing":
        upper_bins.pop()
    rule = _rule(overall_result, bool(upper_bins), stop)
    undecided = stop if rule in ("from", "overall_only") else overall_result
    values: Values = {
        "epsilon": overall.margin,
        "difference": number(overall.difference),
        "low": number(overall.low),
        "high": number(overall.high),
        "level": overall.level,
        "agreement": number(overall.people_agreement),
        "by_chance": number(overall.people_by_chance),
        "above_chance": overall_result.evidence["above_chance"],
        "instances": overall_result.n,
        "judges": family.judges,
    }
    if rule in ("from", "everywhere"):
        values["from"] = upper_bins[-1].low
        values["untested"] = [{"low": item.low, "high": item.high} for item in upper_bins if item.status == "nothing"]
    if stop is not None and undecided is stop:
        values["next_bin"] = {
            "status": stop.status,
            "low": stop.low,
            "high": stop.high,
            "instances": stop.n,
            **stop.evidence,
        }
    if rule in ADJUSTED:
        values |= {"limit": of_bins if rule == "from" else of_whole, "sharing": family.sharing, "part": family.level}
    if rule == "narrow":
        values["p_value"] = number(overall.p_value)
    if undecided is not None and undecided.status in ("few", "open", "narrow"):
        values["needed"] = undecided.needed
    if rule in MAY_REPLACE and (kappa["low"] is None or kappa["low"] <= 0):
        values["kappa"] = kappa["value"]
    values["alternative"] = _alternative(alternative)
    until = {"until": values["needed"]} if undecided is not None and _hope(undecided.n, values) == "needs" else {}
    return {"rule": rule, "values": values, "text": verdict_text(rule, values), **until}


def _rule(overall_result: NonInferiorityResult, has_upper_bins: bool, stop: NonInferiorityResult | None) -> str:
    """Return the rule. `has_upper_bins` tells whether the most separable bins pass, `stop` is the first that does not."""
    if overall_result.status in ("nothing", "few"):
        return overall_result.status
    if has_upper_bins:
        return "everywhere" if stop is None and overall_result.status == "passes" else "from"
    if overall_result.status == "passes":
        return "overall" if stop is None else "overall_only"
    return overall_result.status


def _hope(instances: int, values: Values) -> Literal["needs", "far", "hopeless"]:
    """Tell whether more instances would settle it, given how many there are."""
    needed = values.get("needed")
    if needed is None:
        return "hopeless"
    return "needs" if needed <= OUT_OF_REACH * instances else "far"


def _alternative(test: AlternativeAnnotatorTest) -> Values:
    tested = [person for person in test.people if person.tested]
    values = {
        "tested": len(tested),
        "people": len(test.people),
        "most": max((person.n_instances for person in test.people), default=0),
        "min_instances": MIN_INSTANCES,
        "min_people": MIN_PEOPLE,
    }
    if test.passes is not None:
        won = sum(row.rejected for row in tested)
        return {"rule": "passes" if test.passes else "fails" if won else "none", "won": won, **values}
    return {"rule": "few" if tested else "no person" if test.people else "", **values}


def verdict_text(rule: str, values: Values) -> str:
    """Return a verdict's sentences."""
    sentences = [RULES[rule] % _shown_values(values)]
    sentences += [UNKNOWN_BIN % _shown_values(gap) for gap in values.get("untested", [])]
    if "next_bin" in values:
        sentences.append(next_bin_text(rule, values))
    elif "needed" in values:
        hope = _hope(values["instances"], values)
        unknown = rule == "few" and hope == "hopeless"  # of a spread that is not known
        sentences.append(MORE["unknown" if unknown else hope] % _shown_values({**values, "times": OUT_OF_REACH}))
    if "kappa" in values:
        sentences.append(BY_CHANCE % _shown_values({"kappa": values["kappa"]}))
    if rule in ADJUSTED:
        sentences.append(correction_text(values))
    return " ".join(filter(None, [*sentences, alternative_text(values["alternative"])]))


def correction_text(values: Values) -> str:
    """Say which p-value passes where the level is shared among judges, or between all instances and bins."""
    sharing, judges, part = values["sharing"], values["judges"], values["part"]
    shares = [f"{max(sharing, 1) * part:.3g}"]
    if judges > 1:
        shares.append(f"{judges} judges" if sharing == judges else f"{sharing} of {judges} judges left")
    if values["limit"] < part:
        shares.append("2: all instances, bins")
    numbers = _shown_values(values) | {"shares": " ÷ ".join(shares) + "; Holm’s method" * (judges > 1)}
    if "p_value" in values:
        return PASSES_ALONE % numbers
    return f"{PASSING[0].upper()}{PASSING[1:]}." % numbers if len(shares) > 1 else ""


def next_bin_text(rule: str, values: Values) -> str:
    """Say why the most separable bin that does not pass does not, with its numbers."""
    stop = {**values["next_bin"], "needed": values.get("needed"), "times": OUT_OF_REACH}
    hopes = TOP_BIN if rule == "overall_only" else NEXT_BIN
    template = NEXT_BIN.get(stop["status"]) or hopes[_hope(stop["instances"], values)]
    text = template % _shown_values(stop)
    return f"{text} {UNTESTED_BINS}" if rule == "overall_only" else text


def alternative_text(values: Values) -> str:
    """Say what the alternative-annotator test shows."""
    if not values["rule"]:
        return ""
    others = values.get("people", values["tested"]) - values["tested"]
    fewer = f"; {others} of {values['people']} have fewer" if others else ""
    return ALTERNATIVE[values["rule"]] % {**values, "fewer": fewer}


def points_text(difference: float) -> str:
    """Write a difference of shares in percentage points, without a sign."""
    number = fixed(100 * abs(difference), 0)
    return f"{number} point{'s' * (number != '1')} {'more' if difference > 0 else 'less'}"


def range_text(interval: Mapping[str, Any]) -> str:
    """Write the interval of a difference in points, each end as more or less."""
    if interval["low"] is None:  # two ways, over few raters
        return "(no interval)"
    sizes = {end: abs(100 * interval[end]) for end in ("low", "high")}
    ends = [
        (fixed(size, 0 if size == 0 or size >= 0.5 else 1), "more" if interval[end] > 0 else "less")
        for end, size in sizes.items()
    ]
    return "(from {} to {})".format(*(points if points == "0" else f"{points} {sense}" for points, sense in ends))


def _shown_values(values: Values) -> Values:
    """Format numbers: differences in points, others with two decimals, counts with their noun. A dash where there is none."""
    n, difference = values.get("instances", 0), values.get("difference")
    instances = f"{n} instance{pluralize(n)}"
    numbers = {name: fixed(value, 2) for name, value in values.items() if isinstance(value, float)}
    numbers |= {name: f"{values[name]:.3g}" for name in ("p_value", "limit") if name in values}
    numbers |= {name: "—" for name, value in values.items() if value is None}
    if "epsilon" in values:
        numbers["epsilon"] = fixed(100 * values["epsilon"], 0)
    if isinstance(difference, float):
        numbers |= {"difference": points_text(difference), "range": range_text(values)}
    if isinstance(difference, Mapping):
        numbers["bin"] = f"{instances}{'' if difference['value'] is None else f', {_points_with_range(difference)}'}"
    if above := values.get("above_chance"):
        numbers["above_chance"] = "—" if above["value"] is None else f"{_points_with_range(above)}"
    return {**values, **numbers, "instances": instances}


def _points_with_range(difference: Mapping[str, Any]) -> str:
    return f"{points_text(difference['value'])}, {range_text(difference)[1:-1]}"
