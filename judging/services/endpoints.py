"""Endpoints: adding them, and the check of their hosts before anything is sent there."""

import logging
import math
import re

from django.conf import settings
from django.db import transaction

from annotation.services.studies import validate
from judging.errors import BadSettings, UnknownJudge
from judging.hosts import UnresolvedHost, check_endpoint, resolve
from judging.models import Endpoint
from judging.services.checks import require_same

log = logging.getLogger(__name__)
# Whoever adds endpoints chooses where the key is sent: a name may not open other secrets of the server.
VARIABLE = re.compile(r"(?!DATABASE_|DJANGO_|AWS_|.*SECRET)(?=.*(?:KEY|TOKEN))[A-Z][A-Z0-9_]{0,99}")


@transaction.atomic
def add_endpoint(
    *, name: str, base_url: str, model: str, key_env: str = "", timeout_seconds: float = 60
) -> tuple[Endpoint, bool]:
    """Store an endpoint, unless the same one is there; return it and whether it is new.

    Raises: EndpointRefused; BadSettings for another setting under a used name, or a key in place of a variable's name.
    """
    check_key_env(key_env)
    if not (math.isfinite(timeout_seconds) and timeout_seconds > 0):
        raise BadSettings(f"the time-out must be above 0 seconds, got {timeout_seconds}")
    wanted = {
        "base_url": base_url.rstrip("/"),
        "model": model,
        "key_env": key_env,
        "timeout_seconds": float(timeout_seconds),
    }
    try:
        check_host(wanted["base_url"])
    except UnresolvedHost as error:
        # Set up where there is no network yet: every run checks again before it sends anything.
        log.warning("%s; it will be checked again before each run", error)
    existing = Endpoint.objects.select_for_update().filter(name=name).first()
    if existing is not None:
        require_same(f"endpoint {name}", existing, wanted)
        return existing, False
    endpoint = Endpoint(name=name, **wanted)
    validate(endpoint)
    endpoint.save()
    return endpoint, True


def check_key_env(key_env: str) -> None:
    """Refuse what isn't the name of a variable made for an endpoint's key; never repeats it, for it may be a key.

    Raises: BadSettings
    """
    if key_env and not VARIABLE.fullmatch(key_env):
        raise BadSettings(
            "name an environment variable that was made for this key, in capitals and with KEY or TOKEN in it, such as "
            "MY_API_KEY; none of the server's own (DATABASE_…, DJANGO_…, AWS_…, …SECRET…); never give the key itself"
        )


def check_host(base_url: object) -> None:
    """Refuse a base URL that the settings don't allow; resolves the host anew each time."""
    check_endpoint(str(base_url), allowlist=settings.ENDPOINT_ALLOWLIST, resolver=resolve)


def find_endpoint(name: str) -> Endpoint:
    """Return the endpoint of this name.

    Raises: UnknownJudge listing those that exist.
    """
    endpoint = Endpoint.objects.filter(name=name).first()
    if endpoint is None:
        known = ", ".join(Endpoint.objects.values_list("name", flat=True)) or "none yet"
        raise UnknownJudge(f"there is no endpoint {name}; there are: {known}")
    return endpoint
