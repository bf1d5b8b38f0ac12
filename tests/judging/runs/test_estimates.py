"""What a run would take, said before it starts."""

import json
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import call_command

from annotation.core.tasks.stopping import StopFlag
from judging.methods import AskingMethod, find_method, method_names
from judging.models import Completion, JudgeRun, Judgment
from judging.runs import estimates
from judging.runs.estimates import estimate
from judging.runs.execution import execute
from judging.runs.services import start_run
from tests.judging.builders import make_endpoint, make_judge, make_study
from tests.standin.process import StandInProcess

pytestmark = pytest.mark.django_db
PRICES = {"price_prompt": Decimal("1"), "price_completion": Decimal("2")}


def run_at(judge: Any, study: Any) -> JudgeRun:
    run = start_run(study=study, judge=judge)
    assert execute(run.pk, stop=StopFlag()).status == "done"
    return run


def calls_of(found: Any) -> dict[str, int]:
    return {kind.kind: kind.calls for kind in found.kinds}


def test_one_call_for_each_presentation() -> None:
    found = estimate(study=make_study(), judge=make_judge(order="both", repeats=2, negated=True))
    assert (found.presentations, found.pending, found.calls, found.cached) == (48, 48, 48, 0)
    assert found.is_exact
    assert found.learned_from == 0


def test_tokens_go_by_characters_and_cost_by_prices() -> None:
    judge = make_judge(endpoint=make_endpoint(**PRICES, batch_discount=0.25))
    study = make_study()
    found = estimate(study=study, judge=judge)
    [verdict] = found.kinds
    assert 100 * found.calls < found.prompt_tokens < 1000 * found.calls
    assert found.completion_tokens == 120 * found.calls
    assert found.cost == (verdict.prompt_tokens + 2 * verdict.completion_tokens) / Decimal(1_000_000)
    batch = estimate(study=study, judge=judge, way="batch")
    assert batch.cost == (found.cost / 4).quantize(Decimal("1e-8"))


def test_endpoint_without_prices_has_an_unknown_cost() -> None:
    assert estimate(study=make_study(), judge=make_judge()).cost is None


def test_what_is_asked_about_a_text_is_counted_once() -> None:
    # Two instances of two pairs: four texts of either system, so eight critiques; each pair in two orders, eight verdicts.
    judge = make_judge("prepair", endpoint=make_endpoint(), order="both")
    found = estimate(study=make_study(instances=2), judge=judge)
    assert calls_of(found) == {"critique": 8, "verdict": 8}


@pytest.mark.slow
def test_every_method_that_asks_can_be_estimated() -> None:
    study, endpoint = make_study(instances=1), make_endpoint()
    for number, name in enumerate(method_names()):
        if isinstance(find_method(name), AskingMethod):
            found = estimate(study=study, judge=make_judge(name, endpoint=endpoint, name=f"j{number}"))
            assert found.calls >= 2, name
            assert found.prompt_tokens > 50 * found.calls, name


def test_baseline_costs_nothing() -> None:
    found = estimate(study=make_study(), judge=make_judge("coin"))
    assert (found.pending, found.calls, found.cost) == (6, 0, 0)


def test_sample_of_a_large_study_is_scaled_up(monkeypatch: pytest.MonkeyPatch) -> None:
    study, judge = make_study(instances=20), make_judge("prepair", endpoint=make_endpoint(**PRICES))
    whole = estimate(study=study, judge=judge)
    monkeypatch.setattr(estimates, "SAMPLE", 8)
    sampled = estimate(study=study, judge=judge)
    assert (sampled.sampled, sampled.is_exact) == (8, False)
    assert calls_of(sampled) == calls_of(whole) == {"critique": 80, "verdict": 40}
    assert sampled.prompt_tokens == pytest.approx(whole.prompt_tokens, rel=0.02)


def test_limit_bounds_what_is_asked() -> None:
    found = estimate(study=make_study(), judge=make_judge(), limit=4)
    assert (found.presentations, found.pending, found.calls) == (6, 4, 4)


@pytest.mark.slow
def test_what_is_done_or_stored_costs_nothing(standin: StandInProcess) -> None:
    endpoint = make_endpoint(standin.base_url, **PRICES)
    study, judge = make_study(), make_judge("prepair", endpoint=endpoint)
    run = run_at(judge, study)
    done = estimate(study=study, judge=judge)
    assert (done.pending, done.calls, done.cost) == (0, 0, 0)
    other = estimate(study=study, judge=make_judge("prepair", endpoint=endpoint, name="jack", seed=8))
    assert calls_of(other) == {"critique": 0, "verdict": 6}
    assert other.cached == 12
    Judgment.objects.filter(run=run).update(status="error", verdict=None)
    again = estimate(study=study, judge=judge)
    assert (again.pending, again.calls, again.cached) == (6, 0, 18)


def test_stored_answers_correct_the_guess(standin: StandInProcess) -> None:
    endpoint = make_endpoint(standin.base_url, **PRICES)
    study = make_study()
    run_at(make_judge(endpoint=endpoint), study)
    Completion.objects.update(prompt_tokens=1000, completion_tokens=33)
    found = estimate(study=study, judge=make_judge(endpoint=endpoint, name="jack", seed=8))
    assert (found.calls, found.learned_from) == (6, 6)
    assert found.prompt_tokens == pytest.approx(6000, rel=0.01)
    assert found.completion_tokens == 6 * 33
    Completion.objects.update(cache_key=None, request={}, text="")  # as in a study made of a bundle without completions
    assert estimate(study=study, judge=make_judge(endpoint=endpoint, name="jim", seed=9)).learned_from == 0


def test_estimate_takes_few_queries(django_assert_max_num_queries: Any) -> None:
    study, judge = make_study(instances=10), make_judge("sgm-prepair", endpoint=make_endpoint())
    with django_assert_max_num_queries(20):
        estimate(study=study, judge=judge)


def test_command_says_it_in_words_and_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    make_study()
    make_judge(endpoint=make_endpoint(**PRICES))
    call_command("estimate_run", "tea", "--max-cost=0.000001", judge="judy")
    assert "0.0000010 USD" in capsys.readouterr().out
    call_command("estimate_run", "tea", judge="judy", format="json")
    told = json.loads(capsys.readouterr().out)
    assert (told["calls"], told["tokens_by"], told["kinds"][0]["kind"]) == (6, "characters", "verdict")
    assert not JudgeRun.objects.exists()
