"""The sections on separability, agreement between people, and position."""

from collections.abc import Iterable, Mapping
from typing import Any

from annotation.core.percentages import percent
from annotation.core.tables import DataTable, Row
from reporting.core.raters import PEOPLE
from reporting.core.text import rater_name
from reporting.findings.configurations.rater_findings import ONE_PAIR, has_one_pair, sets_by_consistency
from reporting.findings.measures import measures
from reporting.findings.measures.registry import JUDGE
from reporting.findings.sections.data_table import bin_text, by_bin, configuration_name, short_estimate

Findings = Mapping[str, Any]


def separability_section(numbers: Findings) -> dict[str, Any]:
    """Return consistency and preference strength of each rater, together and by separability."""
    pooled = numbers["pooled"]
    if has_one_pair(numbers["configurations"]):
        return {"line": "one pair an instance: no consistency", "why": ONE_PAIR, "tables": []}
    consistent = pooled["fully_consistent"]
    people = next((one for one in consistent if one["kind"] == "person" and one["value"] is not None), None)
    line = f"people: {short_estimate(people)} of rating sets fully consistent" if people else ""
    return {
        "line": line,
        "tables": [
            one
            for one in (
                _parts(numbers["configurations"], consistent),
                by_bin(
                    "consistency",
                    "Mean consistency by separability",
                    pooled["mean_consistency_by_bin"],
                    "mean_consistency",
                    counted="Matchups",
                ),
                by_bin(
                    "strength",
                    "Mean absolute preference strength by separability; 0: both systems alike, 1: always the same one",
                    pooled["strength_by_bin"],
                    "mean_absolute_strength",
                    counted="Matchups",
                ),
            )
            if one and one.rows
        ],
    }


def _parts(configurations: list[Findings], consistent: list[Findings]) -> DataTable:
    """Return the share of fully consistent rating sets of each rater, and all three parts of their sets, which add up."""
    rows: list[Row] = []
    for one in consistent:
        parts = sets_by_consistency(
            rater["consistency_distribution"]
            for configuration in configurations
            if not has_one_pair([configuration])
            for rater in configuration["raters"]
            if rater["rater"] == one["rater"]
        )
        rows.append(((rater_name(one["rater"]),), [one, *parts, sum(parts)]))
    headings = [
        *("Rater", "Share of fully consistent sets", "Fully consistent", "Partly consistent"),
        *("Mixed, or ties only", "All rating sets"),
    ]
    return DataTable("consistent", "Rating sets by what they tell of the two systems", headings, rows)


def agreement_section(numbers: Findings) -> dict[str, Any]:
    """Return how far people agree, in each configuration and by separability."""
    people = [(one, one["raters"][0]) for one in numbers["configurations"]]
    known = [measure for measure in measures() if JUDGE not in measure.kinds and measure.key in people[0][1]]
    rows: list[Row] = [
        ((configuration_name(one),), [value for measure in known for value in measure.estimates(rater)])
        for one, rater in people
    ]
    together = numbers["pooled"]["people_agreement"] or {}
    if len(rows) > 1 and together:
        rows.insert(0, (("all together",), [value for measure in known for value in measure.estimates(together)]))
    headings = ["Configuration", *(heading for measure in known for heading in measure.headings())]
    bins = numbers["pooled"]["agreement_by_bin"]
    raw = together["raw_agreement"] if together else None
    return {
        "note": _kappa_note(bins or ()),
        "line": f"raw agreement {short_estimate(raw)}" if raw and raw["value"] is not None else "",
        "table": DataTable("agreement-table", "Agreement between people by configuration", headings, rows),
        "by_bin": [
            one
            for one in (
                by_bin(
                    "agreement-bins",
                    "Agreement with people by separability; people: with one another",
                    bins,
                    "agreement",
                    counted="Matchups",
                ),
                by_bin(
                    "kappa-bins",
                    "Cohen’s κ with people by separability; people: with one another",
                    bins,
                    "kappa",
                    counted="Matchups",
                ),
            )
            if one
        ],
    }


ONE_SIDED = 0.5  # chance agreement from which one verdict is much more frequent than the others


def _kappa_note(bins: Iterable[Findings]) -> str:
    """Say why κ may be low where people agree: in the bin in which chance agreement is highest, if it is high."""
    known = [
        ((raw - kappa) / (1 - kappa), raw, bin_)
        for bin_ in bins
        for rater in bin_["raters"]
        if rater["rater"] == PEOPLE
        for raw, kappa in [(rater["agreement"]["value"], rater["kappa"]["value"])]
        if raw is not None and kappa is not None and kappa < 1
    ]
    chance, raw, bin_ = max(known, key=lambda one: one[0], default=(0.0, 0.0, {}))
    if chance < ONE_SIDED:
        return ""
    return (
        f"κ may stay low where raw agreement is high: at a separability of {bin_text(bin_)} most verdicts are the "
        f"same, so that chance alone would have people agree on {percent(chance, 0)} of ratings, where they agree on "
        f"{percent(raw, 0)}. κ counts only what is beyond that."
    )


def position_section(numbers: Findings) -> dict[str, Any]:
    """Return how often each rater prefers the text shown first: overall counts, and shares by configuration."""
    configurations = numbers["configurations"]
    raters = list(dict.fromkeys(rater["rater"] for one in configurations for rater in one["raters"]))
    rows: list[Row] = []
    counts: dict[str, dict[str, int]] = {name: {"first": 0, "tie": 0, "second": 0} for name in raters}
    for one in configurations:
        found = {rater["rater"]: rater for rater in one["raters"]}
        rows.append(
            ((configuration_name(one),), [found[name]["preferred_first"] if name in found else None for name in raters])
        )
        for name, rater in found.items():
            for side, number in rater["shown_first"].items():
                counts[name][side] += number
    shares = {one["rater"]: one for one in numbers["pooled"].get("preferred_first", ())}
    totals: list[Row] = [
        ((rater_name(name),), [given["first"], given["tie"], given["second"], shares.get(name)])
        for name, given in counts.items()
    ]
    people = shares.get(PEOPLE)
    headings = [
        "Rater",
        "First text preferred",
        "Tie",
        "Second text preferred",
        "Share for the first, ties left out",
    ]
    return {
        "line": f"people: {short_estimate(people)} for the text shown first, ties left out"
        if people and people["value"] is not None
        else "",
        "totals": DataTable("position-totals", "Verdicts by the place of the preferred text", headings, totals),
        "table": DataTable(
            "position-table",
            "Share of verdicts for the text shown first, ties left out; 0.5 without a bias of position",
            ["Configuration", *map(rater_name, raters)],
            rows,
        ),
    }
