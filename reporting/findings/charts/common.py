"""What the pictures of findings share: titles, captions, labels of bins, and their form for a paper's column."""

import textwrap

from reporting.core.charts import (
    MAX_NOTE_LENGTH,
    Findings,
    Spec,
    build_spec,
    empty_chart,
    question_lines,
    shorten,
)
from reporting.core.scripted import SCRIPTED

COLUMN = 320  # pixels inside the axes, so that two pictures fit beside each other and one a column of print
TITLE_WIDTH, LINE_WIDTH = 46, 64  # characters
ALL_CONFIGURATIONS = "All configurations"


def wrapped(text: str, width: int) -> list[str]:
    """Split a text into lines between words; a long name stays whole."""
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def column_spec(body: Spec, title: list[str], captions: list[str], theme: str) -> Spec:
    """Return a complete specification with its lines wrapped and its legend below, so that it stays narrow."""
    lines = [part for line in (*title[1:], *captions) for part in wrapped(line, LINE_WIDTH)]
    spec = build_spec(body, [title[0], *lines], [], theme)
    spec["title"]["text"] = wrapped(title[0], TITLE_WIDTH)
    spec["config"]["legend"] |= {"orient": "bottom", "columns": 2, "labelLimit": 180}
    return spec


def nothing(title: str, why: str, theme: str) -> Spec:
    """Return a picture that holds only the reason why there is nothing to draw."""
    spec = empty_chart(title, why, theme)
    spec["title"] = {"text": wrapped(title, TITLE_WIDTH), "subtitle": wrapped(why, LINE_WIDTH)}
    return {**spec, "width": COLUMN}


def study_captions(found: Findings) -> list[str]:
    """Return what pictures over all configurations say below their title."""
    return [
        *question_lines(found),
        *([SCRIPTED] if found["pooled"]["scripted"] else []),
        *note_lines(found["pooled"]),
    ]


def reason(found: Findings) -> str:
    """Say why a configuration has nothing to draw."""
    return str(found.get("why") or (found["separability"] or {}).get("why") or "no rating set yet")


def captions_of(found: Findings) -> list[str]:
    """Return what a configuration's pictures say below their title."""
    scripted = [SCRIPTED] if any(rater.get("scripted") for rater in found["raters"]) else []
    return [*question_lines(found), *scripted, *note_lines(found)]


def note_lines(found: Findings) -> list[str]:
    """Return the note on how instances were selected, where they were."""
    return [shorten(found["chosen_note"], MAX_NOTE_LENGTH)] if "chosen_note" in found else []


def title_of(found: Findings) -> str:
    """Name a configuration."""
    return f"{shorten(found['dataset'])}: A = {shorten(found['system_a'])}, B = {shorten(found['system_b'])}"


def bin_labels(bins: list[Findings]) -> list[str]:
    """Label the bins by their edges, and by number too where edges coincide, since labels must be unique."""
    labels = [f"{bin_['low']:.3f} – {bin_['high']:.3f}" for bin_ in bins]
    if len(set(labels)) == len(labels):
        return labels
    return [f"{place}: {label}" for place, label in enumerate(labels, start=1)]
