"""Which secrets of the server a channel may use, where they may be sent, and how much money it may promise.

Whoever administers a study names the environment variable that holds a platform's token, and the address that it goes
to. So a name belongs to one group, by how it ends, and an address is the platform's own or one that whoever runs the
server has listed.
"""

from collections.abc import Iterable
from decimal import Decimal
from urllib.parse import SplitResult

from django.conf import settings
from django.utils.translation import gettext as _

from annotation.models import Channel, ResearchGroup, Study
from annotation.models.groups import MAIN_GROUP

_PORTS = {"http": 80, "https": 443}


def ending_of(slug: str) -> str:
    """Return what the names of a group's variables end in."""
    return "_" + slug.upper().replace("-", "_")


def variable_problem(name: str, study_id: int) -> str | None:
    """Say why a study may not use a variable; None if it may. The study's group is looked up now: it may have moved.

    A name belongs to the group with the longest ending that it has, and of two such groups to the older one; without
    one it belongs to the group that is there from the start.
    """
    own = Study.objects.values_list("group__slug", flat=True).get(pk=study_id)
    groups = ResearchGroup.objects.exclude(slug=MAIN_GROUP).order_by("pk").values_list("slug", flat=True)
    owners = [slug for slug in groups if name.endswith(ending_of(slug))]
    owner = max(owners, key=len, default=MAIN_GROUP)  # the first of those that are equally long
    if owner == own:
        return None
    if own == MAIN_GROUP:
        return _("%(name)s belongs to another group: its name ends in %(ending)s.") % {
            "name": name,
            "ending": ending_of(owner),
        }
    return _("%(name)s is not this group’s. A variable of this group has a name that ends in %(ending)s.") % {
        "name": name,
        "ending": ending_of(own),
    }


def variable_problems(channel: Channel, fields: Iterable[str]) -> dict[str, list[str]]:
    """Return why variables that a channel's settings name may not be used, by field."""
    named = {field: str(channel.options.get(field) or "") for field in fields}
    problems = {field: variable_problem(name, channel.study_id) for field, name in named.items() if name}
    return {field: [problem] for field, problem in problems.items() if problem}


def is_listed(parts: SplitResult) -> bool:
    """Tell whether whoever runs the server has listed an address's host with this very port, as a platform's stand-in.

    Raises: ValueError for a port that is none.
    """
    host = (parts.hostname or "").rstrip(".").lower()
    port = parts.port or _PORTS.get(parts.scheme, 0)
    listed = {one.strip().lower() for one in settings.PLATFORM_ALLOWLIST}
    return f"[{host}]:{port}" in listed if ":" in host else f"{host}:{port}" in listed


def within_ceiling(cap: Decimal) -> Decimal:
    """Return the largest bonus that a channel may pay: its own cap, never above the server's."""
    return min(cap, Decimal(settings.BONUS_CEILING))


def ceiling_problem(cap: str) -> str | None:
    """Say that a cap is above the server's; None if it isn't."""
    if Decimal(cap) <= Decimal(settings.BONUS_CEILING):
        return None
    return _("At most %(most)s: whoever runs this server sets that limit.") % {"most": settings.BONUS_CEILING}
