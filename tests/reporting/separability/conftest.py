import pytest
from django.test import Client

from tests.factories import make_user, signed_in


@pytest.fixture
def reader() -> Client:
    return signed_in(make_user("reader", "researcher"))
