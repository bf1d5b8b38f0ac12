"""The signs of life of a worker that computes separability."""

from datetime import UTC, datetime
from threading import Event, active_count
from typing import Any

import pytest

from annotation.models import SeparabilityJob
from annotation.separability import jobs
from annotation.separability.jobs import SeparabilityRequest, run_job
from annotation.separability.queue import start_separability
from tests.annotation.separability.separability_studies import drawn_texts, study_of

pytestmark = pytest.mark.slow

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.mark.django_db(transaction=True)
def test_a_worker_sends_heartbeats_while_a_portion_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    job, _ = start_separability(study_of(*drawn_texts(1)), SeparabilityRequest("rouge1", group="0,1"))
    heard, plain = Event(), jobs._update

    def note(noted: SeparabilityJob, **values: Any) -> None:
        plain(noted, **values)
        if not values:  # a sign of life alone
            heard.set()

    def taking_long(*_: Any) -> list[Any]:
        SeparabilityJob.objects.filter(pk=job.pk).update(heartbeat_at=LONG_AGO)
        heard.clear()
        assert heard.wait(60)
        found = SeparabilityJob.objects.get(pk=job.pk)
        assert found.heartbeat_at
        assert found.heartbeat_at > LONG_AGO
        return []

    monkeypatch.setattr(jobs, "_update", note)
    monkeypatch.setattr(jobs, "HEARTBEAT_SECONDS", 0.01)
    monkeypatch.setattr(SeparabilityRequest, "compute", taking_long)
    before = active_count()
    run_job(job.pk)
    assert active_count() == before  # a job that is over has no heartbeat
    assert SeparabilityJob.objects.get(pk=job.pk).status == "done"
