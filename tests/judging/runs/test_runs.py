"""Runs: which cells they have, what is refused before anything is asked, and stopping and resuming them."""

import asyncio
from decimal import Decimal
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django_tasks_db.models import DBTaskResult

from annotation.core.tasks.stopping import StopFlag
from judging.calls.engine import Engine
from judging.core.errors import BadSettings, RunBusy
from judging.jobs import leases
from judging.models import JudgeRun, Judgment
from judging.runs.execution import execute
from judging.runs.services import cancel_run, pause_run, resume_run, start_run
from tests.fakes import ScriptedClient
from tests.judging.builders import judge_with, make_endpoint, make_judge, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.engine, pytest.mark.slow]
PRICED = {"price_prompt": Decimal(1), "price_completion": Decimal(2)}


@pytest.mark.any_engine
def test_coin_is_tossed_again_for_each_repeat() -> None:
    judge_with(ScriptedClient(), make_study(instances=20), make_judge("coin", repeats=2))
    verdicts = [
        set(Judgment.objects.filter(pair=pair).values_list("verdict", flat=True))
        for pair in Judgment.objects.values_list("pair", flat=True).distinct()
    ]
    assert {1, 2} == {len(found) for found in verdicts}


@pytest.mark.any_engine
def test_method_that_can_not_judge_the_task_is_refused_before_anything_is_made() -> None:
    with pytest.raises(BadSettings, match="no wording for nonsense"):
        start_run(study=make_study(), judge=make_judge(task="nonsense"))
    assert not JudgeRun.objects.exists()


@pytest.mark.parametrize(
    ("prices", "cap", "reason"),
    [
        pytest.param({}, "1", "prices of endpoint stand-in are unknown", id="no price"),
        pytest.param({"price_prompt": 1}, "1", "prices of endpoint stand-in are unknown", id="half of the prices"),
        pytest.param(PRICED, "-1", "must be a sum of money", id="negative"),
        pytest.param(PRICED, "NaN", "must be a sum of money", id="not a number"),
        pytest.param(PRICED, "1e6", "must be a sum of money", id="too much"),
    ],
)
@pytest.mark.any_engine
def test_cap_that_can_not_be_kept_is_refused(prices: dict[str, Any], cap: str, reason: str) -> None:
    judge = make_judge(endpoint=make_endpoint(**prices))
    with pytest.raises(BadSettings, match=reason):
        start_run(study=make_study(), judge=judge, max_cost=Decimal(cap))


def test_cap_and_calls_in_flight_stay_until_others_are_given() -> None:
    study, judge = make_study(), make_judge(endpoint=make_endpoint(**PRICED))
    start_run(study=study, judge=judge, max_cost=Decimal(5), in_flight=3)
    run = start_run(study=study, judge=judge)
    assert (run.max_cost, run.in_flight) == (5, 3)
    run = start_run(study=study, judge=judge, max_cost=Decimal(7), in_flight=4)
    assert (run.max_cost, run.in_flight) == (7, 4)


def test_paused_run_is_not_taken_up_until_it_is_resumed(django_capture_on_commit_callbacks: Any) -> None:
    run = pause_run(run=start_run(study=make_study(), judge=make_judge("coin")))
    assert execute(run.pk, stop=StopFlag()).status == run.status == "paused"
    assert Judgment.objects.filter(status="pending").count() == 6
    with django_capture_on_commit_callbacks(execute=True):
        assert resume_run(run=run).status == "queued"
    assert DBTaskResult.objects.count() == 1
    assert execute(run.pk, stop=StopFlag()).status == "done"


def test_cancelled_run_keeps_what_it_has_and_only_a_new_start_takes_it_up() -> None:
    study, judge = make_study(), make_judge("coin")
    run = start_run(study=study, judge=judge)
    execute(run.pk, stop=StopFlag(), limit=2)
    run = cancel_run(run=run)
    assert (run.status, run.finished_at is None) == ("cancelled", False)
    with pytest.raises(RunBusy, match="can't be resumed: it is cancelled"):
        resume_run(run=run)
    assert execute(run.pk, stop=StopFlag()).status == "cancelled"
    again = start_run(study=study, judge=judge)
    assert execute(again.pk, stop=StopFlag()).status == "done"
    assert JudgeRun.objects.count() == 1


@pytest.mark.parametrize(
    ("act", "statuses"),
    [
        pytest.param(pause_run, ("done", "cancelled"), id="pause"),
        pytest.param(cancel_run, ("done", "cancelled"), id="cancel"),
        pytest.param(resume_run, ("queued", "running", "done"), id="resume"),
    ],
)
@pytest.mark.any_engine
def test_run_is_neither_stopped_nor_resumed_out_of_turn(act: Any, statuses: tuple[str, ...]) -> None:
    run = start_run(study=make_study(), judge=make_judge("coin"))
    for status in statuses:
        JudgeRun.objects.update(status=status)
        with pytest.raises(RunBusy):
            act(run=run)


class Slow(ScriptedClient):
    """Has `meanwhile` called while its third call is under way, and answers calls that are begun by then a little later."""

    def __init__(self, meanwhile: Any) -> None:
        super().__init__()
        self.meanwhile = meanwhile
        self.told = asyncio.Event()

    async def complete(self, body: Any) -> Any:
        answer = await super().complete(body)
        if len(self.bodies) == 3:
            await sync_to_async(self.meanwhile)()
            self.told.set()
        if len(self.bodies) >= 3:
            await self.told.wait()
            await asyncio.sleep(0.05)  # longer than a heartbeat takes here
        return answer


@pytest.mark.parametrize("stop", [pause_run, cancel_run])
@pytest.mark.any_engine
def test_worker_of_a_run_that_is_stopped_stores_what_is_in_flight_and_leaves_cells_open(
    stop: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "HEARTBEAT_SECONDS", 0.0)
    client = Slow(lambda: stop(run=JudgeRun.objects.get()))
    ended = judge_with(client, make_study(instances=20), make_judge(), in_flight=4)
    wanted = {"pause_run": "paused", "cancel_run": "cancelled"}[stop.__name__]
    assert ended.status == JudgeRun.objects.get().status == wanted
    assert not ended.signal
    assert 3 <= len(client.bodies) <= 8
    assert Judgment.objects.filter(status="parsed").count() == len(client.bodies)
    assert not Judgment.objects.exclude(worker=None).exists()


def test_run_that_is_continued_before_its_worker_has_drained_is_continued_by_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(leases, "HEARTBEAT_SECONDS", 0.0)
    drained: list[str] = []
    real = Engine._drain

    async def drain(engine: Engine) -> None:
        drained.append(engine._stopped_as)
        await sync_to_async(JudgeRun.objects.update)(status="running")
        await real(engine)

    monkeypatch.setattr(Engine, "_drain", drain)
    client = Slow(lambda: pause_run(run=JudgeRun.objects.get()))
    ended = judge_with(client, make_study(instances=5), make_judge(), in_flight=4)
    assert (ended.status, drained, len(client.bodies)) == ("done", ["paused"], 10)


@pytest.mark.any_engine
def test_call_that_never_ends_holds_a_stopped_run_for_a_while_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "HEARTBEAT_SECONDS", 0.0)
    monkeypatch.setattr("judging.calls.engine.DRAIN_SECONDS", 0.0)
    client = Slow(lambda: pause_run(run=JudgeRun.objects.get()))
    client.told.wait = asyncio.Event().wait  # type: ignore[method-assign]
    ended = judge_with(client, make_study(instances=5), make_judge(), in_flight=4)
    assert ended.status == "paused"
    assert Judgment.objects.filter(status="parsed").count() < len(client.bodies)


def test_run_that_is_started_while_its_paused_worker_winds_down_is_queued_again() -> None:
    study, judge = make_study(), make_judge("coin")
    run = start_run(study=study, judge=judge)
    leases.join(run.pk)
    pause_run(run=run)
    assert start_run(study=study, judge=judge).status == "queued"


def test_run_that_is_started_while_it_is_worked_on_continues_with_the_new_bounds() -> None:
    study, judge = make_study(), make_judge("coin")
    run = start_run(study=study, judge=judge)
    leases.join(run.pk)
    again = start_run(study=study, judge=judge, in_flight=3)
    assert (again.pk, again.status, again.in_flight) == (run.pk, "running", 3)
