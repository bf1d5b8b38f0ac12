"""What was changed after rating had begun."""

from collections.abc import Iterable, Mapping
from typing import Any

from annotation.models import Event


def amendments_shown(amendments: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the findings' amendments with the name of each decision."""
    return [{**one, "label": Event.Kind(one["kind"]).label} for one in amendments]
