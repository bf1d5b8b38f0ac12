"""A small study, stored once for each module whose tests change nothing of it that lasts."""

from typing import Any

import pytest

from annotation.models import Study
from tests.factories import make_batch, make_study


def small() -> Study:
    """Store a study of two instances, with a batch for one rater."""
    study = make_study(instances=2, k=2)
    make_batch(study, raters=1)
    return study


@pytest.fixture(scope="module")
def stored(request: pytest.FixtureRequest, module_rows: None) -> Any:
    """Store what `store` of a module makes, or the small study."""
    return getattr(request.module, "store", small)()
