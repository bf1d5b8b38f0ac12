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


def as_text(findings: dict[str, Any]) -> str:
    """Return a table of all changes in percent, then each share with its interval."""
    unread = sum(findings["unread"].values())
    cost = None if findings["cost"] is None else Decimal(str(findings["cost"]))
    people = findings["people"]
    lines = [
        f"judge {printable(findings['judge'])} on study {printable(findings['study'])}: "
        f"{count(findings['pairs'], 'pairs')} of {count(findings['instances'], 'instances')}"
        f"{' in ' + count(findings['clusters'], 'clusters') if findings['clusters'] else ''}, {count(findings['answers'], 'answers')} ({unread} without a verdict, {findings['open']} open)",
        f"pairs on which people agree: {people['agree']}, disagree: {people['disagree']}; with fewer than two votes: "
        f"{people['fewer_than_two_votes']}",
        f"calls {findings['calls']}, cached {findings['cached']}, cost {money(cost, findings['currency'])}",
        "",
        f"{'':<16}" + "".join(f"{heading:>10}" for heading in HEADINGS.values()) + "   a sound judge",
    ]
    lines += [
        f"{change['change']:<16}"
        + "".join(f"{_percent(change['all'][turn]):>10}" for turn in TURNS)
        + f"   {change['sound']}"
        for change in findings["changes"]
    ]
    for change in findings["changes"]:
        lines += [
            "",
            f"{change['change']}: asked {change['asked']}, open {change['open']}, not made {change['not_made']}",
        ]
        lines += [
            f"  {TITLES[part]}, {HEADINGS[turn]:<8} {estimate_text(change[part][turn])}; left out "
            f"{change[part][turn]['excluded']}"
            for part in PARTS
            for turn in TURNS
        ]
    return "\n".join(lines)


def _percent(estimate: dict[str, Any]) -> str:
    return UNDEFINED if estimate["value"] is None else f"{100 * estimate['value']:.1f}"
