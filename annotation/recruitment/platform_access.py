"""Limits of channels: secrets of the server, addresses that get them, and sizes of bonuses.

A study's admin names the environment variable of a platform's token, and the address that it is sent to. Therefore a
variable belongs to one group, by its suffix, and an address is the platform's own or in PLATFORM_ALLOWLIST.
"""

from collections.abc import Iterable
from decimal import Decimal
from urllib.parse import SplitResult

from django.conf import settings

from annotation.models import Channel, ResearchGroup, Study
from annotation.models.members import MAIN_GROUP

_PORTS = {"http": 80, "https": 443}


def ending_of(slug: str) -> str:
    """Return the suffix of a group's variables."""
    return "_" + slug.upper().replace("-", "_")


def variable_problem(name: str, study_id: int) -> str | None:
    """Return why a study, in its present group, may not use a variable, or None if it may.

    A variable belongs to the group with the longest matching suffix, of two the older one; without a match to the main
    group.
    """
    own = Study.objects.values_list("group__slug", flat=True).get(pk=study_id)
    groups = ResearchGroup.objects.exclude(slug=MAIN_GROUP).order_by("pk").values_list("slug", flat=True)
    owners = [slug for slug in groups if name.endswith(ending_of(slug))]
    owner = max(owners, key=len, default=MAIN_GROUP)  # `max` returns the first, which is the oldest
    if owner == own:
        return None
    if own == MAIN_GROUP:
        return f"{name} belongs to another group: its name ends in {ending_of(owner)}."
    return f"{name} is not this group’s. A variable of this group has a name that ends in {ending_of(own)}."


def variable_problems(channel: Channel, fields: Iterable[str]) -> dict[str, list[str]]:
    """Return why the variables in a channel's options may not be used, by field."""
    named = {field: str(channel.options.get(field) or "") for field in fields}
    problems = {field: variable_problem(name, channel.study_id) for field, name in named.items() if name}
    return {field: [problem] for field, problem in problems.items() if problem}


def is_listed(parts: SplitResult) -> bool:
    """Tell whether PLATFORM_ALLOWLIST has an address's host and port.

    Raises: ValueError for an invalid port.
    """
    host = (parts.hostname or "").rstrip(".").lower()
    port = parts.port or _PORTS.get(parts.scheme, 0)
    listed = {address.strip().lower() for address in settings.PLATFORM_ALLOWLIST}
    return f"[{host}]:{port}" in listed if ":" in host else f"{host}:{port}" in listed


def within_ceiling(cap: Decimal) -> Decimal:
    """Return the largest bonus of a channel: its own cap, at most the server's."""
    return min(cap, Decimal(settings.BONUS_CEILING))


def ceiling_problem(cap: str) -> str | None:
    """Return a message if a cap is above the server's, else None."""
    if Decimal(cap) <= Decimal(settings.BONUS_CEILING):
        return None
    return f"At most {settings.BONUS_CEILING}, which is this server’s limit."
