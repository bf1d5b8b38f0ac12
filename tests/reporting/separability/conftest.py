import pytest
from django.test import Client

from tests.factories import make_user


@pytest.fixture
def reader() -> Client:
    client = Client()
    client.force_login(make_user("reader", "researcher"))
    return client
