"""Requests that find findings outdated, and writers that make them so, at the same moment."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from typing import Any

import pytest
from django.db import connection, transaction

from annotation.models import Rating
from reporting.core.data_version import version_of
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


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_two_who_write_at_once_both_change_the_version_when_each_is_done() -> None:
    """On PostgreSQL the second writes and ends while the first has not ended, and does not wait for it."""
    built = build_configuration(build_study("written"), instances=2, pairs=2)
    begun, may_end = Barrier(2), Event()
    before = version_of(built.study)

    def write_slowly() -> None:
        try:
            with transaction.atomic():
                rate(built, 0, "ann", [1, 1])
                begun.wait(20)
                may_end.wait(20)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(write_slowly)
        begun.wait(20)
        if connection.vendor == "sqlite":  # one writes at a time
            may_end.set()
            slow.result()
        rate(built, 1, "bob", [1, 1])
        between = version_of(built.study)
        may_end.set()
        slow.result()
    after = version_of(built.study)
    assert len({before, between, after}) == (2 if connection.vendor == "sqlite" else 3)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_study_that_is_deleted_leaves_others_alone() -> None:
    kept, gone = (build_configuration(build_study(slug), instances=1, pairs=2) for slug in ("kept", "gone"))
    rate(gone, 0, "ann", [1, 1])
    before = version_of(kept.study)
    Rating.objects.filter(display__assignment__hit__batch__study=gone.study).delete()
    assert version_of(kept.study) == before
