"""Reasons as codes with values. Their English text is made when they are shown."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models

# Of stored reasons, by code; `judging` adds its own.
TEXTS = {
    "": "",
    "text": "{text}",
    "unexpected": "unexpected: {error}",
    "texts_ignored": (
        "{number} texts hold no Latin letter or digit, the only characters that {similarity} compares; their "
        "similarity is 0. Use a similarity of character n-grams (chrF) instead."
    ),
    "interrupted": "stopped on request; the same again resumes without repeating a call",
    "workers_died": "{number} workers in a row have died of this",
    # Of uploads.
    "bad_line": "{name}: 1 bad line; nothing was stored",
    "bad_lines": "{name}: {number:,} bad lines; nothing was stored",
    "bad_lines_at_least": "{name}: {number:,} bad lines, and reading stopped there; nothing was stored",
    "file_unread": "{name} can't be read: {why}",
    "file_not_imported": "{name} was not imported: {error}",
    "file_gone": "{name}: the file is no longer there, or on another machine's disk; please send it again",
    "not_one_archive": "{name}: this kind is sent as one ZIP archive",
    "bundle_imported": "{name}: the study was created; its findings are those of the bundle",
    "bundle_verified": "{name}: {result}",
    "imported": "{name}: {contents} added",
    "imported_into": "{name}: {contents} (study {study})",
    "nothing_new": "{name}: nothing new; everything in it is in the study already",
    "nothing_new_in": "{name}: nothing new; everything in it is in study {study} already",
    "nothing_new_of": "{name}: nothing new; {contents} already imported (study {study})",
    "columns_ignored": "{summary}; ignored columns: {columns}",
    "noticed": "{summary}\nnotice: {notice}",
    "one_source": "{number:,} instances have the same source",
    "few_sources": "{number:,} instances have {sources:,} different sources",
    "names_of_systems": "{number:,} of {count:,} texts are names of systems: the texts may be in another column",
    "other_reasons": "{number:,} of the ratings have another reason here than in the study, which keeps its own",
    "codes_like_addresses": "rater codes look like e-mail addresses and appear in every export ({number:,}): {codes}",
}


@dataclass(frozen=True)
class Reason:
    """Why something is refused, or has no value.

    template : the text, in which {name} stands for a value
    """

    code: str
    template: str
    values: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def with_values(self, **values: object) -> "Reason":
        """Return the reason with the values that its text names."""
        return replace(self, values=values)

    @property
    def text(self) -> str:
        """The sentence in English."""
        return self.template.format(**self.values)

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        return bool(self.code)

    def as_json(self) -> dict[str, str]:
        """Return the text and the code, as they stand beside a missing value."""
        return {"why": self.text, "why_code": self.code}

    def stored(self) -> dict[str, Any]:
        """Return code and values as they are stored."""
        values = {name: value.stored() if isinstance(value, Reason) else value for name, value in self.values.items()}
        return {"code": self.code, "values": values}


def reason(code: str, /, **values: Any) -> Reason:
    """Return the reason of a code with its values: other reasons, and what JSON can hold."""
    return Reason(code, TEXTS[code], values)


def restored(stored: Any) -> Reason:
    """Return a reason that was stored, or that of a text.

    Raises: ValidationError for anything else.
    """
    if isinstance(stored, Reason):
        return stored
    if isinstance(stored, str) or stored is None:
        return reason("text", text=stored) if stored else NO_REASON
    try:
        values = {
            name: restored(value) if isinstance(value, dict) else value for name, value in stored["values"].items()
        }
        found = reason(stored["code"], **values)
        found.text  # noqa: B018  # it must have all values
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        raise ValidationError("it is not a reason") from None
    return found


NO_REASON = reason("")


class ReasonField(models.TextField[Any, Reason]):
    """A reason, stored as its code and values. `NO_REASON` where there is none. A text is taken as a reason of its own."""

    def get_default(self) -> Reason:
        """Return no reason."""
        return NO_REASON

    def from_db_value(self, value: str, *_: object) -> Reason:
        """Return the reason in a column."""
        return restored(json.loads(value)) if value else NO_REASON

    def to_python(self, value: object) -> Reason:
        """Return a reason of what code, or a bundle, has of it."""
        return restored(value)

    def get_prep_value(self, value: object) -> str:
        """Return what is stored."""
        found = restored(value)
        return json.dumps(found.stored(), ensure_ascii=False) if found else ""
