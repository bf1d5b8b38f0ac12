"""A built study, stored once for each module that has `store`, and one who reads it."""

from copy import deepcopy

import pytest
from django.test import Client

from tests.factories import make_user, signed_in
from tests.reporting.builders import Built


@pytest.fixture
def reader() -> Client:
    """A browser of someone who reads every study of the main group."""
    return signed_in(make_user("reader", "researcher"))


@pytest.fixture
def built(stored: Built) -> Built:
    """Give what `store` of the module has built, as it is in this test."""
    return deepcopy(stored)
