"""Units of counts, by the names that the findings' JSON and the summaries of imports give them, in the reader's language."""

from django.utils.formats import number_format
from django.utils.functional import Promise
from django.utils.translation import ngettext_lazy

UNITS: dict[str, Promise] = {
    "answers": ngettext_lazy("%(number)s answer", "%(number)s answers", "count"),
    "calls": ngettext_lazy("%(number)s call", "%(number)s calls", "count"),
    "comparisons": ngettext_lazy("%(number)s comparison", "%(number)s comparisons", "count"),
    "complete sets": ngettext_lazy("%(number)s complete set", "%(number)s complete sets", "count"),
    "decisions": ngettext_lazy("%(number)s decision", "%(number)s decisions", "count"),
    "draws": ngettext_lazy("%(number)s draw", "%(number)s draws", "count"),
    "incomplete rating sets": ngettext_lazy(
        "%(number)s incomplete rating set", "%(number)s incomplete rating sets", "count"
    ),
    "instances": ngettext_lazy("%(number)s instance", "%(number)s instances", "count"),
    "matchups": ngettext_lazy("%(number)s matchup", "%(number)s matchups", "count"),
    "pairs": ngettext_lazy("%(number)s pair", "%(number)s pairs", "count"),
    "pairs of ratings": ngettext_lazy("%(number)s pair of ratings", "%(number)s pairs of ratings", "count"),
    "pairs of verdicts": ngettext_lazy("%(number)s pair of verdicts", "%(number)s pairs of verdicts", "count"),
    "pairs with a majority": ngettext_lazy(
        "%(number)s pair with a majority", "%(number)s pairs with a majority", "count"
    ),
    "pairs with two or more ratings": ngettext_lazy(
        "%(number)s pair with two or more ratings", "%(number)s pairs with two or more ratings", "count"
    ),
    "preferences": ngettext_lazy("%(number)s preference", "%(number)s preferences", "count"),
    "presentations": ngettext_lazy("%(number)s presentation", "%(number)s presentations", "count"),
    "raters": ngettext_lazy("%(number)s rater", "%(number)s raters", "count"),
    "rating sets": ngettext_lazy("%(number)s rating set", "%(number)s rating sets", "count"),
    "ratings": ngettext_lazy("%(number)s rating", "%(number)s ratings", "count"),
    "ratings beside others'": ngettext_lazy(
        "%(number)s rating beside others'", "%(number)s ratings beside others'", "count"
    ),
    "texts": ngettext_lazy("%(number)s text", "%(number)s texts", "count"),
    "verdicts": ngettext_lazy("%(number)s verdict", "%(number)s verdicts", "count"),
    "verdicts beside a majority": ngettext_lazy(
        "%(number)s verdict beside a majority", "%(number)s verdicts beside a majority", "count"
    ),
    "verdicts that are no ties": ngettext_lazy(
        "%(number)s verdict that is no tie", "%(number)s verdicts that are no ties", "count"
    ),
    "cells": ngettext_lazy("%(number)s cell", "%(number)s cells", "count"),
    "errors": ngettext_lazy("%(number)s error", "%(number)s errors", "count"),
    "HITs": ngettext_lazy("%(number)s HIT", "%(number)s HITs", "count"),
    "runs": ngettext_lazy("%(number)s run", "%(number)s runs", "count"),
    "slots": ngettext_lazy("%(number)s slot", "%(number)s slots", "count"),
    "tables": ngettext_lazy("%(number)s table", "%(number)s tables", "count"),
    "tokens": ngettext_lazy("%(number)s token", "%(number)s tokens", "count"),
    "bad lines": ngettext_lazy("%(number)s bad line", "%(number)s bad lines", "count"),
    "comparison tables": ngettext_lazy("%(number)s comparison table", "%(number)s comparison tables", "count"),
    "empty texts": ngettext_lazy("%(number)s empty text", "%(number)s empty texts", "count"),
    "flags": ngettext_lazy("%(number)s flag", "%(number)s flags", "count"),
    "judgments": ngettext_lazy("%(number)s judgment", "%(number)s judgments", "count"),
    "new instances": ngettext_lazy("%(number)s new instance", "%(number)s new instances", "count"),
    "separability values": ngettext_lazy("%(number)s separability value", "%(number)s separability values", "count"),
    "vote changes": ngettext_lazy("%(number)s vote change", "%(number)s vote changes", "count"),
    "votes": ngettext_lazy("%(number)s vote", "%(number)s votes", "count"),
}


def counted(number: int, of: str) -> str:
    """Write a number, with its thousands apart, and its unit."""
    return str(UNITS[of] % {"count": number, "number": number_format(number, force_grouping=True)})
