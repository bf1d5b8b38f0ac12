"""Rankings that ask a judge for the comparisons that they lack."""

import json
from collections.abc import Mapping
from contextlib import nullcontext
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.errors import AnnotationError
from annotation.core.reasons import NO_REASON, reason
from annotation.core.tasks.processes import this_machine
from annotation.core.tasks.stopping import StopFlag
from annotation.jobs import work
from annotation.models import Generation, HitPair, Study
from annotation.questions.questions import MAIN
from judging.audits.on_demand import asking_alone, start_on_demand
from judging.core.errors import RejectedCall, RunBusy
from judging.endpoints.chat_answers import ChatAnswer
from judging.endpoints.retrying import RetryingClient
from judging.jobs.progress import Progress
from judging.models import Judge, JudgeRun, Judgment, RunHolder
from judging.runs.execution import ExecutionResult
from judging.runs.services import run_again
from judging.templatetags.judged import judged_pairs
from reporting.core.estimates import IntervalSettings
from reporting.downloads.jobs import queue_file
from reporting.logic import live_ranking
from reporting.logic.live_ranking import RankingProgress, ask_rankings
from reporting.logic.ranking import METHODS, Known, RankingAnswers, rank_sets
from reporting.logic.stored_ranking import most_comparisons
from reporting.logic.text_sets import read_text_sets
from tests.factories import ask_more
from tests.fakes import Body, ScriptedClient, stopped_flag
from tests.judging.builders import make_endpoint, make_judge, no_sleep
from tests.reporting.builders import build_study
from tests.reporting.logic.test_audit import in_order, let_judge
from tests.reporting.refinement.test_repair import SYSTEMS, build_four_systems

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
PRICES = {"price_prompt": Decimal(1000), "price_completion": Decimal(10_000)}


class InOrder(ScriptedClient):
    """A judge that prefers the text of the earlier system, and answers otherwise where the prompt has a phrase.

    otherwise : answers and failures by phrases
    """

    def __init__(self, otherwise: Mapping[str, str | Exception] | None = None) -> None:
        super().__init__()
        self.otherwise = otherwise or {}

    async def complete(self, body: Body) -> ChatAnswer:
        """Answer by the order in which the prompt shows the texts."""
        prompt = body["messages"][-1]["content"]
        shown = sorted(
            (prompt.index(f"{name} {n}"), place)
            for place, name in enumerate(SYSTEMS)
            for n in range(30)
            if f"\n{name} {n}\n" in prompt
        )
        (_, first), (_, second) = shown
        self.then = f"Preferred: {'A' if first < second else 'B'}"
        self.script = [entry for phrase, entry in self.otherwise.items() if phrase in prompt]
        return await super().complete(body)


def ask(
    study: Study,
    judge: Judge,
    client: ScriptedClient,
    *,
    known: Known | None = None,
    max_cost: Decimal | None = None,
    limit: int | None = None,
    question: int = MAIN,
    **wanted: Any,
) -> tuple[RankingProgress, dict[str, Any], JudgeRun]:
    """Ask one at a time, and rank by the answers."""
    run = start_on_demand(study=study, judge=judge, question=question, in_flight=1, max_cost=max_cost)
    sets, pairs = read_text_sets(study)
    known = {} if known is None else known
    wanted = {"methods": ["pairs"], "seeds": 1, "calibrate": False, **wanted}
    found = ask_rankings(
        run,
        sets,
        pairs,
        known,
        **wanted,
        stop=StopFlag(),
        limit=limit,
        make_client=lambda endpoint: RetryingClient(client, sleep=no_sleep),
    )
    names = dict(Generation.objects.filter(instance__study=study).values_list("pk", "system__name"))
    ranked = rank_sets(sets, RankingAnswers(known, {}, names, turnable=False), IntervalSettings(), **wanted)
    return found, ranked["methods"][0], run


def reachable(name: str = "judy", *, judge: Mapping[str, Any] | None = None, **settings: Any) -> Judge:
    """Make a judge whose endpoint is an address, so that no name is looked up."""
    endpoint = make_endpoint("https://93.184.216.34/v1", name=name, **settings)
    return make_judge(name=name, endpoint=endpoint, **judge or {})


def presentations(run: JudgeRun) -> list[tuple[int, str]]:
    return list(run.judgments.values_list("pair", "order"))


def counts(found: RankingProgress) -> tuple[int, int, int]:
    return found.finished, found.without_verdict, found.unfinished


def test_a_sort_asks_only_what_it_compares_and_nothing_twice() -> None:
    study, _ = build_four_systems(instances=4)
    judge, client = reachable(judge={"family": "llama", "order": "random"}), InOrder()
    found, ranked, run = ask(study, judge, client)
    assert list(ranked["mean_ranks"].items()) == [("one", 1), ("two", 2), ("three", 3), ("four", 4)]
    assert counts(found) == (4, 0, 0)
    assert found.asked == found.calls == len(client.bodies) == ranked["comparisons"] < 4 * 6
    assert (run.judge.name, run.judge.family, judge.runs.count()) == ("judy-rank", "llama", 0)
    assert {order for _, order in presentations(run)} == {"ab", "ba"}  # as the sort shows them

    again, same, resumed = ask(study, judge, client)
    assert (resumed, same) == (run, ranked)
    assert (counts(again), again.asked, again.ended) == ((4, 0, 0), 0, None)
    more, _, _ = ask(study, judge, client, methods=["all-pairs"], seeds=2)
    assert more.sorts == more.finished == 8
    assert len(client.bodies) == len(presentations(run)) == len(set(presentations(run)))


def test_a_cap_that_ends_in_the_middle_of_a_sort_leaves_it_out_and_a_higher_one_resumes() -> None:
    study, _ = build_four_systems(instances=3)
    judge = reachable(**PRICES)
    whole = InOrder()
    ask(study, reachable("free", model="large"), whole)
    client = InOrder()
    found, ranked, run = ask(study, judge, client, max_cost=Decimal("0.5"))
    made = len(client.bodies)
    assert 0 < made < len(whole.bodies)
    assert found.asked == found.calls == made
    assert found.ended
    assert (found.ended.status, found.unfinished > 0) == (JudgeRun.Status.PAUSED, True)
    assert (ranked["instances"], ranked["left_out"]) == (found.finished, found.unfinished)
    assert ranked["why_code"] == "not_asked"

    again, ranked, resumed = ask(study, judge, client, max_cost=Decimal(1000))
    assert resumed == run
    assert (counts(again), ranked["left_out"]) == ((3, 0, 0), 0)
    assert len(client.bodies) == len(whole.bodies) == made + again.asked


def test_a_limit_counts_presentations_and_each_ranking_that_they_finish() -> None:
    study, _ = build_four_systems(instances=3)
    judge, client = reachable(), InOrder()
    finished = []
    for asked in range(1, 30):
        found, ranked, _ = ask(study, judge, client, limit=1)
        finished.append(found.finished)
        assert ranked["instances"] == found.finished
        assert (found.asked, len(client.bodies)) == (1, asked)
        if not found.finished:  # not for want of a gold that is not all ties
            assert ranked["spearman"]["why_code"] == "not_asked"
        if not found.unfinished:
            break
    assert finished == sorted(finished)
    assert finished[-1] == 3


def test_what_another_method_left_open_is_not_asked() -> None:
    study, _ = build_four_systems(instances=3)
    judge, client = reachable(), InOrder()
    _, _, run = ask(study, judge, client, methods=["all-pairs"], limit=1)
    assert len(presentations(run)) == 3 * 6
    found, ranked, _ = ask(study, judge, client)
    assert counts(found) == (3, 0, 0)
    assert found.asked <= ranked["comparisons"] < 3 * 6 - 1
    assert len(client.bodies) == len(presentations(run)) == 1 + found.asked


def test_comparisons_without_a_verdict_end_their_sort_alone() -> None:
    study, _ = build_four_systems(instances=3)
    without_pair = HitPair.objects.filter(pair__matchup__instance__instance_id="i2").earliest("pk")
    without_pair.delete()
    without_pair.pair.delete()
    judge, client = reachable(), InOrder({"source 1": "Neither is any good."})
    found, ranked, _ = ask(study, judge, client, methods=["all-pairs"])
    assert counts(found) == (1, 2, 0)
    assert (ranked["instances"], ranked["left_out"]) == (1, 2)
    asked = len(client.bodies)
    again, _, _ = ask(study, judge, client, methods=["all-pairs"])
    assert (counts(again), len(client.bodies)) == ((1, 2, 0), asked)


def test_a_call_that_failed_is_made_again_by_the_next_command() -> None:
    study, _ = build_four_systems(instances=1)
    judge, client = reachable(), InOrder({"source 0": RejectedCall("too long")})
    found, _, run = ask(study, judge, client)
    assert (counts(found), found.asked) == ((0, 1, 0), 2)
    assert set(run.judgments.values_list("status", flat=True)) == {Judgment.Status.ERROR}
    assert judged_pairs(run) == "the pairs needed for rankings"
    client.otherwise = {}
    assert run_again(run=run) == run  # from its page: no other pairs are added
    assert len(presentations(run)) == 2
    again, ranked, _ = ask(study, judge, client)
    assert counts(again) == (1, 0, 0)
    assert ranked["mean_ranks"]["one"] == 1


def test_calibration_asks_both_orders_of_each_comparison() -> None:
    study, _ = build_four_systems(instances=2)
    client = ScriptedClient(then="Preferred: A")
    known: Known = {}
    found, ranked, run = ask(study, reachable(), client, calibrate=True, methods=["all-pairs"], known=known)
    assert counts(found) == (2, 0, 0)
    assert found.asked == len(presentations(run)) == len(known) == 2 * ranked["comparisons"] == 2 * 2 * 6
    assert set(known.values()) == {1.0}
    mixed = InOrder()
    found, ranked, _ = ask(study, reachable("mixed", model="large"), mixed, calibrate=True)
    assert ranked["mean_ranks"]["one"] == 1
    assert found.asked == 2 * ranked["comparisons"]


def test_each_question_has_answers_of_its_own() -> None:
    study, _ = build_four_systems(instances=1)
    ask_more(study, "coherence")
    judge, client = reachable(), InOrder()
    _, _, run = ask(study, judge, client)
    found, ranked, other = ask(study, judge, client, question=1)
    assert run != other
    assert (found.finished, ranked["instances"]) == (1, 1)
    assert set(other.judgments.values_list("question", flat=True)) == {1}
    assert "coherence" in str(client.bodies[-1]).lower()
    assert found.asked == found.calls > 0


def command(capsys: pytest.CaptureFixture[str], **options: Any) -> dict[str, Any]:
    call_command("rank", "tried", format="json", **options)
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_the_command_uses_the_judges_answers_and_asks_for_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    study, built = build_four_systems(instances=2)
    let_judge(study, built, in_order())
    Judge.objects.filter(name="fair").update(endpoint=make_endpoint(), params={})
    found = command(capsys, judge="fair", run=True, calibrate=True, seeds=2)  # without a call, which would fail
    assert found["run"] | {"rankings": 4, "finished": 4, "asked": 0, "calls": 0, "unfinished": 0} == found["run"]
    assert [one["method"] for one in found["methods"]] == ["pairs"]
    assert found["methods"][0]["mean_ranks"]["one"] == 1

    make_judge("coin", name="guess")
    expected = command(capsys, judge="guess", estimate=True, method=["all-pairs"], sample=1)
    assert (expected["presentations"], expected["calls"]) == (6, 0)
    assert command(capsys, judge="guess", estimate=True, method=["all-pairs"], limit=4)["presentations"] == 4
    with pytest.raises(CommandError, match="no rankings to draw"):
        call_command("rank", "tried", judge="guess", estimate=True, picture=Path("rank.svg"))
    # Greedy merges of two and two texts take 1 + 1 + 3 comparisons at most; all that can be asked are 12 presentations.
    bounds = {"calibrate": 10, "seeds": 12}
    for name, most in bounds.items():
        options: dict[str, Any] = {name: True if name == "calibrate" else 3}
        assert command(capsys, judge="guess", estimate=True, sample=1, **options)["presentations"] == most
    assert not JudgeRun.objects.filter(judge__name="guess-rank").exists()
    call_command("rank", "tried", judge="guess", run=True, method=["all-pairs"], limit=7)
    capsys.readouterr()
    found = command(capsys, judge="guess", run=True, method=["all-pairs"])
    assert (found["run"]["finished"], found["run"]["asked"], found["run"]["message"]) == (2, 5, "")
    assert JudgeRun.objects.get(judge__name="guess-rank").status == JudgeRun.Status.DONE


def test_one_process_asks_a_judge_for_rankings_of_a_study_at_a_time() -> None:
    """A process that ended without a word keeps none away."""
    study, _ = build_four_systems()
    judge = make_judge("coin", name="guess")
    command = ("rank", study.slug, "--judge", judge.name, "--run")
    with asking_alone(study=study, judge=judge) as run, pytest.raises(RunBusy, match="judge guess-rank is being asked"):
        asking_alone(study=study, judge=judge).__enter__()
    call_command(*command)
    RunHolder.objects.create(run=run, executor=f"{this_machine()}:{2**22 + 1}:x")  # above the highest process id
    call_command(*command)
    RunHolder.objects.create(run=run, executor="elsewhere:7:x", renewed_at=timezone.now() - timedelta(minutes=1))
    call_command(*command)
    assert not RunHolder.objects.exists()
    RunHolder.objects.create(run=run, executor="elsewhere:7:x", renewed_at=timezone.now())
    with pytest.raises(CommandError, match="judge guess-rank is being asked"):
        call_command(*command)
    asked = {"judge": "guess", "run": True, "in_flight": None, "max_cost": None, "limit": None}
    made, _ = queue_file(study, "ranking", asked)
    assert work.do_job.func("reporting.MadeFile", made.pk) == "stopped"
    made.refresh_from_db()
    assert made.message == reason("asked_for_another", judge="guess-rank", study="tried")


@pytest.mark.parametrize(
    ("status", "signal", "left"),
    [pytest.param("paused", True, 4, id="worker stops"), pytest.param("failed", False, 7, id="endpoint is gone")],
)
def test_a_file_for_which_a_judge_is_asked_is_continued_or_fails(
    status: str, signal: bool, left: int, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DATA_DIR = tmp_path
    study, _ = build_four_systems(instances=2)
    make_judge("coin", name="guess")
    why = reason("no_answer", error="HTTP 500")
    ended = ExecutionResult(status, why, Progress(), signal=signal)
    monkeypatch.setattr(live_ranking, "ask_rankings", lambda *_, **__: RankingProgress(2, asked=3, ended=ended))
    asked = {"judge": "guess", "run": True, "in_flight": None, "max_cost": None, "limit": 7}
    made, _ = queue_file(study, "ranking", asked | {"methods": ["pairs"], "seeds": 1})
    if signal:
        monkeypatch.setattr(work, "WORKER_STOP", stopped_flag())
    with pytest.raises(SystemExit) if signal else nullcontext():
        work.do_job.func("reporting.MadeFile", made.pk)
    made.refresh_from_db()
    assert (made.status, made.message) == (("queued", NO_REASON) if signal else ("stopped", why))
    assert made.options["limit"] == left


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param({"judge": "nobody", "run": True}, "nobody", id="unknown judge"),
        pytest.param({"judge": "elsewhere", "run": True}, "are imported", id="imported"),
        pytest.param({"judge": "elsewhere", "estimate": True}, "are imported", id="estimate of imported"),
        pytest.param({"judge": "guess", "limit": 5}, "--limit: these need --run", id="without asking"),
        pytest.param({"judge": "guess", "run": True, "dataset": "mail"}, "Allowed: news", id="data set"),
    ],
)
def test_what_cannot_be_asked_is_said_and_stores_nothing(options: dict[str, Any], message: str) -> None:
    build_four_systems()
    make_judge("imported", name="elsewhere")
    make_judge("coin", name="guess")
    with pytest.raises((CommandError, AnnotationError), match=message):
        call_command("rank", "tried", **options)
    assert (Judge.objects.count(), JudgeRun.objects.count()) == (2, 0)


def test_fewer_than_two_texts_have_no_ranking() -> None:
    build_study()
    make_judge("coin", name="guess")
    with pytest.raises(CommandError, match="study tried has no pairs of texts, so that nothing can be ranked"):
        call_command("rank", "tried", judge="guess", run=True)


@given(st.sampled_from(sorted(METHODS)), st.integers(0, 12), st.integers(0, 10_000))
def test_no_method_makes_more_comparisons_than_its_estimate(method: str, n: int, seed: int) -> None:
    table = np.random.default_rng(seed).random((n, n))
    rounds, asked = METHODS[method](n), set()
    try:
        pairs = next(rounds)
        while True:
            asked |= set(pairs)
            pairs = rounds.send([float(table[pair]) for pair in pairs])
    except StopIteration:
        assert len(asked) <= most_comparisons(method, n)
