"""Opening what a finished run lost again: which presentations, what is asked for them, and what is kept of that."""

from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.core.tasks.stopping import StopFlag
from annotation.models import Event, Study
from annotation.studies.log import shown_with_results
from judging.core.errors import BadSettings, RejectedCall, RunBusy
from judging.endpoints.retrying import RetryingClient
from judging.methods import base
from judging.models import Judge, JudgeRun, Judgment
from judging.runs.execution import ExecutionResult, execute
from judging.runs.reopening import Reopened, retry_run
from judging.runs.usage import usage_of
from tests.fakes import Reply, ScriptedClient, StandIn
from tests.judging.builders import judge_with, make_endpoint, make_judge, make_study, make_user, no_sleep
from tests.judging.methods.methods import Noted, Polled

pytestmark = [pytest.mark.django_db, pytest.mark.engine, pytest.mark.slow]
REJECTED = RejectedCall("HTTP 400: temperature")


@pytest.fixture(autouse=True)
def _methods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(base._METHODS, "noted", Noted())
    monkeypatch.setitem(base._METHODS, "polled", Polled())


def lost_run(*scripts: list[Any]) -> JudgeRun:
    """Make a run of one presentation for each script, with those that are errors today stored as once: unparsed."""
    study = make_study(instances=len(scripts), k=1)
    endpoint = make_endpoint(price_prompt=1000, price_completion=1000)
    judge = make_judge("polled", endpoint=endpoint)
    client = ScriptedClient([answer for script in scripts for answer in script])
    judge_with(client, study, judge, in_flight=1)
    Judgment.objects.filter(status="error").update(status="unparsed", failure="nobody voted")
    return judge.runs.get()


def work(run: JudgeRun, client: ScriptedClient) -> ExecutionResult:
    return execute(run.pk, stop=StopFlag(), make_client=lambda endpoint: RetryingClient(client, sleep=no_sleep))


def statuses() -> list[str]:
    return list(Judgment.objects.order_by("pk").values_list("status", flat=True))


@pytest.mark.any_engine
def test_unparsed_without_an_answer_are_asked_again_and_no_others() -> None:
    run = lost_run([REJECTED] * 3, ["?"] * 9, ["A"] * 3)
    assert statuses() == ["unparsed", "unparsed", "parsed"]
    assert retry_run(run=run, unparsed=True) == Reopened(unparsed=1)
    assert statuses() == ["pending", "unparsed", "parsed"]
    client = ScriptedClient(then="A")
    ended = work(run, client)
    assert (ended.status, statuses(), len(client.bodies)) == ("done", ["parsed", "unparsed", "parsed"], 3)


def test_only_the_missing_answers_are_asked_for_and_what_was_paid_stays_counted() -> None:
    run = lost_run([REJECTED, *["?"] * 6])
    before = usage_of(run.judgments.all(), "USD")
    assert (before.calls, before.cached) == (6, 0)
    retry_run(run=run, unparsed=True)
    assert usage_of(run.judgments.all(), "USD").calls == 6  # also while it is open
    client = ScriptedClient(then="A")
    work(run, client)
    after = usage_of(run.judgments.all(), "USD")
    assert (len(client.bodies), statuses(), after.calls, after.cached) == (1, ["parsed"], 7, 0)
    assert after.cost == before.cost * 7 / 6  # type: ignore[operator]


@pytest.mark.any_engine
def test_answers_that_came_from_the_cache_stay_cached_ones() -> None:
    run = lost_run([REJECTED, *["?"] * 6])
    twin = make_judge("polled", endpoint=run.judge.endpoint, name="twin")
    judge_with(ScriptedClient([REJECTED]), Study.objects.get(), twin, in_flight=1)
    Judgment.objects.filter(status="error").update(status="unparsed")
    [other] = twin.runs.all()
    Judgment.objects.filter(run=other).update(calls=6, cached=6)
    other.judgments.get().completions.set(run.judgments.get().completions.all())
    retry_run(run=other, unparsed=True)
    work(other, ScriptedClient(then="A"))
    assert other.judgments.values_list("status", "calls", "cached").get() == ("parsed", 7, 6)


@pytest.mark.any_engine
def test_missing_answer_that_another_run_fetched_since_is_taken_from_the_cache() -> None:
    run = lost_run([REJECTED] * 3)
    judge_with(
        ScriptedClient(then="A"), Study.objects.get(), make_judge("polled", endpoint=run.judge.endpoint, name="b")
    )
    assert retry_run(run=run, unparsed=True) == Reopened(unparsed=1)
    client = ScriptedClient()
    work(run, client)
    assert (client.bodies, set(statuses())) == ([], {"parsed"})


@pytest.mark.any_engine
def test_errors_are_opened_apart_from_the_unparsed() -> None:
    run = lost_run([REJECTED] * 3, [REJECTED] * 3)
    Judgment.objects.filter(pk=Judgment.objects.latest("pk").pk).update(status="error")
    assert retry_run(run=run, errors=True) == Reopened(errors=1)
    assert statuses() == ["unparsed", "pending"]
    work(run, ScriptedClient(then="A"))
    assert retry_run(run=run, unparsed=True, errors=True) == Reopened(unparsed=1)


def test_log_keeps_what_was_opened_when_and_by_whom() -> None:
    run, user = lost_run([REJECTED] * 3, ["A"] * 3), make_user("ada")
    retry_run(run=run, unparsed=True, by=user)
    event = Event.objects.get()
    assert (event.kind, event.by, event.study) == ("reopened", user, run.study)
    assert event.changes == {"judge": "judy", "run": run.pk, "unparsed": 1, "errors": 0}
    [told] = shown_with_results(run.study)
    assert told["what"] == f"errors: 0; judge: judy; run: {run.pk}; unparsed: 1"


def test_run_without_anything_lost_stays_as_it_is() -> None:
    run = lost_run(["?"] * 9)
    assert retry_run(run=run, unparsed=True, errors=True) == Reopened()
    assert (JudgeRun.objects.get().status, Event.objects.count()) == ("done", 0)


@pytest.mark.any_engine
def test_run_that_has_not_ended_is_refused() -> None:
    run = lost_run([REJECTED] * 3, ["A"] * 3)
    assert retry_run(run=run, unparsed=True).total == 1
    with pytest.raises(RunBusy, match="is queued: wait until it has ended"):
        retry_run(run=JudgeRun.objects.get(), unparsed=True)
    JudgeRun.objects.update(status="paused")
    with pytest.raises(RunBusy, match="has 1 open presentations: resume it first"):
        retry_run(run=JudgeRun.objects.get(), unparsed=True)


@pytest.mark.any_engine
def test_judge_that_calls_no_endpoint_is_refused() -> None:
    judge_with(ScriptedClient(), make_study(), make_judge("coin"))
    with pytest.raises(BadSettings, match="method coin makes no calls"):
        retry_run(run=JudgeRun.objects.get(), errors=True)


@pytest.mark.any_engine
def test_command_asks_again_what_was_lost_after_the_repair(settings: Any, capsys: pytest.CaptureFixture[str]) -> None:
    settings.ENDPOINT_ALLOWLIST = ["127.0.0.1"]
    make_study(instances=1)
    with StandIn([Reply(404, "no such model")] * 6) as stand_in:
        judge: Judge = make_judge("self-consistency", endpoint=make_endpoint(stand_in.base_url), params={"samples": 3})
        with pytest.raises(CommandError, match="no question got an answer"):
            call_command("run_judge", "tea", judge="judy")
        Judgment.objects.update(status="unparsed")
        run = judge.runs.get()
        before = stand_in.calls
        call_command("retry_run", str(run.pk), "--unparsed", "--errors")
        assert (stand_in.calls - before, set(statuses())) == (6, {"parsed"})
        call_command("retry_run", str(run.pk), "--unparsed", "--errors")
        assert stand_in.calls - before == 6
    for arguments, why in ((["1"], "--unparsed, --errors or both"), (["999999", "--errors"], "no run 999999")):
        with pytest.raises(CommandError, match=why):
            call_command("retry_run", *arguments)
    told = capsys.readouterr().out
    assert "judy on tea: asking again 2 unparsed and 0 errors" in told
    assert "judy on tea: no presentation lacks an answer; nothing is asked again" in told
