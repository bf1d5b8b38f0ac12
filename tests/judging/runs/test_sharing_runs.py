"""Several workers on one run: who gets which cells, calls and money, and what becomes of those who die."""

import threading
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext

from analysis.types import Verdict
from annotation.core.reasons import reason
from annotation.core.tasks.stopping import StopFlag
from annotation.models.jobs import LEASE
from judging.calls.cases import StoredAnswer, Usage
from judging.calls.requests import Request, parsed
from judging.calls.store import PendingWrites, Result, Stamp, write, write_answers
from judging.core.errors import BadSettings
from judging.endpoints.chat_answers import ChatAnswer
from judging.endpoints.client import OpenAIClient
from judging.endpoints.retrying import RetryingClient
from judging.jobs import leases
from judging.methods import Outcome, Reply
from judging.models import Completion, Endpoint, JudgeRun, Judgment, RunWorker
from judging.runs import cells
from judging.runs.cells import claim
from judging.runs.execution import ExecutionResult, execute
from judging.runs.services import pause_run, start_run
from tests.fakes import Body, ScriptedClient, StandIn
from tests.judging.builders import fill, judge_with, make_endpoint, make_judge, make_study, no_sleep, pairs_in

pytestmark = [pytest.mark.engine, pytest.mark.slow]

ELSEWHERE = "elsewhere:1:abc"


def join(run: JudgeRun) -> RunWorker:
    _, worker = leases.join(run.pk)
    assert worker is not None
    return worker


def is_dead(worker: RunWorker) -> None:
    """Let a worker have been a process of this machine that is gone."""
    machine = worker.executor.partition(":")[0]
    RunWorker.objects.filter(pk=worker.pk).update(executor=f"{machine}:999999999:{worker.pk}")


@pytest.fixture
def run(db: None) -> JudgeRun:
    """Make a run of forty cells with ten calls in flight."""
    prices = {"price_prompt": Decimal(1), "price_completion": Decimal(1)}
    judge = make_judge(endpoint=make_endpoint(**prices))
    return start_run(study=make_study(instances=20), judge=judge, in_flight=10)


def test_no_cell_is_given_out_twice(run: JudgeRun) -> None:
    one, two = join(run), join(run)
    first, second = claim(run, one, limit=15), claim(run, two, limit=15)
    third = claim(run, one, limit=15)
    assert (len(first), len(second), len(third)) == (15, 15, 10)
    assert len({*first, *second, *third}) == 40
    assert claim(run, two, limit=15) == []


def test_cells_of_a_dead_worker_are_free_again_and_those_it_filled_stay(run: JudgeRun) -> None:
    dead, alive = join(run), join(run)
    taken = claim(run, dead, limit=10)
    Judgment.objects.filter(pk=taken[0]).update(status="parsed", verdict=1, worker=None)
    claim(run, alive, limit=10)
    is_dead(dead)
    assert leases.send_heartbeat(alive).others == 0
    assert Judgment.objects.filter(worker=None, status="pending").count() == 29
    assert Judgment.objects.get(pk=taken[0]).verdict == 1


@pytest.mark.parametrize(("age", "others"), [(timedelta(), 1), (2 * LEASE, 0)])
def test_worker_of_another_machine_is_dead_when_its_heartbeat_is_old(
    run: JudgeRun, age: timedelta, others: int
) -> None:
    far, near = join(run), join(run)
    RunWorker.objects.filter(pk=far.pk).update(executor=ELSEWHERE, heartbeat_at=far.heartbeat_at - age)
    assert leases.send_heartbeat(near).others == others


def test_worker_that_was_taken_for_dead_joins_again_while_the_run_is_active(run: JudgeRun) -> None:
    sleeper = join(run)
    RunWorker.objects.all().delete()
    assert leases.send_heartbeat(sleeper).in_flight == 10
    assert RunWorker.objects.get() == sleeper
    RunWorker.objects.all().delete()
    pause_run(run=run)
    assert not leases.send_heartbeat(sleeper).should_continue
    assert not RunWorker.objects.exists()


@pytest.mark.django_db
def test_cells_that_were_taken_from_a_worker_are_not_written_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Asleep(ScriptedClient):
        """While its third call is under way, its worker is taken for dead and another one gets all cells."""

        async def complete(self, body: Body) -> ChatAnswer:
            answer = await super().complete(body)
            if len(self.bodies) == 3:
                await sync_to_async(self.take_over)()
            return answer

        def take_over(self) -> None:
            RunWorker.objects.all().delete()
            JudgeRun.objects.update(in_flight=2)  # one call for each
            other = RunWorker.objects.create(run=JudgeRun.objects.get(), executor=ELSEWHERE)
            Judgment.objects.filter(status="pending").update(worker=other)

    monkeypatch.setattr(leases, "HEARTBEAT_SECONDS", 0.0)
    client = Asleep()
    run = start_run(study=make_study(instances=10), judge=make_judge(), in_flight=1)
    stop = StopFlag()
    monkeypatch.setattr(stop, "wait_for", lambda seconds: stop.set())
    execute(run.pk, stop=stop, make_client=lambda endpoint: RetryingClient(client, sleep=no_sleep))
    assert Judgment.objects.filter(status="parsed").count() == 2
    assert Judgment.objects.filter(status="pending", worker__executor=ELSEWHERE).count() == 18
    assert Completion.objects.count() == len(client.bodies) < 6  # what it was asking is kept, the rest is theirs to ask


def test_calls_in_flight_are_shared_out_and_a_newcomer_waits_until_the_others_know(run: JudgeRun) -> None:
    one = join(run)
    assert leases.send_heartbeat(one, in_flight=0).in_flight == 10
    two = join(run)
    assert leases.send_heartbeat(two).in_flight == 0
    assert leases.send_heartbeat(one, in_flight=8).in_flight == 5  # eight are under way still
    assert leases.send_heartbeat(two).in_flight == 2
    assert leases.send_heartbeat(one, in_flight=5).in_flight == 5
    assert leases.send_heartbeat(two).in_flight == 5
    is_dead(one)
    assert leases.send_heartbeat(two).in_flight == 10


@pytest.mark.any_engine
def test_odd_calls_in_flight_are_shared_out_whole(run: JudgeRun) -> None:
    JudgeRun.objects.update(in_flight=2)
    workers = [join(run) for _ in range(3)]
    for _ in range(2):
        shares = [leases.send_heartbeat(worker).in_flight for worker in workers]
    assert shares == [1, 1, 0]


def test_money_under_a_cap_is_given_out_once(run: JudgeRun) -> None:
    JudgeRun.objects.update(max_cost=Decimal(10))
    fill(run, pairs_in(run.study)[0], "ba", verdict=1)
    Judgment.objects.filter(order="ba").update(cost=Decimal(2))
    one, two = join(run), join(run)
    RunWorker.objects.filter(pk=two.pk).delete()
    assert leases.send_heartbeat(one).reserved == 8
    two = join(run)
    assert leases.send_heartbeat(two).reserved == 0
    heartbeat = leases.send_heartbeat(one, outstanding=Decimal(6))
    assert (heartbeat.reserved, heartbeat.spent, heartbeat.cap) == (4, 2, 10)
    assert leases.send_heartbeat(two).reserved == 1  # six are owed still, although only four were given
    assert not leases.send_heartbeat(two).alone


@pytest.mark.parametrize(("price", "granted"), [(Decimal("1.5"), 2), (Decimal(3), 0)])
@pytest.mark.any_engine
def test_money_too_little_for_a_call_of_each_worker_is_left_to_one(run: JudgeRun, price: Decimal, granted: int) -> None:
    JudgeRun.objects.update(max_cost=Decimal(2))
    workers = [join(run), join(run)]
    for _ in range(4):  # each is given a share
        for worker in workers:
            leases.send_heartbeat(worker)
    asked = [leases.send_heartbeat(worker, needed=price) for worker in workers]
    assert [one.reserved for one in asked] == [0, granted]
    assert asked[1].alone  # it makes the call, or says that the cap is reached
    assert leases.send_heartbeat(workers[0], needed=price).reserved == 0


def test_limits_of_an_endpoint_are_shared_by_the_workers_of_all_its_runs(run: JudgeRun) -> None:
    endpoint = run.judge.endpoint
    assert endpoint is not None
    endpoint.requests_per_minute = 60
    endpoint.save()
    other = start_run(study=make_study("other"), judge=make_judge(name="other", endpoint=endpoint))
    stranger = make_judge(name="stranger", endpoint=make_endpoint(name="far"))
    join(start_run(study=make_study("third"), judge=stranger))
    one, _, _ = join(run), join(other), join(other)
    assert leases.send_heartbeat(one).limits == (20, None)


def test_last_worker_to_leave_decides_on_the_run(run: JudgeRun) -> None:
    one, two = join(run), join(run)
    assert leases.leave(one, status=JudgeRun.Status.PAUSED, only_if_last=True) == "running"
    assert leases.leave(two, status=JudgeRun.Status.PAUSED, only_if_last=True) == "paused"


def test_leaving_does_not_undo_another_users_decision(run: JudgeRun) -> None:
    worker = join(run)
    pause_run(run=run)
    assert leases.leave(worker, status=JudgeRun.Status.FAILED, message=reason("batch_pending")) == "paused"
    assert not JudgeRun.objects.get().message


@pytest.fixture
def _allow_loopback(settings: Any) -> None:
    settings.ENDPOINT_ALLOWLIST = ["127.0.0.1"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_allow_loopback")
def test_two_workers_fill_one_run_together_and_ask_nothing_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "HEARTBEAT_SECONDS", 0.05)
    ended: list[ExecutionResult] = []

    def work(run_id: int) -> None:
        try:
            ended.append(
                execute(run_id, stop=StopFlag(), make_client=lambda endpoint: RetryingClient(OpenAIClient(endpoint)))
            )
        finally:
            connections.close_all()

    with StandIn() as stand_in:
        judge = make_judge(endpoint=make_endpoint(stand_in.base_url), order="both")
        run = start_run(study=make_study(instances=20), judge=judge, in_flight=8)
        threads = [threading.Thread(target=work, args=(run.pk,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=600)
    assert [one.status for one in ended] == ["done", "done"]
    assert stand_in.calls == 80
    assert stand_in.most_in_flight <= 8
    assert all(one.progress.calls for one in ended)
    assert sum(one.progress.ended["parsed"] for one in ended) == 80
    assert not RunWorker.objects.exists()


@pytest.mark.django_db
@pytest.mark.usefixtures("_allow_loopback")
@pytest.mark.any_engine
def test_worker_that_may_make_no_more_calls_releases_its_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "HEARTBEAT_SECONDS", 0.0)
    given_back: list[int] = []

    class Crowded(ScriptedClient):
        """While its first call is under way, the run is narrowed to one call, which another worker has."""

        async def complete(self, body: Body) -> ChatAnswer:
            answer = await super().complete(body)
            if len(self.bodies) == 1:
                await sync_to_async(self.crowd)()
            return answer

        def crowd(self) -> None:
            run = JudgeRun.objects.get()
            RunWorker.objects.create(pk=1_000_000, run=run, executor=ELSEWHERE, in_flight=1)
            JudgeRun.objects.update(in_flight=1)

    send_heartbeat = leases.send_heartbeat

    def look(worker: RunWorker, **state: Any) -> leases.HeartbeatReply:
        free = Judgment.objects.filter(status="pending", worker=None).count()
        if RunWorker.objects.count() == 2 and free == Judgment.objects.filter(status="pending").count():
            given_back.append(free)
            RunWorker.objects.filter(pk=1_000_000).delete()
        return send_heartbeat(worker, **state)

    monkeypatch.setattr(leases, "send_heartbeat", look)
    client = Crowded()
    ended = judge_with(client, make_study(instances=8), make_judge(), in_flight=2)
    assert (ended.status, len(given_back), len(client.bodies)) == ("done", 1, 16)


@pytest.mark.django_db(transaction=True)
def test_claims_at_the_same_moment_do_not_meet() -> None:
    run = start_run(study=make_study(instances=30), judge=make_judge("coin"))
    workers = [join(run) for _ in range(4)]
    taken: list[list[int]] = [[] for _ in workers]
    together = threading.Barrier(len(workers))

    def take(place: int) -> None:
        together.wait(timeout=600)
        try:
            while found := claim(run, workers[place], limit=3):
                taken[place] += found
        finally:
            connections.close_all()

    threads = [threading.Thread(target=take, args=(place,)) for place in range(len(workers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=600)
    every = [cell for found in taken for cell in found]
    assert (len(every), len(set(every))) == (60, 60)


@pytest.mark.django_db(transaction=True)
def test_worker_that_is_removed_while_it_claims_leaves_no_cell_behind() -> None:
    run = start_run(study=make_study(instances=20), judge=make_judge("coin"))
    failed: list[Exception] = []

    def at(moment: threading.Barrier, act: Any, *given: Any, **settings: Any) -> None:
        try:
            moment.wait(timeout=30)
            act(*given, **settings)
        except Exception as error:
            failed.append(error)
        finally:
            connections.close_all()

    for _ in range(12):
        worker, moment = join(run), threading.Barrier(2)
        threads = [
            threading.Thread(target=at, args=(moment, claim, run, worker), kwargs={"limit": 40}),
            threading.Thread(target=at, args=(moment, leases.remove_worker, RunWorker.objects.get(pk=worker.pk))),
        ]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    assert failed == []
    assert not run.judgments.exclude(worker=None).exists()


@pytest.mark.parametrize("method", ["coin", "direct"])
def test_worker_that_was_removed_claims_nothing_until_it_has_joined_again(
    db: None, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = make_judge(method, endpoint=make_endpoint() if method == "direct" else None)
    run = start_run(study=make_study(instances=5), judge=judge)
    removed = join(run)
    leases.remove_worker(RunWorker.objects.get(pk=removed.pk))
    assert claim(run, removed, limit=5) == []
    real, reaped = cells.claim, []

    def reap_first(run: JudgeRun, worker: RunWorker, *, limit: int) -> list[int]:
        if not reaped:  # as after a laptop was suspended
            reaped.append(worker.pk)
            leases.remove_worker(RunWorker.objects.get(pk=worker.pk))
        return real(run, worker, limit=limit)

    monkeypatch.setattr("judging.runs.cells.claim", reap_first)
    monkeypatch.setattr("judging.runs.execution.claim", reap_first)
    ended = execute(run.pk, stop=StopFlag(), make_client=lambda _: RetryingClient(ScriptedClient(), sleep=no_sleep))
    assert (ended.status, len(reaped)) == ("done", 1)
    assert run.judgments.filter(status="parsed").count() == 10


def test_claim_passes_over_what_another_one_is_taking_just_now(run: JudgeRun) -> None:
    worker = join(run)
    with CaptureQueriesContext(connection) as queries:
        claim(run, worker, limit=4)
    _worker, select = [query["sql"] for query in queries if query["sql"].startswith("SELECT")]
    # SQLite has one writer at a time, and no need for it.
    assert select.endswith("SKIP LOCKED") == connection.features.has_select_for_update_skip_locked


@pytest.mark.any_engine
def test_machine_that_can_not_work_leaves_the_run_to_others(run: JudgeRun) -> None:
    def without_a_key(endpoint: Endpoint) -> RetryingClient:
        raise BadSettings("the key is not set here")

    other = join(run)
    ended = execute(run.pk, stop=StopFlag(), make_client=without_a_key)
    assert (ended.status, ended.message) == ("failed", "the key is not set here")
    assert JudgeRun.objects.get().status == "running"
    is_dead(other)
    execute(run.pk, stop=StopFlag(), make_client=without_a_key)
    assert (JudgeRun.objects.get().status, JudgeRun.objects.get().message.text) == ("failed", "the key is not set here")


def test_answer_whose_name_another_worker_has_just_taken_is_kept_beside_it(run: JudgeRun) -> None:
    request = Request("k" * 64, {"model": "small", "messages": []}, 0, "verdict", 10, "http://there")
    ours, theirs, refusal = (
        StoredAnswer(request.key, Reply(text), request=request) for text in ("ours", "theirs", "no")
    )
    refusal.refused = True
    write_answers([theirs])
    write_answers([ours, refusal])
    stored = {one.pk: (one.text, one.cache_key) for one in Completion.objects.all()}
    assert stored == {theirs.pk: ("theirs", request.key), ours.pk: ("ours", None), refusal.pk: ("no", None)}


def test_worker_that_stores_locks_only_its_own_row(run: JudgeRun) -> None:
    worker = join(run)
    with CaptureQueriesContext(connection) as queries:
        assert leases.lock_worker(worker.pk)
    assert [query["sql"].count("JOIN") for query in queries] == [0]


def test_result_is_written_only_into_cells_that_the_worker_holds(run: JudgeRun) -> None:
    mine, theirs = join(run), join(run)
    [held], [lost] = claim(run, mine, limit=1), claim(run, theirs, limit=1)
    writes = PendingWrites(results=[Result(pk, "ab", parsed(Outcome(Verdict.B))) for pk in (held, lost)])
    write(writes, Stamp("", worker=mine.pk))
    assert Judgment.objects.values_list("verdict", "worker").get(pk=held) == (1, None)
    assert Judgment.objects.values_list("verdict", "worker").get(pk=lost) == (None, theirs.pk)


@pytest.mark.parametrize("has_joined_again", [False, True])
def test_worker_that_lost_its_lease_stores_its_answers_and_nothing_about_cells(
    run: JudgeRun, has_joined_again: bool
) -> None:
    sleeper, other = join(run), join(run)
    [cell] = claim(run, sleeper, limit=1)
    stamp = Stamp("", worker=sleeper.pk)
    leases.remove_worker(RunWorker.objects.get(pk=sleeper.pk))
    assert claim(run, other, limit=1) == [cell]
    spent = Usage(10, 2, Decimal("0.5"))
    write(PendingWrites(bills={cell: (1, spent)}), Stamp("", worker=other.pk))
    late = StoredAnswer(
        "k" * 64,
        Reply("A"),
        request=Request("k" * 64, {"model": "small", "messages": []}, 0, "verdict", 10, "http://there"),
    )
    late_bill = {cell: (7, Usage(70, 7, Decimal(7)))}
    if has_joined_again:  # before it writes what it knew under its old lease
        assert leases.send_heartbeat(sleeper).lost
    write(PendingWrites(answers=[late], bills=late_bill, links=[(cell, late)]), stamp)
    judgment = Judgment.objects.get(pk=cell)
    assert (judgment.calls, judgment.prompt_tokens, judgment.cost) == (1, 10, Decimal("0.5"))
    assert not judgment.completions.exists()
    assert Completion.objects.get().text == "A"  # for the other worker, if it has not asked yet
