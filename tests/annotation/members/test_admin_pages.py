"""Django's admin, where site admins correct what has no page of its own."""

import json
from html import unescape

import pytest
from django.contrib.auth.models import User
from django.test import Client

from annotation.core.reasons import reason
from tests.factories import make_batch, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def test_admin_has_groups_of_one_kind(admin_client: Client) -> None:
    page = admin_client.get("/admin/").text
    assert page.lower().count("groups</a>") == 1
    assert 'href="/admin/annotation/researchgroup/"' in page
    assert admin_client.get("/admin/auth/group/").status_code == 404
    for name in ("Audit entries", "HITs", "Provider batches"):
        assert f">{name}</a>" in page


def test_stored_reasons_are_shown_as_texts(admin_client: Client) -> None:
    batch = make_batch(make_study())
    left_out = [{**reason("with_few_pairs", pairs=3).stored(), "number": 2}]
    batch.selection = {"left_out": left_out, "other": reason("without_gold").stored()}
    batch.save()
    page = unescape(admin_client.get(f"/admin/annotation/batch/{batch.pk}/change/").text)
    texts = {"why": reason("with_few_pairs", pairs=3).text, "number": 2}
    assert f'"left_out": {json.dumps([texts])}' in page
    assert f'"other": "{reason("without_gold").text}"' in page
    batch.selection = unknown = {"code": ["x"], "values": {}}
    batch.save()
    page = unescape(admin_client.get(f"/admin/annotation/batch/{batch.pk}/change/").text)
    assert json.dumps(unknown) in page


def test_an_account_has_no_groups_of_djangos(admin_client: Client) -> None:
    page = admin_client.get(f"/admin/auth/user/{User.objects.get().pk}/change/").text
    assert 'name="username"' in page
    assert 'name="user_permissions"' in page
    assert 'name="groups"' not in page
    assert admin_client.get("/admin/auth/user/add/").status_code == 200
    assert admin_client.get("/admin/auth/user/").status_code == 200
