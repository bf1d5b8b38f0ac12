"""What tests of methods share."""

import time
from collections.abc import Iterator

import pytest


@pytest.fixture
def at_once() -> Iterator[None]:
    """Fail a test that takes ten processor seconds: reading takes hundredths, and a minute if it takes the square of the length."""
    began = time.process_time()
    yield
    assert time.process_time() - began < 10
