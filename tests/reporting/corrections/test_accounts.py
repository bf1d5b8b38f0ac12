"""An account is deleted, and its ratings stay under their codes."""

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError
from django.urls import reverse

from annotation.models import Annotator, AuditEntry, Rating, RoleGrant
from tests.annotation.allocation.test_races import together
from tests.factories import api_of, claim, make_annotator, make_batch, make_study, make_user, output_of, rate, signed_in
from tests.reporting.corrections.doors import each_door

pytestmark = [pytest.mark.django_db, pytest.mark.engine, pytest.mark.slow]


@pytest.fixture(autouse=True)
def _erasure_log(tmp_path: Path, settings: Any) -> None:
    settings.ERASURE_LOG = tmp_path / "erasures.jsonl"


def delete(door: str, by: User, name: str, confirm: str) -> int:
    """Ask for a deletion; return the status, 200 if it was made."""
    if door == "api":
        return int(api_of(by).delete(f"/api/v1/accounts/{name}/?confirm={confirm}").status_code)
    if door == "page":
        status = signed_in(by).post(reverse("reporting:delete-account", args=[name]), {"confirm": confirm}).status_code
        return 200 if status == 302 else int(status)
    try:
        output_of("delete_account", name, "--confirm", confirm)
    except CommandError:
        return 422
    return 200


@each_door
def test_ratings_stay_under_the_code(door: str) -> None:
    study = make_study()
    make_batch(study)
    annotator = make_annotator(study, "ada")
    rate(claim(annotator))
    admin = User.objects.create_superuser("root")

    assert delete(door, admin, "ada", "bob") == 422
    assert delete(door, admin, "ada", "ada") == 200

    assert not User.objects.filter(username="ada").exists()
    assert not RoleGrant.objects.exists()
    assert Rating.objects.count() == 2
    annotator.refresh_from_db()
    assert (annotator.user, annotator.withdrawn_at) == (None, None)
    assert annotator.erased_at is not None
    kinds = [change.get("kind") for row in AuditEntry.objects.all() for change in row.changes]
    assert "account-deleted" in kinds


@pytest.mark.parametrize("door", ["page", "api"])
def test_own_accounts_and_for_site_admins_all(door: str) -> None:
    ada, bob = make_user("ada", "researcher"), make_user("bob", "study-admin")

    assert delete(door, bob, "ada", "ada") == 404
    assert delete(door, ada, "ada", "ada") == 200
    assert list(User.objects.all()) == [bob]
    assert [row.account for row in AuditEntry.objects.filter(status__lt=400)] == [ada.pk]


@each_door
def test_the_only_site_admin_stays(door: str) -> None:
    admin = User.objects.create_superuser("root")

    assert delete(door, admin, "root", "root") in (409, 422)
    assert User.objects.get() == admin
    assert not Annotator.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_of_two_site_admins_who_delete_each_other_one_stays() -> None:
    admins = [User.objects.create_superuser(name) for name in ("ada", "bob")]
    browsers = [api_of(admin) for admin in admins]  # each with a token, before one of them is gone
    addresses = [f"/api/v1/accounts/{name}/?confirm={name}" for name in ("bob", "ada")]
    answers = together(
        [
            lambda browser=browser, address=address: browser.delete(address).status_code  # type: ignore[misc]
            for browser, address in zip(browsers, addresses, strict=True)
        ]
    )
    assert sorted(answers)[0] == 200 < sorted(answers)[1]
    assert User.objects.filter(is_superuser=True, is_active=True).count() == 1
