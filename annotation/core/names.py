"""Names and codes from files and forms: trimmed, compared regardless of case and blanks, and short names' field."""

import unicodedata
from collections.abc import Collection, Iterable
from typing import Any, ClassVar

from django import forms
from django.db.models import Model

from annotation.core.errors import BadLine
from annotation.core.refusals import refusal

BASELINES = frozenset({"coin", "longer", "overlap"})  # methods that are rules without a model


def _is_blank(char: str) -> bool:
    """Tell whether a character is white space or invisible, as a zero-width space is."""
    return char.isspace() or unicodedata.category(char) == "Cf"


def trim(name: str) -> str:
    """Return a name without blank and invisible characters around it."""
    if name.isascii():
        return name.strip()
    start, end = 0, len(name)
    while start < end and _is_blank(name[start]):
        start += 1
    while end > start and _is_blank(name[end - 1]):
        end -= 1
    return name[start:end]


def fold(name: str) -> str:
    """Return what stays of a name regardless of case, blanks and invisible characters."""
    folded = unicodedata.normalize("NFC", name.casefold())
    return "".join(char for char in folded if not _is_blank(char))


def lookalikes(names: Iterable[str], existing: Iterable[str] = ()) -> dict[str, str]:
    """Map each name to an earlier or existing one that differs by case or blanks only."""
    by_fold: dict[str, str] = {}
    existing_folds = set()
    for name in existing:
        existing_folds.add(name)
        by_fold.setdefault(fold(name), name)
    pairs = {}
    for name in dict.fromkeys(names):
        earlier = by_fold.setdefault(fold(name), name)
        if name not in existing_folds and earlier != name:
            pairs[name] = earlier
    return pairs


def lookalike_lines(subject: str, names: Iterable[tuple[int, str]], existing: Iterable[str]) -> list[BadLine]:
    """Return a bad line for each name that differs by case or blanks only from an earlier or existing one.

    names : with the numbers of their lines
    """
    first: dict[str, int] = {}
    for number, name in names:
        first.setdefault(name, number)
    return [
        BadLine(first[name], refusal("lookalike", what=subject, name=repr(name), other=repr(lookalike)))
        for name, lookalike in lookalikes(first, existing).items()
    ]


def addresses(codes: Iterable[str]) -> list[str]:
    """Return the codes that look like e-mail addresses."""
    matches = []
    for code in dict.fromkeys(codes):
        user, at, host = code.rpartition("@")
        name, dot, top = host.rpartition(".")
        parts = user and at and name and dot and top.isalpha() and len(top) > 1
        if parts and not any(char.isspace() or char in "@:/" for char in user + host):
            matches.append(code)
    return matches


class ShortNameField(forms.SlugField):
    """A slug field whose error says what is allowed and avoids the word "slug"."""

    default_error_messages: ClassVar[dict[str, Any]] = {"invalid": "Letters, digits, dashes and underscores only."}


def pair_label(first: str, second: str, between: str = " / ") -> str:
    """Return a label of two names that differs from other pairs': a name is quoted where it would hide its end."""
    mark = between.strip()
    return between.join(f"“{name}”" if mark in name.split() else name for name in (first, second))


TAKEN = "The short name {name} is taken. Choose another one."


def free_short_name(model: type[Model], name: str, reserved: Collection[str] = ()) -> str:
    """Return a short name that a new row can have. The refusal tells no more of a row, which the user may not see.

    Raises: ValidationError
    """
    if short_name_problem(model, "slug", name, reserved):
        raise forms.ValidationError(TAKEN.format(name=name), code="taken")
    return name


def short_name_problem(model: type[Model], field: str, name: str, reserved: Collection[str] = ()) -> str | None:
    """Return why a new row can't have a short name: it is reserved, or another row has it in any case. Else None."""
    rows = model._default_manager.filter(**{f"{field}__iexact": name})
    existing = name if name in reserved else rows.values_list(field, flat=True).first()
    if existing is None:
        return None
    if existing == name:
        return TAKEN.format(name=name)
    return f"{name} differs from the existing {existing} by case only; choose another short name"
