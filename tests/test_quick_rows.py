"""What `factories` stores without the services is, row for row, what the services store."""

import secrets
from collections.abc import Callable
from datetime import datetime
from itertools import count
from typing import Any

import pytest
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.db import transaction
from django.http import HttpRequest
from django.test import Client

from annotation.annotators.consent import answer_consent
from annotation.batches.services import create_batch
from annotation.importing.content import store_instances
from annotation.members.accounts import annotator_for
from annotation.models import Annotator, Batch, RoleGrant, Study
from annotation.models.members import Role
from tests.every_table import tables
from tests.factories import NOON, add_instances, instance_rows, make_annotator, make_batch, make_study, make_user
from tests.quick_rows import store_plain_batch

pytestmark = pytest.mark.django_db

PLAIN: dict[str, Any] = {
    "name": "batch",
    "dataset": "news",
    "systems": ("alpha", "beta"),
    "pairs": 2,
    "raters": 2,
    "seed": 1,
}
Stored = dict[str, list[dict[str, Any]]]


def stored(store: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> Stored:
    """Return the rows of every table after a call, which is undone; ids are places in their tables, times are left out."""
    draws = count()
    monkeypatch.setattr(secrets, "token_urlsafe", lambda _nbytes=32: f"drawn-{next(draws)}")
    monkeypatch.setattr(secrets, "token_hex", lambda _nbytes=32: f"drawn-{next(draws)}")
    monkeypatch.setattr(secrets, "randbelow", lambda _below: next(draws))
    with transaction.atomic():
        store()
        places = {
            model: {
                pk: place for place, pk in enumerate(model._base_manager.order_by("pk").values_list("pk", flat=True))
            }
            for model in tables()
        }
        found = {
            model._meta.label: [
                {
                    field.name: places[field.related_model][value] if field.is_relation and value is not None else value
                    for field in model._meta.concrete_fields
                    if not field.primary_key
                    and not isinstance(value := getattr(row, field.attname), datetime)
                    and not (model is User and field.name == "password")  # random, of no use
                }
                for row in model._base_manager.order_by("pk")
            ]
            for model in tables()
        }
        transaction.set_rollback(True)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "content",
    [
        {},
        {"instances": 1, "k": 1},
        {"instances": 2, "k": 3, "systems": ("gamma", "alpha", "beta"), "dataset": "mail"},
        {"systems": ("alpha",)},
    ],
    ids=["plain", "small", "systems", "one"],
)
def test_instances_of_a_new_study(content: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def by_service() -> None:
        store_instances(study=make_study(instances=0), rows=instance_rows(**content), name="rows")

    assert stored(lambda: make_study(**content), monkeypatch) == stored(by_service, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"pairs": 1, "raters": 3, "seed": 7, "name": "other"},
        {"systems": ("beta", "gamma"), "gold_rate": 0.1, "repeat_rate": 0.2},
        {"systems": ("gamma", "alpha"), "lease_minutes": 5, "most_hits_per_rater": 4},
    ],
    ids=["plain", "numbers", "checks", "limits"],
)
def test_first_batch_of_a_study(settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study(instances=5, k=3, systems=("alpha", "beta", "gamma"))
    add_instances(study, instances=2, dataset="mail")

    def by_service() -> None:
        create_batch(study=study, **PLAIN | settings)

    assert stored(lambda: make_batch(study, **settings), monkeypatch) == stored(by_service, monkeypatch)


def leave(_study: Study) -> None:
    """Change nothing."""


@pytest.mark.parametrize(
    ("settings", "prepare"),
    [
        ({"select": "random:1"}, leave),
        ({"purpose": Batch.Purpose.GOLD}, leave),
        ({"status": Batch.Status.DRAFT}, leave),
        ({"pairs": 3}, leave),
        ({"dataset": "mail"}, leave),
        ({"systems": ("alpha", "gamma")}, leave),
        ({"name": "n" * 201}, leave),
        ({}, make_batch),
        ({}, lambda study: Study.objects.filter(pk=study.pk).update(archived_at=NOON)),
        ({}, lambda study: study.instances.filter(position=0).update(source="")),
    ],
)
def test_other_batches_are_left_to_the_service(settings: dict[str, Any], prepare: Callable[[Study], object]) -> None:
    study = make_study()
    prepare(study)
    before = study.batches.count()

    assert store_plain_batch(study=study, **PLAIN | settings) is None
    assert study.batches.count() == before


@pytest.mark.slow
@pytest.mark.parametrize("consent", [True, False])
def test_annotator_who_is_new(consent: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study(instances=0, consent_text="Do you?", consent_version=3)

    def by_service() -> None:
        user = make_user("rater")
        RoleGrant.objects.create(user=user, role=Role.ANNOTATOR, study=study)
        annotator = annotator_for(user=user, study=study)
        if consent:
            answer_consent(annotator=annotator, accepted=True, at=NOON)

    def quickly() -> None:
        annotator = make_annotator(study, consent=consent)
        assert [one.answered_at for one in annotator.consents.all()] == ([NOON] if consent else [])

    assert stored(quickly, monkeypatch) == stored(by_service, monkeypatch)
    assert not Annotator.objects.exists()  # each was undone


def test_session_of_a_forced_sign_in() -> None:
    user, client = make_user("one"), Client()

    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")

    [session] = Session.objects.all()
    assert session.session_key == client.cookies["sessionid"].value
    request = HttpRequest()
    request.session = SessionStore()
    login(request, user, "django.contrib.auth.backends.ModelBackend")
    assert dict(client.session.items()) == dict(request.session.items())
    user.refresh_from_db()
    assert user.last_login is not None
