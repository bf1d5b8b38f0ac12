"""Failures with a memory: which ones stop a run, which are asked again, and in which order."""

import json
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import asdict
from typing import Any

import pytest
from django.urls import reverse
from django_tasks_db.models import DBTaskResult

from annotation.core.reasons import reason
from annotation.core.tasks.stopping import StopFlag
from annotation.models import Event, Pair, Study
from judging.core.constants import LAST_CALLS, MOST_FAILURES
from judging.core.errors import CallFailed, RejectedCall, TransientFailure
from judging.endpoints.chat_answers import ChatAnswer
from judging.endpoints.failures import error_of, failure_of
from judging.endpoints.retrying import RetryingClient
from judging.models import JudgeRun, Judgment
from judging.runs.estimates import estimate
from judging.runs.execution import execute
from judging.runs.pair_filters import ON_DEMAND
from judging.runs.reopening import Reopened, retry_run
from judging.runs.services import add_cells, locked_run
from judging.runs.status import report_on
from judging.runs.usage import failures_by_cause
from tests.fakes import Body, ScriptedClient
from tests.judging.builders import judge_with, make_endpoint, make_judge, make_study, make_user, no_sleep

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
TOO_LONG = {
    "error": {"code": "context_length_exceeded", "message": "This model's maximum context length is 8192 tokens."}
}
FILTERED = {"error": {"code": "content_filter", "message": "The prompt triggered the content management policy."}}
Reject = Callable[[int], dict[str, Any] | None]


def talk_in(body: Body) -> int:
    """Return the number of the instance that a request is about."""
    text = json.dumps(body["messages"])
    return int(text.partition("What was said in talk ")[2].partition(".")[0])


class Rejecting(ScriptedClient):
    """Answers, or rejects the requests about some instances with HTTP 400; `talks` are the instances in the order asked."""

    def __init__(self, reject: Reject) -> None:
        super().__init__()
        self.reject = reject

    @property
    def talks(self) -> list[int]:
        return [talk_in(body) for body in self.bodies]

    async def complete(self, body: Body) -> ChatAnswer:
        if (error := self.reject(talk_in(body))) is not None:
            self.bodies.append(body)
            raise failure_of(400, f"HTTP 400: {error}", kind="HTTP 400", error=error_of(error))
        return await super().complete(body)


def too_long(talks: Collection[int]) -> Reject:
    return lambda talk: TOO_LONG if talk in talks else None


def statuses() -> Counter[str]:
    return Counter(Judgment.objects.values_list("status", flat=True))


@pytest.mark.parametrize(
    ("pairs", "rejected"),
    [
        pytest.param(80, range(60), id="the first 60 of 80"),
        pytest.param(80, range(0, 80, 2), id="every second of 80"),
    ],
)
def test_requests_that_are_too_long_stop_nothing_and_are_asked_once(pairs: int, rejected: Collection[int]) -> None:
    study, judge = make_study(instances=pairs, k=1), make_judge()
    client = Rejecting(too_long(rejected))
    ended = judge_with(client, study, judge, in_flight=8)
    assert (ended.status, len(client.bodies)) == ("done", pairs)
    assert statuses() == {"parsed": pairs - len(rejected), "error": len(rejected)}
    again = Rejecting(too_long(()))
    assert (judge_with(again, study, judge, in_flight=8).status, again.bodies) == ("done", [])
    assert estimate(study=study, judge=judge).pending == 0


def test_new_pairs_of_a_run_with_rejected_ones_are_asked_and_nothing_else() -> None:
    study, judge = make_study(instances=240, k=1), make_judge()
    judge_with(Rejecting(too_long(range(0, 240, 6))), study, judge, in_flight=8)
    assert statuses() == {"parsed": 200, "error": 40}
    add_instances(study, 20)
    client = Rejecting(too_long(range(0, 240, 6)))
    assert judge_with(client, study, judge, in_flight=8).status == "done"
    assert sorted(client.talks) == list(range(240, 260))
    assert statuses() == {"parsed": 220, "error": 40}


def add_instances(study: Study, number: int) -> None:
    """Add instances with a pair each to a study."""
    first = study.instances.count()
    more = make_study("more", instances=first + number, k=1)
    systems = {system.name: system for system in study.systems.all()}
    for instance in more.instances.filter(position__gte=first):
        instance.generations.filter(system__name="heron").update(system=systems["heron"])
        instance.generations.filter(system__name="wren").update(system=systems["wren"])
        instance.matchups.update(system_a=systems["heron"], system_b=systems["wren"])
        instance.study = study
        instance.save()


def test_cells_that_failed_before_are_asked_last() -> None:
    study, judge = make_study(instances=6, k=1), make_judge()
    judge_with(ScriptedClient([RejectedCall("HTTP 404", request_only=False)] * 3), study, judge, in_flight=1)
    assert statuses() == {"error": 3, "parsed": 3}
    add_instances(study, 4)
    client = Rejecting(too_long(()))
    judge_with(client, study, judge, in_flight=1)
    assert client.talks == [6, 7, 8, 9, 0, 1, 2]


def failing(share: int) -> list[str | Exception]:
    """Return a script in which each so manieth call fails for good."""
    failure = TransientFailure("HTTP 500: down", kind="HTTP 500")
    calls: list[str | Exception] = ["Preferred: A"] * 60
    calls[::share] = [RejectedCall(str(failure), kind=failure.kind, request_only=False)] * len(calls[::share])
    return calls


@pytest.mark.parametrize(("share", "status"), [(2, "failed"), (3, "done")])
def test_share_of_failed_calls_stops_the_run_and_its_cause_is_named(share: int, status: str) -> None:
    ended = judge_with(ScriptedClient(failing(share)), make_study(instances=60, k=1), make_judge(), in_flight=1)
    assert ended.status == status
    if status == "failed":
        assert f"{MOST_FAILURES} of the last {LAST_CALLS - 1} calls" in ended.message
        assert "10 × HTTP 500" in ended.message
        assert "HTTP 500: down" in JudgeRun.objects.get().message.text


@pytest.mark.parametrize(("answers", "status"), [(1, "done"), (0, "failed")])
def test_rejections_of_requests_alone_never_stop_a_run(answers: int, status: str) -> None:
    script: list[str | Exception] = [RejectedCall("HTTP 400: odd", kind="HTTP 400")] * 150
    client = ScriptedClient(script + ["Preferred: A"] * answers)
    ended = judge_with(client, make_study(instances=150 + answers, k=1), make_judge(), in_flight=1)
    assert (ended.status, len(client.bodies)) == (status, 150 + answers)


@pytest.mark.parametrize(
    ("failures", "count"),
    [
        pytest.param([RejectedCall("HTTP 404: no x", request_only=False)] * 4, 4, id="one"),
        pytest.param(
            [RejectedCall("HTTP 404: no x", request_only=False)] * 3
            + [RejectedCall("HTTP 400: seed", kind="HTTP 400")],
            3,
            id="two",
        ),
    ],
)
def test_run_of_nothing_but_errors_fails_and_says_why(failures: list[CallFailed], count: int) -> None:
    ended = judge_with(ScriptedClient(failures), make_study(instances=4, k=1), make_judge(), in_flight=1)
    assert (ended.status, JudgeRun.objects.get().status) == ("failed", "failed")
    why = reason("nothing_answered", number=4, count=count, error=reason("text", text="HTTP 404: no x"))
    assert JudgeRun.objects.get().message == why
    assert ended.message == why.text


@pytest.mark.parametrize(("error", "status", "cause"), [(TOO_LONG, "error", "length"), (FILTERED, "refused", "filter")])
def test_rejected_presentation_keeps_its_cause_until_a_retry(error: dict[str, Any], status: str, cause: str) -> None:
    study, judge = make_study(instances=2, k=1), make_judge()
    judge_with(Rejecting(lambda talk: error if talk == 0 else None), study, judge)
    run = JudgeRun.objects.get()
    assert Judgment.objects.get(cause=cause).status == status
    [found] = failures_by_cause(run)
    assert (found.cause, found.count, found.is_final) == (cause, 1, True)
    assert report_on([run])["failures"] == [asdict(found)]
    assert retry_run(run=run, errors=True) == Reopened(errors=1)
    assert Judgment.objects.filter(status="pending").count() == 1
    client = Rejecting(too_long(()))
    judge_with(client, study, judge)
    assert (client.talks, statuses()) == ([0], {"parsed": 2})
    assert set(Judgment.objects.values_list("cause", flat=True)) == {""}


def test_sample_that_a_filter_stops_counts_as_declined() -> None:
    judge = make_judge("self-consistency", endpoint=make_endpoint(), params={"samples": 3})
    filtered = failure_of(400, "HTTP 400: filter", kind="HTTP 400", error=error_of(FILTERED))
    client = ScriptedClient([filtered, "Preferred: A", "Preferred: A", *[filtered] * 3])
    judge_with(client, make_study(instances=2, k=1), judge, in_flight=1)
    assert statuses() == {"parsed": 1, "refused": 1}


@pytest.fixture
def rejected_run() -> JudgeRun:
    """Make a finished run of which one presentation was too long."""
    judge_with(Rejecting(too_long([0])), make_study(instances=2, k=1), make_judge())
    return JudgeRun.objects.get()


def test_page_offers_a_retry_of_what_was_rejected(
    rejected_run: JudgeRun, client: Any, django_capture_on_commit_callbacks: Any
) -> None:
    user = make_user("ada", "researcher", rejected_run.study)
    client.force_login(user)
    page = client.get(reverse("judging:run", args=["tea", rejected_run.pk])).content.decode()
    assert 'value="retry"' in page
    assert "1 × Too long for the model" in page
    with django_capture_on_commit_callbacks(execute=True):
        client.post(reverse("judging:steer", args=["tea", rejected_run.pk]), {"action": "retry"})
    assert (JudgeRun.objects.get().status, statuses()) == ("queued", {"pending": 1, "parsed": 1})
    assert DBTaskResult.objects.count() == 1
    assert Event.objects.get(kind="reopened").by == user


def test_run_that_grows_on_demand_has_not_failed_by_its_first_errors() -> None:
    study, judge = make_study(instances=2, k=1), make_judge()
    run = locked_run(study, judge, [0], only=ON_DEMAND)
    add_cells(run, Pair.objects.filter(matchup__instance__position=0))
    client = Rejecting(too_long([0]))
    ended = execute(run.pk, stop=StopFlag(), make_client=lambda _endpoint: RetryingClient(client, sleep=no_sleep))
    assert (ended.status, statuses()) == ("done", {"error": 1})
