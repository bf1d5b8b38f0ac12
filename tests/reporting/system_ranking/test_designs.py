"""Systems ranked by a judge that is asked step by step: what is asked, when it stops, that it resumes, and the command."""

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from analysis.adaptive import Ranked
from annotation.models import Pair, Study
from annotation.questions.questions import MAIN
from judging.audits.on_demand import start_on_demand
from judging.core.errors import BadSettings
from judging.endpoints.retrying import RetryingClient
from judging.jobs.stopping import StopFlag
from judging.models import Judge, JudgeRun
from reporting.system_ranking import asking
from reporting.system_ranking.asking import Spent, ask_systems
from reporting.system_ranking.designs import (
    ComparedTexts,
    WantedRanking,
    design_settings,
    most_presentations,
    read_field,
    standing_of,
)
from tests.judging.builders import no_sleep
from tests.reporting.builders import build_configuration, build_study
from tests.reporting.logic.test_live_ranking import PRICES, InOrder, presentations, reachable
from tests.reporting.refinement.test_repair import SYSTEMS, build_four_systems

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture(scope="module")
def study_id(module_rows: None, django_db_blocker: Any) -> int:
    with django_db_blocker.unblock():
        return build_four_systems(instances=30)[0].pk


@pytest.fixture
def study(study_id: int) -> Study:
    return Study.objects.get(pk=study_id)


def ask(
    study: Study,
    judge: Judge,
    client: InOrder,
    *,
    max_cost: Decimal | None = None,
    limit: int | None = None,
    **more: Any,
) -> tuple[ComparedTexts, Ranked, Spent, JudgeRun]:
    run = start_on_demand(study=study, judge=judge, question=MAIN, in_flight=1, max_cost=max_cost)
    wanted = WantedRanking(study, judge, **{"seed": 1, "settle": 4, **more})
    field = wanted.field
    ranked, spent = ask_systems(
        wanted, field, run, stop=StopFlag(), limit=limit, make_client=lambda _: RetryingClient(client, sleep=no_sleep)
    )
    return field, ranked, spent, run


@pytest.mark.parametrize("design", ["all", "balanced:2", "swiss", "adaptive"])
def test_each_design_ranks_and_asks_nothing_twice(study: Study, design: str) -> None:
    judge, client = reachable(), InOrder()
    field, ranked, spent, run = ask(study, judge, client, design=design, settle=0, budget=60)
    again = ask(study, judge, client, design=design, settle=0, budget=60)

    assert field.names == tuple(sorted(SYSTEMS))
    best = [row["system"] for row in standing_of(field, ranked)["systems"]]
    assert best == list(SYSTEMS)
    asked = presentations(run)
    assert len(asked) == len(set(asked)) == spent.asked == spent.calls == ranked.asked == 60
    assert {order for _, order in asked} == {"ab", "ba"}
    assert (again[1].asked, again[2].asked) == (60, 0)


def test_a_limit_stops_it_and_the_same_call_resumes(study: Study) -> None:
    judge, client = reachable(), InOrder()
    _, whole, _, run = ask(study, judge, client, settle=0, budget=70)
    everything = set(presentations(run))
    run.judgments.delete()
    stopped, resumed = (ask(study, judge, client, settle=0, budget=70, limit=most) for most in (25, None))

    assert (stopped[1].stopped, stopped[2].asked) == ("ended", 25)
    assert resumed[1].asked == whole.asked == 70
    assert set(presentations(run)) == everything
    np.testing.assert_array_equal(resumed[1].standing.strengths, whole.standing.strengths)


def test_a_cap_ends_it_with_what_is_known(study: Study) -> None:
    judge = reachable(**PRICES)
    _, ranked, spent, _ = ask(study, judge, InOrder(), settle=0, max_cost=Decimal("0.9"))
    assert ranked.stopped == "ended"
    assert 0 < ranked.standing.comparisons < 180
    assert spent.ended
    assert "cap" in spent.ended.message


def test_both_orders_make_a_judge_of_places_call_ties(study: Study) -> None:
    class First(InOrder):
        async def complete(self, body: Any) -> Any:
            self.then = "Preferred: A"
            return await super(InOrder, self).complete(body)

    _, ranked, spent, _ = ask(study, reachable(), First(), design="all", both_orders=True, budget=30, settle=0)
    assert (spent.asked, ranked.standing.comparisons) == (60, 30)
    assert ranked.standing.strengths == pytest.approx(np.zeros(4), abs=1e-9)


def test_a_comparison_without_a_verdict_is_counted_as_such(study: Study) -> None:
    field, ranked, _, _ = ask(
        study, reachable(), InOrder({f"\n{SYSTEMS[0]} ": "I cannot say."}), design="all", budget=12, settle=0
    )
    found = standing_of(field, ranked)
    assert (found["comparisons"], found["without_verdict"], found["settled"]) == (6, 6, 0)
    assert found["systems"][-1] == {
        "system": SYSTEMS[0], "rank": None, "rank_low": None, "rank_high": None, "value": None, "strength": None,
    }  # fmt: skip


def test_field_has_the_first_pair_of_each_instance_and_draws_a_sample(study: Study) -> None:
    field, drawn = read_field(study), read_field(study, sample=5, seed=3)
    assert field.pairs.shape == (30, 6)
    assert drawn.pairs.shape == (5, 6)
    assert set(drawn.pairs.ravel()) < set(field.pairs.ravel())
    assert set(Pair.objects.filter(pk__in=field.pairs.ravel().tolist()).values_list("index", flat=True)) == {0}
    judge = reachable()
    one = study.instances.earliest("pk")
    tuned = Judge(tuned={"instances": [[one.dataset, one.instance_id]]})
    assert read_field(study, judge=tuned).pairs.shape == (29, 6)
    wanted = WantedRanking(study, judge, design="balanced:2", both_orders=True)
    assert most_presentations(wanted, field) == 120
    assert most_presentations(replace(wanted, design="adaptive", both_orders=False, budget=50), field) == 50


def test_two_systems_and_unknown_designs_are_refused() -> None:
    study = build_study("two")
    build_configuration(study)
    with pytest.raises(BadSettings, match="compares 2 systems"):
        read_field(study)
    for bad in ("best", "balanced", "swiss:2", "balanced:0"):
        with pytest.raises(BadSettings, match="it must be all"):
            design_settings(bad)


def test_command_estimates_and_ranks(
    study: Study, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def scripted(*given: Any, **named: Any) -> Any:
        return ask_systems(*given, **named, make_client=lambda _: RetryingClient(InOrder(), sleep=no_sleep))

    monkeypatch.setattr(asking, "ask_systems", scripted)
    reachable(**PRICES)
    call_command("rank_systems", study.slug, "--judge", "judy", "--estimate", "--budget", "40", "--format", "json")
    expected = json.loads(capsys.readouterr().out)
    call_command(
        "rank_systems", study.slug, "--judge", "judy", "--run", "--settle", "0", "--budget", "40", "--format", "json"
    )
    found = json.loads(capsys.readouterr().out)
    call_command("rank_systems", study.slug, "--judge", "judy", "--run", "--settle", "0", "--budget", "40")
    text = capsys.readouterr().out

    assert (expected["presentations"], expected["judge"]) == (40, "judy")
    assert (found["comparisons"], found["asked"], found["stopped"], found["judge"]) == (40, 40, "budget", "judy-rank")
    assert [row["system"] for row in found["systems"]] == list(SYSTEMS)
    assert Decimal(found["cost"]) > 0
    assert "asked 0 presentations, 0 calls; stopped: budget" in text
    assert "more often than the level says" in text
    with pytest.raises(CommandError, match="--budget must be 1 or more, got 0"):
        call_command("rank_systems", study.slug, "--judge", "judy", "--run", "--budget", "0")
