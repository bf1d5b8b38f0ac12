"""Reasons as codes with values; their English text is made when they are shown."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any


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

    def as_json(self) -> dict[str, str]:
        """Return the text and the code, as they stand beside a missing value."""
        return {"why": self.text, "why_code": self.code}
