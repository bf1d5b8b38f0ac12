"""Tuning a judge on votes: what is tried, the held-out comparison, and that no instance serves both."""

import json
import re
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from annotation.core.reasons import reason
from annotation.core.tasks.stopping import StopFlag
from annotation.models import Annotator, Assignment, Display, Instance, Rating, Slot, Study
from judging.audits.on_demand import asker, start_on_demand
from judging.audits.services import Audit, auditor
from judging.audits.stress import StressTest, start_stress
from judging.core.errors import BadSettings
from judging.endpoints.chat_answers import ChatAnswer, read_answer
from judging.endpoints.retrying import RetryingClient
from judging.models import Completion, Judge, JudgeTuning, Judgment
from judging.outcomes.judgments import judges_of, verdicts_by_pair
from judging.runs.services import start_run
from judging.tuning.candidates import candidates_of
from judging.tuning.planning import TuningSettings, estimate_tuning, make_plan
from judging.tuning.searching import Search, TuningStopped, cost_of_tuning
from judging.tuning.services import start_tuning
from reporting.logic.text_sets import read_text_sets
from tests.fakes import ScriptedClient, chat_completion
from tests.judging.builders import make_batch, make_endpoint, make_judge, make_study, no_sleep, pairs_in
from tests.reporting.builders import findings

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
INSTANCES = 40


def make_voted_study(instances: int = INSTANCES) -> Study:
    """Three people on one pair of each instance: heron where the talk's number is even, else wren."""
    study = make_study(instances=instances, k=1)
    batch = make_batch(study, pairs_in(study))
    people = [Annotator.objects.create(study=study, code=code, kind="account") for code in ("ann", "bob", "cem")]
    for hit in batch.hits.select_related("matchup__instance"):
        pair = hit.matchup.pairs.get()
        for number, person in enumerate(people):
            work = Assignment.objects.create(hit=hit, annotator=person, state="submitted", submitted_at=timezone.now())
            Slot.objects.create(hit=hit, batch=batch, position=hit.position, number=number, assignment=work)
            shown = Display.objects.create(assignment=work, pair=pair, position=0, a_is_left=True)
            Rating.objects.create(
                display=shown, verdict=preferred(hit.matchup.instance.position), rated_at=timezone.now()
            )
    return study


def preferred(talk: int) -> int:
    return -1 if talk % 2 == 0 else 1


class Knowing(ScriptedClient):
    """Knows what people prefer where it is asked for the choice and nothing else; says A wherever it is to compare."""

    async def complete(self, body: Any) -> ChatAnswer:
        self.bodies.append(body)
        asked = body["messages"][-1]["content"]
        letter = "A"
        if "Comparison:" not in asked:
            talk = int(re.findall(r"on talk (\d+)", asked)[-1])
            heron_first = asked.rindex("Heron") < asked.rindex("Wren")
            letter = "A" if (preferred(talk) == -1) == heron_first else "B"
        return read_answer(json.dumps(chat_completion(f"Preferred: {letter}")))


def asked_for(study: Study, judge: Judge, **more: Any) -> TuningSettings:
    settings: dict[str, Any] = {"budget": 400, "methods": ("direct", "pairwise"), "shots": ()}
    return TuningSettings(study=study, judge=judge, **{**settings, **more})


def search(tuning: JudgeTuning, client: ScriptedClient | None = None, stop: StopFlag | None = None) -> Search:
    chosen = client or Knowing()
    return Search(tuning, stop or StopFlag(), make_client=lambda _endpoint: RetryingClient(chosen, sleep=no_sleep))


def store() -> Study:
    return make_voted_study()


@pytest.fixture
def judge() -> Judge:
    endpoint = make_endpoint(price_prompt=1, price_completion=1)
    return make_judge("direct", endpoint=endpoint, order="random", params={"max_tokens": 50})


def test_the_settings_that_agree_best_make_a_frozen_judge_for_the_held_out_instances(
    study: Study, judge: Judge
) -> None:
    judge.params["verdict_schema"] = "auto"
    judge.save()
    tuning = search(start_tuning(asked_for(study, judge))).work()
    tuned = tuning.tuned
    assert tuned is not None
    assert (tuned.name, tuned.method, tuned.params, tuned.seed) == (
        "judy-tuned",
        "pairwise",
        {"max_tokens": 50, "verdict_schema": False},  # which no later test of the endpoint changes
        judge.seed,
    )
    tried = {one["candidate"]: one for one in tuning.found["tried"]}
    assert tried["pairwise, max_tokens=50, verdict_schema=auto"]["agreement"] == 1.0
    assert 0.2 < tried["direct, max_tokens=50, verdict_schema=auto"]["agreement"] < 0.8
    assert tried["direct, max_tokens=50, verdict_schema=auto"]["votes"] == 60
    held = tuning.found["held_out"]
    assert (held["instances"], held["tuned"]["value"], held["people"]["value"]) == (20, 1.0, 1.0)
    assert (held["tuned"]["n"], held["people"]["n"]) == (60, 60)
    assert held["difference"]["value"] == pytest.approx(1 - held["untuned"]["value"])
    assert held["difference"]["low"] > 0
    # Provenance: what was tried, the seed, the split, and the agreement of each.
    assert tuned.tuned["found"]["tried"] == tuning.found["tried"]
    assert tuned.tuned["settings"] == {
        "methods": ["direct", "pairwise"], "prompts": [], "shots": [], "budget": 400, "held_out": 0.5, "seed": 0,
    }  # fmt: skip
    assert tuned.tuned["from"] == "judy"
    assert len(tuned.tuned["instances"]) == 20
    judge.refresh_from_db()
    assert (judge.method, judge.tuned) == ("direct", {})

    # No instance used for tuning is asked in audits and rankings.
    used, kept = set(tuning.plan["choosing"]) | set(tuning.plan["shown"]), set(tuning.plan["held_out"])
    assert used.isdisjoint(kept)
    assert len(used) + len(kept) == INSTANCES
    asked = start_stress(StressTest(study, tuned, ("position",))).answers
    assert set(asked.values_list("pair__matchup__instance", flat=True)) == kept
    assert {one.instance for one in read_text_sets(study, judge=tuned)[0]} == kept
    for like in (asker(tuned), auditor(Audit(study, tuned))):
        assert like.name != tuned.name
        assert like.tuned == tuned.tuned

    # Nor stands one in findings.
    run = start_run(study=study, judge=tuned)
    for cell in run.judgments.for_question(0):
        Judgment.objects.for_question(0).filter(pk=cell.pk).update(status="parsed", verdict=-1)
    said = verdicts_by_pair(study, tuned)
    pairs = {pair.pk: pair.matchup.instance_id for pair in pairs_in(study)}
    assert {pairs[pair] for pair in said} == kept
    assert [one.judge.name for one in judges_of(study)] == ["judy-tuned"]  # no candidate
    found = findings(study)
    assert found["tuned_judges"] == [
        {
            "judge": "judy-tuned",
            "instances_left_out": 20,
            "note": "tuned on people's ratings on these instances, which are left out of all that is said of it",
        }
    ]
    [against] = found["judges_against_people"]
    assert against["overall"]["agreement"]["n"] == 60

    stored = start_on_demand(study=study, judge=tuned).judge
    assert (stored.name, stored.tuned) == ("judy-tuned-rank", tuned.tuned)


def test_examples_are_drawn_from_votes_and_choose_nothing(study: Study, judge: Judge) -> None:
    plan = make_plan(asked_for(study, judge, methods=("few-shot",), shots=(3,), budget=1000))
    assert [one["params"].get("examples") for one in plan["candidates"]] == [None, None, "drawn"]
    assert (len(plan["examples"]), len(plan["shown"]), len(plan["choosing"]), len(plan["held_out"])) == (3, 3, 17, 20)
    for example, pk in zip(plan["examples"], plan["shown"], strict=True):
        talk = Instance.objects.get(pk=pk).position
        better = example["first"] if example["better"] == "A" else example["second"]
        assert example["source"] == f"What was said in talk {talk}."
        assert better.startswith("Heron" if preferred(talk) == -1 else "Wren")
    client = Knowing()
    search(start_tuning(asked_for(study, judge, methods=("few-shot",), shots=(3,), budget=1000)), client).work()
    shown = [body["messages"][-1]["content"] for body in client.bodies]
    assert any(plan["examples"][0]["first"] in text and "Most raters prefer" in text for text in shown)


def test_unclear_verdicts_become_ties_where_people_see_ties(study: Study) -> None:
    Rating.objects.update(verdict=0)
    judge = make_judge("pointwise", endpoint=make_endpoint(), order="random", params={"weighted": False})

    class Scores(ScriptedClient):
        async def complete(self, body: Any) -> ChatAnswer:
            asked = body["messages"][-1]["content"]
            return read_answer(json.dumps(chat_completion("Score: 4" if "Heron" in asked else "Score: 3")))

    tuning = search(start_tuning(asked_for(study, judge, methods=("pairwise",))), Scores(then="Preferred: A")).work()
    assert tuning.tuned is not None
    assert (tuning.tuned.method, tuning.tuned.params) == ("pointwise", {"weighted": False, "tie_below": 2.0})
    assert tuning.found["held_out"]["tuned"]["value"] == 1.0
    assert tuning.found["held_out"]["untuned"]["value"] == 0.0


def test_rounds_halve_the_candidates_within_the_budget(study: Study, judge: Judge) -> None:
    asked = asked_for(study, judge, methods=("direct", "pairwise", "pairwise-cot", "pros-cons"), budget=100)
    tuning = search(start_tuning(asked)).work()
    assert tuning.plan["rounds"] == [[4, 7], [2, 20]]  # 60 presentations: 4 * 7 of 30, then 2 * 13 of 30
    assert sorted(one["instances"] for one in tuning.found["tried"]) == [7, 7, 20, 20]
    cells = Judgment.objects.filter(run__judge__tuned__candidate_of="judy-tuned")
    assert cells.count() <= 100
    assert tuning.plan["presentations"] <= 100


def test_a_cap_that_ends_it_in_the_middle_loses_nothing(study: Study, judge: Judge) -> None:
    client = Knowing()
    tuning = start_tuning(asked_for(study, judge), max_cost=Decimal("0.0004"))
    with pytest.raises(TuningStopped):
        search(tuning, client).work()
    tuning.refresh_from_db()
    assert (tuning.status, tuning.tuned, tuning.message.code) == ("stopped", None, "cap_reached")
    calls = len(client.bodies)
    assert 0 < calls < 80
    again = start_tuning(asked_for(study, judge), max_cost=Decimal(1))
    assert again.pk == tuning.pk
    assert search(again, client).work().status == "done"
    keys = [json.dumps(body, sort_keys=True) for body in client.bodies]
    assert len(keys) == len(set(keys))  # nothing was asked twice
    assert Completion.objects.count() == len(keys)
    assert cost_of_tuning(again) is not None


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        pytest.param({"held_out": 0.0}, "some instances are needed for tuning", id="all"),
        pytest.param({"held_out": 1.0}, "some instances are needed for tuning", id="none"),
        pytest.param({"held_out": 0.1}, "too few instances with votes: 36 to choose on, 0 for examples, 4 held out", id="held"),
        pytest.param({"held_out": 0.8}, "too few instances with votes: 8 to choose on", id="chosen"),
        pytest.param({"budget": 49}, "and 50 in all is the least", id="budget"),
        pytest.param({"methods": ("coin",)}, "method coin asks no model: it can't be tried", id="baseline"),
        pytest.param({"methods": ("direct",)}, "only one candidate", id="itself"),
        pytest.param({"shots": (9,)}, "examples shown are 1 to 5, got 9", id="shots"),
    ],
)  # fmt: skip
def test_what_cannot_be_tuned_is_refused(study: Study, judge: Judge, settings: dict[str, Any], error: str) -> None:
    assert make_plan(asked_for(study, judge, budget=50))["rounds"] == [[2, 5]]
    with pytest.raises(BadSettings, match=error):
        start_tuning(asked_for(study, judge, **settings))
    assert not JudgeTuning.objects.exists()


def test_without_votes_or_a_model_there_is_nothing_to_learn(judge: Judge) -> None:
    empty = make_study("empty", instances=20)
    with pytest.raises(BadSettings, match=r"people have voted on no instance of study empty"):
        start_tuning(asked_for(empty, judge))
    with pytest.raises(BadSettings, match="judge toss can't be tuned: method coin asks no model"):
        candidates_of(make_judge("coin", name="toss"))
    judge.tuned = {"from": "x"}
    with pytest.raises(BadSettings, match="was created by tuning: tune the judge that it was created from"):
        candidates_of(judge)


def test_names_and_settings_are_kept_apart(study: Study, judge: Judge) -> None:
    start_tuning(asked_for(study, judge))
    with pytest.raises(BadSettings, match="tuning judy-tuned exists with other settings"):
        start_tuning(asked_for(study, judge, seed=1))
    with pytest.raises(BadSettings, match="there is a judge judy already"):
        start_tuning(asked_for(study, judge), name="judy")
    with pytest.raises(BadSettings, match=r"^there is a tuning judy-tuned already: choose another name$"):
        start_tuning(asked_for(make_study("other"), judge))


def test_an_estimate_makes_no_call_and_stores_nothing(study: Study, judge: Judge) -> None:
    found = estimate_tuning(asked_for(study, judge))
    assert (found.candidates, found.rounds, found.choosing, found.held_out) == (2, ((2, 20),), 20, 20)
    assert (found.presentations, found.calls) == (80, 80)
    assert found.cost is not None
    assert found.cost > 0
    assert not JudgeTuning.objects.exists()
    assert not Completion.objects.exists()


def test_a_tuning_whose_votes_are_gone_says_so(study: Study, judge: Judge) -> None:
    tuning = start_tuning(asked_for(study, judge))
    Annotator.objects.update(excluded=True)
    with pytest.raises(TuningStopped):
        search(tuning).work()
    tuning.refresh_from_db()
    assert (tuning.status, tuning.message) == ("stopped", reason("no_votes_left"))
    assert (tuning.heartbeat_at, Completion.objects.count()) == (None, 0)
