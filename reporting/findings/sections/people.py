"""The sections of the findings page on people: agreement, position and consistency by separability."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from annotation.core.counting import counted, fixed, percent
from annotation.core.tables import PERCENT, POINTS, Column, DataTable, Row, percents
from reporting.core.raters import PEOPLE
from reporting.core.reasons import UNKNOWN_ORDER
from reporting.core.text import rater_name, subject
from reporting.findings.answer.statements import ONE_PAIR, has_one_pair, outer_means, rises, sets_by_consistency, side
from reporting.findings.measures import measures
from reporting.findings.measures.registry import JUDGE
from reporting.findings.sections.data_table import (
    Columns,
    bin_text,
    by_bin,
    configuration_name,
    raters_with_verdicts,
    table_of,
)
from reporting.findings.sections.titles import Title, lowest_and_highest, rater_subject

Findings = Mapping[str, Any]
ONE_SIDED = 0.5  # chance agreement from which one verdict is much more frequent than the others


def separability_section(numbers: Findings) -> dict[str, Any]:
    """Return consistency and preference strength of each rater, together and by separability."""
    pooled = numbers["pooled"]
    if has_one_pair(numbers["configurations"]):
        return {"title": Title("one_pair", {}), "why": ONE_PAIR, "tables": []}
    consistent = pooled["fully_consistent"]
    tables = [
        item
        for item in (
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
        if item and item.rows
    ]
    if len(tables) == 3 and _numbers_of(tables[2]).items() <= _numbers_of(tables[1]).items():
        # Of complete rating sets of two pairs without ties both are 1 or 0.
        both = "Mean consistency by separability; the mean absolute preference strength is the same"
        tables[1:] = [replace(tables[1], caption=both)]
    return {"title": _consistency_title(numbers), "table": tables[0] if tables else None, "tables": tables}


def _numbers_of(table: DataTable) -> dict[str, list[Any]]:
    """Return the numbers in each rater's column of a table by bins, without what they are of."""
    keys = ("value", "low", "high", "n")
    columns = zip(*(row[1] for row in table.rows), strict=True)
    numbers = [[cell and [cell.get(key) for key in keys] for cell in column] for column in columns]
    return dict(zip(map(str, table.columns[2:]), numbers, strict=True))


def _consistency_title(numbers: Findings) -> Title:
    """Claim that consistency rises with separability where the intervals of the outer bins do not overlap."""
    pooled, people, means = numbers["pooled"], {"people": subject(numbers["configurations"])}, outer_means(numbers)
    if means and means[0] is not means[1]:
        (least_bin, least), (most_bin, most) = means
        ends = {"least": least, "least_bin": bin_text(least_bin), "most": most, "most_bin": bin_text(most_bin)}
        return Title("consistency_rises", {**people, **ends}) if rises(means) else Title("consistency_by_bin", ends)
    if means:
        return Title("consistency_of_bin", {**people, "least": means[0][1]})
    share = next((row for row in pooled["fully_consistent"] if row["rater"] == PEOPLE), None)
    if share is not None and share["value"] is not None:
        return Title("consistency", {**people, "rate": share})
    judges = [row for row in pooled["fully_consistent"] if row["value"] is not None]
    if len(judges) > 1:
        return Title("consistency_by_judge", lowest_and_highest(judges))
    if judges:
        return Title("consistency", {"people": rater_subject(judges[0]["rater"], ""), "rate": judges[0]})
    return Title("consistency_unknown", {})


def _parts(configurations: list[Findings], consistent: list[Findings]) -> DataTable:
    """Return the share of fully consistent rating sets of each rater, and all three parts of their sets, which add up."""
    rows: list[Row] = []
    for row in consistent:
        parts = sets_by_consistency(
            rater["consistency_distribution"]
            for configuration in configurations
            if not has_one_pair([configuration])
            for rater in configuration["raters"]
            if rater["rater"] == row["rater"]
        )
        if sum(parts):
            rows.append(((rater_name(row["rater"]),), [row, *parts, sum(parts)]))
    headings = [
        *("Rater", *percents("Share of fully consistent sets"), "Fully consistent", "Partly consistent"),
        *("Mixed, or ties only", "All rating sets"),
    ]
    return DataTable("consistent", "Rating sets by what they tell of the two systems", headings, rows)


def agreement_section(numbers: Findings) -> dict[str, Any]:
    """Return how far people agree, in each configuration and by separability."""
    people = [(configuration, configuration["raters"][0]) for configuration in numbers["configurations"]]
    existing = [measure for measure in measures() if JUDGE not in measure.kinds and measure.key in people[0][1]]
    rows: list[Row] = [
        ((configuration_name(item),), [value for measure in existing for value in measure.estimates(rater)])
        for item, rater in people
    ]
    together = numbers["pooled"]["people_agreement"] or {}
    if len(rows) > 1 and together:
        rows.insert(0, (("all together",), [value for measure in existing for value in measure.estimates(together)]))
    headings = ["Configuration", *(heading for measure in existing for heading in measure.headings())]
    bins = numbers["pooled"]["agreement_by_bin"]
    return {
        "title": _agreement_title(numbers),
        "note": " ".join(filter(None, [_sides_note(numbers["configurations"]), _kappa_note(bins or ())])),
        "table": DataTable("agreement-table", "Agreement between raters by configuration", headings, rows),
        "pairs": _rater_pairs(numbers["pooled"].get("rater_pairs")),
        "generalizability": _generalizability(numbers["pooled"].get("generalizability")),
        "is_truncated": "instance" in (numbers["pooled"].get("generalizability") or {}).get("truncated", ()),
        "by_bin": [
            item
            for item in (
                by_bin(
                    "agreement-bins",
                    "Agreement with people by separability; people: with one another",
                    bins,
                    "agreement",
                    counted="Matchups",
                    unit=PERCENT,
                ),
                by_bin(
                    "kappa-bins",
                    "Cohen’s κ with people by separability; people: with one another",
                    bins,
                    "kappa",
                    counted="Matchups",
                ),
            )
            if item
        ],
    }


def _rater_pairs(compared: Findings | None) -> DataTable | None:
    if not compared or not compared["pairs"]:
        return None
    mean = f"mean {fixed(compared['mean'], 3)}" if compared["mean"] is not None else "no mean"
    caption = f"Cohen’s κ of each two of {compared['compared']} raters ({mean})"
    heads: Columns = {"Raters": lambda pair: " / ".join(pair["raters"])}
    return table_of("rater-pairs", caption, compared["pairs"], heads, {"κ": "kappa"})


def _generalizability(reliability: Findings | None) -> DataTable | None:
    """Return how reliable means over raters are, and the standard error of the win rate, by number of raters."""
    if not reliability or not reliability["curve"]:
        return None
    sizes = list(reliability["curve"][0]["standard_error"])
    rows: list[Row] = [
        ((row["raters"],), [row["relative"], row["absolute"], *row["standard_error"].values()])
        for row in reliability["curve"]
    ]
    headings = ["Raters", "Eρ²", "Φ", *(Column(f"Standard error, {n} instances", unit=POINTS) for n in sizes)]
    if not reliability["components"]["instance"]:  # a column of zeros says nothing
        rows = [(head, cells[2:]) for head, cells in rows]
        headings = [headings[0], *headings[3:]]
    return DataTable(
        "generalizability", "Reliability of the mean rating of an instance, by number of raters", headings, rows
    )


def _agreement_title(numbers: Findings) -> Title:
    """Claim that people agree more than chance where the interval of α lies above 0."""
    people, agreement = {"people": subject(numbers["configurations"])}, numbers["pooled"]["people_agreement"]
    raw, alpha = agreement["raw_agreement"], agreement["krippendorff_alpha"]["ordinal"]
    if alpha["value"] is not None:
        return Title("above_chance" if (alpha["low"] or 0) > 0 else "alpha", {**people, "alpha": alpha})
    if raw["value"] is not None:
        return Title("agreement", {**people, "rate": raw})
    return Title("agreement_unknown", people)


def _sides_note(configurations: Iterable[Findings]) -> str:
    """Say what chance is where configurations compare different systems."""
    if len({frozenset((one["system_a"], one["system_b"])) for one in configurations}) < 2:
        return ""
    return (
        "Over all configurations, α, AC1 and AC2 are compared with votes at random: each pair counts both ways, since "
        "configurations compare different systems."
    )


def _kappa_note(bins: Iterable[Findings]) -> str:
    """Say why κ may be low where people agree: in the bin in which chance agreement is highest, if it is high."""
    existing = [
        ((raw - kappa) / (1 - kappa), raw, bin_)
        for bin_ in bins
        for rater in bin_["raters"]
        if rater["rater"] == PEOPLE
        for raw, kappa in [(rater["agreement"]["value"], rater["kappa"]["value"])]
        if raw is not None and kappa is not None and kappa < 1
    ]
    chance, raw, bin_ = max(existing, key=lambda item: item[0], default=(0.0, 0.0, {}))
    if chance < ONE_SIDED:
        return ""
    return (
        f"κ can be low where raw agreement is high. At a separability of {bin_text(bin_)} most verdicts are the same: by chance alone people would agree on {percent(chance, 0)} of ratings, and they agree on "
        f"{percent(raw, 0)}. κ counts only what is beyond that."
    )


def position_section(numbers: Findings) -> dict[str, Any]:
    """Return how often each rater prefers the text shown first: overall counts, and shares by configuration.

    Without any known order there is only a title.
    """
    configurations = numbers["configurations"]
    raters = list(
        dict.fromkeys(
            rater["rater"] for configuration in configurations for rater in raters_with_verdicts(configuration)
        )
    )
    rows: list[Row] = []
    counts: dict[str, dict[str, int]] = {name: {"first": 0, "tie": 0, "second": 0} for name in raters}
    for part in configurations:
        by_rater = {rater["rater"]: rater for rater in raters_with_verdicts(part)}
        rows.append(
            (
                (configuration_name(part),),
                [by_rater[name]["preferred_first"] if name in by_rater else None for name in raters],
            )
        )
        for name, rater in by_rater.items():
            for preferred, number in rater["shown_first"].items():
                counts[name][preferred] += number
    shares = {row["rater"]: row for row in numbers["pooled"].get("preferred_first", ())}
    if shares and all(row.get("why_code") == UNKNOWN_ORDER.code for row in shares.values()):
        return {"title": Title("position_unknown", {})}
    totals: list[Row] = [
        ((rater_name(name),), [count["first"], count["tie"], count["second"], shares.get(name)])
        for name, count in counts.items()
    ]
    headings = [
        "Rater",
        "First text preferred",
        "Tie",
        "Second text preferred",
        *percents("Share for the first, ties left out"),
    ]
    return {
        "title": _position_title(list(shares.values()), subject(configurations)),
        "note": _position_note(list(shares.values())),
        "table": DataTable("position-totals", "Verdicts by the place of the preferred text", headings, totals),
        "by_configuration": DataTable(
            "position-table",
            "Share of verdicts for the text shown first, ties left out; 50% without a bias of position",
            ["Configuration", *percents(*map(rater_name, raters))],
            rows,
        ),
    }


def _position_title(shares: list[Findings], people: str) -> Title:
    """Claim a bias where the interval of people, or of the only judge, lies beside one half, or else of the biased judges."""
    defined = [share for share in shares if share["value"] is not None]
    share = next((row for row in defined if row["rater"] == PEOPLE), defined[0] if len(defined) == 1 else None)
    biased = [row for row in defined if row.get("biased")]
    if share is not None and side(share):
        return Title("position_bias", {"people": rater_subject(share["rater"], people), **_towards(share)})
    if len(biased) == 1:
        return Title("position_of_judge", {"judge": rater_name(biased[0]["rater"]), **_towards(biased[0])})
    if biased:
        first = sum(row["value"] > 0.5 for row in biased)
        counts = {"biased": len(biased), "judges": sum("biased" in row for row in defined)}
        return Title("position_of_judges", {**counts, "first": first, "second": len(biased) - first})
    if share is None and defined:
        return Title("position_by_judge", lowest_and_highest(defined))
    if share is None:
        return Title("position_by_rater", {})
    return Title("position", {"people": rater_subject(share["rater"], people), "rate": share})


def _position_note(shares: list[Findings]) -> str:
    """Say how biased judges are found, where there are several, and how many intervals of one judge leave out half."""
    tested = [share for share in shares if share.get("biased") is not None]
    if len(tested) < 2:
        return ""
    unadjusted = sum(map(bool, map(side, tested)))
    return (
        f"A judge has a position bias if its interval leaves out 50%, adjusted by Bonferroni’s method over {len(tested)} "
        f"judges. Without the adjustment, {counted(unadjusted, 'judges')} would have one."
    )


def _towards(share: Findings) -> dict[str, Any]:
    """Return the place that is preferred, and its share."""
    if share["value"] >= 0.5:
        return {"place": "first", "rate": share}
    ends = {"low": 1 - share["high"], "high": 1 - share["low"]}
    return {"place": "second", "rate": {**share, "value": 1 - share["value"], **ends}}
