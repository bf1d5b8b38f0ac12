"""The judges' pages: who sees them, what they show, and that they work without JavaScript."""

import re
from collections.abc import Sequence
from datetime import timedelta
from decimal import ROUND_UP, Decimal
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from annotation.models import Pair, Study
from judging.core.fields import ParametersField
from judging.models import Judge, JudgeRun, Judgment, PromptFile, RunWorker
from judging.runs.estimates import estimate
from judging.runs.forms import PromptField
from judging.runs.services import start_run
from judging.runs.usage import failures_by_kind
from tests.judging.builders import fill, make_endpoint, make_judge, make_study, pairs_in

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def store() -> Study:
    return make_study()


def text_of(client: Client, address: str, **more: Any) -> str:
    answer = client.get(address, **more)
    assert answer.status_code == 200, address
    return answer.content.decode()


def test_progress_tells_pace_workers_and_what_is_left(researcher: Client, study: Study) -> None:
    run = start_run(study=study, judge=make_judge())
    now = timezone.now()
    JudgeRun.objects.update(status="running", started_at=now - timedelta(hours=1))
    done = list(run.judgments.order_by("pk").values_list("pk", flat=True)[:3])
    Judgment.objects.filter(pk__in=done).update(status="parsed", verdict=-1, judged_at=now - timedelta(seconds=5))
    RunWorker.objects.create(run=run, executor="elsewhere:1:x", heartbeat_at=now, in_flight=7)
    page = text_of(researcher, reverse("judging:run", args=["tea", run.pk]))
    assert "1 worker, 7 calls in flight" in page
    assert "0.1 a second" in page  # three in the last minute: 0.05, written with one decimal
    assert "1 min left at this pace" in page  # three more at three a minute
    RunWorker.objects.update(heartbeat_at=now - timedelta(minutes=5))
    assert "has stopped responding" in text_of(researcher, reverse("judging:run", args=["tea", run.pk]))


def test_errors_are_counted_by_kind(researcher: Client, study: Study) -> None:
    run = start_run(study=study, judge=make_judge())
    cells = list(run.judgments.order_by("pk"))
    for cell, code in zip(cells, ["HTTP 500", "HTTP 500", "time-out", "HTTP 404", "", "time-out"], strict=True):
        cell.status, cell.failure_code = "error", code
        cell.save()
    assert failures_by_kind(run)[:2] == [("HTTP 500", 2), ("time-out", 2)]
    page = text_of(researcher, reverse("judging:run", args=["tea", run.pk]))
    assert [line in page for line in ("2 × HTTP 500", "2 × time-out", "1 × HTTP 404", "1 × ?")] == [True] * 4


def test_money_is_known_partly_known_or_unknown(researcher: Client, study: Study) -> None:
    run = start_run(study=study, judge=make_judge())
    address = reverse("judging:run", args=["tea", run.pk])
    cells = run.judgments.order_by("pk")
    cells.update(status="parsed", verdict=1, calls=1, cached=0, cost=None)
    page = text_of(researcher, address)
    assert "unknown" in page[page.index('data-count="cost"') :][:100]
    assert "unknown" in text_of(researcher, reverse("judging:judges", args=["tea"]))
    cells.update(cost=Decimal("0.0015"))
    Judgment.objects.filter(pk=run.judgments.earliest("pk").pk).update(cost=None)
    page = text_of(researcher, address)
    assert "0.0075 USD" in page
    assert "and 1 presentation of unknown cost" in page
    assert "a verdict" not in page[page.index('data-count="cost"') :][:600]


def test_run_is_paused_resumed_and_cancelled_by_button(
    researcher: Client, study: Study, django_capture_on_commit_callbacks: Any
) -> None:
    run = start_run(study=study, judge=make_judge())
    address = reverse("judging:steer", args=["tea", run.pk])
    for action, status in [("pause", "paused"), ("resume", "queued"), ("cancel", "cancelled")]:
        with django_capture_on_commit_callbacks(execute=True):
            answer = researcher.post(address, {"action": action})
        assert answer.headers["Location"] == reverse("judging:run", args=["tea", run.pk])
        run.refresh_from_db()
        assert run.status == status
    assert researcher.post(address, {"action": "explode"}).status_code == 422


def test_judgment_page_of_an_open_cell_shows_what_will_be_sent(researcher: Client, study: Study) -> None:
    run = start_run(study=study, judge=make_judge())
    judgment = run.judgments.earliest("pk")
    page = text_of(researcher, reverse("judging:judgment", args=["tea", judgment.pk]))
    assert "To be sent" in page
    assert page.count("What was said in talk 0.") > 1  # the source, and the message


def test_judgments_are_listed_by_outcome_order_question_and_data_set(researcher: Client, study: Study) -> None:
    run = JudgeRun.objects.create(study=study, judge=make_judge("coin", name="coin"), status="done")
    first, second, *_ = pairs_in(study)
    made = {
        "a": fill(run, first, "ab", verdict=-1),
        "tie": fill(run, first, "ba", verdict=0),
        "refused": fill(run, second, "ab", status="refused"),
        "open": fill(run, second, "ba", status="pending"),
    }
    made["again"] = Judgment.objects.create(run=run, pair=first, order="ab", repeat=1, status="parsed", verdict=1)
    made["worse"] = Judgment.objects.create(run=run, pair=first, order="ab", negated=True, status="parsed", verdict=1)

    def listed(**query: str) -> set[str]:
        page = text_of(researcher, reverse("judging:judgments", args=["tea", run.pk]), data=query)
        links = {name: reverse("judging:judgment", args=["tea", one.pk]) for name, one in made.items()}
        return {name for name, link in links.items() if f'"{link}"' in page}

    assert listed() == set(made) - {"open"}
    assert listed(outcome="a") == {"a"}
    assert listed(outcome="tie") == {"tie"}
    assert listed(outcome="b", asked="plain") == set()
    assert listed(outcome="refused") == {"refused"}
    assert listed(outcome="pending") == {"open"}
    assert listed(order="ba") == {"tie"}
    assert listed(asked="repeat") == {"again"}
    assert listed(asked="negated") == {"worse"}
    assert listed(dataset="talk") == set(made) - {"open"}
    assert listed(outcome="nonsense") == set(made) - {"open"}  # not offered: narrows nothing


def test_figures_of_a_run_that_was_asked_both_ways_again_and_negated(researcher: Client, study: Study) -> None:
    judge = make_judge("coin", name="coin", order="both", repeats=2, negated=True)
    run = JudgeRun.objects.create(study=study, judge=judge, status="done")
    pairs = pairs_in(study)
    for pair, verdicts in zip(pairs, [(-1, -1), (-1, 1), (1, -1), (0, -1), (0, 0), (1, 1)], strict=True):
        for order, verdict in zip(("ab", "ba"), verdicts, strict=True):
            fill(run, pair, order, verdict=verdict)
    Judgment.objects.create(run=run, pair=pairs[0], order="ab", repeat=1, status="parsed", verdict=1)
    Judgment.objects.create(run=run, pair=pairs[0], order="ab", negated=True, status="parsed", verdict=-1)
    Judgment.objects.create(run=run, pair=pairs[1], order="ab", negated=True, status="parsed", verdict=1)
    page = " ".join(text_of(researcher, reverse("judging:run", args=["tea", run.pk])).split())
    assert (
        "3 the same; 1 each time for the text shown first; 1 each time for the second; 1 a tie and a preference" in page
    )
    assert "n = 6 pairs judged in both orders" in page
    assert "n = 2 repeated answers" in page  # A, then B: half of them equal the majority's
    assert "n = 2 presentations with both questions answered" in page
    # Heron's texts are the longer ones everywhere; of 9 decided first answers 5 are for A.
    assert "n = 9 verdicts on texts of different length that are no ties" in page
    assert "55.6%" in page


def test_judge_is_added_by_form_with_all_that_can_be_set(researcher: Client, study: Study) -> None:
    make_endpoint()
    address = reverse("judging:new-judge", args=["tea"])
    endpoint = make_endpoint(name="other")
    data = {"name": "jo", "method": "direct", "endpoint": endpoint.name, "order": "both", "combine": "tie"}
    more = {"repeats": 3, "negated": "on", "task": "dialogue", "family": "kin", "seed": 11}
    wanted = {**data, **more, "params": "temperature=0.5\n\nstop = END \n"}
    refused = researcher.post(address, {**wanted, "params": "model=other"})
    assert (refused.status_code, Judge.objects.count()) == (422, 0)
    page = text_of(researcher, reverse("judging:judges", args=["tea"]))
    assert 'href="#new"' in page  # without a judge no run can be started
    assert 'id="start"' not in page
    added = researcher.post(address, wanted, follow=True)
    assert added.redirect_chain == [("/studies/tea/judges/?judge=jo#start", 302)]
    assert re.search(r'<option value="jo" selected>', added.text)
    judge = Judge.objects.get()
    assert (judge.name, judge.endpoint, judge.order, judge.combine) == ("jo", endpoint, "both", "tie")
    assert (judge.repeats, judge.negated, judge.task, judge.family, judge.seed) == (3, True, "dialogue", "kin", 11)
    assert judge.params == {"temperature": 0.5, "stop": "END"}
    assert researcher.post(address, wanted).status_code == 302  # the same again is the same judge
    assert Judge.objects.count() == 1


@pytest.mark.parametrize(
    ("written", "told"),
    [
        pytest.param("top_p=NaN", "not a value that can be sent", id="no JSON"),
        pytest.param("top_p=1\ntop_p=0", "is given twice", id="twice"),
        pytest.param("top_p=1e400", "can't be stored", id="beyond all numbers"),
        pytest.param("stop=" + "[" * 200 + "]" * 200, "can't be stored", id="deep"),
        pytest.param("stop=" + "[" * 100_000, "can't be stored", id="very deep"),
        pytest.param('stop=["\\u0000"]', "can't be stored", id="nul"),
        pytest.param({"stop": [float("inf")]}, "can't be stored", id="infinite, of a request"),
    ],
)
def test_bad_parameters_are_refused(written: str | dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        ParametersField().clean(written)


def test_a_nul_in_the_name_of_a_prompt_is_refused() -> None:
    with pytest.raises(ValidationError) as caught:
        PromptField(required=False).clean("mine\0")
    assert [error.code for error in caught.value.error_list] == ["null_characters_not_allowed"]


def test_prompts_of_another_group_are_no_choice(researcher: Client, study: Study) -> None:
    from annotation.members.groups import create_group

    shared = PromptFile.objects.create(name="shared", text="$source", parser="letter")
    theirs = PromptFile.objects.create(
        name="theirs", text="$source", parser="letter", group=create_group(slug="far", name="Far")
    )
    page = text_of(researcher, reverse("judging:judges", args=["tea"]))
    assert str(shared) in page
    assert str(theirs) not in page


def test_run_is_started_by_form_with_a_cap_and_a_limit_and_left_to_a_worker(
    researcher: Client, study: Study, django_capture_on_commit_callbacks: Any
) -> None:
    make_judge(endpoint=make_endpoint(price_prompt=1, price_completion=2))
    data = {"judge": "judy", "in_flight": 4, "max_cost": "1.50", "limit": 2, "way": "batch", "batch_size": 500}
    with django_capture_on_commit_callbacks(execute=True):
        answer = researcher.post(reverse("judging:start", args=["tea"]), data)
    run = JudgeRun.objects.get()
    assert answer.headers["Location"] == reverse("judging:run", args=["tea", run.pk])
    assert (run.status, run.in_flight, run.judgments.count()) == ("queued", 4, 6)
    assert (run.max_cost, run.way, run.batch_size) == (Decimal("1.5"), "batch", 500)
    assert DBTaskResult.objects.get().args_kwargs["args"] == [run.pk, 2]


def test_estimate_comes_first_and_makes_nothing(researcher: Client, study: Study) -> None:
    make_judge(order="both", endpoint=make_endpoint(price_prompt=10, price_completion=20))
    address = reverse("judging:estimate", args=["tea"])
    start = f'formaction="{reverse("judging:start", args=["tea"])}"'
    assert start not in text_of(researcher, reverse("judging:judges", args=["tea"]))
    answer = researcher.post(address, {"judge": "judy", "in_flight": 4, "limit": 5})
    page = answer.content.decode()
    assert answer.status_code == 200
    assert "<strong>5 calls</strong>" in page
    assert " USD</strong>" in page
    assert start in page
    assert not JudgeRun.objects.exists()
    part = researcher.post(address, {"judge": "judy", "in_flight": 4}, headers={"HX-Request": "true"}).content.decode()
    assert "<strong>12 calls</strong>" in part  # six pairs in both orders
    assert part.lstrip().startswith("<details")
    assert "<html" not in part


def test_estimate_above_the_cap_says_so_with_what_the_run_has_spent(researcher: Client, study: Study) -> None:
    judge = make_judge(order="both", endpoint=make_endpoint(price_prompt=10, price_completion=20))
    address = reverse("judging:estimate", args=["tea"])
    found = estimate(study=study, judge=judge)
    assert found.cost is not None

    def told(cap: Decimal) -> bool:
        page = " ".join(
            researcher.post(address, {"judge": "judy", "in_flight": 4, "max_cost": cap}).content.decode().split()
        )
        return "This exceeds the cap of" in page

    enough = found.cost.quantize(Decimal("0.000001"), ROUND_UP)
    assert [told(cap) for cap in (enough, enough - Decimal("0.000002"))] == [False, True]

    run = start_run(study=study, judge=judge)
    Judgment.objects.filter(pk=run.judgments.earliest("pk").pk).update(status="parsed", verdict=1, cost=1, calls=1)
    assert told(Decimal(1))  # so much was spent already


def test_judges_of_other_studies_are_not_listed_among_this_ones(researcher: Client, study: Study) -> None:
    other = make_study(slug="coffee")
    JudgeRun.objects.create(study=other, judge=make_judge("coin", name="elsewhere"), status="done")
    make_judge("longer", name="fresh")
    page = text_of(researcher, reverse("judging:judges", args=["tea"]))
    assert "?judge=fresh#start" in page
    assert "?judge=elsewhere#start" not in page


def test_comparison_shows_disagreements_first_with_everything_that_was_said(researcher: Client, study: Study) -> None:
    first, second = make_judge("coin", name="one"), make_judge("longer", name="two")
    runs = [JudgeRun.objects.create(study=study, judge=judge, status="done") for judge in (first, second)]
    pairs = pairs_in(study)
    for pair, verdicts in zip(pairs, [(-1, -1), (0, -1), (-1, 1), (1, 1), (None, 1)], strict=False):
        for run, verdict in zip(runs, verdicts, strict=True):
            status = "unparsed" if verdict is None else "parsed"
            said = fill(run, pair, "ab", verdict=verdict, status=status)
            Judgment.objects.filter(pk=said.pk).update(rationale=f"<u>{run.judge.name} on {pair.pk}</u>")
    address = reverse("judging:compare", args=["tea"])
    page = text_of(researcher, address, data={"first": "one", "second": "two"})
    assert order_of(page, pairs[:5]) == [pairs[2], pairs[1], pairs[0], pairs[3], pairs[4]]
    assert "2 disagreements on 4 pairs with a verdict of both, of 5" in page
    assert f"&lt;u&gt;one on {pairs[2].pk}&lt;/u&gt;" in page
    assert f"&lt;u&gt;two on {pairs[2].pk}&lt;/u&gt;" in page
    assert pairs[2].generation_a.text in page
    only = text_of(researcher, address, data={"first": "one", "second": "two", "only": "on"})
    assert order_of(only, pairs[:5]) == [pairs[2], pairs[1]]


def order_of(page: str, pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs whose first text a page shows, in its order."""
    found = [pair for pair in pairs if pair.generation_a.text in page]
    return sorted(found, key=lambda pair: page.index(pair.generation_a.text))


@pytest.mark.parametrize(
    "query", [{"first": "one"}, {"first": "one", "second": "one"}, {"first": "x", "second": "@people"}]
)
def test_bad_comparison_is_refused_in_words(researcher: Client, study: Study, query: dict[str, str]) -> None:
    JudgeRun.objects.create(study=study, judge=make_judge("coin", name="one"))
    assert researcher.get(reverse("judging:compare", args=["tea"]), query).status_code == 422
