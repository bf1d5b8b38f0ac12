"""Shared parts of the pictures of findings: notes, labels and looks."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reporting.core.charts import MAX_NOTE_LENGTH, Findings, Spec, looks_of, short_names, shorten, unique
from reporting.core.instance_selection import selection_note
from reporting.core.raters import PEOPLE
from reporting.core.text import SCRIPTED, rater_name
from reporting.core.themes import Look

COUNTED = "n: instances"
NO_PREFERENCE = "dashed: no preference"
EVERYONE = "everyone"  # names of all raters, in an order that gives each its look
SUBJECT = "subject"  # what pictures call the raters under “people”


def interval_note(findings: Findings) -> str:
    """Say what bars are, or why there are none yet."""
    if "being_computed" in findings:
        return "intervals are being computed"
    wider = " for every look, wider than of one," if findings.get("horizon") else ""
    bars = f"bars: {findings['filters']['level'] * 100:g}% intervals{wider}"
    units = "clusters" if findings.get("clusters") else "instances"
    if findings["filters"]["two_way"]:
        return f"{bars} over {units} and, where a number has several raters, over raters"
    return f"{bars} over {units}"


def study_notes(findings: Findings) -> list[str]:
    """Return what pictures over all configurations say below their title."""
    return _notes(
        findings,
        findings["pooled"]["scripted"],
        [row for configuration in findings["configurations"] for row in configuration["chosen"]],
    )


def configuration_notes(findings: Findings) -> list[str]:
    """Return what a configuration's pictures say below their title."""
    return _notes(findings, any(rater.get("scripted") for rater in findings["raters"]), findings["chosen"])


def _notes(findings: Findings, scripted: bool, rows: list[Findings]) -> list[str]:
    note = [shorten(selection_note(rows), MAX_NOTE_LENGTH)] if rows else []
    question = [shorten(findings["question"], MAX_NOTE_LENGTH)] if "question" in findings else []
    return [*question, *([SCRIPTED] if scripted else []), *note]


def reason(findings: Findings) -> str:
    """Say why a configuration has nothing to draw."""
    return str(findings.get("why") or (findings["separability"] or {}).get("why") or "no rating set yet")


def title_of(findings: Findings) -> str:
    """Name a configuration."""
    return f"{shorten(findings['dataset'])}: A = {shorten(findings['system_a'])}, B = {shorten(findings['system_b'])}"


def bin_labels(bins: list[Findings]) -> list[str]:
    """Label the bins by their edges."""
    return unique([f"{bin_['low']:.3f} – {bin_['high']:.3f}" for bin_ in bins])


def rater_names(findings: Findings, raters: Iterable[str], longest: int) -> dict[str, str]:
    """Return short names of raters, as pages write them: a judge's without its prefix."""
    return short_names(raters, longest, lambda name: findings[SUBJECT] if name == PEOPLE else rater_name(name))


def interval_notes(findings: Findings, rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Say what bars are, and why a value of these has none."""
    missing = "being_computed" not in findings and any(row["value"] is not None and row["low"] is None for row in rows)
    return [interval_note(findings), *(["without a bar: too few instances for an interval"] if missing else [])]


def separability_axis(*, angle: int = -40) -> Spec:
    """Return the encoding of bins of separability on the horizontal axis."""
    title = "Separability"
    return {"field": "bin", "type": "ordinal", "sort": None, "title": title, "axis": {"labelAngle": angle}}


def rater_looks(findings: Findings, raters: Iterable[str], theme: str) -> list[Look]:
    """Return the look of each rater."""
    return looks_of(findings[EVERYONE], raters, theme)


def rater_look(findings: Findings, rater: str, theme: str) -> Look:
    """Return the look of a rater."""
    return rater_looks(findings, [rater], theme)[0]


def span_text(numbers: Sequence[int]) -> str:
    """Return the least and the greatest of some numbers, or the only one."""
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low}–{high}"
