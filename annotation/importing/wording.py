"""What reading a file said, in the reader's language: it is stored in English, which commands and the API tell."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import PurePath

from django.utils.formats import number_format
from django.utils.translation import gettext as _

from annotation.core.files.sent_files import DATA_FILES
from annotation.core.units import UNITS, counted
from annotation.importing.notices import MARK
from annotation.importing.phrases import ADDED, NOTICES, PARTS, REASONS, REFUSALS, SUMMARIES
from annotation.models import Upload

SAID = {"what", "where"}
COUNT = re.compile(r"[\d,]+")
LARGE = re.compile(r"\d{1,3}(,\d{3})+")
LONGEST = 400  # characters; a longer text quotes the file, and comparing one of 2,000 can take a second


def outcome_of(upload: Upload) -> str:
    """Return what reading an upload added, with a line for each notice, or why nothing was.

    A refusal or notice without words here stays English.
    """
    if upload.status == Upload.Status.DONE and MARK in upload.message:
        message, *notices = upload.message.split(MARK)
        added = outcome_of(Upload(names=upload.names, message=message))
        return "\n".join([added, *(_matched(notice, NOTICES) or notice for notice in notices)])
    if found := _matched(upload.message, REFUSALS):
        return found
    name, colon, rest = upload.message.partition(": ")
    if upload.message.startswith(f"{upload.name}: "):
        name, rest = upload.name, upload.message.removeprefix(f"{upload.name}: ")
    return f"{name}{colon}{_summary(rest)}"


def bad_lines_of(upload: Upload, most: int) -> list[tuple[int, str]]:
    """Return the first bad lines of an upload, with what is wrong; a reason without words here stays English."""
    return [(number, _reason(reason, upload.names)) for number, reason in upload.bad_lines[:most]]


def refusal(error: Exception) -> str:
    """Return why a file was not taken in; without words here it stays English."""
    return _matched(str(error), REFUSALS) or str(error)


def _reason(text: str, names: list[str]) -> str:
    name, colon, rest = text.partition(": ")
    if colon and (name in names or PurePath(name).suffix.lower() in DATA_FILES):  # one of several files
        return f"{name}: {_reason(rest, [])}"
    return _matched(text, REASONS) or text


def _summary(text: str) -> str:
    if found := _matched(text, SUMMARIES) or _counted(text):
        return found
    if ", " in text and not text.endswith(" added"):
        return ", ".join(map(_summary, text.split(", ")))
    return _matched(text, ADDED) or text


def _counted(text: str) -> str | None:
    number, _space, noun = text.partition(" ")
    unit = noun if noun in UNITS else f"{noun}s"
    return counted(int(number.replace(",", "")), unit) if COUNT.fullmatch(number) and unit in UNITS else None


def _matched(text: str, phrases: Iterable[str]) -> str | None:
    if len(text) > LONGEST:
        return None
    for phrase in phrases:
        if found := _pattern(phrase).fullmatch(text):
            return _(phrase) % {name: _part(name, value) for name, value in found.groupdict().items()}
    return None


def _part(name: str, value: str) -> str:
    if name in SAID:
        return _summary(value)
    if LARGE.fullmatch(value):
        return number_format(int(value.replace(",", "")), force_grouping=True)
    if phrases := PARTS.get(name):
        return _matched(value, phrases) or ", ".join(_matched(one, phrases) or one for one in value.split(", "))
    return value


@cache
def _pattern(phrase: str) -> re.Pattern[str]:
    named = re.sub(r"%\\\((\w+)\\\)s", r"(?P<\1>.+?)", re.escape(phrase))
    return re.compile(named.replace("(?P<count>.+?)", f"(?P<count>{COUNT.pattern})"), re.DOTALL)
