"""Rows that a module stores once: each of its tests finds them as they were stored, whatever another test did."""

from typing import Any

import pytest
from django.contrib.auth.models import User


@pytest.fixture(scope="module")
def stored(module_rows: None, django_db_blocker: Any) -> int:
    with django_db_blocker.unblock():
        return User.objects.create(username="kept").pk


@pytest.mark.django_db
@pytest.mark.parametrize("change", ["name", "delete", "add"])
@pytest.mark.parametrize("turn", [1, 2])
def test_each_test_finds_what_was_stored(stored: int, change: str, turn: int) -> None:
    assert list(User.objects.values_list("pk", "username")) == [(stored, "kept")]
    if change == "name":
        User.objects.update(username="another")
    elif change == "delete":
        User.objects.all().delete()
    else:
        User.objects.create(username="added")
