"""What was changed after rating had begun, in the reader's language."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.models import Event

WORDS = {gettext_noop("yes"), gettext_noop("no"), gettext_noop("none"), gettext_noop("nothing")}
NOUNS = {
    "batch": gettext_noop("batch {name}"),
    "rater": gettext_noop("rater {name}"),
    "HIT": gettext_noop("HIT {name}"),
}
NOUN, CHANGE = re.compile(r"(batch|rater|HIT) (.+)"), re.compile(r"(\w+): (.*)")


def amendments_shown(amendments: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the findings' amendments with the name of each decision, and what it was about."""
    return [
        {**one, "label": Event.Kind(one["kind"]).label, "what": "; ".join(map(_part, one["what"].split("; ")))}
        for one in amendments
    ]


def _part(text: str) -> str:
    """Translate what the log has in English: a noun before a name, or the values of a setting; names stay as they are."""
    if noun := NOUN.fullmatch(text):
        return _(NOUNS[noun[1]]).format(name=noun[2])
    if change := CHANGE.fullmatch(text):
        values = [_(value) if value in WORDS else value for value in change[2].split(" → ")]
        return f"{change[1]}: {' → '.join(values)}"
    return text
