"""Django's admin, where site admins correct what has no page of its own."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def test_admin_has_groups_of_one_kind(admin_client: Client) -> None:
    page = admin_client.get("/admin/").text
    assert page.lower().count("groups</a>") == 1
    assert 'href="/admin/annotation/researchgroup/"' in page
    assert admin_client.get("/admin/auth/group/").status_code == 404
    for name in ("Audit entries", "HITs", "Provider batches"):
        assert f">{name}</a>" in page


def test_an_account_has_no_groups_of_djangos(admin_client: Client) -> None:
    page = admin_client.get(f"/admin/auth/user/{User.objects.get().pk}/change/").text
    assert 'name="username"' in page
    assert 'name="user_permissions"' in page
    assert 'name="groups"' not in page
    assert admin_client.get("/admin/auth/user/add/").status_code == 200
    assert admin_client.get("/admin/auth/user/").status_code == 200
