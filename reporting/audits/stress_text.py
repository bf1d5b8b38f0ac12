"""A stress test as plain text for a terminal."""

from decimal import Decimal
from typing import Any

from analysis.bias.stress import TURNS
from annotation.core.tables import UNDEFINED
from judging.core.pricing import money
from reporting.audits.stress import PARTS
from reporting.core.text import counted as count
from reporting.core.text import estimate_text, printable

TITLES = {"all": "all pairs", "people_agree": "where people agree", "people_disagree": "where people disagree"}
HEADINGS = {"turned": "turned", "towards": "towards", "away": "away", "to_tie": "to none"}


def as_text(found: dict[str, Any]) -> str:
    """Return a table of all changes in percent, then each share with its interval."""
    unread = sum(found["unread"].values())
    cost = None if found["cost"] is None else Decimal(str(found["cost"]))
    people = found["people"]
    lines = [
        f"judge {printable(found['judge'])} on study {printable(found['study'])}: "
        f"{count(found['pairs'], 'pairs')} of {count(found['instances'], 'instances')}, {count(found['answers'], 'answers')} ({unread} without a verdict, {found['open']} open)",
        f"pairs on which people agree: {people['agree']}, disagree: {people['disagree']}; with fewer than two votes: "
        f"{people['fewer_than_two_votes']}",
        f"calls {found['calls']}, cached {found['cached']}, cost {money(cost, found['currency'])}",
        "",
        f"{'':<16}" + "".join(f"{heading:>10}" for heading in HEADINGS.values()) + "   a sound judge",
    ]
    lines += [
        f"{one['change']:<16}" + "".join(f"{_percent(one['all'][turn]):>10}" for turn in TURNS) + f"   {one['sound']}"
        for one in found["changes"]
    ]
    for one in found["changes"]:
        lines += ["", f"{one['change']}: asked {one['asked']}, open {one['open']}, not made {one['not_made']}"]
        lines += [
            f"  {TITLES[part]}, {HEADINGS[turn]:<8} {estimate_text(one[part][turn])}; left out "
            f"{one[part][turn]['excluded']}"
            for part in PARTS
            for turn in TURNS
        ]
    return "\n".join(lines)


def _percent(estimate: dict[str, Any]) -> str:
    return UNDEFINED if estimate["value"] is None else f"{100 * estimate['value']:.1f}"
