"""What the tables of a stress test show."""

from typing import Any

from analysis.bias.stress import TURNS
from reporting.audits.stress import PARTS
from reporting.audits.words import CHANGE_NAMES, PART_NAMES, SOUND_NAMES, TURN_NAMES


def stress_context(found: dict[str, Any]) -> dict[str, Any]:
    """Return the context of `_stress.html`, without its picture."""
    return {
        "found": found,
        "unread": sum(found["unread"].values()),
        "turns": [TURN_NAMES[turn] for turn in TURNS],
        "tables": [{"part": part, "name": PART_NAMES[part], "rows": _rows(found, part)} for part in PARTS],
    }


def _rows(found: dict[str, Any], part: str) -> list[dict[str, Any]]:
    return [
        {
            "name": CHANGE_NAMES[one["change"]],
            "sound": SOUND_NAMES[one["sound"]],
            "not_made": one["not_made"],
            "cells": [(TURN_NAMES[turn], one[part][turn]) for turn in TURNS],
        }
        for one in found["changes"]
    ]
