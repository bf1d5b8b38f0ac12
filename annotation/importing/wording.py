"""What reading a file said, in the reader's language: it is stored in English, which commands and the API tell."""

import re
from collections.abc import Iterable
from functools import cache

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.core.units import UNITS, counted
from annotation.models import Upload

# Most particular first. `what` and `where` are themselves said; the other values stay as they are.
SUMMARIES = (
    gettext_noop("nothing new; everything in it is in the study already"),
    gettext_noop("nothing new; everything in it is in study %(study)s already"),
    gettext_noop("nothing new; %(what)s there already (study %(study)s)"),
    gettext_noop("all of the study has been made here; its findings are those of the bundle"),
    gettext_noop("%(count)s files as they were written; all numbers follow from the rows"),
    gettext_noop("%(what)s; nothing was stored"),
    gettext_noop("%(what)s; nothing was made of the columns %(columns)s"),
    gettext_noop("%(what)s (study %(study)s)"),
    gettext_noop("%(what)s by %(judges)s added"),
    gettext_noop("%(what)s on %(where)s added"),
    gettext_noop("%(count)s given further systems"),
    gettext_noop("%(count)s there already"),
    gettext_noop("shown as “(no text)”"),
    gettext_noop("and reading stopped there"),
)
ADDED = gettext_noop("%(what)s added")
BAD_LINES = (
    gettext_noop("the file holds no %(kind)s"),
    gettext_noop("the file holds more than %(most)s %(kind)s: %(instead)s"),
    gettext_noop("the file is one JSON array; JSON Lines has one object a line: {…}"),
    gettext_noop("not a JSON object; each line holds one {…}"),
    gettext_noop("not a JSON object; the array holds one {…} for each instance"),
    gettext_noop("not valid JSON: %(why)s"),
    gettext_noop("not valid CSV: %(why)s"),
    gettext_noop("byte %(place)s is not valid UTF-8; save the file as UTF-8"),
    gettext_noop("%(cells)s cells under %(columns)s columns"),
    gettext_noop("column %(column)s is missing"),
    gettext_noop("column %(column)s is not known; generations go under SYSTEM/1, SYSTEM/2, …"),
    gettext_noop("columns of %(count)s system(s); two or more are needed (SYSTEM/1, SYSTEM/2, …)"),
    gettext_noop("generations of %(count)s system(s); two or more are needed"),
    gettext_noop("generations is not a JSON object of system → list of texts"),
    gettext_noop("system %(system)s has no text; give a list of one or more"),
    gettext_noop("instance %(instance)s is in the study already with other %(fields)s"),
    gettext_noop("gold names %(name)s, which is none of the systems, nor 'tie'"),
    gettext_noop("the study has no such pair (instance_id, system_a, system_b, pair_index)"),
    gettext_noop("the study has no pair with these indexes"),
    gettext_noop("%(field)s %(value)s is on line %(line)s already"),
    gettext_noop("%(field)s %(value)s is there more than once"),
    gettext_noop("%(field)s is %(value)s, not a whole number from 0 to %(most)s"),
    gettext_noop("%(field)s is %(value)s, not an ISO time with its zone"),
    gettext_noop("%(field)s is %(value)s; it must be %(offered)s"),
    gettext_noop("%(field)s is %(length)s characters long; at most %(most)s are taken"),
    gettext_noop("%(field)s is a number, not text"),
    gettext_noop("%(field)s is a list, not text"),
    gettext_noop("%(field)s is an object, not text"),
    gettext_noop("%(field)s is null, not text"),
    gettext_noop("%(field)s is true or false, not text"),
    gettext_noop("%(field)s is missing"),
    gettext_noop("%(field)s is empty"),
    gettext_noop("%(field)s holds a NUL character"),
    gettext_noop("and %(count)s more problems"),
)
SAID = {"what", "where"}
COUNT = re.compile(r"[\d,]+")


def outcome_of(upload: Upload) -> str:
    """Return what reading an upload added, or why nothing was; a refusal without words here stays English."""
    name, colon, rest = upload.message.partition(": ")
    if upload.message.startswith(f"{upload.name}: "):
        name, rest = upload.name, upload.message.removeprefix(f"{upload.name}: ")
    return f"{name}{colon}{_summary(rest)}"


def bad_lines_of(upload: Upload, most: int) -> list[tuple[int, str]]:
    """Return the first bad lines of an upload, with what is wrong; a reason without words here stays English."""
    return [(number, _matched(reason, BAD_LINES) or reason) for number, reason in upload.bad_lines[:most]]


def _summary(text: str) -> str:
    if found := _matched(text, SUMMARIES) or _counted(text):
        return found
    if ", " in text and not text.endswith(" added"):
        return ", ".join(map(_summary, text.split(", ")))
    return _matched(text, (ADDED,)) or text


def _counted(text: str) -> str | None:
    number, _space, noun = text.partition(" ")
    unit = noun if noun in UNITS else f"{noun}s"
    return counted(int(number.replace(",", "")), unit) if COUNT.fullmatch(number) and unit in UNITS else None


def _matched(text: str, phrases: Iterable[str]) -> str | None:
    for phrase in phrases:
        if found := _pattern(phrase).fullmatch(text):
            values = found.groupdict()
            return _(phrase) % (values | {name: _summary(values[name]) for name in SAID & values.keys()})
    return None


@cache
def _pattern(phrase: str) -> re.Pattern[str]:
    named = re.sub(r"%\\\((\w+)\\\)s", r"(?P<\1>.+?)", re.escape(phrase))
    return re.compile(named.replace("(?P<count>.+?)", f"(?P<count>{COUNT.pattern})"), re.DOTALL)
