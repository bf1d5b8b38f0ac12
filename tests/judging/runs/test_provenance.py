"""Who answered for a judge, and prompts that were cut: stored, counted, warned of, exported."""

import json
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation.core.tasks.stopping import StopFlag
from annotation.models import Instance, Study
from judging.calls.budget import CallSizes
from judging.calls.store import expected_prompt_tokens, origin_of
from judging.methods.sc2.record import MAKING
from judging.models import Completion, JudgeRun, Judgment
from judging.outcomes.judgment_rows import judgment_rows
from judging.outcomes.provenance import MOST_ORIGINS, Origin, Provenance, is_mixed, provenance_of_run
from judging.runs.execution import execute
from judging.runs.services import start_run
from judging.runs.usage import reported_costs
from tests.judging.builders import make_endpoint, make_judge, make_study
from tests.standin.process import StandInProcess

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

SWAPPED = [["small", "fp_1", "Alpha"], ["llama3-8b-instruct", "fp_2", "Beta"]]


def lengthened(study: Study) -> Study:
    for place, instance in enumerate(study.instances.order_by("position")):
        instance.source = f"Talk {place} was given in the large hall. " * (3 + 4 * place)
        instance.save()
    return study


def run_on(standin: StandInProcess, *, instances: int = 12, **settings: Any) -> JudgeRun:
    prices = {"price_prompt": 1, "price_completion": 2}
    judge = make_judge(settings.pop("method", "direct"), endpoint=make_endpoint(standin.base_url, **prices), **settings)
    run = start_run(study=lengthened(make_study(instances=instances, k=1)), judge=judge)
    assert execute(run.pk, stop=StopFlag()).status == "done"
    return run


def status(capsys: pytest.CaptureFixture[str]) -> Any:
    """Return what `run_status` prints of the judge as JSON."""
    capsys.readouterr()
    call_command("run_status", "tea", "--judge", "judy", "--format", "json")
    return json.loads(capsys.readouterr().out)


def provenance(run: JudgeRun) -> Provenance:
    found = provenance_of_run(run, MAKING)
    assert found is not None
    return found


def test_model_that_is_asked_answers_without_a_warning(
    standin: StandInProcess, capsys: pytest.CaptureFixture[str], admin_client: Client
) -> None:
    run = run_on(standin)
    found = provenance(run)
    asked = run.judge.endpoint.model  # type: ignore[union-attr]
    assert found.origins == ((Origin(asked, asked, "fp_stand_in", ""), 12),)
    assert (found.mixed, found.counted, found.cut) == (False, 12, 0)
    assert status(capsys)["warnings"] == []
    page = admin_client.get(reverse("judging:run", args=["tea", run.pk])).content.decode()
    assert f'data-origin="{asked}"' in page
    assert "data-warning" not in page
    assert {row["prompt_cut"] for row in judgment_rows(run.study)} == {False}


def test_models_that_a_router_swaps_are_counted_and_warned_of(
    standin: StandInProcess, capsys: pytest.CaptureFixture[str], admin_client: Client
) -> None:
    standin.behave(served=SWAPPED)
    run = run_on(standin)
    found = provenance(run)
    assert found.mixed
    assert {tuple(origin[1:]) for origin, _ in found.origins} == {tuple(one) for one in SWAPPED}
    assert sum(answers for _, answers in found.origins) == 12
    told = status(capsys)
    assert len(told["warnings"]) == 1
    assert told["provenance"][0]["answered_by"][0]["answers"] == found.origins[0][1]
    page = admin_client.get(reverse("judging:run", args=["tea", run.pk])).content.decode()
    assert 'data-warning="mixed"' in page
    assert 'data-origin="llama3-8b-instruct"' in page
    by_model = {row["served_models"][0]: (row["fingerprints"], row["providers"]) for row in judgment_rows(run.study)}
    assert by_model == {model: ([fingerprint], [provider]) for model, fingerprint, provider in SWAPPED}
    judgment = Judgment.objects.filter(completions__served_model="llama3-8b-instruct").first()
    assert judgment is not None
    page = admin_client.get(reverse("judging:judgment", args=["tea", judgment.pk])).content.decode()
    assert "llama3-8b-instruct" in page
    assert "fp_2" in page
    assert "Beta" in page


@pytest.mark.parametrize(("window", "some"), [(100, False), (600, True)])
def test_prompts_beyond_the_window_are_counted_and_warned_of(
    standin: StandInProcess, capsys: pytest.CaptureFixture[str], admin_client: Client, window: int, some: bool
) -> None:
    standin.behave(window=window)
    run = run_on(standin, instances=40)
    at_window = set(Completion.objects.filter(prompt_tokens=window).values_list("pk", flat=True))
    found = provenance(run)
    assert (found.counted, found.cut) == (40, len(at_window))
    assert (0 < len(at_window) < 40) == some
    assert len(status(capsys)["warnings"]) == 1
    page = admin_client.get(reverse("judging:run", args=["tea", run.pk])).content.decode()
    assert 'data-warning="cut"' in page
    rows = [row["prompt_cut"] for row in judgment_rows(run.study)]
    assert rows.count(True) == len(at_window)
    for judgment in run.judgments.order_by("pk")[:40:13]:
        is_cut = judgment.completions.get().pk in at_window
        page = admin_client.get(reverse("judging:judgment", args=["tea", judgment.pk])).content.decode()
        assert ('data-warning="cut"' in page) == is_cut


def test_repeated_prompts_and_other_languages_are_no_cut_ones(standin: StandInProcess) -> None:
    standin.behave(prefix_cache=True)
    study = make_study(instances=9, k=1)
    sources = ["The hall was full. " * 40, "В зале было много людей. " * 40, "会議室は満員でした。" * 60]
    for place, instance in enumerate(Instance.objects.filter(study=study)):
        instance.source = sources[place % 3]
        instance.save()
    judge = make_judge(endpoint=make_endpoint(standin.base_url), repeats=4, params={"temperature": 0.7}, order="both")
    run = start_run(study=study, judge=judge)
    assert execute(run.pk, stop=StopFlag()).status == "done"
    # The stand-in counts four characters a token, of each language.
    assert Completion.objects.exclude(response__usage__prompt_tokens_details__cached_tokens=0).exists()
    latin = [pk for pk, request in Completion.objects.values_list("pk", "request") if "hall" in str(request)]
    others = Completion.objects.exclude(pk__in=latin)
    others.update(prompt_tokens=others.first().expected_prompt_tokens * 3)  # type: ignore[union-attr]
    assert provenance(run).cut == 0


def test_cost_that_the_endpoint_reports_is_shown_beside_its_prices(
    standin: StandInProcess, capsys: pytest.CaptureFixture[str], admin_client: Client
) -> None:
    standin.behave(billed=0.004)
    run = run_on(standin, instances=3)
    found = reported_costs(run)
    assert (found.answers, found.cost, found.differs) == (3, Decimal("0.012"), True)
    tokens = Completion.objects.values_list("prompt_tokens", "completion_tokens")
    assert found.list_price == sum((Decimal(sent + 2 * written) for sent, written in tokens), Decimal(0)) / 1_000_000
    assert status(capsys)["provenance"][0]["reported_costs"]["cost"] == 0.012
    assert "data-reported-costs" in admin_client.get(reverse("judging:run", args=["tea", run.pk])).content.decode()
    sizes = CallSizes()  # a restart knows it
    sizes.learn_from_run(run)
    assert sizes.price_factor == Decimal("0.004") / min(Completion.objects.values_list("list_price", flat=True)) > 1


def origin(model: str, fingerprint: str = "", provider: str = "", asked: str = "m") -> Origin:
    return Origin(asked, model, fingerprint, provider)


@pytest.mark.parametrize(
    ("origins", "mixed"),
    [
        pytest.param([origin("m", "f"), origin("", "")], False, id="not reported"),
        pytest.param([origin("m", "f"), origin("n", "g", asked="n")], False, id="two that were asked"),
        pytest.param([origin("m"), origin("n")], True, id="two models"),
        pytest.param([origin("m", "f"), origin("m", "g")], True, id="two builds"),
        pytest.param([origin("m", "f", "p"), origin("m", "f", "q")], True, id="two providers"),
        pytest.param([], False, id="nothing"),
    ],
)
def test_answers_are_mixed_where_one_asked_model_has_several_origins(origins: list[Origin], mixed: bool) -> None:
    assert is_mixed(origins) == mixed


def test_the_most_frequent_origins_are_listed_and_the_others_counted() -> None:
    counts = {origin("m", f"f{number:02}"): number for number in range(1, 26)}
    found = Provenance.of(counts, np.array([True, False]))
    assert len(found.origins) == MOST_ORIGINS
    assert found.origins[0] == (origin("m", "f25"), 25)
    assert (found.others, found.answers) == (1 + 2 + 3 + 4 + 5, 325)
    assert (found.counted, found.cut) == (2, 1)


@pytest.mark.parametrize(
    ("response", "found"),
    [
        pytest.param({"model": "m", "system_fingerprint": "f", "provider": "p"}, ["m", "f", "p"], id="all"),
        pytest.param({"model": " m ", "system_fingerprint": None}, ["m", "", ""], id="some"),
        pytest.param({"model": ["m"], "provider": 5}, ["", "", ""], id="no texts"),
        pytest.param({"model": "m" * 300}, ["m" * 200, "", ""], id="long"),
        pytest.param({}, ["", "", ""], id="nothing"),
    ],
)
def test_origin_is_read_from_a_response(response: dict[str, Any], found: list[str]) -> None:
    assert origin_of(response) == found


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        pytest.param("", 0, id="nothing"),  # 1 / 4: the `x` of the second message
        pytest.param("Which one?\n\n  The first.", 6, id="spaces"),  # 23 / 4
        pytest.param("Которая из двух?", 4, id="Cyrillic"),  # 18 / 4
        pytest.param("どちらが良いですか。", 6, id="Japanese"),  # 10 / 2 + 2 / 4
        pytest.param("混ぜた mixed текст \U00020000", 6, id="mixed"),  # 4 / 2 + 15 / 4
    ],
)
def test_tokens_of_a_prompt_are_estimated_from_its_messages(text: str, tokens: int) -> None:
    messages = [{"role": "system", "content": text}, {"role": "user", "content": "x"}]
    assert expected_prompt_tokens({"messages": messages}) == tokens
