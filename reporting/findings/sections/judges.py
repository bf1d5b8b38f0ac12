"""The section on judges and people: verdicts in words, agreement beside people's, tests, win rates with a judge's help."""

from collections.abc import Mapping
from typing import Any

from django.template.defaultfilters import pluralize

from annotation.core.tables import DataTable, Row
from reporting.findings.judges.verdicts import MAY_REPLACE, UNTESTED, verdict_text
from reporting.findings.sections.data_table import (
    adjusted_heading,
    bin_text,
    configuration_name,
    p_text,
    short_estimate,
)

Findings = Mapping[str, Any]
BESIDE: dict[str, str] = {
    "agreement": "Agrees with people",
    "people_agreement": "People with one another",
    "difference": "Difference",
    "accuracy": "Agrees with their majority",
    "kappa": "Cohen’s κ with people",
    "people_kappa": "κ of people with one another",
    "kappa_difference": "Difference of κ",
}
EPSILONS = (0.05, 0.1, 0.15, 0.2, 0.3)  # of the curve that the table shows; all are in the JSON


def judges_section(numbers: Findings) -> dict[str, Any]:
    """Return the verdict on each judge, and the section's tables."""
    replacement, agreement = numbers["replacement"], numbers["judge_agreement"]
    return {
        "has_people": any(
            rater["kind"] == "person" and rater["ratings"]
            for one in numbers["configurations"]
            for rater in one["raters"]
        ),
        "line": _line(replacement),
        "agreement_line": _agreement_line(agreement),
        "agreement": _agreement(agreement),
        "verdicts": [
            {"judge": one["judge"], "text": verdict_text(one["verdict"]["rule"], one["verdict"]["values"])}
            for one in replacement
        ],
        "overall": _overall(numbers["judges_against_people"]),
        "by_bin": _by_bin(numbers["judges_against_people"]),
        "tests": _tests(numbers["judge_tests"]),
        "tuned": [(one["judge"], one["instances_left_out"]) for one in numbers["tuned_judges"]],
        "juries": _juries(numbers["juries"]),
        "jury_members": _jury_members(numbers["juries"]),
        "self_preference": _self_preference(numbers["self_preference"]),
        "alternative": _alternative(replacement),
        "untested": _untested(replacement),
        "alternative_people": _alternative_people(replacement),
        "powered": _powered(replacement),
    }


def _line(replacement: list[Findings]) -> str:
    """Say how many judges may replace a rater; nothing where none could be tested."""
    rules = [one["verdict"]["rule"] for one in replacement]
    if set(rules) <= set(UNTESTED):
        return ""
    may = sum(rule in MAY_REPLACE for rule in rules)
    return f"{may} of {len(rules)} judge{pluralize(len(rules))} may replace a single rater at least in part"


def _agreement_line(found: Findings | None) -> str:
    """Say how often two judges give the same verdict."""
    if found is None or found["raw_agreement"]["value"] is None:
        return ""
    return f"same verdict of two judges: {short_estimate(found['raw_agreement'])}"


def _agreement(found: Findings | None) -> DataTable | None:
    """Return how often every two judges give the same verdict."""
    if found is None or not found["judges"]:
        return None
    rows: list[Row] = [((one["judge_a"], one["judge_b"]), [one["agreement"]]) for one in found["judges"]]
    headings = ["Judge", "Other judge", "Same verdict"]
    return DataTable("judge-agreement", "How often two judges give the same verdict on a pair", headings, rows)


def _overall(found: list[Findings]) -> DataTable:
    rows: list[Row] = [((one["judge"],), [one["overall"][key] for key in BESIDE]) for one in found]
    caption = "Each judge’s agreement with people beside theirs with one another, on the same ratings"
    return DataTable("judges-overall", caption, ["Judge", *BESIDE.values()], rows)


def _by_bin(found: list[Findings]) -> DataTable | None:
    rows: list[Row] = [
        ((one["judge"], bin_text(bin_)), [bin_[key] for key in BESIDE]) for one in found for bin_ in one["bins"]
    ]
    caption = "The same by separability"
    return DataTable("judges-by-bin", caption, ["Judge", "Separability", *BESIDE.values()], rows) if rows else None


def _tests(found: list[Findings]) -> DataTable | None:
    if not found:
        return None
    keys = ("p_value", "adjusted") if found[0]["of"] > 1 else ("p_value",)
    rows: list[Row] = [
        (
            (one["judge_a"], one["judge_b"]),
            [one["difference"], *(p_text(one[key]) for key in keys), _test_text(one)],
        )
        for one in found
    ]
    caption = "Tests between judges, paired by rating; the difference is above 0 where the first judge agrees more with people"
    headings = [
        *("Judge", "Other judge", "Difference of agreement with people"),
        *["p", adjusted_heading(found[0]["of"])][: len(keys)],
        "What it means",
    ]
    return DataTable("judge-tests", caption, headings, rows)


def _test_text(test: Findings) -> str:
    difference, adjusted = test["difference"], test["adjusted"]
    if adjusted is None:
        return "not tested"
    if adjusted >= 1 - difference["level"]:
        return "no difference by more than chance"
    nearer = test["judge_a"] if difference["value"] > 0 else test["judge_b"]
    return f"“{nearer}” agrees more with people"


def _juries(found: list[Findings]) -> DataTable | None:
    rows: list[Row] = [
        (
            (one["judge"],),
            [
                one["rule"],
                ", ".join(one["members"]),
                ", ".join(one["absent"]) or None,
                *((one["why"], None) if "why" in one else (one["effective_members"], one["error_correlation"])),
            ],
        )
        for one in found
    ]
    headings = [
        *("Jury", "Rule", "Members", "Of these without verdicts here"),
        *("Independent votes that it is worth", "Mean correlation of its members’ errors"),
    ]
    return DataTable("juries", "Juries: how many independent votes they are worth", headings, rows) if rows else None


def _jury_members(found: list[Findings]) -> DataTable | None:
    rows: list[Row] = [
        ((jury["judge"], one["member"]), [one["difference"], one["changes"], _member_text(one["difference"])])
        for jury in found
        for one in jury["without"]
    ]
    headings = [
        *("Jury", "Member", "Agreement with people, less that of the jury without it"),
        *("Verdicts that it changes", "What it means"),
    ]
    return DataTable("jury-members", "What each member adds to its jury", headings, rows) if rows else None


def _member_text(difference: Findings) -> str:
    if difference["low"] is None:
        return "cannot be told"
    if difference["low"] > 0:
        return "adds agreement with people"
    if difference["high"] < 0:
        return "takes agreement with people away"
    return "adds nothing by more than chance"


def _self_preference(found: list[Findings]) -> DataTable | None:
    rows: list[Row] = [
        (
            (one["judge"],),
            [one["family"] or None, one["with_judge"], one["with_people"], one["difference"], _own_text(one)],
        )
        for one in found
    ]
    headings = [
        *("Judge", "Family of its model", "Wins of its family’s systems with it"),
        *("Their wins with people, on the same pairs", "Difference", "What it means"),
    ]
    caption = "Self-preference: does a judge prefer its own model’s family? A difference above 0: more than people do"
    return DataTable("self-preference", caption, headings, rows) if any("why" not in one for one in found) else None


def _own_text(one: Findings) -> str:
    difference = one["difference"]
    if difference["low"] is None:
        return "cannot be told"
    if difference["low"] > 0:
        return "prefers its own family more than people do"
    if difference["high"] < 0:
        return "prefers its own family less than people do"
    return "no difference by more than chance"


def _untested(found: list[Findings]) -> str:
    """Say what the alternative-annotator test takes, where no judge has a person that can be tested."""
    tests = [one["alternative_annotator"] for one in found]
    if not tests or any(one["tested"] for one in tests):
        return ""
    return (
        f"No verdict: it takes {tests[0]['min_people']} people with {tests[0]['min_instances']} instances or more "
        "each, and there is none."
    )


def _alternative(found: list[Findings]) -> DataTable:
    rows: list[Row] = []
    for judge in found:
        one = judge["alternative_annotator"]
        curve = {round(point["epsilon"], 2): point["winning_rate"] for point in one["curve"]}
        passes = one["why"] if one["passes"] is None else "yes" if one["passes"] else "no"
        tested = f"{one['tested']} of {len(one['people'])}"
        rows.append(((judge["judge"],), [tested, one["advantage"], *(curve.get(at) for at in EPSILONS), passes]))
    at = [f"ω at ε = {epsilon:.2f}" for epsilon in EPSILONS]
    headings = ["Judge", "People tested", "Advantage", *at, "Passes at the chosen ε"]
    return DataTable(
        "alternative",
        "Alternative-annotator test: the share ω of people whom the judge stands up to",
        headings,
        rows,
    )


def _alternative_people(found: list[Findings]) -> DataTable | None:
    rows: list[Row] = [
        (
            (judge["judge"], one["rater"]),
            [
                one["n_instances"],
                one["judge_wins"],
                one["person_wins"],
                p_text(one["p_value"]),
                p_text(one["adjusted"]),
                "yes" if one["rejected"] else "no" if one["tested"] else "not tested",
            ],
        )
        for judge in found
        for one in judge["alternative_annotator"]["people"]
    ]
    headings = [
        *(
            "Judge",
            "Person",
            "Instances",
            "Judge at least as near to the others",
            "Person at least as near",
        ),
        *("p", "p, adjusted", "Judge stands up to the person"),
    ]
    caption = "Alternative-annotator test, person by person; adjusted by Benjamini and Yekutieli’s method"
    return DataTable("alternative-people", caption, headings, rows) if rows else None


def _powered(found: list[Findings]) -> DataTable | None:
    rows: list[Row] = [
        (
            (judge["judge"], configuration_name(one)),
            [
                one["plain"],
                one["win_rate_a"],
                one["n_rated"],
                one["n_judged"],
                one["effective_n"] and round(one["effective_n"], 1),
                one["saved"] and round(one["saved"], 1),
            ],
        )
        for judge in found
        for one in judge["prediction_powered"]
    ]
    if not any(one["n_judged"] for judge in found for one in judge["prediction_powered"]):
        return None
    headings = [
        *("Judge", "Configuration", "Win rate of A by people", "With the judge’s help"),
        *("Rated by people", "Judged only", "As good as instances rated", "Instances saved"),
    ]
    caption = "Prediction-powered win rates: what a judge’s verdicts on further instances add to people’s ratings"
    return DataTable("powered", caption, headings, rows)
