"""The section on win rates at equal lengths."""

from collections.abc import Mapping
from typing import Any

from annotation.core.counting import fixed
from annotation.core.tables import POINTS, Column, DataTable, Row, percents
from reporting.core.text import rater_name
from reporting.findings.answer.statements import seen_from, side
from reporting.findings.reasons import NO_OVERLAP_HERE
from reporting.findings.sections.data_table import configuration_name
from reporting.findings.sections.titles import Title, lowest_and_highest

Findings = Mapping[str, Any]
# What length changes.
SAME = "nothing"
MATTERS = "the rate, not who is preferred"
NO_LONGER = "no longer more than chance"
NEWLY = "now more than chance"
TURNED = "the other system is preferred"


def lengths_section(raters: list[Findings], shown: str | None = None) -> dict[str, Any]:
    """Return the table of win rates as they are and at equal lengths, and how often length changes people's.

    shown : of the only two systems, the one whose rates are shown
    """
    rows: list[Row] = []
    verdicts = changed = 0
    raters = [rater for rater in raters if any(row["plain"]["n"] for row in rater["configurations"])] or raters
    together = any(configuration.get("together") for rater in raters for configuration in rater["configurations"])
    for rater in raters:
        for row in (seen_from(configuration, shown) for configuration in rater["configurations"]):
            verdict = _length_verdict(row)
            verdicts += rater["kind"] == "person" and verdict is not None
            changed += rater["kind"] == "person" and verdict not in (None, SAME)
            lengths = [None if row[key] is None else round(row[key]) for key in ("mean_length_a", "mean_length_b")]
            value, low, high = (row[f"length_effect{end}"] for end in ("", "_low", "_high"))
            why = row["win_rate_a"].get("why") or (NO_OVERLAP_HERE.text if value is None else "")
            cells = [
                _sided(row["plain"]),
                _sided(row["win_rate_a"]),
                {**row["change"], "about": "", "why": ""},
                verdict,
                {"value": value, "low": low, "high": high, "about": "", "why": why},
                *lengths,
            ]
            cells += (
                [f"{fixed(fit['length_effect'], 3)} ({fit['ridge']:g})" if (fit := row.get("together")) else ""]
                if together
                else []
            )
            rows.append(((configuration_name(row), rater_name(rater["rater"])), cells))
    headings = [
        *("Configuration", "Rater", *percents(f"Win rate of {shown or 'A'}", "At equal lengths")),
        *(Column("Change", unit=POINTS), "What it changes"),
        *("Effect of length (log-odds)", "Mean length of A", "Mean length of B"),
        *(["Common effect (ridge)"] if together else []),
    ]
    caption = "Win rates as they are and at equal lengths; lengths in characters"
    table = DataTable("lengths", caption, headings, rows)
    rates = [row["win_rate_a"]["value"] for rater in raters for row in rater["configurations"]]
    if not any(rate is not None for rate in rates):
        return {"title": Title("lengths_unadjusted", {}), "table": None, "all": table}
    values = {"changed": changed, "tested": verdicts}
    return {
        "title": Title("length_changes", values) if changed else _unchanged_title(raters, verdicts, shown),
        "table": table,
        "all": table,
    }


def _unchanged_title(raters: list[Findings], tested: int, shown: str | None) -> Title:
    """Return people's win rate at equal lengths, or else the judges', of one configuration, or the number of those without a change."""
    every = raters[0]["configurations"]
    listed = raters[:1] if raters[0]["kind"] == "person" else raters
    rates = [seen_from(rater["configurations"][0], shown)["win_rate_a"] for rater in listed]
    rates, first = [rate for rate in rates if rate["low"] is not None], {"first": shown or every[0]["system_a"]}
    if len(every) == 1 and len(rates) > 1:
        return Title("length_by_judge", {**first, **lowest_and_highest(rates)})
    if len(every) == 1 and rates:
        return Title("length_equal", {**first, "rate": rates[0]})
    return Title("lengths", {"configurations": tested}) if tested else Title("lengths_untested", {})


def _sided(rate: Findings) -> dict[str, Any]:
    """Show as many decimals as it takes to see on which side of one half both limits are."""
    limits = [rate[key] for key in ("low", "high") if rate[key] not in (None, 0.5)]
    digits = next((n for n in range(1, 6) if all(round(100 * limit, n) != 50 for limit in limits)), 6)
    return {**rate, "digits": digits}


def _length_verdict(findings: Findings) -> str | None:
    sides = [side(findings[key]) for key in ("plain", "win_rate_a")]
    if findings["matters"] is None or None in sides:
        return None
    plain, equal = sides
    if not findings["matters"]:
        return SAME
    if plain == equal:
        return MATTERS
    return NO_LONGER if not equal else NEWLY if not plain else TURNED
