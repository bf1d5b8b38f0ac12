"""The arms of a two-stage study: what the second stage shows beside a pair."""

from dataclasses import dataclass
from typing import Self

LONGEST_VARIANT = 40
KINDS = ("none", "table", "placebo")


class BadArm(ValueError):
    """Not the name of an arm."""


@dataclass(frozen=True)
class Arm:
    """One arm. Ratings store its name.

    none            no table: the control for being asked twice
    table:VARIANT   the pair's own comparison table of this variant
    placebo:VARIANT another pair's table of this variant: the control for being shown any table
    """

    kind: str
    variant: str = ""

    @classmethod
    def parse(cls, name: object) -> Self:
        """Parse an arm's name.

        Raises: BadArm.
        """
        kind, colon, variant = name.partition(":") if isinstance(name, str) else ("", "", "")
        is_known = kind in KINDS and bool(colon) == (kind != "none")
        if not is_known or (colon and not 0 < len(variant.strip()) <= LONGEST_VARIANT) or variant != variant.strip():
            raise BadArm(f"{name!r} is not an arm; write none, table:VARIANT or placebo:VARIANT, such as table:c8")
        return cls(kind, variant)

    @property
    def name(self) -> str:
        """The name that `parse` reads."""
        return f"{self.kind}:{self.variant}" if self.variant else self.kind

    @property
    def shows_table(self) -> bool:
        """Tell whether the second stage shows a table."""
        return self.kind != "none"
