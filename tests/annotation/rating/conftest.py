"""A small study, stored once for each module whose tests change nothing of it that lasts."""

from typing import Any

import pytest

from annotation.models import Study
from tests.factories import make_batch, make_study


@pytest.fixture(scope="module")
def stored(module_rows: None, django_db_blocker: Any) -> int:
    """Store a study of two instances, with a batch for one rater; return its number."""
    with django_db_blocker.unblock():
        study = make_study(instances=2, k=2)
        make_batch(study, raters=1)
        return study.pk


@pytest.fixture
def study(stored: int) -> Study:
    """Return that study as it is in this test."""
    return Study.objects.get(pk=stored)
