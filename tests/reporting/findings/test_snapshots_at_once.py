"""Requests that find findings outdated at the same moment."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from reporting.findings.data.inputs import Filters
from reporting.findings.snapshots import snapshot_of
from reporting.models import FindingsSnapshot
from tests.reporting.builders import build_configuration, build_study, rate


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_requests_at_the_same_moment_keep_one_snapshot() -> None:
    built = build_configuration(build_study("raced"), instances=2, pairs=2)
    rate(built, 0, "ann", [-1, 0])

    def ask(_: int) -> Any:
        try:
            return snapshot_of(built.study, Filters()).numbers
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(ask, range(4)))
    assert all(one == found[0] for one in found)
    assert FindingsSnapshot.objects.count() == 1
