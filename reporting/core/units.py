"""Numbers with what they count, in the reader's language, by the units of the findings' JSON."""

from functools import lru_cache

from django.utils import translation
from django.utils.functional import Promise
from django.utils.translation import ngettext_lazy

from reporting.core.words import said

UNITS: dict[str, Promise] = {
    "answers": ngettext_lazy("%(number)s answer", "%(number)s answers", "number"),
    "calls": ngettext_lazy("%(number)s call", "%(number)s calls", "number"),
    "comparisons": ngettext_lazy("%(number)s comparison", "%(number)s comparisons", "number"),
    "decisions": ngettext_lazy("%(number)s decision", "%(number)s decisions", "number"),
    "draws": ngettext_lazy("%(number)s draw", "%(number)s draws", "number"),
    "incomplete rating sets": ngettext_lazy(
        "%(number)s incomplete rating set", "%(number)s incomplete rating sets", "number"
    ),
    "instances": ngettext_lazy("%(number)s instance", "%(number)s instances", "number"),
    "matchups": ngettext_lazy("%(number)s matchup", "%(number)s matchups", "number"),
    "pairs": ngettext_lazy("%(number)s pair", "%(number)s pairs", "number"),
    "pairs of ratings": ngettext_lazy("%(number)s pair of ratings", "%(number)s pairs of ratings", "number"),
    "pairs with a majority": ngettext_lazy(
        "%(number)s pair with a majority", "%(number)s pairs with a majority", "number"
    ),
    "pairs with two or more ratings": ngettext_lazy(
        "%(number)s pair with two or more ratings", "%(number)s pairs with two or more ratings", "number"
    ),
    "preferences": ngettext_lazy("%(number)s preference", "%(number)s preferences", "number"),
    "presentations": ngettext_lazy("%(number)s presentation", "%(number)s presentations", "number"),
    "raters": ngettext_lazy("%(number)s rater", "%(number)s raters", "number"),
    "rating sets": ngettext_lazy("%(number)s rating set", "%(number)s rating sets", "number"),
    "ratings": ngettext_lazy("%(number)s rating", "%(number)s ratings", "number"),
    "ratings beside others'": ngettext_lazy(
        "%(number)s rating beside others'", "%(number)s ratings beside others'", "number"
    ),
    "texts": ngettext_lazy("%(number)s text", "%(number)s texts", "number"),
    "verdicts": ngettext_lazy("%(number)s verdict", "%(number)s verdicts", "number"),
    "verdicts beside a majority": ngettext_lazy(
        "%(number)s verdict beside a majority", "%(number)s verdicts beside a majority", "number"
    ),
    "verdicts that are no ties": ngettext_lazy(
        "%(number)s verdict that is no tie", "%(number)s verdicts that are no ties", "number"
    ),
}


def counted(number: int, of: str) -> str:
    """Write a number with its unit, as the JSON names it; a unit without a singular stays as it is."""
    return _written(number, of, translation.get_language())


@lru_cache(maxsize=4096)
def _written(number: int, of: str, _language: str | None) -> str:
    """Keep what a page with thousands of numbers asks for again and again."""
    return str(UNITS[of] % {"number": number}) if of in UNITS else f"{number} {said(of)}"


def counted_in_english(number: int, of: str) -> str:
    """Write a number with its unit for a terminal."""
    with translation.override("en"):
        return counted(number, of)
