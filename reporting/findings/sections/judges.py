"""The section on judges and people: verdicts in words, agreement beside people's, tests, win rates with a judge's help."""

from collections.abc import Mapping
from typing import Any

from annotation.core.tables import PERCENT, POINTS, Column, DataTable, Row, percents
from reporting.core.text import subject
from reporting.findings.answer.statements import without_baselines
from reporting.findings.judges.verdicts import MAY_REPLACE, UNTESTED
from reporting.findings.reasons import COLLECTING
from reporting.findings.sections.data_table import (
    adjusted_heading,
    bin_text,
    configuration_name,
    p_text,
)
from reporting.findings.sections.titles import Title

Findings = Mapping[str, Any]
BESIDE = {
    "agreement": Column("Agrees with raters", unit=PERCENT),
    "people_agreement": Column("Raters with one another", unit=PERCENT),
    "difference": Column("Difference", unit=POINTS),
    "accuracy": Column("Agrees with their majority", unit=PERCENT),
    "kappa": Column("Cohen’s κ with raters"),
    "people_kappa": Column("κ of raters with one another"),
    "kappa_difference": Column("Difference of κ"),
}
EPSILONS = (0.05, 0.1, 0.15, 0.2, 0.3)  # of the curve that the table shows; all are in the JSON


def judges_section(numbers: Findings) -> dict[str, Any]:
    """Return the verdict on each judge, and the section's tables."""
    replacement, agreement = numbers["replacement"], numbers["judge_agreement"]
    has_people = any(configuration["raters"][0]["ratings"] for configuration in numbers["configurations"])
    beside: list[Findings] = [
        _beside(*both) for both in zip(numbers["judges_against_people"], replacement, strict=True)
    ]
    overall, by_judges = _overall(beside), _agreement(agreement)
    return {
        "title": _title(numbers, has_people=has_people),
        "has_people": has_people,
        "table": overall if has_people else by_judges,
        "agreement": by_judges,
        "verdicts": [
            {"judge": judge["judge"], "text": judge["verdict"]["text"]}  # as stored: earlier versions had other values
            for judge in replacement
        ],
        "overall": overall,
        "by_bin": _by_bin(beside),
        "tests": _tests(numbers["judge_tests"]),
        "probabilities": _probabilities(numbers.get("judge_probabilities", [])),
        "calibration": _calibration(numbers.get("judge_probabilities", [])),
        "tuned": [(judge["judge"], judge["instances_left_out"]) for judge in numbers["tuned_judges"]],
        "juries": _juries(numbers["juries"]),
        "jury_members": _jury_members(numbers["juries"]),
        "self_preference": _self_preference(numbers["self_preference"]),
        "alternative": _alternative(replacement),
        "untested": _untested(replacement),
        "alternative_people": _alternative_people(replacement),
        "powered": _powered(replacement),
        "most_saved": _most_saved(replacement),
    }


def _title(numbers: Findings, *, has_people: bool) -> Title:
    """Say how many judges may replace a rater, by tests that Holm's method adjusts over judges."""
    judges = without_baselines(numbers["replacement"], numbers) if has_people else []
    rules = [judge["verdict"]["rule"] for judge in judges]
    if rules and not set(rules) <= {*UNTESTED, "chance"}:
        may = sum(rule in MAY_REPLACE for rule in rules)
        code = "may_replace" if may else "none_can_replace" if set(rules) == {"worse"} else "none_may_replace"
        return Title(code, {"may": may, "judges": len(rules)})
    agreement = numbers["judge_agreement"]
    if not rules and agreement and agreement["raw_agreement"]["value"] is not None:
        return Title("judges_agree", {"rate": agreement["raw_agreement"]})
    return Title("judges", {"people": subject(numbers["configurations"])})


def _agreement(findings: Findings | None) -> DataTable | None:
    """Return how often every two judges give the same verdict."""
    if findings is None or not findings["judges"]:
        return None
    rows: list[Row] = [((judge["judge_a"], judge["judge_b"]), [judge["agreement"]]) for judge in findings["judges"]]
    headings = ["Judge", "Other judge", *percents("Same verdict")]
    return DataTable("judge-agreement", "How often two judges give the same verdict on a pair", headings, rows)


def _beside(judge: Findings, replacement: Findings) -> dict[str, Any]:
    """Return a judge's agreement beside people's with the difference that its verdict rests on."""
    tests = replacement["non_inferiority"]

    def with_difference(table: Findings, test: Findings) -> dict[str, Any]:
        return {**table, "difference": test["difference"]}

    return {
        **judge,
        "overall": with_difference(judge["overall"], tests["overall"]),
        "bins": list(map(with_difference, judge["bins"], tests["bins"])),
    }


def _overall(judges: list[Findings]) -> DataTable:
    rows: list[Row] = [((item["judge"],), [item["overall"][key] for key in BESIDE]) for item in judges]
    caption = "Each judge’s agreement with raters beside theirs with one another, on the same ratings"
    return DataTable("judges-overall", caption, ["Judge", *BESIDE.values()], rows)


def _by_bin(judges: list[Findings]) -> DataTable | None:
    rows: list[Row] = [
        ((item["judge"], bin_text(bin_)), [bin_[key] for key in BESIDE]) for item in judges for bin_ in item["bins"]
    ]
    caption = "The same by separability"
    return DataTable("judges-by-bin", caption, ["Judge", "Separability", *BESIDE.values()], rows) if rows else None


def _probabilities(judges: list[Findings]) -> DataTable | None:
    """Return the Brier score of each judge that has probabilities, with its parts."""
    keys = ("brier", "least", "reliability", "resolution", "uncertainty")
    rows: list[Row] = [((item["judge"],), [item[key] for key in keys]) for item in judges]
    headings = ["Judge", "Brier score", "Least possible", "Reliability", "Resolution", "Uncertainty"]
    return (
        DataTable("judge-probabilities", "Probabilities of judges against raters’ votes", headings, rows)
        if rows
        else None
    )


def _calibration(judges: list[Findings]) -> DataTable | None:
    """Return the votes for the system that a judge prefers, by its probability."""
    rows: list[Row] = [
        ((item["judge"], bin_text(bin_, 1)), [bin_["probability"], bin_["votes"]])
        for item in judges
        for bin_ in item["bins"]
    ]
    headings = ["Judge", "Probability", *percents("Mean probability", "Votes for the system that it prefers")]
    return (
        DataTable("calibration", "Votes for the system that a judge prefers, by its probability", headings, rows)
        if rows
        else None
    )


def _tests(judges: list[Findings]) -> DataTable | None:
    if not judges:
        return None
    keys = ("p_value", "adjusted") if judges[0]["of"] > 1 else ("p_value",)
    rows: list[Row] = [
        (
            (item["judge_a"], item["judge_b"]),
            [item["difference"], *(p_text(item[key]) for key in keys), _test_text(item)],
        )
        for item in judges
    ]
    caption = (
        "Tests between judges, paired by rating; the difference is above 0 where the first judge agrees more with "
        "raters"
    )
    headings = [
        *("Judge", "Other judge", Column("Difference of agreement with raters", unit=POINTS)),
        *["p", adjusted_heading(judges[0]["of"])][: len(keys)],
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
    return f"“{nearer}” agrees more with raters"


def _juries(juries: list[Findings]) -> DataTable | None:
    rows: list[Row] = [
        (
            (item["judge"],),
            [
                item["rule"],
                ", ".join(item["members"]),
                ", ".join(item["absent"]) or None,
                *((item["why"], None) if "why" in item else (item["effective_members"], item["error_correlation"])),
            ],
        )
        for item in juries
    ]
    headings = [
        *("Jury", "Rule", "Members", "Of these without verdicts here"),
        *("Independent votes that it is worth", "Mean correlation of its members’ errors"),
    ]
    return DataTable("juries", "Juries: how many independent votes they are worth", headings, rows) if rows else None


def _jury_members(juries: list[Findings]) -> DataTable | None:
    rows: list[Row] = [
        ((jury["judge"], item["member"]), [item["difference"], item["changes"]])
        for jury in juries
        for item in jury["without"]
    ]
    headings = [
        *("Jury", "Member", Column("Agreement with raters, less that of the jury without it", unit=POINTS)),
        "Verdicts that it changes",
    ]
    return DataTable("jury-members", "What each member adds to its jury", headings, rows) if rows else None


def _self_preference(judges: list[Findings]) -> DataTable | None:
    rows: list[Row] = [
        (
            (item["judge"],),
            [item["family"] or None, item["with_judge"], item["with_people"], item["difference"]],
        )
        for item in judges
    ]
    headings = [
        *("Judge", "Family of its model", *percents("Wins of its family’s systems with it")),
        *percents("Their wins with raters, on the same pairs"),
        Column("Difference", unit=POINTS),
    ]
    caption = "Self-preference: does a judge prefer its own model’s family? A difference above 0: more than raters do"
    return DataTable("self-preference", caption, headings, rows) if any("why" not in item for item in judges) else None


def _untested(rows: list[Findings]) -> str:
    """Say what the alternative-annotator test takes, where no judge has a person that can be tested."""
    tests = [item["alternative_annotator"] for item in rows]
    if not tests or any(test["tested"] or test.get("why_code") == COLLECTING.code for test in tests):
        return ""
    return (
        f"No verdict: it takes {tests[0]['min_people']} raters with {tests[0]['min_instances']} instances or more "
        "each, and there is none."
    )


def _alternative(judges: list[Findings]) -> DataTable:
    rows: list[Row] = []
    for judge in judges:
        test = judge["alternative_annotator"]
        curve = {round(point["epsilon"], 2): point["winning_rate"] for point in test["curve"]}
        passes = test["why"] if test["passes"] is None else "yes" if test["passes"] else "no"
        tested = f"{test['tested']} of {len(test['people'])}"
        rows.append(((judge["judge"],), [tested, test["advantage"], *(curve.get(at) for at in EPSILONS), passes]))
    at = [f"ω at ε = {epsilon:.2f}" for epsilon in EPSILONS]
    headings = ["Judge", "Raters tested", *percents("Advantage", *at), "Passes at the chosen ε"]
    return DataTable(
        "alternative",
        "Alternative-annotator test: the share ω of raters whom the judge stands up to",
        headings,
        rows,
    )


def _alternative_people(judges: list[Findings]) -> DataTable | None:
    rows: list[Row] = [
        (
            (judge["judge"], person["rater"]),
            [
                person["n_instances"],
                person["judge_wins"],
                person["person_wins"],
                p_text(person["p_value"]),
                p_text(person["adjusted"]),
                "yes" if person["rejected"] else "no" if person["tested"] else "not tested",
            ],
        )
        for judge in judges
        if judge["alternative_annotator"]["tested"]
        for person in judge["alternative_annotator"]["people"]
    ]
    headings = [
        *(
            "Judge",
            "Rater",
            "Instances",
            *percents("Judge at least as near to the others", "Rater at least as near"),
        ),
        *("p", "p, adjusted", "Judge stands up to the rater"),
    ]
    caption = "Alternative-annotator test, rater by rater; adjusted by Benjamini and Yekutieli’s method"
    return DataTable("alternative-people", caption, headings, rows) if rows else None


def _most_saved(judges: list[Findings]) -> dict[str, Any] | None:
    """Return the judge and configuration with the most instances saved, or None where no judge saves any."""
    rows = [(judge["judge"], row) for judge in judges for row in judge["prediction_powered"] if row["saved"]]
    judge, row = max(rows, key=lambda pair: pair[1]["saved"], default=("", {"saved": 0}))
    if row["saved"] < 1:
        return None
    return {
        "judge": judge,
        "configuration": configuration_name(row),
        "rated": row["n_rated"],
        "needed": round(row["effective_n"]),
    }


def _powered(judges: list[Findings]) -> DataTable | None:
    rows: list[Row] = [
        (
            (judge["judge"], configuration_name(row)),
            [
                row["plain"],
                row["win_rate_a"],
                row["n_rated"],
                row["n_judged"],
                row["effective_n"] and round(row["effective_n"], 1),
                row["saved"] and round(row["saved"], 1),
            ],
        )
        for judge in judges
        for row in judge["prediction_powered"]
    ]
    if not any(row["n_judged"] for judge in judges for row in judge["prediction_powered"]):
        return None
    headings = [
        *("Judge", "Configuration", *percents("Win rate of A by raters", "With the judge’s help")),
        *("Rated", "Judged only", "Needed at random for the same width", "Instances saved"),
    ]
    caption = "Prediction-powered win rates: what a judge’s verdicts on further instances add to raters’ ratings"
    return DataTable("powered", caption, headings, rows)
