"""Rankings that the worker asks a judge for: the page with its price, progress and result, stopping, continuing, and the API."""

import csv
import io
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from annotation.core.tasks.processes import this_machine
from annotation.models import Study
from judging import worker
from judging.audits.on_demand import asking_alone
from judging.core.errors import BadSettings, RunBusy
from judging.endpoints.retrying import RetryingClient
from judging.jobs.stopping import STOPPABLE_ABOVE, StopFlag
from judging.models import Judge, JudgeRun, Judgment, RunHolder
from reporting.models import SystemRanking
from reporting.system_ranking import asking, jobs
from reporting.system_ranking.asking import Spent
from reporting.system_ranking.designs import WantedRanking
from reporting.system_ranking.jobs import ask_for_ranking, queue_ranking, rankings_of, stop_ranking
from tests.judging.builders import no_sleep
from tests.reporting.builders import build_user
from tests.reporting.logic.test_live_ranking import PRICES, InOrder, reachable
from tests.reporting.refinement.test_repair import SYSTEMS, build_four_systems

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
ADDRESS = "/studies/tried/rankings/"
FORM = {"judge": "judy", "design": "adaptive", "settle": "1", "step": "20", "in_flight": "1", "seed": "1"}


@pytest.fixture(scope="module")
def study_id(module_rows: None, django_db_blocker: Any) -> int:
    with django_db_blocker.unblock():
        return build_four_systems(instances=30)[0].pk


@pytest.fixture
def study(study_id: int) -> Study:
    return Study.objects.get(pk=study_id)


@pytest.fixture
def judge(study: Study) -> Judge:
    return reachable(**PRICES)


@pytest.fixture
def reader(study: Study, client: Client) -> Client:
    client.force_login(build_user("reader", "researcher", study))
    return client


@pytest.fixture(autouse=True)
def answers(monkeypatch: pytest.MonkeyPatch) -> InOrder:
    """Let a scripted client answer for every endpoint."""
    scripted, real = InOrder(), asking.ask_systems

    def ask(*given: Any, **named: Any) -> Any:
        return real(*given, **named, make_client=lambda _: RetryingClient(scripted, sleep=no_sleep))

    monkeypatch.setattr(asking, "ask_systems", ask)
    return scripted


def run_tasks() -> list[str]:
    """Do what a worker does with the tasks that wait."""
    ended = []
    for task in DBTaskResult.objects.filter(task_path=ask_for_ranking.module_path, status="READY"):
        DBTaskResult.objects.filter(pk=task.pk).update(status="RUNNING")
        ended.append(ask_for_ranking.func(*task.args_kwargs["args"]))
        DBTaskResult.objects.filter(pk=task.pk).update(status="SUCCESSFUL")
    return ended


def test_the_page_prices_asks_and_shows_a_ranking(study: Study, judge: Judge, reader: Client) -> None:
    assert "No judge has been asked for a ranking yet." in reader.get(ADDRESS).text
    priced = reader.post(f"{ADDRESS}estimate/", {**FORM, "budget": "40"}, headers={"HX-Request": "true"})
    assert priced.status_code == 200
    assert "40 presentations" in priced.text
    first = reader.post(f"{ADDRESS}estimate/", {**FORM, "budget": "40", "limit": "7"}, headers={"HX-Request": "true"})
    assert "7 presentations" in first.text
    assert "Cost: <strong>" in priced.text
    assert f'formaction="{ADDRESS}start/"' in priced.text
    assert not Judgment.objects.exists()

    waiting = reader.post(f"{ADDRESS}start/", FORM, follow=True)
    assert waiting.redirect_chain == [(ADDRESS, 302)]
    assert ">Waiting for a worker</span>" in waiting.text
    assert "0 presentations asked since the start, of 180 at most" in waiting.text
    assert run_tasks() == ["done"]

    part = reader.get(ADDRESS, headers={"HX-Request": "true"}).text
    assert "<h1>" not in part
    assert "hx-trigger" not in part  # nothing is under way
    assert ">Done</span> The places asked for are settled." in " ".join(part.split())
    ranking = SystemRanking.objects.get()
    assert ranking.found is not None
    assert ranking.found["comparisons"] < 180
    names = [row.split("</bdi>")[0] for row in part.split('<th scope="row">')[1:]]
    assert [name.split("<bdi>")[1] for name in names] == list(SYSTEMS)
    assert f'href="{reverse("judging:run", args=["tried", ranking.run_id])}' in part
    stored = json.loads(reader.get(f"{ADDRESS}{ranking.pk}.json").content)
    rows = list(csv.DictReader(io.StringIO(reader.get(f"{ADDRESS}{ranking.pk}.csv").text)))
    assert [(row["system"], row["rank"]) for row in rows] == [
        (row["system"], str(row["rank"])) for row in stored["systems"]
    ]
    assert stored["judge"] == "judy-rank"


def test_the_page_equals_the_command(study: Study, judge: Judge, capsys: pytest.CaptureFixture[str]) -> None:
    ranking = queue_ranking(WantedRanking(study, judge, design="swiss", settle=0, budget=60, seed=4))
    run_tasks()
    arguments = ["--design", "swiss", "--settle", "0", "--budget", "60", "--seed", "4", "--format", "json"]
    call_command("rank_systems", study.slug, "--judge", judge.name, "--run", *arguments)
    ranking.refresh_from_db()
    assert ranking.found is not None
    assert ranking.found["asked"] == 60
    assert json.loads(capsys.readouterr().out) == {**ranking.found, "asked": 0, "calls": 0}


def test_it_is_stopped_between_steps_and_continued(
    study: Study, judge: Judge, reader: Client, answers: InOrder, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, stopped = asking.ask_for, []

    def stop_after_a_step(*given: Any, on_step: Callable[[Spent], bool], **named: Any) -> Any:
        def stop(spent: Spent) -> bool:
            if not stopped:
                stopped.append(reader.post(f"{ADDRESS}{ranking.pk}/stop/", follow=True))
            return on_step(spent)

        return real(*given, on_step=stop, **named)

    monkeypatch.setattr(asking, "ask_for", stop_after_a_step)
    ranking = queue_ranking(WantedRanking(study, judge, settle=0, budget=100))
    assert run_tasks() == ["stopped"]
    page = reader.get(ADDRESS).text
    assert ">Stopped</span> stopped on request" in " ".join(page.split())
    first = len(answers.bodies)
    assert 0 < first < 100
    assert reader.post(f"{ADDRESS}{ranking.pk}/stop/").status_code == 409

    reader.post(f"{ADDRESS}{ranking.pk}/continue/")
    assert run_tasks() == ["done"]
    ranking.refresh_from_db()
    assert ranking.found is not None
    assert (len(answers.bodies), ranking.asked, ranking.found["comparisons"]) == (100, 100 - first, 100)
    assert SystemRanking.objects.count() == 1


def test_one_that_waits_is_stopped_before_any_call(study: Study, judge: Judge, answers: InOrder) -> None:
    ranking = queue_ranking(WantedRanking(study, judge))
    stop_ranking(ranking)
    assert run_tasks() == [""]
    assert answers.bodies == []
    assert [(one.status, one.message) for one in rankings_of(study)] == [("stopped", "stopped on request")]


def test_one_that_is_stopped_while_its_run_is_made_stays_so(
    study: Study, judge: Judge, answers: InOrder, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranking, real = queue_ranking(WantedRanking(study, judge)), jobs.asking_alone

    def stopped_meanwhile(**named: Any) -> AbstractContextManager[JudgeRun]:
        stop_ranking(ranking)
        return real(**named)

    monkeypatch.setattr(jobs, "asking_alone", stopped_meanwhile)
    assert run_tasks() == ["stopped"]
    ranking.refresh_from_db()
    assert (ranking.status, answers.bodies) == ("stopped", [])


def test_rankings_of_one_judge_are_kept_apart(study: Study, judge: Judge, answers: InOrder) -> None:
    """The commands' and the worker's, of systems and of texts; a process that ended without a word keeps none away."""
    busy = "judge judy-rank is being asked for another ranking of tried"
    systems = ("rank_systems", study.slug, "--judge", judge.name, "--run", "--budget", "20", "--settle", "0")
    with asking_alone(study=study, judge=judge) as run:
        for command in (systems, ("rank", study.slug, "--judge", judge.name, "--run")):
            with pytest.raises(CommandError, match=busy):
                call_command(*command)
        with pytest.raises(RunBusy, match=busy):
            queue_ranking(WantedRanking(study, judge, settle=0))
    assert answers.bodies == []

    call_command(*systems)
    RunHolder.objects.create(run=run, executor=f"{this_machine()}:{2**22 + 1}:x")  # above the highest process id
    call_command(*systems)
    RunHolder.objects.create(run=run, executor="elsewhere:7:x", renewed_at=timezone.now() - timedelta(minutes=1))
    call_command(*systems)
    assert (len(answers.bodies), RunHolder.objects.count()) == (20, 0)


def test_a_workers_stop_signal_queues_it_again(
    study: Study, judge: Judge, answers: InOrder, monkeypatch: pytest.MonkeyPatch
) -> None:
    signalled = StopFlag()
    monkeypatch.setattr(jobs, "WORKER_STOP", signalled)
    complete = answers.complete

    async def stop_after_ten(body: Any) -> Any:
        if len(answers.bodies) == 9:
            signalled.set()
        return await complete(body)

    monkeypatch.setattr(answers, "complete", stop_after_ten)
    queue_ranking(WantedRanking(study, judge, settle=0, budget=30), in_flight=1, limit=25)
    assert run_tasks() == ["queued"]
    monkeypatch.setattr(jobs, "WORKER_STOP", StopFlag())
    monkeypatch.setattr(answers, "complete", complete)
    assert run_tasks() == ["stopped"]
    assert len(answers.bodies) == 25  # the limit holds over both
    assert ask_for_ranking.module_path in STOPPABLE_ABOVE
    assert ask_for_ranking.module_path not in worker.DEATH_RULES  # a dead worker's task goes to another one


def test_a_cap_stops_it_and_an_endpoint_without_answers_fails_it(study: Study, judge: Judge, answers: InOrder) -> None:
    capped = queue_ranking(WantedRanking(study, judge, settle=0), max_cost=Decimal("0.9"))
    assert run_tasks() == ["stopped"]
    capped.refresh_from_db()
    assert "cap" in capped.message
    assert capped.found is not None
    assert 0 < capped.found["comparisons"] < 180

    JudgeRun.objects.update(max_cost=None)
    judge.endpoint.base_url = "http://10.0.0.1/v1"  # type: ignore[union-attr]
    judge.endpoint.save()  # type: ignore[union-attr]
    failed = queue_ranking(WantedRanking(study, judge, settle=0, seed=8))
    assert run_tasks() == ["failed"]
    failed.refresh_from_db()
    assert "may not be asked" in failed.message


def test_a_ranking_whose_task_is_gone_has_failed_and_can_be_continued(study: Study, judge: Judge) -> None:
    ranking = queue_ranking(WantedRanking(study, judge))
    DBTaskResult.objects.all().delete()
    assert [(one.status, one.message) for one in rankings_of(study)] == [("failed", jobs.LOST)]
    assert queue_ranking(WantedRanking(study, judge)) == ranking


def test_an_unexpected_error_is_shown_and_raised(study: Study, judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_given: Any, **_named: Any) -> Any:
        raise ZeroDivisionError("bad luck")

    monkeypatch.setattr(asking, "ask_for", broken)
    ranking = queue_ranking(WantedRanking(study, judge))
    with pytest.raises(ZeroDivisionError):
        run_tasks()
    ranking.refresh_from_db()
    assert (ranking.status, ranking.message) == ("failed", "unexpected: ZeroDivisionError('bad luck')")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        pytest.param({"design": "balanced", "per_instance": ""}, "needs this number", id="balanced without a number"),
        pytest.param({"design": "best"}, "not one of the available choices", id="unknown design"),
        pytest.param({"settle": "-1"}, "greater than or equal to 0", id="negative"),
        pytest.param({"max_cost": "NaN"}, "Enter a number", id="no sum of money"),
        pytest.param({"dataset": "other"}, "not one of the available choices", id="unknown data set"),
    ],
)
def test_bad_settings_are_shown_at_the_form(
    study: Study, judge: Judge, reader: Client, changed: dict[str, str], message: str
) -> None:
    for step in ("estimate", "start"):
        found = reader.post(f"{ADDRESS}{step}/", {**FORM, **changed})
        assert found.status_code == 422
        assert message in found.text
    assert not SystemRanking.objects.exists()


def test_one_judge_is_asked_for_one_ranking_at_a_time(study: Study, judge: Judge, reader: Client) -> None:
    queue_ranking(WantedRanking(study, judge))
    with pytest.raises(RunBusy, match="is being asked for a ranking"):
        queue_ranking(WantedRanking(study, judge, seed=1))
    with pytest.raises(BadSettings, match="calls in flight"):
        queue_ranking(WantedRanking(study, judge, seed=1), in_flight=0)
    found = reader.post(f"{ADDRESS}start/", FORM)
    assert found.status_code == 422
    assert "wait for its end" in found.text
    assert reader.get(f"{ADDRESS}{2**40}.json").status_code == 404
    assert reader.get(f"{ADDRESS}{SystemRanking.objects.get().pk}.csv").status_code == 404


def test_the_api_estimates_starts_shows_and_stops(study: Study, judge: Judge, reader: Client) -> None:
    def post(path: str, **body: Any) -> Any:
        return reader.post(f"/api/v1/rankings/{path}", body, content_type="application/json")

    wanted = {"study": study.slug, "judge": "judy", "design": "balanced:2", "settle": 0}
    assert post("estimate/", **wanted).json()["presentations"] == 60
    made = post("", **wanted, in_flight=1)
    assert (made.status_code, made.json()["status"], made.json()["found"]) == (202, "queued", None)
    assert post("", **wanted).status_code == 409
    run_tasks()
    found = reader.get(made.headers["Location"]).json()
    assert (found["status"], found["asked"], found["found"]["comparisons"]) == ("done", 60, 60)
    assert [row["system"] for row in found["found"]["systems"]] == list(SYSTEMS)
    assert post(f"{found['id']}/stop/").status_code == 409
    again = post("", **wanted).json()
    assert again["id"] == found["id"]
    assert post(f"{again['id']}/stop/").json()["status"] == "stopped"
    listed = reader.get("/api/v1/rankings/", {"study": study.slug, "judge": "judy"}).json()["results"]
    assert [one["id"] for one in listed] == [found["id"]]
    for bad, message in (
        ({"design": "best"}, "it must be all"),
        ({"sample": 0}, "greater than or equal to 1"),
        ({"speed": 1}, "no such field"),
        ({"question": "tone"}, "tone"),
    ):
        refused = post("estimate/", **{**wanted, **bad})
        assert refused.status_code in (404, 409, 422)
        assert message in refused.content.decode()
    assert post("", **{**wanted, "judge": "nobody"}).status_code == 404


def test_strangers_see_nothing(study: Study, judge: Judge, client: Client) -> None:
    ranking = queue_ranking(WantedRanking(study, judge))
    client.force_login(build_user("stranger", "researcher", Study.objects.create(slug="other", group=study.group)))
    for address in (ADDRESS, f"{ADDRESS}{ranking.pk}.json", f"/api/v1/rankings/{ranking.pk}/"):
        assert client.get(address).status_code == 404
    assert client.post(f"{ADDRESS}{ranking.pk}/stop/").status_code == 404
    assert client.get("/api/v1/rankings/").json()["results"] == []
