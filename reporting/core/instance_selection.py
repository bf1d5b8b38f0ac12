"""The caveat of numbers on selected instances: by separability, or by a list of ids."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

BY_SEPARABILITY = ("top", "stratified", "importance")
LIST = "ids"
NOTE = gettext_noop("numbers as drawn are about the instances that were chosen, not about all: %(selections)s")


def selection_note(chosen: Iterable[Mapping[str, Any]]) -> str:
    """Describe in one line of the reader's language how instances were selected; empty where there are no rows."""
    described = dict.fromkeys(
        _("%(spec)s of %(pool)s by separability (%(measure)s)") % row
        if row["measure"]
        else _("a list of ids of %(pool)s") % row
        for row in chosen
    )
    return _(NOTE) % {"selections": "; ".join(described)} if described else ""


def english_note(chosen: Iterable[Mapping[str, Any]]) -> str:
    """Return the note as JSON and text have it."""
    with translation.override("en"):
        return selection_note(chosen)


def caveat_rows(batch: str, selection: Mapping[str, Any], hits: int) -> list[dict[str, Any]]:
    """Return one row for each time that a batch's instances were chosen by separability or by a list: at first, then at each extension.

    Random selections and selections of all instances are left out: their numbers need no caveat.

    selection : as the batch records it
    hits      : of the batch
    """
    return [row for row in _selections(batch, selection, hits) if row["kind"] in (*BY_SEPARABILITY, LIST)]


def _selections(batch: str, selection: Mapping[str, Any], count: int) -> Iterable[dict[str, Any]]:
    extensions = [one for one in selection.get("extensions", []) if "asked" in one]
    at_first = count - sum(one["hits"] for one in extensions)
    for made, hits in [(selection, at_first), *((one, one["hits"]) for one in extensions)]:
        spec = made.get("asked", {}).get("spec", "")
        measure = (made.get("separability") or {}).get("measure") or made.get("similarity")
        yield {
            "batch": batch,
            "spec": spec,
            "kind": spec.partition(":")[0],
            "measure": measure,
            "instances": hits,
            "pool": made.get("pool"),
        }
