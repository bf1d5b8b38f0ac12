"""The section on judges and people: verdicts in words, agreement beside people's, tests, win rates with a judge's help."""

from collections.abc import Callable, Mapping
from typing import Any

from annotation.core.tables import PERCENT, POINTS, Column, DataTable
from reporting.core.text import subject
from reporting.findings.answer.statements import without_baselines
from reporting.findings.judges.verdicts import MAY_REPLACE, UNTESTED
from reporting.findings.reasons import COLLECTING
from reporting.findings.sections.data_table import (
    CONFIGURATION,
    Columns,
    adjusted_heading,
    bin_text,
    configuration_name,
    p_text,
    table_of,
)
from reporting.findings.sections.titles import Title

Findings = Mapping[str, Any]
JUDGE = {"Judge": "judge"}
BESIDE: Columns = {
    Column("Agrees with raters", unit=PERCENT): "agreement",
    Column("Raters with one another", unit=PERCENT): "people_agreement",
    Column("Difference", unit=POINTS): "difference",
    Column("Agrees with their majority", unit=PERCENT): "accuracy",
    Column("Cohen’s κ with raters"): "kappa",
    Column("κ of raters with one another"): "people_kappa",
    Column("Difference of κ"): "kappa_difference",
}
BIN: Columns = {"Separability": bin_text}
EPSILONS = (0.05, 0.1, 0.15, 0.2, 0.3)  # of the curve that the table shows; all are in the JSON


def judges_section(numbers: Findings) -> dict[str, Any]:
    """Return the verdict on each judge, and the section's tables."""
    replacement, agreement = numbers["replacement"], numbers["judge_agreement"]
    has_people = any(configuration["raters"][0]["ratings"] for configuration in numbers["configurations"])
    caption = "Each judge’s agreement with raters beside theirs with one another, on the same ratings"
    of_judges, in_bins = _beside(numbers)
    overall = table_of("judges-overall", caption, of_judges, JUDGE, BESIDE)
    by_judges = _agreement(agreement)
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
        "by_bin": table_of("judges-by-bin", "The same by separability", in_bins, {**JUDGE, **BIN}, BESIDE),
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
    caption = "How often two judges give the same verdict on a pair"
    heads: Columns = {"Judge": "judge_a", "Other judge": "judge_b"}
    judges = () if findings is None else findings["judges"]
    return table_of("judge-agreement", caption, judges, heads, {Column("Same verdict", unit=PERCENT): "agreement"})


def _beside(numbers: Findings) -> tuple[list[Findings], list[Findings]]:
    """Return each judge's agreement beside people's, over all and by bin, with the difference that its verdict rests on."""
    overall: list[Findings] = []
    in_bins: list[Findings] = []
    for judge, replacement in zip(numbers["judges_against_people"], numbers["replacement"], strict=True):
        tests, named = replacement["non_inferiority"], {"judge": judge["judge"]}
        overall.append({**judge["overall"], **named, "difference": tests["overall"]["difference"]})
        bins = zip(judge["bins"], tests["bins"], strict=False)
        in_bins += [{**bin_, **named, "difference": test["difference"]} for bin_, test in bins]
    return overall, in_bins


def _probabilities(judges: list[Findings]) -> DataTable | None:
    """Return the Brier score of each judge that has probabilities, with its parts."""
    keys = ("brier", "least", "reliability", "resolution", "uncertainty")
    headings = ("Brier score", "Least possible", "Reliability", "Resolution", "Uncertainty")
    caption = "Probabilities of judges against raters’ votes"
    return table_of("judge-probabilities", caption, judges, JUDGE, dict(zip(headings, keys, strict=True)))


def _calibration(judges: list[Findings]) -> DataTable | None:
    """Return the votes for the system that a judge prefers, by its probability."""
    caption = "Votes for the system that a judge prefers, by its probability"
    heads: Columns = {**JUDGE, "Probability": lambda bin_: bin_text(bin_, 1)}
    cells: Columns = {
        Column("Mean probability", unit=PERCENT): "probability",
        Column("Votes for the system that it prefers", unit=PERCENT): "votes",
    }
    bins = [{**bin_, "judge": item["judge"]} for item in judges for bin_ in item["bins"]]
    return table_of("calibration", caption, bins, heads, cells)


def _tests(judges: list[Findings]) -> DataTable | None:
    of = judges[0]["of"] if judges else 0
    caption = (
        "Tests between judges, paired by rating; the difference is above 0 where the first judge agrees more with "
        "raters"
    )
    cells: Columns = {
        Column("Difference of agreement with raters", unit=POINTS): "difference",
        "p": lambda item: p_text(item["p_value"]),
        **({adjusted_heading(of): lambda item: p_text(item["adjusted"])} if of > 1 else {}),
        "What it means": _test_text,
    }
    return table_of("judge-tests", caption, judges, {"Judge": "judge_a", "Other judge": "judge_b"}, cells)


def _test_text(test: Findings) -> str:
    difference, adjusted = test["difference"], test["adjusted"]
    if adjusted is None:
        return "not tested"
    if adjusted >= 1 - difference["level"]:
        return "no difference by more than chance"
    nearer = test["judge_a"] if difference["value"] > 0 else test["judge_b"]
    return f"“{nearer}” agrees more with raters"


def _juries(juries: list[Findings]) -> DataTable | None:
    cells: Columns = {
        "Rule": "rule",
        "Members": lambda item: ", ".join(item["members"]),
        "Of these without verdicts here": lambda item: ", ".join(item["absent"]) or None,
        "Independent votes that it is worth": lambda item: item.get("why") or item["effective_members"],
        "Mean correlation of its members’ errors": lambda item: item.get("error_correlation"),
    }
    caption = "Juries: how many independent votes they are worth"
    return table_of("juries", caption, juries, {"Jury": "judge"}, cells)


def _jury_members(juries: list[Findings]) -> DataTable | None:
    members = [{**item, "jury": jury["judge"]} for jury in juries for item in jury["without"]]
    less = Column("Agreement with raters, less that of the jury without it", unit=POINTS)
    cells = {less: "difference", "Verdicts that it changes": "changes"}
    caption = "What each member adds to its jury"
    return table_of("jury-members", caption, members, {"Jury": "jury", "Member": "member"}, cells)


def _self_preference(judges: list[Findings]) -> DataTable | None:
    cells: Columns = {
        "Family of its model": lambda item: item["family"] or None,
        Column("Wins of its family’s systems with it", unit=PERCENT): "with_judge",
        Column("Their wins with raters, on the same pairs", unit=PERCENT): "with_people",
        Column("Difference", unit=POINTS): "difference",
    }
    caption = "Self-preference: does a judge prefer its own model’s family? A difference above 0: more than raters do"
    shown = judges if any("why" not in item for item in judges) else ()
    return table_of("self-preference", caption, shown, JUDGE, cells)


def _untested(rows: list[Findings]) -> str:
    """Say what the alternative-annotator test takes, where no judge has a person that can be tested."""
    tests = [item["alternative_annotator"] for item in rows]
    if not tests or any(test["tested"] or test.get("why_code") == COLLECTING.code for test in tests):
        return ""
    return (
        f"No verdict: it takes {tests[0]['min_people']} raters with {tests[0]['min_instances']} instances or more "
        "each, and there is none."
    )


def _alternative(judges: list[Findings]) -> DataTable | None:
    tests = [{**judge["alternative_annotator"], "judge": judge["judge"]} for judge in judges]

    def rate_at(epsilon: float) -> Callable[[Findings], float | None]:
        return lambda test: {round(at["epsilon"], 2): at["winning_rate"] for at in test["curve"]}.get(epsilon)

    cells: Columns = {
        "Raters tested": lambda test: f"{test['tested']} of {len(test['people'])}",
        Column("Advantage", unit=PERCENT): "advantage",
        **{Column(f"ω at ε = {epsilon:.2f}", unit=PERCENT): rate_at(epsilon) for epsilon in EPSILONS},
        "Passes at the chosen ε": lambda test: (
            test["why"] if test["passes"] is None else "yes" if test["passes"] else "no"
        ),
    }
    caption = "Alternative-annotator test: the share ω of raters whom the judge stands up to"
    return table_of("alternative", caption, tests, JUDGE, cells)


def _alternative_people(judges: list[Findings]) -> DataTable | None:
    tests = [(judge["judge"], judge["alternative_annotator"]) for judge in judges]
    people = [{**person, "judge": judge} for judge, test in tests if test["tested"] for person in test["people"]]
    cells: Columns = {
        "Instances": "n_instances",
        Column("Judge at least as near to the others", unit=PERCENT): "judge_wins",
        Column("Rater at least as near", unit=PERCENT): "person_wins",
        "p": lambda person: p_text(person["p_value"]),
        "p, adjusted": lambda person: p_text(person["adjusted"]),
        "Judge stands up to the rater": lambda person: (
            "yes" if person["rejected"] else "no" if person["tested"] else "not tested"
        ),
    }
    caption = "Alternative-annotator test, rater by rater; adjusted by Benjamini and Yekutieli’s method"
    return table_of("alternative-people", caption, people, {**JUDGE, "Rater": "rater"}, cells)


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
    rows = [{**row, "judge": judge["judge"]} for judge in judges for row in judge["prediction_powered"]]
    cells: Columns = {
        Column("Win rate of A by raters", unit=PERCENT): "plain",
        Column("With the judge’s help", unit=PERCENT): "win_rate_a",
        "Rated": "n_rated",
        "Judged only": "n_judged",
        "Needed at random for the same width": lambda row: row["effective_n"] and round(row["effective_n"], 1),
        "Instances saved": lambda row: row["saved"] and round(row["saved"], 1),
    }
    caption = "Prediction-powered win rates: what a judge’s verdicts on further instances add to raters’ ratings"
    shown = rows if any(row["n_judged"] for row in rows) else ()
    return table_of("powered", caption, shown, {**JUDGE, **CONFIGURATION}, cells)
