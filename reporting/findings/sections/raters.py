"""The section on raters one by one: numbers of each, severity, and confusions."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.urls import reverse

from analysis.intervals.jackknife import MIN_CLUSTERS
from annotation.core.counting import fixed, percent
from annotation.core.tables import POINTS, Column, DataTable, Row, percents
from annotation.models import Study
from reporting.findings.answer.statements import has_one_pair
from reporting.findings.raters.raters_table import flag_text
from reporting.findings.sections.data_table import (
    CONFIGURATION,
    Columns,
    p_text,
    short_points,
    table_of,
)
from reporting.findings.sections.titles import Title

Findings = Mapping[str, Any]
MOST_SHOWN = 50  # all are in the JSON
LEAST_CONFUSED = 20  # ratings of a person for a row of nine shares
FIRST = "flags"
RaterRow = dict[str, Any]
# Headings, and what a column sorts by: the largest first, unknown values last.
SORTS: dict[str, tuple[str, Callable[[RaterRow], float | None]]] = {
    FIRST: ("To review", lambda row: len(row["flags"])),
    "ratings": ("Ratings", lambda row: row["ratings"]),
    "consistency": ("Mean consistency", lambda row: row["consistency"]["value"]),
    "agreement": ("Agreement with others", lambda row: row["agreement"]["value"]),
    "left": ("Preferences for the text shown first", lambda row: row["left_share"]["value"]),
    "seconds": ("Seconds a pair", lambda row: row["seconds_median"]),
    "gold": ("Known answers", lambda row: row["gold"]["share"]),
    "influence": (
        "Largest change without this rater",
        lambda row: (
            None if row["influence"]["win_rate"]["change"] is None else abs(row["influence"]["win_rate"]["change"])
        ),
    ),
}


def raters_section(study: Study, numbers: dict[str, Any], sort_by: str, filters: str) -> dict[str, Any]:
    """Return what the section shows: people sorted by the column that is asked for, or those to look at first.

    filters : the page's query without the sorting
    """
    by = sort_by if sort_by in SORTS else FIRST
    ordered = sorted(numbers["raters"], key=_order(SORTS[by][1]))
    listed, named = ordered[:MOST_SHOWN], _short_codes(ordered)
    columns = _columns(ordered, has_one_pair(numbers["configurations"]))
    pages = dict(study.annotators.filter(code__in=[row["rater"] for row in listed]).values_list("code", "pk"))
    flagged = sum(bool(row["flags"]) for row in ordered)
    counts, caption = "{a} / {tie} / {b} / {shared}", "Verdicts of the majority and of the model, in pairs"
    cells: Columns = {
        "Pairs": "pairs",
        "Majority: A / tie / B / none": lambda item: counts.format(**item["majority"]),
        "Model: A / tie / B / none": lambda item: counts.format(**item["verdicts"]),
        "They differ on": lambda item: f"{item['differs']} of {item['differs_of']}",
    }
    return {
        "title": Title("raters_flagged" if flagged else "raters", {"raters": len(ordered), "flagged": flagged}),
        "main": "reporting/findings/sections/_raters_table.html",
        "details": "reporting/findings/sections/_raters.html",
        "rows": [
            {
                **row,
                "rater": named[row["rater"]],
                "page": reverse("annotation:rater", args=[study.slug, pages[row["rater"]]])
                if row["rater"] in pages
                else "",
                "moved": _points(row["influence"]["win_rate"]["change"]),
                "said": [flag_text(flag) for flag in row["flags"]],
            }
            for row in listed
        ],
        "severity": _severity(numbers.get("rater_severity")),
        "severity_notes": _severity_notes(numbers.get("rater_severity")),
        "verdicts": table_of(
            "dawid-skene", caption, numbers["dawid_skene"]["configurations"] or (), CONFIGURATION, cells
        ),
        "of_few_ratings": sum(row["ratings"] < LEAST_CONFUSED for row in numbers["dawid_skene"]["people"] or ()),
        "least_ratings": LEAST_CONFUSED,
        "confusions": _confusions(numbers["dawid_skene"]),
        "more": len(ordered) - len(listed),
        "flagged": flagged,
        "without": SORTS.keys() - columns.keys(),
        "columns": [
            {
                "heading": heading,
                "query": "&".join([*filter(None, [filters]), f"raters_by={name}"]),
                "chosen": name == by,
            }
            for name, (heading, _key) in columns.items()
        ],
    }


def _columns(rows: list[RaterRow], one_pair: bool = False) -> dict[str, tuple[str, Callable[[RaterRow], float | None]]]:
    """Return the columns with a value for at least one rater, without consistency where no instance has two pairs."""
    empty = {"consistency": one_pair, "seconds": not any(row["seconds_median"] for row in rows)}
    empty["gold"] = all(row["gold"]["share"] is row["gold"]["repeat_share"] is None for row in rows)
    return {name: column for name, column in SORTS.items() if not empty.get(name)}


def _severity(severity: RaterRow | None) -> DataTable | None:
    """Return how far raters differ, and how far each deviates from the others on the same pairs."""
    if not severity or not severity["raters"]:
        return None
    kinds, named = severity["between"], _short_codes(severity["raters"])
    rows: list[Row] = [
        ((named[row["rater"]],), [row[kind] for kind in kinds])
        for row in sorted(severity["raters"], key=lambda row: _natural(row["rater"]))
        if any(row[kind]["value"] is not None for kind in kinds)
    ]
    if not rows:
        return None
    headings = ["Rater", *(Column(_severity_heading(kind, severity), unit=POINTS) for kind in kinds)]
    caption = "Severity: how far each rater deviates from the others on the same pairs"
    return DataTable("severity", caption, headings, rows)


def _severity_heading(kind: str, severity: RaterRow) -> str:
    return {"left": "For the text shown first", "ties": "For ties"}.get(kind) or f"For {severity['toward']}"


def _severity_notes(severity: RaterRow | None) -> list[str]:
    """Say how far raters differ in each kind, and how many are not in the table."""
    if not severity or not severity["raters"]:
        return []
    notes = [
        f"{_severity_heading(kind, severity)}: standard deviation between raters {short_points(between['spread'])}, "
        f"p {p_text(between['p_value'], '= ')} if none deviates."
        for kind, between in severity["between"].items()
        if between["spread"]["value"] is not None
    ]
    without = sum(all(row[kind]["value"] is None for kind in severity["between"]) for row in severity["raters"])
    few = f"Left out: {without} of {len(severity['raters'])} raters, with ratings beside others’ on fewer than {MIN_CLUSTERS} instances."
    return [*notes, *([few] if without else [])]


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts 2 before 10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name) if part]


def _short_codes(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return raters' codes without their batch (`10@batch`), where it is the same for all."""
    codes = [row["rater"] for row in rows]
    batches = {code.partition("@")[2] for code in codes}
    return {code: code.partition("@")[0] if len(batches) == 1 else code for code in codes}


def _confusions(verdicts: RaterRow) -> DataTable:
    """Return each person's confusion matrix: a column for each true class with the shares of A, tie and B given there.

    People with few ratings are left out: their shares are little more than the model's start.
    """
    people = [row for row in verdicts["people"] or () if row["ratings"] >= LEAST_CONFUSED]
    named = _short_codes(people)
    rows: list[Row] = [
        (
            (named[person["rater"]],),
            [
                person["ratings"],
                person["right"],
                *(values and " / ".join(percent(share, 0) for share in values) for values in person["confusion"]),
            ],
        )
        for person in sorted(people, key=lambda row: _natural(row["rater"]))
    ]
    headings = [
        *("Rater", "Ratings", *percents("As the model"), "Where A is better: A / tie / B"),
        *("Where it is a tie: A / tie / B", "Where B is better: A / tie / B"),
    ]
    return DataTable("confusions", "How each person rates, by the model", headings, rows)


def _order(key: Callable[[RaterRow], float | None]) -> Callable[[RaterRow], Any]:
    def place(row: RaterRow) -> Any:
        value = key(row)
        return value is None, -(value or 0.0), _natural(row["rater"])

    return place


def _points(change: float | None) -> str:
    return "" if change is None else f"{fixed(100 * change, 1, signed=True)} points"
