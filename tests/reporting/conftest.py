"""A built study, stored once for each module that has `store`."""

from copy import deepcopy

import pytest

from tests.reporting.builders import Built


@pytest.fixture
def built(stored: Built) -> Built:
    """Give what `store` of the module has built, as it is in this test."""
    return deepcopy(stored)
