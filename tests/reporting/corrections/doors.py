"""The three ways to correct a study: its page, the API and the command."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.messages import get_messages
from django.core.management import CommandError
from django.test import Client
from django.urls import reverse

from annotation.models import Study
from tests.factories import api_of, make_user, output_of, signed_in

DOORS = ("page", "api", "command")
# What is corrected depends on the engine, and not on who asks.
each_door = pytest.mark.parametrize(
    "door", [pytest.param(door, marks=() if door == "command" else pytest.mark.any_engine) for door in DOORS]
)


def in_turn(cases: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return each case with one of the doors in turn: they run one form, which decides."""
    return [(door, *case) for door, case in zip(cycle(DOORS), cases, strict=False)]


@dataclass
class Outcome:
    """What came of a correction: whether it was made, or why not, and what it lists."""

    made: bool
    text: str
    effects: list[str] = field(default_factory=list)


def correct(door: str, study: Study, kind: str, values: Mapping[str, Any], *, preview: bool = False) -> Outcome:
    """Ask for a correction as the study's admin, or by the command."""
    sent = {**values, **({"preview": True} if preview else {})}
    return {"page": _by_page, "api": _by_api, "command": _by_command}[door](study, kind, sent)


def _admin(study: Study) -> Any:
    grant = study.role_grants.filter(role="study-admin").first()
    return grant.user if grant else make_user(f"admin-{study.pk}", "study-admin", study=study)


def _by_page(study: Study, kind: str, sent: dict[str, Any]) -> Outcome:
    client: Client = signed_in(_admin(study))
    answer = client.post(reverse("reporting:correct", args=[study.slug, kind]), sent)
    if answer.status_code == 302:
        return Outcome(True, " ".join(str(message) for message in get_messages(answer.wsgi_request)))
    form, effects = answer.context["form"], answer.context["effects"]
    text = " ".join(str(problem) for problems in form.errors.values() for problem in problems)
    assert answer.status_code == (422 if text else 200)
    return Outcome(False, text, [str(effect) for effect in effects or ()])


def _by_api(study: Study, kind: str, sent: dict[str, Any]) -> Outcome:
    client, address = api_of(_admin(study)), f"/api/v1/studies/{study.slug}/"
    if kind == "delete-study":
        answer = client.delete(
            f"{address}?{urlencode({name: str(value).lower() if value is True else value for name, value in sent.items()})}"
        )
    else:
        answer = client.post(f"{address}{kind}/", sent, format="json")
    body = answer.json()
    if answer.status_code != 200:
        assert answer.status_code in (404, 409, 422), body
        return Outcome(False, body["detail"])
    effects = [f"{effect['count']} {effect['text']}" for effect in body["effects"]]
    return Outcome(bool(body["message"]), body["message"], effects)


def _by_command(study: Study, kind: str, sent: dict[str, Any]) -> Outcome:
    options = []
    for name, value in sent.items():
        flag = f"--{name.replace('_', '-')}"
        options += [flag] if value is True else [flag, str(value)]
    try:
        document = json.loads(output_of(kind.replace("-", "_"), study.slug, *options, "--format", "json"))
    except CommandError as error:
        return Outcome(False, str(error))
    effects = [f"{effect['count']} {effect['text']}" for effect in document["effects"]]
    return Outcome(bool(document["message"]), document["message"], effects)
