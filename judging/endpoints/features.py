"""The features that an endpoint's last test found, as stored by `probing.py`, which web workers don't load."""

from dataclasses import dataclass

from judging.models import Endpoint

# In the order of testing and display.
FEATURES: dict[str, str] = {
    "chat": "Answers questions",
    "logprobs": "Log-probabilities",
    "json_schema": "JSON schema",
    "schema_lengths": "Longest texts in a JSON schema",
    "tools": "Function calls",
    "seed": "Same seed, same answer",
    "n": "Several answers to one call (n)",
    "batch": "Batch API",
}


@dataclass(frozen=True)
class FeatureSupport:
    """True if an endpoint supports one feature. `works` is `None` if unknown."""

    name: str
    label: str
    works: bool | None
    why: str


def supported_by(endpoint: Endpoint) -> list[FeatureSupport]:
    """List the features found by the endpoint's last test, or an empty string if it was never tested."""
    if endpoint.tested_at is None:
        return []
    why = endpoint.supports.get("why") or {}
    return [
        FeatureSupport(name, label, endpoint.supports.get(name), str(why.get(name, "")))
        for name, label in FEATURES.items()
    ]
