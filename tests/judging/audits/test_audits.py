"""Audits: the judge that is asked, the instances that are drawn, and what becomes of them."""

from decimal import Decimal
from typing import Any

import pytest

from annotation.core.errors import UnknownName
from annotation.core.tasks.stopping import StopFlag
from annotation.models import Pair, Study
from judging.audits.services import Audit, auditor, estimate_audit, pairs_audited, start_audit
from judging.core.errors import BadSettings
from judging.endpoints.retrying import RetryingClient
from judging.models import Completion, Judge, JudgeRun, PromptFile
from judging.runs.execution import ExecutionResult, execute
from judging.runs.services import pairs_of
from tests.factories import add_instances, make_batch, make_study
from tests.fakes import ScriptedClient
from tests.judging.builders import make_endpoint, make_judge, no_sleep

pytestmark = [pytest.mark.django_db, pytest.mark.engine]
PRICES = {"price_prompt": Decimal(1000), "price_completion": Decimal(10_000)}
WORDING = (
    "Between [$fence begin] and [$fence end].\nInput: $source\nA: $first\nB: $second\n$question\nVerdict: <A or B>"
)


def store() -> Study:
    """Three systems on five instances, of which a batch for people has two systems only."""
    study = make_study("tea", instances=5, k=1, systems=("alpha", "beta", "gamma"))
    make_batch(study, pairs=1)
    return study


def work(run: JudgeRun, client: ScriptedClient) -> ExecutionResult:
    return execute(
        run.pk,
        stop=StopFlag(),
        when_stopped=JudgeRun.Status.PAUSED,
        make_client=lambda endpoint: RetryingClient(client, sleep=no_sleep),
    )


@pytest.mark.slow
def test_any_judge_is_asked_all_pairs_in_both_orders_and_negated_as_one_like_it(study: Study) -> None:
    judge = make_judge(order="random", family="llama")
    run = start_audit(Audit(study, judge, repeats=2))
    assert run.judge.name == "judy-audit2"
    same = ("method", "endpoint_id", "combine", "task", "family", "seed")
    assert all(getattr(run.judge, name) == getattr(judge, name) for name in same)
    assert (run.judge.order, run.judge.negated, run.judge.repeats) == ("both", True, 2)
    assert run.judge.params["temperature"] == 0.7  # at 0, repeats say nothing
    cells = run.judgments.all()
    assert cells.count() == 5 * 3 * 2 * 2 * 2
    assert set(cells.values_list("pair", flat=True)) == set(Pair.objects.values_list("pk", flat=True))
    assert judge.runs.count() == 0
    assert auditor(Audit(study, judge)).name == "judy-audit10"


def test_a_judge_that_asks_everything_is_asked_itself(study: Study) -> None:
    judge = make_judge(order="both", negated=True, repeats=3)
    assert auditor(Audit(study, judge)) == judge
    assert auditor(Audit(study, judge, repeats=3)) == judge
    assert auditor(Audit(study, judge, repeats=4)).name == "judy-audit4"


@pytest.mark.any_engine
def test_a_wording_makes_another_judge_whose_name_says_so(study: Study) -> None:
    wording = PromptFile.objects.create(name="short", version=2, text=WORDING, parser="verdict-line")
    judge = make_judge("direct", order="both", negated=True)
    with pytest.raises(BadSettings, match="can't ask the negated question"):
        auditor(Audit(study, judge, wording=wording))
    found = auditor(Audit(study, judge, wording=wording, negated=False))
    assert (found.name, found.prompt_file, found.negated) == ("judy-short-v2-plain10", wording, False)


@pytest.mark.any_engine
def test_a_long_name_is_cut_and_stays_its_own(study: Study) -> None:
    names = {auditor(Audit(study, make_judge("coin", name=f"{'j' * 78}{n}"))).name for n in range(2)}
    assert len(names) == 2
    assert {len(name) for name in names} == {80}


def test_more_instances_with_a_seed_include_the_fewer_and_new_ones_change_no_draw(study: Study) -> None:
    judge = make_judge("coin")

    def drawn(n: int, seed: int = 0) -> tuple[str, ...]:
        return pairs_audited(Audit(study, judge, instances=n, seed=seed)).instances

    assert set(drawn(2)) < set(drawn(4))
    assert len({drawn(2, seed) for seed in range(20)}) > 3
    assert drawn(5) == drawn(50) == ()  # all: later ones as well
    before = drawn(4)
    add_instances(study, instances=40, k=1, systems=("alpha", "beta"), dataset="mail")  # two systems: nothing to audit
    assert drawn(4) == before
    only = pairs_audited(Audit(study, judge, instances=2))
    assert pairs_of(study, None, only).count() == 6


@pytest.mark.slow
def test_an_audit_is_priced_as_it_will_be_and_resumes_within_its_budget(study: Study) -> None:
    judge = make_judge(endpoint=make_endpoint(**PRICES))
    audit = Audit(study, judge, repeats=1, instances=2)
    expected = estimate_audit(audit)
    assert (expected.presentations, expected.calls, expected.is_exact) == (24, 24, True)
    assert expected.cost
    assert not Judge.objects.filter(name="judy-audit1").exists()
    client = ScriptedClient(then=lambda body: "Worse: A" if "Worse" in str(body) else "Preferred: A")
    run = start_audit(audit, max_cost=Decimal("0.5"), in_flight=1)
    assert work(run, client).status == JudgeRun.Status.PAUSED
    made = len(client.bodies)
    assert 0 < made < 24
    again = start_audit(audit, max_cost=Decimal(1000))
    assert again == run
    assert estimate_audit(audit).pending == 24 - made
    assert work(again, client).status == JudgeRun.Status.DONE
    assert len(client.bodies) == 24
    # Two more instances ask about these alone; a larger draw finds the answers of the smaller one.
    more = start_audit(Audit(study, judge, repeats=1, instances=4))
    assert more != run
    assert work(more, client).status == JudgeRun.Status.DONE
    assert len(client.bodies) == 48 == Completion.objects.count()


@pytest.mark.parametrize(
    ("method", "settings", "refusal", "message"),
    [
        pytest.param("coin", {"repeats": 101}, BadSettings, "between 1 and 100", id="repeats"),
        pytest.param("coin", {"dataset": "mail"}, UnknownName, "no data set mail", id="data set"),
        pytest.param("imported", {}, BadSettings, "are imported", id="imported"),
    ],
)
@pytest.mark.any_engine
def test_what_cannot_be_asked_is_refused_and_stores_nothing(
    study: Study, method: str, settings: dict[str, Any], refusal: type[Exception], message: str
) -> None:
    judge = make_judge(method)
    with pytest.raises(refusal, match=message):
        start_audit(Audit(study, judge, **settings))
    assert (Judge.objects.count(), JudgeRun.objects.count()) == (1, 0)


@pytest.mark.any_engine
def test_two_systems_are_too_few_and_the_reason_names_a_way_out(db: None) -> None:
    study = make_study("two", instances=2, k=4)
    with pytest.raises(BadSettings, match=r"three compared systems.*copy_study --each-text"):
        start_audit(Audit(study, make_judge("coin")))


@pytest.mark.any_engine
def test_another_judge_of_the_auditors_name_is_not_taken_for_it(study: Study) -> None:
    judge = make_judge("coin")
    make_judge("longer", name="judy-audit10")
    with pytest.raises(BadSettings, match="judy-audit10"):
        start_audit(Audit(study, judge))
