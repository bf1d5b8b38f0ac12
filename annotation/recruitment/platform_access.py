"""Limits of channels: secrets of the server, addresses that get them, and sizes of bonuses.

A study's admin names the environment variable of a platform's token, and the address that it is sent to. Therefore a
variable belongs to one group, by its suffix, and an address is the platform's own or in PLATFORM_ALLOWLIST.
"""

import re
from decimal import Decimal
from typing import ClassVar
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


class PlatformSettings:
    """The options of a platform's channel, and the secrets in the environment variables that they name."""

    variable: ClassVar[re.Pattern[str]]  # a study's admin names variables: others may hold other secrets of the server
    secrets: ClassVar[tuple[str, ...]]  # options that name one
    usual_bonus_cap: ClassVar[str] = "0"

    def __init__(self, channel: Channel) -> None:
        self._options, self._study = channel.options, channel.study_id
        self.bonus_cap = min(Decimal(self.text("bonus_cap", self.usual_bonus_cap)), Decimal(settings.BONUS_CEILING))

    def text(self, option: str, default: str = "") -> str:
        """Return an option, or its default for an empty one."""
        return str(self._options.get(option) or default)

    def secret(self, option: str) -> str | None:
        """Return the secret whose variable an option names, or None if it is unset or another group's."""
        name = self.text(option)
        if not self.variable.fullmatch(name) or variable_problem(name, self._study):
            return None
        value: str | None = settings.ENDPOINT_KEY(name)
        return value

    def secret_problems(self) -> dict[str, list[str]]:
        """Return why variables may not be used in the study's present group, by option."""
        problems = {
            option: self.text(option) and variable_problem(self.text(option), self._study) for option in self.secrets
        }
        return {option: [problem] for option, problem in problems.items() if problem}


def is_listed(parts: SplitResult) -> bool:
    """Tell whether PLATFORM_ALLOWLIST has an address's host and port.

    Raises: ValueError for an invalid port.
    """
    host = (parts.hostname or "").rstrip(".").lower()
    port = parts.port or _PORTS.get(parts.scheme, 0)
    listed = {address.strip().lower() for address in settings.PLATFORM_ALLOWLIST}
    return f"[{host}]:{port}" in listed if ":" in host else f"{host}:{port}" in listed


def ceiling_problem(cap: str) -> str | None:
    """Return a message if a cap is above the server's, else None."""
    if Decimal(cap) <= Decimal(settings.BONUS_CEILING):
        return None
    return f"At most {settings.BONUS_CEILING}, which is this server’s limit."
