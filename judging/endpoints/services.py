"""Adding, changing and finding endpoints, and checking their hosts."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from annotation.core.names import short_name_problem
from annotation.core.reasons import restored
from annotation.studies.services import validate
from judging.core.checks import differences, require_same
from judging.core.errors import BadSettings, UnknownJudge
from judging.endpoints.checks import (
    UnresolvedHost,
    check_headers,
    check_host,
    check_key_env,
)
from judging.models import Endpoint

log = logging.getLogger(__name__)
# May change under a name, since none of it affects what is asked or who answers.
CHANGEABLE = (
    *("timeout_seconds", "headers", "requests_per_minute", "tokens_per_minute"),
    *("price_prompt", "price_completion", "batch_discount", "cached_discount", "currency"),
)
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


@transaction.atomic
def add_endpoint(*, name: str, base_url: str, model: str, key_env: str = "", **more: Any) -> tuple[Endpoint, bool]:
    """Store an endpoint, unless the same one exists. Return it and whether it is new.

    more : any of `CHANGEABLE`; others keep the model's defaults, or the stored endpoint's values
    Raises: EndpointRefused; BadSettings for other settings under a used name, or a secret in place of a variable's name.
    """
    check_key_env(key_env)
    identity = {"base_url": base_url.rstrip("/"), "model": model, "key_env": key_env}
    check_settings(more)
    try:
        check_host(identity["base_url"])
    except UnresolvedHost as error:
        # It may be set up without network access; every run checks the host again.
        log.warning("%s; it will be checked again before each run", error)
    existing = Endpoint.objects.select_for_update().filter(name=name).first()
    if existing is not None:
        require_same(f"endpoint {name}", existing, identity)
        if changed := differences(existing, more, hidden=["headers"]):  # not in passing
            raise BadSettings(
                f"endpoint {existing} exists with other settings: {'; '.join(changed)}; to change these, update it"
            )
        return existing, False
    if problem := short_name_problem(Endpoint, "name", name):
        raise BadSettings(problem)
    endpoint = Endpoint(name=name, **identity, **more)
    validate(endpoint)
    endpoint.save()
    return endpoint, True


@transaction.atomic
def edit_endpoint(*, endpoint: Endpoint, **changes: Any) -> Endpoint:
    """Change an endpoint's prices, limits, time-out or headers (`CHANGEABLE`). Stored costs keep the old prices.

    Raises: BadSettings
    """
    endpoint = Endpoint.objects.select_for_update().get(pk=endpoint.pk)
    check_settings(changes)
    for name, value in changes.items():
        setattr(endpoint, name, value)
    validate(endpoint)
    endpoint.save(update_fields=list(changes))
    return endpoint


@transaction.atomic
def update_endpoint(
    *, name: str, base_url: str | None = None, model: str | None = None, key_env: str | None = None, **changes: Any
) -> Endpoint:
    """Change the endpoint of this name. A base URL, model or key variable that is given too must be the stored one.

    Raises: UnknownJudge; BadSettings
    """
    endpoint = find_endpoint(name)
    named = {"base_url": base_url.rstrip("/") if base_url else None, "model": model, "key_env": key_env}
    require_same(f"endpoint {name}", endpoint, {field: value for field, value in named.items() if value is not None})
    if not changes:
        raise BadSettings("give a price, a limit, the time-out or a header to change")
    return edit_endpoint(endpoint=endpoint, **changes)


def check_settings(changes: Mapping[str, Any]) -> None:
    """Refuse settings that may not change, and secrets in headers. The forms check the values.

    Raises: BadSettings
    """
    if unknown := set(changes) - set(CHANGEABLE):
        raise BadSettings(f"settings that can't be changed: {', '.join(sorted(unknown))}")
    check_headers(changes.get("headers", {}))


def find_endpoint(name: str) -> Endpoint:
    """Return the endpoint of this name.

    Raises: UnknownJudge listing those that exist.
    """
    endpoint = Endpoint.objects.filter(name=name).first()
    if endpoint is None:
        names = ", ".join(Endpoint.objects.values_list("name", flat=True)) or "none yet"
        raise UnknownJudge(f"there is no endpoint {name}; there are: {names}")
    return endpoint


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
    features = shown_features(endpoint)
    return [
        FeatureSupport(name, label, features.get(name), features.get("why", {}).get(name, ""))
        for name, label in FEATURES.items()
    ]


def shown_features(endpoint: Endpoint) -> dict[str, Any]:
    """Return what the last test found, with texts and codes of the reasons."""
    features: dict[str, Any] = endpoint.supports
    if not (why := features.get("why")):
        return features
    reasons = {name: restored(stored) for name, stored in why.items()}
    return {
        **features,
        "why": {name: reason.text for name, reason in reasons.items()},
        "why_code": {name: reason.code for name, reason in reasons.items()},
    }
