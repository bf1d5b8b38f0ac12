"""Adding endpoints and judges, starting runs, and finding runs without a worker."""

from copy import copy
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from annotation.core.errors import AnnotationError
from annotation.core.tasks.task_queue import requeue_tasks
from annotation.models import Assignment, Slot
from annotation.models.jobs import LEASE
from judging.core.errors import BadSettings, EndpointRefused, UnknownJudge
from judging.endpoints.services import add_endpoint
from judging.jobs import leases
from judging.models import Endpoint, Judge, JudgeRun, RunWorker
from judging.runs.judges import add_judge, find_judge
from judging.runs.services import find_batch, queue_run, start_run
from judging.runs.tasks import enqueue_extra_worker, enqueue_run, queue_unattended_runs
from reporting.worker import DEATH_RULES, requeue_and_release
from tests import factories as annotators
from tests.fakes import dead_process
from tests.judging.builders import make_batch, make_judge, make_study, pairs_in

pytestmark = [pytest.mark.django_db, pytest.mark.engine]
ENDPOINT: dict[str, Any] = {
    "name": "far",
    "base_url": "https://models.example/v1/",
    "model": "big",
    "key_env": "FAR_KEY",
}


KEY_ENVS_REFUSED = [
    *("sk-abc123", "two words", "1ST_KEY", "_MY_KEY", "my_api_key", "MY_KEY\n", "PATH", "HOME", "SMTP_PASSWORD"),
    *("SECRET_KEY", "DJANGO_SECRET_KEY", "OAUTH_CLIENT_SECRET", "DJANGO_KEY", "DATABASE_URL", "DATABASE_KEY"),
    *("AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN"),
]


@pytest.mark.parametrize("key_env", KEY_ENVS_REFUSED)
@pytest.mark.any_engine
def test_key_in_place_of_a_variables_name_is_refused_and_not_repeated(key_env: str) -> None:
    with pytest.raises(BadSettings) as refused:
        add_endpoint(**{**ENDPOINT, "key_env": key_env})
    assert key_env not in str(refused.value)


@pytest.mark.parametrize("key_env", ["MY_API_KEY", "OPENAI_API_KEY", "HF_TOKEN", "KEY2", "TANDEM_KEY_FOR_BIG"])
@pytest.mark.any_engine
def test_variable_made_for_a_key_is_taken(key_env: str) -> None:
    assert add_endpoint(**{**ENDPOINT, "key_env": key_env})[1]


@pytest.mark.any_engine
def test_endpoint_on_a_private_network_is_refused(settings: Any) -> None:
    private = {**ENDPOINT, "base_url": "http://10.0.0.1/v1"}
    with pytest.raises(EndpointRefused, match="ENDPOINT_ALLOWLIST"):
        add_endpoint(**private)
    assert not Endpoint.objects.exists()
    settings.ENDPOINT_ALLOWLIST = ["10.0.0.1"]
    assert add_endpoint(**private)[1]


@pytest.mark.parametrize(
    "change",
    [{"method": "longer"}, {"order": "both"}, {"family": "owls"}, {"seed": 99}],
    ids=lambda change: str(change),
)
@pytest.mark.any_engine
def test_another_judge_under_a_used_name_is_refused(change: dict[str, Any]) -> None:
    add_judge(name="coin", method="coin", seed=1)
    with pytest.raises(BadSettings, match="judge coin exists with other settings"):
        add_judge(**{"name": "coin", "method": "coin", **change})


def test_a_judge_that_is_made_meanwhile_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    # By another request, after the look for it.
    monkeypatch.setattr("judging.runs.judges.validate", lambda judge: copy(judge).save())
    judge, is_new = add_judge(name="coin", method="coin")
    assert (Judge.objects.get(), is_new) == (judge, False)


@pytest.mark.parametrize(
    ("settings_", "reason"),
    [
        pytest.param({"method": "direct"}, "name an endpoint", id="no endpoint"),
        pytest.param({"method": "coin", "params": {"temperature": 1}}, "no parameters", id="useless parameters"),
        pytest.param({"method": "oracle"}, "no judging method oracle; there are coin, cot, ", id="unknown method"),
        pytest.param({"method": "coin", "order": "sideways"}, "order", id="unknown order"),
        pytest.param({"method": "coin", "name": "no spaces"}, "name", id="bad name"),
        pytest.param({"method": "coin", "seed": -1}, "seed", id="bad seed"),
    ],
)
@pytest.mark.any_engine
def test_judge_that_can_not_work_is_refused(settings_: dict[str, Any], reason: str) -> None:
    with pytest.raises(AnnotationError, match=reason):
        add_judge(**{"name": "judge", **settings_})
    assert not Judge.objects.exists()


@pytest.mark.any_engine
def test_unknown_names_list_those_that_exist() -> None:
    make_judge()
    with pytest.raises(UnknownJudge, match="no judge jude; there are: judy"):
        find_judge("jude")
    with pytest.raises(AnnotationError, match="has no batch b; it has: none yet"):
        find_batch(make_study(), "b")


def test_run_on_a_study_with_batches_is_on_their_pairs_only() -> None:
    study = make_study()
    pairs = pairs_in(study)
    make_batch(study, pairs[:2], "first")
    second = make_batch(study, pairs[2:4], "second")
    judge = make_judge("coin")
    assert start_run(study=study, judge=judge).judgments.count() == 4
    run = start_run(study=study, judge=judge, batch=second)
    assert set(run.judgments.values_list("pair_id", flat=True)) == {pair.pk for pair in pairs[2:4]}


@pytest.mark.any_engine
def test_study_without_pairs_can_not_be_judged() -> None:
    with pytest.raises(BadSettings, match="no pairs to judge"):
        start_run(study=make_study(instances=0), judge=make_judge("coin"))
    assert not JudgeRun.objects.exists()


@pytest.mark.any_engine
def test_queued_run_gets_its_task_only_when_everything_is_stored(django_capture_on_commit_callbacks: Any) -> None:
    with django_capture_on_commit_callbacks(execute=False) as callbacks:
        queue_run(study=make_study(), judge=make_judge("coin"))
    assert not DBTaskResult.objects.exists()
    [enqueue] = callbacks
    enqueue()
    assert DBTaskResult.objects.count() == 1


def requeue() -> int:
    """Do what the worker's maintenance does about tasks."""
    return requeue_tasks(DEATH_RULES) + queue_unattended_runs()


def test_run_without_a_worker_is_requeued_once() -> None:
    run = start_run(study=make_study(), judge=make_judge("coin"))
    assert [requeue(), requeue()] == [1, 0]
    [task] = DBTaskResult.objects.all()
    assert task.args_kwargs["args"] == [run.pk]


@pytest.mark.any_engine
@pytest.mark.parametrize("status", ["done", "failed", "paused", "cancelled"])
def test_run_that_ended_is_not_requeued(status: str) -> None:
    start_run(study=make_study(), judge=make_judge("coin"))
    JudgeRun.objects.update(status=status)
    assert requeue() == 0


def test_run_with_a_living_worker_is_not_requeued_and_a_silent_one_is() -> None:
    run = start_run(study=make_study(), judge=make_judge("coin"))
    _, worker = leases.join(run.pk)
    assert worker is not None
    assert requeue() == 0
    RunWorker.objects.update(heartbeat_at=worker.heartbeat_at - 2 * LEASE)
    assert requeue() == 1


@pytest.mark.parametrize("seconds", [0, 60])
def test_requeued_run_keeps_the_limit_that_it_was_started_with(seconds: int) -> None:
    run = start_run(study=make_study(), judge=make_judge("coin"))
    enqueue_run(run.pk, 5)
    DBTaskResult.objects.update(status="RUNNING", started_at=timezone.now() - timedelta(seconds=seconds))
    assert requeue() == (seconds > 30)  # else a worker has just taken it, and has yet to join
    leases.join(run.pk)
    RunWorker.objects.update(executor=dead_process())  # it was killed
    DBTaskResult.objects.update(status="RUNNING", started_at=timezone.now() - timedelta(seconds=seconds))
    assert [requeue(), requeue()] == [1, 0]
    [task] = DBTaskResult.objects.all()
    assert (task.status, task.args_kwargs["args"]) == ("READY", [run.pk, 5])


@pytest.mark.parametrize(("seconds", "queued"), [(0, 0), (60, 1)])
def test_task_of_a_lost_worker_ends_after_others_have_done_the_run(seconds: int, queued: int) -> None:
    run = start_run(study=make_study(), judge=make_judge("coin"))
    enqueue_run(run.pk)
    DBTaskResult.objects.update(status="RUNNING", started_at=timezone.now() - timedelta(seconds=seconds))
    JudgeRun.objects.filter(pk=run.pk).update(status="done")
    assert requeue() == queued


@pytest.mark.parametrize(("in_flight", "workers", "helps"), [(64, 0, 0), (65, 0, 1), (256, 2, 1), (256, 3, 0)])
def test_run_that_is_too_much_for_its_workers_is_offered_to_another(in_flight: int, workers: int, helps: int) -> None:
    run = start_run(study=make_study(), judge=make_judge("coin"), in_flight=in_flight)
    for _ in range(workers):
        leases.join(run.pk)
    enqueue_extra_worker(run.pk)
    enqueue_extra_worker(run.pk)
    assert DBTaskResult.objects.count() == helps


def test_the_worker_frees_the_slots_of_claims_whose_time_has_run_out() -> None:
    study = annotators.make_study("claims")
    annotators.make_batch(study)
    stale, fresh = (
        annotators.claim(annotators.make_annotator(study, name), timezone.now()) for name in ("gone", "here")
    )
    Assignment.objects.filter(pk=stale.pk).update(expires_at=timezone.now())

    requeue_and_release()

    assert set(Slot.objects.exclude(assignment=None).values_list("assignment", flat=True)) == {fresh.pk}
    stale.refresh_from_db()
    assert stale.state == "expired"
