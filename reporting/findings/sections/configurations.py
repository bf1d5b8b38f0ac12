"""The sections on each configuration, and on what data are in."""

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from annotation.core.counting import fixed, number_of
from annotation.core.tables import MOST_ROWS, DataTable, Row
from reporting.core.text import rater_name, subject
from reporting.findings.answer.statements import has_one_pair, mirrored
from reporting.findings.measures import measures
from reporting.findings.measures.registry import JUDGE
from reporting.findings.sections.data_table import bin_text, by_bin, configuration_name, raters_with_verdicts, table_of
from reporting.findings.sections.titles import Title

Findings = Mapping[str, Any]
STRENGTH = "mean_preference_strength"
DEGREES = {
    "a": {"much": "A, much", "slightly": "A, slightly", "unknown": "A, not known how much"},
    "tie": {"good": "Both are good", "bad": "Both are bad", "unknown": "Tie, kind not known"},
    "b": {"slightly": "B, slightly", "much": "B, much", "unknown": "B, not known how much"},
}
EXCLUSIONS = {
    "excluded": "Excluded",
    "not_submitted": "Not submitted",
    "surplus": "Surplus",
    "repeated": "Repeated",
    "check": "Of qualifications and hidden checks",
    "withdrawn": "Withdrawn",
}


def configuration_section(
    configuration: dict[str, Any], at: int, figures: Callable[[dict[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    """Return what the page shows of one configuration.

    figures : makes the pictures by part
    """
    people, judges = configuration["raters"][0], configuration["raters"][1:]
    of_people, consistent = configuration["raters"][0]["ratings"], not has_one_pair([configuration])
    columns = [measure for measure in measures() if JUDGE in measure.kinds] if of_people else []
    rows: list[Row] = [
        (
            (rater_name(rater["rater"]),),
            [
                rater["raters"],
                _sets(rater),
                rater["ratings"],
                "{a} / {tie} / {b}".format(**rater["counts"]),
                *([rater["mean_consistency"]] * consistent),
                _toward(rater["mean_preference_strength"], configuration),
                *(value or None for measure in columns for value in measure.estimates(rater)),
            ],
        )
        for rater in raters_with_verdicts(configuration)
    ]
    headings = [
        *("Rater", "Raters", "Rating sets", "Ratings", "A / tie / B"),
        *["Mean consistency"] * consistent,
        "Mean preference strength",
        *(heading for measure in columns for heading in measure.headings()),
    ]
    return {
        "one": configuration,
        "name": configuration_name(configuration),
        "people": people,
        "judges": judges,
        "raters": DataTable(f"raters-{at}", "People and judges", headings, rows),
        "degrees": _degrees(people, at),
        "bins": _bins(configuration, at) if people["bins"] else [],
        "distributions": _distributions(configuration, at),
        "answers": table_of(
            f"answers-{at}",
            "What judges answered",
            judges,
            {"Judge": lambda rater: rater_name(rater["rater"])},
            {key.capitalize(): key for key in ("asked", "parsed", "unparsed", "refused", "errors")},
        ),
        "weighted": [rater for rater in configuration["raters"] if "weighted" in rater],
        "figures": figures(configuration),
    }


def _degrees(people: Findings, at: int) -> DataTable | None:
    """Return how much people prefer either system and which kinds of ties they gave, if they were asked for it."""
    counts: dict[str, int] = {}
    for side, labels in DEGREES.items() if people.get("degrees") else ():
        if side in people["degrees"]:
            counts |= {label: people["degrees"][side][degree] for degree, label in labels.items()}
        elif side == "tie":
            counts["Tie"] = people["counts"]["tie"]
    rows: list[Row] = [((), list(counts.values()))]
    return DataTable(f"degrees-{at}", "How much one is preferred", list(counts), rows) if counts else None


def _toward(strength: Findings, findings: Findings) -> Findings:
    """Return a cell with a preference strength toward the system that it favours."""
    if not strength["value"]:
        return strength
    if strength["value"] > 0:
        return {**strength, "about": f"toward {findings['system_b']}"}
    return {**mirrored(strength, 0), "about": f"toward {findings['system_a']}"}


def _strengths(distribution: Mapping[str, int], findings: Findings) -> str:
    """List how many rating sets have each preference strength, as `alder 1.00: 12`."""
    sides = {-1: f"{findings['system_a']} ", 0: "", 1: f"{findings['system_b']} "}
    return "; ".join(
        f"{sides[(strength > 0) - (strength < 0)]}{fixed(abs(strength), 2)}: {count}"
        for strength, count in ((float(value), count) for value, count in distribution.items())
    )


def _sets(rater: Findings) -> str:
    incomplete = rater["incomplete_rating_sets"]
    if not incomplete:
        return str(rater["rating_sets"])
    return f"{rater['rating_sets']} in use, {incomplete} incomplete"


def _bins(findings: Findings, at: int) -> list[DataTable]:
    """Return means by separability, rating sets at each consistency by separability, and each instance's separability."""
    people = findings["raters"][0]
    bins = [
        {
            **bin_,
            "raters": [
                {"rater": rater["rater"], **rater["bins"][index]} for rater in findings["raters"] if rater["bins"]
            ],
        }
        for index, bin_ in enumerate(people["bins"])
    ]
    means = [
        by_bin(f"consistency-{at}", "Mean consistency by separability", bins, "mean_consistency"),
        by_bin(
            f"strength-{at}",
            "Mean preference strength by separability",
            [
                {
                    **bin_,
                    "raters": [
                        {**rater, STRENGTH: _toward(rater[STRENGTH], findings)}
                        for rater in bin_["raters"]
                        if STRENGTH in rater
                    ],
                }
                for bin_ in bins
            ],
            STRENGTH,
        ),
    ]
    sets: list[Row] = [
        ((rater_name(rater["rater"]), bin_text(bin_)), [bin_["rating_sets"], _counts(bin_["consistency_distribution"])])
        for rater in raters_with_verdicts(findings)
        for bin_ in rater["bins"]
    ]
    headings = ["Rater", "Separability", "Rating sets", "Consistency: rating sets"]
    by_consistency = DataTable(f"sets-{at}", "Rating sets at each consistency by separability", headings, sets)
    measured = findings["separability"]["values"]
    values: list[Row] = [((name,), [value]) for name, value in islice(measured.items(), MOST_ROWS)]
    columns = ["Instance", "Separability"]
    return [
        *filter(None, means[has_one_pair([findings]) :]),
        *([] if has_one_pair([findings]) else [by_consistency]),
        DataTable(f"values-{at}", "Separability of each instance", columns, values, beyond=len(measured) - len(values)),
    ]


def _distributions(findings: Findings, at: int) -> list[DataTable]:
    """Return how many rating sets of each rater have each consistency, and each preference strength."""
    raters = raters_with_verdicts(findings)
    consistent = [_counts(rater["consistency_distribution"]) for rater in raters]
    strengths = [_strengths(rater["preference_strength_distribution"], findings) for rater in raters]
    tables = (
        ("spread", "Consistency: rating sets", "Rating sets at each consistency", consistent),
        ("strengths", "Preference strength: rating sets", "Rating sets at each preference strength", strengths),
    )
    return [
        DataTable(
            f"{name}-{at}",
            caption,
            ["Rater", heading],
            [((rater_name(rater["rater"]),), [text]) for rater, text in zip(raters, texts, strict=True)],
        )
        for name, heading, caption, texts in tables[has_one_pair([findings]) :]
    ]


def _counts(distribution: Mapping[str, int]) -> str:
    """List how many rating sets have each value, as `0.0: 12`."""
    return "; ".join(f"{fixed(float(value), 2)}: {count}" for value, count in distribution.items())


def clusters_text(numbers: Findings) -> str:
    """Say that intervals are over clusters of instances, or return an empty string where each instance is its own."""
    if not (counts := numbers.get("clusters")):  # findings stored by an earlier version have none
        return ""
    return (
        f"{counts['instances']} instances form {number_of(counts['clusters'], 'cluster')}. Instances with the same source text, "
        "or the same “cluster” in the file, are one cluster. Intervals and tests are over clusters."
    )


def data_section(numbers: Findings, batches: dict[str, bool]) -> dict[str, Any]:
    """Return what the numbers rest on: names of batches and judges, ratings that count and those left out.

    batches : whether a batch of the study has ratings, by its name
    """
    named = numbers["filters"]["batches"] or list(batches)
    people = [(configuration, configuration["raters"][0]) for configuration in numbers["configurations"]]
    judges = {
        rater_name(rater["rater"]): None
        for configuration in numbers["configurations"]
        for rater in configuration["raters"][1:]
    }
    reasons = [key for key in EXCLUSIONS if any(rater["exclusions"][key] for _item, rater in people)]
    rows: list[Row] = [
        (
            (configuration_name(item),),
            [item["instances"], item["pairs"], rater["ratings"], *(rater["exclusions"][key] for key in reasons)],
        )
        for item, rater in people
    ]
    headings = ["Configuration", "Instances", "Pairs", "Ratings", *(EXCLUSIONS[key] for key in reasons)]
    table = DataTable("data-table", "Ratings in and left out", headings, rows)
    values = {
        "people": subject(numbers["configurations"]),
        "ratings": sum(rater["ratings"] for _item, rater in people),
        "left_out": sum(number for _item, rater in people for number in rater["exclusions"].values()),
    }
    verdicts = [sum(rater["ratings"] for rater in item["raters"][1:]) for item, _rater in people]
    is_of_judges = not (values["ratings"] or values["left_out"]) and any(verdicts)
    if is_of_judges:
        values = {"judges": len(judges), "verdicts": sum(verdicts)}
        rows = [(head, [*cells[:2], number]) for (head, cells), number in zip(rows, verdicts, strict=True)]
        columns = [*headings[:3], "Verdicts of judges"]
        table = DataTable("data-table", "Pairs and verdicts", columns, rows)
    return {
        "title": Title("judges_alone" if is_of_judges else "data", values),
        "main": "reporting/findings/sections/_data_table.html",
        "details": "reporting/findings/sections/_data.html",
        "batches": {
            "with": [name for name in named if batches.get(name)],
            "without": [name for name in named if not batches.get(name)],
        },
        "judges": list(judges),
        "clusters": clusters_text(numbers),
        "table": table,
        "ratings": sum(rater["ratings"] for _item, rater in people),
        **_origins(numbers.get("provenance", [])),  # findings stored by an earlier version have none
    }


def _origins(provenance: list[Findings]) -> dict[str, Any]:
    """Return who answered for judges, and the judges whose verdicts this makes doubtful."""
    rows: list[Row] = [
        (
            (judge["judge"], origin["asked"]),
            [origin["model"] or "not reported", origin["fingerprint"], origin["provider"], origin["answers"]],
        )
        for judge in provenance
        for origin in judge["answered_by"]
    ]
    headings = [
        *("Judge", "Model asked", "Model that answered", "Fingerprint", "Provider", "Answers"),
    ]
    return {
        "origins": DataTable("origins", "Who answered for each judge", headings, rows) if rows else None,
        "mixed": [judge["judge"] for judge in provenance if judge["mixed"]],
        "cut": [{"judge": judge["judge"], **judge["prompts"]} for judge in provenance if judge["prompts"]["cut"]],
    }
