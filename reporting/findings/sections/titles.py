"""Titles of sections: a code with values from the findings' JSON, and its English text.

A title claims something only where a test of the findings says so: an interval without the value of chance, or Holm's p-value.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.template.defaultfilters import capfirst

from annotation.core.counting import counted, fixed, percent, printable
from reporting.core.raters import PEOPLE
from reporting.core.text import rater_name

Findings = Mapping[str, Any]
TEXTS = {
    "preferred": "{people} prefer {first} to {second}: win rate {rate}",
    "win_rate": "Win rate of {first} against {second}, {people}: {rate}",
    "first": "{people} rank {first} first of {systems} systems",
    "places": "Ranking by {people}: {settled} of {systems} places settled",
    "ranking": "Ranking of {systems} systems by {people}",
    "rankings": "Rankings by judge",
    "rates_by_judge": "Win rate of {first} by judge: {lowest} to {highest}",
    "length_changes": "Length changes the win rate in {changed} of {tested} configurations",
    "lengths": "No change of win rates at equal lengths shown: {configurations}",
    "length_equal": "Win rate of {first} at equal lengths: {rate}",
    "length_by_judge": "Win rate of {first} at equal lengths, by judge: {lowest} to {highest}",
    "lengths_untested": "Win rates at equal lengths: no test of a change",
    "lengths_unadjusted": "Win rates are not adjusted for length",
    "may_replace": "{may} of {judges} can replace a rater",
    "none_can_replace": "No judge can replace a rater",
    "none_may_replace": "Not shown that any judge can replace a rater",
    "judges": "No judge can be tested against {people}",
    "judges_agree": "Agreement of two judges: {rate}",
    "above_chance": "{people} agree more than chance: α = {alpha}",
    "alpha": "Agreement of {people}: α = {alpha}",
    "agreement": "Agreement of {people}: {rate}",
    "agreement_unknown": "Agreement of {people}: no pair has two raters",
    "consistency_rises": "Consistency of {people} rises: {least} at separability {least_bin}, {most} at {most_bin}",
    "consistency": "Fully consistent rating sets of {people}: {rate}",
    "consistency_by_bin": "No rise of consistency shown: {least} at separability {least_bin}, {most} at {most_bin}",
    "consistency_of_bin": "Mean consistency of {people}: {least}",
    "consistency_by_judge": "Fully consistent rating sets by judge: {lowest} to {highest}",
    "consistency_unknown": "Full consistency is unknown: no complete rating set",
    "one_pair": "Consistency cannot be measured: one pair per instance",
    "position_bias": "The text shown {place} is preferred by {people}: {rate}",
    "position_of_judge": "“{judge}” prefers the text shown {place}: {rate}",
    "position_of_judges": "Position bias of {biased} of {judges}: {first} to the first text, {second} to the second",
    "position": "No position bias shown: {people} chose the first text in {rate}",
    "position_unknown": "Position bias cannot be checked: the shown order is unknown",
    "position_by_judge": "No position bias shown: judges chose the first text in {lowest} to {highest}",
    "position_by_rater": "Position bias is unknown: no verdict prefers a text",
    "raters": "{raters}",
    "raters_flagged": "{raters}, {flagged} to review",
    "configurations": "{configurations}, in detail",
    "data": "{ratings} of {people}; ratings left out: {left_out}",
    "judges_alone": "No person has rated; {judges} gave {verdicts}",
}
# The claims of titles that claim something, by their codes in `CLAIMS`.
CLAIM_OF_TITLE = {
    "preferred": "preference",
    "first": "preference",
    "length_changes": "length",
    "may_replace": "replacement",
    "none_can_replace": "replacement",
    "above_chance": "agreement",
    "consistency_rises": "consistency",
    "position_bias": "position",
    "position_of_judge": "position",
    "position_of_judges": "position",
}
COUNTED = ("raters", "ratings", "instances", "configurations", "judges", "verdicts")
DECIMAL = ("alpha", "least", "most")  # other estimates are shares


@dataclass(frozen=True)
class Title:
    """The title of a section."""

    code: str
    values: dict[str, Any]

    def __str__(self) -> str:
        """Return the text in English. Names of systems and judges are isolated, since they may run from right to left."""
        texts = {name: _text(name, value) for name, value in self.values.items()}
        return capfirst(TEXTS[self.code].format(**texts))


def _text(name: str, value: Any) -> str:
    if isinstance(value, Mapping):
        is_share = name not in DECIMAL
        text = percent(value["value"]) if is_share else fixed(value["value"], 2)
        if value["low"] is None:
            return f"{text}, n = {counted(value['n_instances'], 'instances')}"
        ends = [f"{100 * value[end]:z.1f}" if is_share else fixed(value[end], 2) for end in ("low", "high")]
        return f"{text} [{', '.join(ends)}]"
    if isinstance(value, str):
        return value if name in ("people", "place", "least_bin", "most_bin") else isolated(value)
    return counted(value, name) if name in COUNTED else str(value)


def isolated(name: str) -> str:
    """Return a name within marks that keep its direction of writing from the text around it."""
    return f"\N{FIRST STRONG ISOLATE}{printable(name)}\N{POP DIRECTIONAL ISOLATE}"


def rater_subject(rater: str, people: str) -> str:
    """Return what a title calls a rater."""
    return people if rater == PEOPLE else isolated(rater_name(rater))


def lowest_and_highest(rows: Sequence[Findings]) -> dict[str, Any]:
    """Return the lowest and the highest of some estimates."""
    return {name: pick(rows, key=lambda row: row["value"]) for name, pick in (("lowest", min), ("highest", max))}
