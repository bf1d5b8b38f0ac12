"""Runs through a provider's Batch API: the same cells and cache, whatever happens on the way."""

import json
from collections import Counter
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from annotation.core.reasons import reason
from annotation.core.tasks.stopping import StopFlag
from judging.calls import session
from judging.core.errors import AccessDenied, CallFailed, RejectedCall, TransientFailure
from judging.endpoints.client import OpenAIClient
from judging.models import Completion, JudgeRun, Judgment, ProviderBatch, RunWorker
from judging.runs import cells, tasks
from judging.runs.execution import ExecutionResult, execute
from judging.runs.provider_batches import execution as provider_batches
from judging.runs.provider_batches import files as batch_files
from judging.runs.provider_batches import provider as batch_provider
from judging.runs.provider_batches.files import read_lines
from judging.runs.services import cancel_run, start_run
from judging.runs.status import count_judgments
from judging.runs.tasks import BATCH_CHECK_SECONDS, execute_run
from judging.runs.usage import usage_of
from tests.judging.builders import make_endpoint, make_judge, make_study
from tests.standin.process import StandInProcess

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
PRICES = {"price_prompt": Decimal("1"), "price_completion": Decimal("2")}


@pytest.fixture(autouse=True)
def _at_once(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.ENDPOINT_ALLOWLIST = ["127.0.0.1"]
    monkeypatch.setattr(provider_batches, "POLL_SECONDS", 0)
    monkeypatch.setattr(batch_provider, "PAUSE_SECONDS", 0)


def batch_run(standin: StandInProcess, method: str = "direct", *, instances: int = 3, **settings: Any) -> JudgeRun:
    judge = make_judge(method, endpoint=make_endpoint(standin.base_url, **PRICES), **settings)
    return start_run(study=make_study(instances=instances), judge=judge, way="batch")


def work(run: JudgeRun, **settings: Any) -> ExecutionResult:
    return execute(run.pk, stop=StopFlag(), when_stopped=JudgeRun.Status.PAUSED, **settings)


def start_at_a_time(monkeypatch: pytest.MonkeyPatch, cells: int) -> None:
    """Let a pass start so many cells at a time."""
    monkeypatch.setattr(session, "MIN_START", cells)
    monkeypatch.setattr(session, "MAX_START", cells)
    monkeypatch.setattr(provider_batches.PassSession, "max_start_to_ask", cells)


def outcomes() -> list[tuple[Any, ...]]:
    return list(Judgment.objects.order_by("pk").values_list("status", "verdict", "calls", "cached"))


def handed_in(standin: StandInProcess) -> int:
    made: int = standin.stats()["routes"].get("POST batches", 0)
    return made


def test_cells_are_filled_with_what_comes_back(standin: StandInProcess) -> None:
    run = batch_run(standin, order="both")
    assert work(run).status == "done"
    found = count_judgments(run.judgments.all())
    assert (found.asked, found.a, found.b, found.fetched) == (12, 6, 6, 12)
    told = standin.stats()
    assert (told["outcomes"], told["answered"], handed_in(standin)) == ({"in a batch": 12}, 12, 1)
    batch = ProviderBatch.objects.get()
    assert (batch.status, batch.requests, batch.provider_id) == ("collected", 12, "batch_1")
    assert batch.message.text == "completed: 12 answered, 0 failed, 0 missing"
    # At half of the price, as batches are.
    assert {one.kind for one in Completion.objects.all()} == {"verdict"}
    for one in Completion.objects.all():
        assert one.cost == (Decimal(one.prompt_tokens) + 2 * Decimal(one.completion_tokens)) / 2_000_000
    assert usage_of(run.judgments.all(), "USD").cost == sum(Completion.objects.values_list("cost", flat=True))


def test_calls_and_batches_share_the_cache(standin: StandInProcess) -> None:
    run = batch_run(standin)
    work(run)
    Judgment.objects.all().delete()
    again = start_run(study=run.study, judge=run.judge, way="calls")
    assert work(again).status == "done"
    assert standin.stats()["outcomes"] == {"in a batch": 6}
    assert count_judgments(again.judgments.all()).from_cache == 6


def test_what_several_cells_need_is_handed_in_once(standin: StandInProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    start_at_a_time(monkeypatch, 1)
    monkeypatch.setattr(batch_files, "MOST_REQUESTS", 2)
    run = batch_run(standin, "prepair", instances=1, order="both")
    assert work(run).status == "done"
    # Two pairs have four texts: their critiques, then a verdict for each pair and order.
    assert list(ProviderBatch.objects.order_by("pk").values_list("requests", flat=True)) == [2, 2, 2, 2]
    assert standin.stats()["repeated"] == 0


def test_unreadable_answers_are_asked_again_and_then_stored_as_such(standin: StandInProcess) -> None:
    standin.behave(unreadable=1.0)
    run = batch_run(standin, instances=1)
    assert work(run).status == "done"
    assert outcomes() == [("unparsed", None, 3, 0)] * 2
    assert handed_in(standin) == 3


def test_lines_that_fail_are_handed_in_again_a_few_times(standin: StandInProcess) -> None:
    standin.behave(error=0.5, seed=3)
    run = batch_run(standin, instances=10)
    assert work(run).status == "done"
    found = count_judgments(run.judgments.all())
    assert (found.asked, handed_in(standin)) == (20, 3)
    assert 0 < found.errors < 10
    failure = Judgment.objects.filter(status="error").values_list("failure", flat=True)[0]
    assert (failure.code, failure.values["number"]) == ("tried_in_batches", 3)
    assert (failure.values["why"].code, failure.values["why"].values["status"]) == ("http_error", 500)
    standin.behave(error=0.0)
    again = start_run(study=run.study, judge=run.judge)
    assert work(again).status == "done"
    assert count_judgments(run.judgments.all()).parsed == 20
    assert standin.stats()["repeated"] == 0


def test_run_of_nothing_but_rejected_lines_fails_with_the_reason_and_is_asked_again(standin: StandInProcess) -> None:
    standin.behave(rejects=["seed"])
    run = batch_run(standin, instances=6)
    ended = work(run)
    assert (ended.status, handed_in(standin)) == ("failed", 1)
    assert "(errors: 12, 12 of them of this kind): HTTP 400" in ended.message
    standin.behave(rejects=[])
    start_run(study=run.study, judge=run.judge)
    assert work(run).status == "done"
    assert count_judgments(run.judgments.all()).parsed == 12


def test_line_that_refuses_access_stops_the_run_and_keeps_the_other_answers(
    standin: StandInProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, denied = batch_files.read_record, []

    def read_record(record: Any) -> Any:
        if not denied:
            denied.append(AccessDenied("HTTP 402: no credit"))
            return denied[0]
        return real(record)

    monkeypatch.setattr(batch_files, "read_record", read_record)
    run = batch_run(standin)
    ended = work(run)
    assert (ended.status, ended.message) == ("failed", "the endpoint refuses access: HTTP 402: no credit")
    assert (Completion.objects.count(), handed_in(standin)) == (5, 1)
    start_run(study=run.study, judge=run.judge)  # asks for the one that was denied
    assert (work(run).status, standin.stats()["answered"]) == ("done", 7)


def test_lines_rejected_for_their_schema_are_handed_in_without(standin: StandInProcess) -> None:
    standin.behave(rejects=["json_schema"])
    run = batch_run(standin, instances=1, params={"verdict_schema": True})
    for _coming_back in range(10):
        if work(run, wait_for_batches=False).status == "done":
            break
    assert {(status, calls) for status, _verdict, calls, _cached in outcomes()} == {("parsed", 1)}
    assert handed_in(standin) == 2


def test_batch_that_ran_out_of_time_keeps_what_it_has(standin: StandInProcess) -> None:
    standin.behave(batch_expired=0.5, seed=5)
    run = batch_run(standin, instances=5)
    assert work(run).status == "done"
    assert handed_in(standin) > 1
    assert standin.stats()["repeated"] == 0
    assert ProviderBatch.objects.order_by("pk")[0].message.text.startswith("expired: ")


class Killed(BaseException):
    """Stands for a kill at this very point."""


def kill_at(monkeypatch: pytest.MonkeyPatch, where: Any, name: str, *, after: bool = False) -> None:
    """Let a process die when it comes to a method, before or after that did its work, the first time."""
    real = getattr(where, name)
    died: list[bool] = []

    async def once(self: Any, *arguments: Any) -> Any:
        if died:
            return await real(self, *arguments)
        died.append(True)
        if after:
            await real(self, *arguments)
        raise Killed

    monkeypatch.setattr(where, name, once)


@pytest.mark.parametrize(
    ("name", "after"),
    [
        pytest.param("upload", False, id="before the upload"),
        pytest.param("upload", True, id="after the upload, its name not noted"),
        pytest.param("create_batch", False, id="between upload and batch"),
        pytest.param("create_batch", True, id="batch made, its name not noted"),
        pytest.param("batch", False, id="before the first look"),
        pytest.param("download", False, id="before the collection"),
        pytest.param("download", True, id="after the download"),
    ],
)
def test_kill_costs_nothing(standin: StandInProcess, monkeypatch: pytest.MonkeyPatch, name: str, after: bool) -> None:
    run = batch_run(standin, "prepair", instances=1)
    kill_at(monkeypatch, OpenAIClient, name, after=after)
    with pytest.raises(Killed):
        work(run)
    start_run(study=run.study, judge=run.judge)
    assert work(run).status == "done"
    assert count_judgments(run.judgments.all()).parsed == 2
    told = standin.stats()
    assert (told["answered"], told["repeated"], handed_in(standin)) == (6, 0, 2)


def test_answers_of_no_use_are_paid_for_once_however_often_their_batch_is_collected(
    standin: StandInProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    standin.behave(no_choices=1)
    monkeypatch.setattr(provider_batches, "ROUNDS", 1)
    run = batch_run(standin)
    submit = provider_batches.BatchWork.run_pass

    def killed(self: Any, finished: Any) -> None:
        came_back = bool(self.lines)
        submit(self, [])
        if came_back:
            raise Killed  # stored, and the batch is not marked as collected

    monkeypatch.setattr(provider_batches.BatchWork, "run_pass", killed)
    with pytest.raises(Killed):
        work(run)
    monkeypatch.setattr(provider_batches.BatchWork, "run_pass", submit)
    start_run(study=run.study, judge=run.judge, way="batch")
    work(run)
    served = standin.stats()["answered"]
    spent = usage_of(Judgment.objects.all(), "USD")
    assert spent.calls == served == Completion.objects.filter(finish_reason="unusable").count()
    assert spent.cost == sum(filter(None, Completion.objects.values_list("cost", flat=True))) > 0
    assert list(Judgment.objects.order_by().values_list("status", "failure").distinct()) == [
        ("error", reason("no_completion_choice"))
    ]
    standin.reset()
    start_run(study=run.study, judge=run.judge, way="batch")
    assert (work(run).status, standin.stats()["answered"]) == ("done", 6)
    assert set(Judgment.objects.values_list("status", flat=True)) == {"parsed"}


def test_kill_in_the_middle_of_storing_costs_nothing(standin: StandInProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    start_at_a_time(monkeypatch, 2)
    run = batch_run(standin, instances=3)
    real, written = cells.write, []

    def write(writes: Any, stamp: Any) -> None:
        written.append(1)
        if len(written) == 2:
            raise Killed
        real(writes, stamp)

    monkeypatch.setattr(cells, "write", write)
    with pytest.raises(Killed):
        work(run)
    assert (ProviderBatch.objects.get().status, Completion.objects.count()) == ("in_progress", 2)
    start_run(study=run.study, judge=run.judge)
    assert work(run).status == "done"
    told = standin.stats()
    assert (Completion.objects.count(), told["answered"], told["repeated"]) == (6, 6, 0)


def test_worker_that_loses_its_lease_in_a_pass_collects_the_answers_again(
    standin: StandInProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = batch_run(standin)
    real, lost = provider_batches.BatchWork.run_pass, []

    def run_pass(self: Any, finished: Any) -> None:
        if self.lines and not lost:  # as after a laptop was suspended
            lost.append(True)
            RunWorker.objects.update(heartbeat_at=timezone.now() - timedelta(hours=1))
        real(self, finished)

    monkeypatch.setattr(provider_batches.BatchWork, "run_pass", run_pass)
    assert (work(run).status, lost) == ("done", [True])
    assert count_judgments(run.judgments.all()).parsed == 6
    assert (standin.stats()["answered"], standin.stats()["repeated"], handed_in(standin)) == (6, 0, 1)


def test_answer_to_the_making_that_is_lost_does_not_make_it_twice(
    standin: StandInProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, lost = OpenAIClient.create_batch, []

    async def create_batch(self: OpenAIClient, *arguments: Any) -> Any:
        made = await real(self, *arguments)
        if not lost:
            lost.append(True)
            raise TransientFailure("no connection")
        return made

    monkeypatch.setattr(OpenAIClient, "create_batch", create_batch)
    assert work(batch_run(standin, instances=1)).status == "done"
    assert (handed_in(standin), standin.stats()["answered"]) == (1, 2)


@pytest.mark.parametrize(
    ("behaviour", "cap", "reason"),
    [
        pytest.param({"batch_broken": True}, None, "did not take the batch: invalid_file: the file", id="broken"),
        pytest.param({"missing": ["files"]}, None, "by calls instead", id="no batches"),
        pytest.param({"batch_queue": 0}, None, "token_limit_exceeded", id="no room in the queue"),
        pytest.param({"key": "sesame"}, None, "HTTP 401", id="no access"),
        pytest.param({}, Decimal(1), "max_tokens", id="a cap, and answers of unknown length"),
    ],
)
def test_batch_that_can_not_be_made_stops_the_run_with_the_reason(
    standin: StandInProcess, behaviour: dict[str, Any], cap: Decimal | None, reason: str
) -> None:
    standin.behave(**behaviour)
    run = batch_run(standin)
    JudgeRun.objects.update(max_cost=cap)
    ended = work(run)
    assert (ended.status, reason in ended.message) == ("failed", True)
    assert (standin.stats()["answered"], set(outcomes())) == (0, {("pending", None, 0, 0)})
    standin.behave(batch_broken=False, missing=[], batch_queue=-1, key="")
    JudgeRun.objects.update(max_cost=None)
    start_run(study=run.study, judge=run.judge, way="batch")
    assert work(run).status == "done"


def test_cap_bounds_what_is_handed_in(standin: StandInProcess) -> None:
    run = batch_run(standin, instances=20, params={"max_tokens": 60})
    JudgeRun.objects.update(max_cost=Decimal("0.004"))
    ended = work(run)
    assert ended.status == "paused"
    assert "the cap of 0.0040 USD is reached" in ended.message
    spent = sum(filter(None, Judgment.objects.values_list("cost", flat=True)))
    assert 0 < spent <= Decimal("0.004")
    assert 0 < standin.stats()["answered"] < 40
    start_run(study=run.study, judge=run.judge, max_cost=Decimal(1))
    assert work(run).status == "done"
    assert standin.stats()["repeated"] == 0


def test_cap_with_room_lets_the_next_round_be_handed_in(standin: StandInProcess) -> None:
    run = batch_run(standin, "prepair", instances=1, params={"max_tokens": 60})
    JudgeRun.objects.update(max_cost=Decimal(1))
    assert (work(run).status, handed_in(standin)) == ("done", 2)


def test_worker_comes_back_later_and_begins_no_further_cells(standin: StandInProcess) -> None:
    run = batch_run(standin)
    first = work(run, limit=4, wait_for_batches=False)
    assert (first.status, first.batch_pending, first.cells_left) == ("queued", True, 4)
    assert JudgeRun.objects.get().message.code == "batch_pending"
    second = work(run, limit=first.cells_left, wait_for_batches=False)
    assert (second.status, second.batch_pending, handed_in(standin)) == ("paused", False, 1)
    assert count_judgments(run.judgments.all()).parsed == 4


def test_task_is_queued_for_later_once(standin: StandInProcess) -> None:
    run = batch_run(standin, instances=1)
    JudgeRun.objects.update(in_flight=500)  # a run of so many calls would get further workers
    execute_run.func(run.pk)
    execute_run.func(run.pk)
    [task] = DBTaskResult.objects.all()
    # A task for now is one for the end of time, as that table has it.
    assert timedelta(0) < task.run_after - task.enqueued_at <= timedelta(seconds=BATCH_CHECK_SECONDS + 1)
    assert tasks.queue_unattended_runs() == 0
    for _ in range(3):
        execute_run.func(run.pk)
    assert JudgeRun.objects.get().status == "done"
    assert handed_in(standin) == 1


def test_second_process_leaves_the_run_alone(standin: StandInProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    run = batch_run(standin, instances=2)
    ended: list[ExecutionResult] = []
    real = batch_provider.BatchProvider.recover

    def recover(self: Any) -> None:
        assert not ended, "the second process went to work"
        ended.append(work(run))
        real(self)

    monkeypatch.setattr(batch_provider.BatchProvider, "recover", recover)
    assert work(run, limit=2).as_asked  # which leaves two cells that the second process might take
    assert (ended[0].status, ended[0].message) == ("running", "another process is working on this run")
    assert (handed_in(standin), standin.stats()["answered"]) == (1, 2)


def test_cancelling_a_run_cancels_its_batches(standin: StandInProcess) -> None:
    standin.behave(batch_polls=100)
    run = batch_run(standin, instances=1)
    assert work(run, wait_for_batches=False).batch_pending
    cancel_run(run=run)
    assert work(run).status == "cancelled"
    assert standin.stats()["answered"] == 0
    standin.behave(batch_polls=1)
    start_run(study=run.study, judge=run.judge)
    assert work(run).status == "done"
    assert (standin.stats()["answered"], handed_in(standin)) == (2, 2)
    assert standin.stats()["routes"]["POST batches cancel"] == 1


def test_paused_run_stops_at_its_next_heartbeat(standin: StandInProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    standin.behave(batch_polls=1_000_000)
    monkeypatch.setattr(provider_batches, "POLL_SECONDS", 0.01)
    run = batch_run(standin, instances=1)
    real, looks = provider_batches.BatchWork.poll, []

    def poll(self: Any) -> Any:
        looks.append(1)
        if len(looks) == 4:
            JudgeRun.objects.update(status="paused")
        return real(self)

    monkeypatch.setattr(provider_batches.BatchWork, "poll", poll)
    assert work(run).status == "paused"
    assert len(looks) == 4


def test_command_goes_through_batches(standin: StandInProcess, capsys: pytest.CaptureFixture[str]) -> None:
    make_study()
    make_judge(endpoint=make_endpoint(standin.base_url, **PRICES))
    call_command("run_judge", "tea", "--batch-api", judge="judy", batch_size=4)
    outcome = "asked 6 = a 6 + tie 0 + b 0 + unparsed 0 + refused 0 + errors 0"
    assert capsys.readouterr().out.startswith(outcome)
    assert (JudgeRun.objects.get().way, sizes()) == ("batch", [("collected", 4), ("collected", 2)])


@pytest.mark.parametrize(
    ("record", "reason", "final"),
    [
        pytest.param(
            {"response": {"status_code": 400, "body": {"error": "no"}}}, 'HTTP 400: {"error": "no"}', True, id="400"
        ),
        pytest.param(
            {"response": {"status_code": 200, "body": {}}}, "not a chat completion: {}", False, id="no answer"
        ),
        pytest.param(
            {"response": None, "error": {"code": "batch_expired", "message": "late"}},
            "batch_expired: late",
            False,
            id="late",
        ),
        pytest.param(
            {"response": {"status_code": 200, "body": {"error": {"code": "model_not_found", "message": "no x"}}}},
            "HTTP 404 in the body of an answer: no x (model_not_found)",
            True,
            id="an error in an answer",
        ),
        pytest.param({}, "None: None", False, id="nothing"),
    ],
)
def test_line_without_an_answer_has_its_reason(record: dict[str, Any], reason: str, final: bool) -> None:
    [(key, failure)] = read_lines(json.dumps({"custom_id": "k", **record}), lambda text: text)
    assert isinstance(failure, CallFailed)
    assert (key, str(failure), not isinstance(failure, TransientFailure)) == ("k", reason, final)


@pytest.mark.parametrize("text", ["{", "[1]", '{"response": {}}', '{"custom_id": 3}'])
def test_line_that_names_no_request_is_passed_over(text: str) -> None:
    assert list(read_lines(text, lambda one: one)) == []


def test_declined_sample_is_paid_for_once_and_its_table_is_left_out(standin: StandInProcess) -> None:
    standin.behave(declined=0.25, seed=3)
    run = batch_run(standin, "sc2", instances=3, params={"samples": 4, "aspects": "offline"})
    while (ended := work(run, wait_for_batches=False)).batch_pending:
        pass  # each time another process
    told = standin.stats()
    assert (ended.status, told["repeated"], told["answered"]) == ("done", 0, Completion.objects.count())
    found = Counter(status for status, *_ in outcomes())
    assert found["error"] == 0
    parsed = Judgment.objects.filter(status="parsed")
    assert parsed.filter(completions__cache_key=None).exists()


def sizes() -> list[tuple[str, int]]:
    return list(ProviderBatch.objects.order_by("pk").values_list("status", "requests"))


@pytest.mark.parametrize("patient", [True, False])
def test_batch_over_the_queue_limit_is_split_and_its_parts_wait_for_each_other(
    standin: StandInProcess, patient: bool
) -> None:
    standin.behave(batch_queue=4)
    run = batch_run(standin, instances=5)
    while (ended := work(run, wait_for_batches=patient)).batch_pending:
        pass  # each time another process
    assert ended.status == "done"
    assert sizes() == [("queue_full", 10), ("queue_full", 5), *[("collected", 2)] * 5]
    assert (standin.stats()["answered"], standin.stats()["repeated"]) == (10, 0)
    assert count_judgments(run.judgments.all()).parsed == 10


def test_batch_that_finds_the_queue_full_of_others_waits_as_it_is(standin: StandInProcess) -> None:
    standin.behave(batch_queue=4)
    run = batch_run(standin, instances=5)
    start_run(study=run.study, judge=run.judge, batch_size=4)
    assert work(run).status == "done"
    assert sizes() == [
        ("collected", 4),
        *[("queue_full", number) for number in (4, 2)],
        ("collected", 4),
        ("collected", 2),
    ]
    assert (standin.stats()["answered"], standin.stats()["repeated"]) == (10, 0)


def test_batch_waits_for_those_of_other_runs_where_the_queue_was_full(standin: StandInProcess) -> None:
    standin.behave(batch_queue=6, batch_polls=3)
    first = batch_run(standin)
    assert work(first, wait_for_batches=False).batch_pending
    run = start_run(
        study=first.study, judge=make_judge(name="june", endpoint=first.judge.endpoint, seed=8), way="batch"
    )
    for _look in range(3):
        assert work(run, wait_for_batches=False).batch_pending
    assert sizes() == [("in_progress", 6), ("queue_full", 6)]
    assert ProviderBatch.objects.get(run=run).keys == []
    while (ended := work(first, wait_for_batches=False)).batch_pending:
        pass
    assert (ended.status, work(run).status) == ("done", "done")
    assert sizes() == [("collected", 6), ("queue_full", 6), ("collected", 6)]


def test_queue_limit_that_is_told_at_once_is_the_same(standin: StandInProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    real, full = OpenAIClient.create_batch, []

    async def create_batch(self: Any, file: str, metadata: Any) -> Any:
        if not full:
            full.append(file)
            raise RejectedCall("HTTP 400: Enqueued token limit reached")
        return await real(self, file, metadata)

    monkeypatch.setattr(OpenAIClient, "create_batch", create_batch)
    run = batch_run(standin)
    assert work(run).status == "done"
    assert sizes() == [("queue_full", 6), ("collected", 3), ("collected", 3)]
