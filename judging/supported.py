"""What an endpoint's last test found, put in words. It is stored by `services/probing.py`, which web workers don't load."""

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from judging.models import Endpoint

# In the order in which they are tried and shown.
FEATURES: dict[str, str | Promise] = {
    "chat": _("Answers questions"),
    "logprobs": _("Log-probabilities"),
    "json_schema": _("JSON schema"),
    "tools": _("Function calls"),
    "seed": _("Same seed, same answer"),
    "n": _("Several answers to one call (n)"),
    "batch": _("Batch API"),
}


@dataclass(frozen=True)
class Supported:
    """One thing that an endpoint may support; `works` is `None` where that could not be told."""

    name: str
    label: str
    works: bool | None
    why: str


def supported_by(endpoint: Endpoint) -> list[Supported]:
    """List what an endpoint's last test found; nothing when it was never tested."""
    if endpoint.tested_at is None:
        return []
    why = endpoint.supports.get("why") or {}
    return [
        Supported(name, str(label), endpoint.supports.get(name), str(why.get(name, "")))
        for name, label in FEATURES.items()
    ]
