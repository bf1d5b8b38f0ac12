"""How the texts of a system were sampled, as far as systems that differ by their temperature are compared. No models."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class SampledAt:
    """A system with sampled texts.

    temperature : `None`: the endpoint's own
    like        : equal for systems that differ only in temperature or seed
    """

    name: str
    model: str
    temperature: float | None
    like: tuple[str, ...]

    @classmethod
    def of(cls, run: Mapping[str, Any]) -> "SampledAt":
        """Read it from the fields of a generation run."""
        others = {name: value for name, value in run["params"].items() if name not in ("temperature", "seed")}
        settings = (run["base_url"], run["model"], run["template"], run["system_prompt"], repr(sorted(others.items())))
        return cls(run["name"], run["model"], run["temperature"], settings)


FIELDS = ("name", "model", "temperature", "params", "base_url", "template", "system_prompt")  # that `of` reads
