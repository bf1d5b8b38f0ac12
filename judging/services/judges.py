"""Judges: adding them and finding them."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from annotation.keys import new_seed
from annotation.services.studies import validate
from judging.errors import BadSettings, UnknownJudge
from judging.judges import find_method
from judging.models import Endpoint, Judge
from judging.services.checks import require_same

# What the engine itself decides; a judge that set these would read another answer than it asked for.
RESERVED_PARAMS = frozenset({"model", "messages", "stream", "stream_options", "n"})


@transaction.atomic
def add_judge(
    *,
    name: str,
    method: str,
    endpoint: Endpoint | None = None,
    order: str = Judge.Order.RANDOM,
    family: str = "",
    params: Mapping[str, Any] | None = None,
    seed: int | None = None,
) -> tuple[Judge, bool]:
    """Store a judge, unless the same one is there; return it and whether it is new. No seed means any seed.

    Raises: UnknownJudge for a method that doesn't exist; BadSettings for settings that don't fit together, or for
    another setting under a used name.
    """
    check_fit(method=method, endpoint=endpoint, params=params or {})
    wanted: dict[str, Any] = {
        "method": method,
        "endpoint": endpoint,
        "order": order,
        "family": family,
        "params": dict(params or {}),
    }
    if seed is not None:
        wanted["seed"] = seed
    existing = Judge.objects.select_for_update(of=("self",)).filter(name=name).first()
    if existing is not None:
        require_same(f"judge {name}", existing, wanted)
        return existing, False
    judge = Judge(name=name, **{"seed": new_seed(), **wanted})
    validate(judge)
    judge.save()
    return judge, True


def check_fit(*, method: str, endpoint: Endpoint | None, params: Mapping[str, Any]) -> None:
    """Refuse a method without the endpoint that it needs, or with settings that it has no use for."""
    needs_endpoint = find_method(method).needs_endpoint
    if needs_endpoint and endpoint is None:
        raise BadSettings(f"method {method} asks a model: name an endpoint")
    if not needs_endpoint and endpoint is not None:
        raise BadSettings(f"method {method} asks no model: it takes no endpoint")
    if not needs_endpoint and params:
        raise BadSettings(f"method {method} asks no model: it takes no parameters, got {', '.join(params)}")
    if reserved := RESERVED_PARAMS & set(params):
        raise BadSettings(f"these parameters are set by the engine: {', '.join(sorted(reserved))}")


def find_judge(name: str) -> Judge:
    """Return the judge of this name.

    Raises: UnknownJudge listing those that exist.
    """
    judge = Judge.objects.select_related("endpoint").filter(name=name).first()
    if judge is None:
        known = ", ".join(Judge.objects.values_list("name", flat=True)) or "none yet"
        raise UnknownJudge(f"there is no judge {name}; there are: {known}")
    return judge
