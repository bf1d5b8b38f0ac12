"""Tables of a stress test."""

from typing import Any

from analysis.bias.stress import TURNS
from reporting.audits.stress import PARTS
from reporting.audits.words import CHANGE_NAMES, PART_NAMES, SOUND_NAMES, TURN_NAMES


def stress_context(findings: dict[str, Any]) -> dict[str, Any]:
    """Return the context of `_stress.html`, without its picture."""
    return {
        "found": findings,
        "unread": sum(findings["unread"].values()),
        "turns": [TURN_NAMES[turn] for turn in TURNS],
        "tables": [{"part": part, "name": PART_NAMES[part], "rows": _rows(findings, part)} for part in PARTS],
    }


def _rows(findings: dict[str, Any], part: str) -> list[dict[str, Any]]:
    return [
        {
            "name": CHANGE_NAMES[change["change"]],
            "sound": SOUND_NAMES[change["sound"]],
            "not_made": change["not_made"],
            "cells": [(TURN_NAMES[turn], change[part][turn]) for turn in TURNS],
        }
        for change in findings["changes"]
    ]
