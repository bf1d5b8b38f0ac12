"""Numbers on the judges' pages: how they are written, what was spent, how fast a run is going."""

from datetime import timedelta
from decimal import Decimal

import numpy as np
import pytest
from django.utils import timezone

from judging.core.proportions import proportion
from judging.models import Completion, Judgment
from judging.runs.figures import figures_of
from judging.runs.services import start_run
from judging.runs.usage import calls_by_kind, pace_of, usage_by_run, usage_of
from judging.templatetags.judged import amount, duration, percent, verdict_word
from tests.judging.builders import fill, make_endpoint, make_judge, make_study, pairs_in

pytestmark = pytest.mark.engine


@pytest.mark.parametrize(
    ("cost", "written"),
    [
        (None, "unknown"),
        (Decimal(0), "0.00 USD"),
        (Decimal("12.345"), "12.34 USD"),  # half to even, as Python rounds decimals
        (Decimal("12.346"), "12.35 USD"),
        (Decimal("0.01239"), "0.0124 USD"),
        (Decimal("0.0000129"), "0.000013 USD"),
    ],
)
def test_money_keeps_two_figures_however_small(cost: Decimal | None, written: str) -> None:
    assert amount(cost, "USD") == written


@pytest.mark.parametrize(
    ("value", "written"), [(None, "–"), (5 / 9, "55.6%"), (0.0, "0.0%"), (0.99951, "100.0%"), (2 / 3, "66.7%")]
)
def test_percent_is_rounded_and_not_cut(value: float | None, written: str) -> None:
    assert percent(value) == written


def test_times_and_verdicts_in_words() -> None:
    assert [duration(value) for value in (None, 10, 90, 3 * 3600 + 120)] == [
        *("", "less than a minute"),
        *("2 min", "3 h 2 min"),
    ]
    assert [verdict_word(value) for value in (-1, 0, 1.0, None, float("nan"))] == ["A", "tie", "B", "none", "none"]


def test_a_share_of_one_instance_has_no_interval_and_of_none_no_value() -> None:
    one = proportion([[1, 1], [0, 1]], [3, 3])
    assert (one.value, one.low, one.n, one.n_instances) == (0.5, None, 2, 1)
    nothing = proportion(np.zeros((2, 2)), [1, 2], left_out=4)
    assert (nothing.value, nothing.low, nothing.n, nothing.left_out) == (None, None, 0, 4)
    many = proportion(np.ones((100, 2)), np.arange(100))
    assert (many.value, many.low, many.high) == (1.0, pytest.approx(0.025**0.01), 1.0)  # all of n is not certainty


@pytest.mark.django_db
def test_spending_counts_what_is_known_and_says_what_is_not() -> None:
    study = make_study(instances=1, k=4)
    run = start_run(study=study, judge=make_judge(endpoint=make_endpoint(currency="EUR")))
    priced, cached, unpriced, open_one = run.judgments.order_by("pk")
    cells = Judgment.objects.all()
    cells.filter(pk=priced.pk).update(status="parsed", verdict=1, calls=2, cost=Decimal("0.5"), prompt_tokens=10)
    cells.filter(pk=cached.pk).update(status="parsed", verdict=1, calls=1, cached=1)
    found = usage_of(run.judgments.all(), "EUR")
    assert (found.calls, found.cached, found.cost, found.unpriced) == (2, 1, Decimal("0.5"), 0)
    assert found.per_verdict == Decimal("0.25")
    assert (found.prompt_tokens, found.completion_tokens) == (10, None)
    cells.filter(pk=unpriced.pk).update(status="unparsed", calls=3)
    found = usage_by_run(study)[run.pk]
    assert (found.calls, found.cost, found.unpriced, found.per_verdict) == (5, Decimal("0.5"), 1, None)
    assert found.currency == "EUR"
    cells.filter(pk=priced.pk).update(cost=None)
    assert usage_of(run.judgments.all(), "EUR").cost is None
    assert open_one.status == "pending"


@pytest.mark.django_db
def test_answers_are_counted_once_by_kind_however_many_judgments_use_them() -> None:
    study = make_study(instances=1, k=3)
    run = start_run(study=study, judge=make_judge())
    other = start_run(study=study, judge=make_judge("coin", name="coin"))

    def answer(key: str, kind: str, cost: Decimal | None) -> Completion:
        return Completion.objects.create(
            cache_key=key, base_url="x", request={}, kind=kind, prompt_tokens=5, completion_tokens=2, cost=cost
        )

    shared, verdict, strange = (
        answer("a", "critique", Decimal(1)),
        answer("b", "verdict", None),
        answer("c", "score", None),
    )
    for cell in run.judgments.all():
        cell.completions.add(shared)
    run.judgments.earliest("pk").completions.add(verdict)
    other.judgments.earliest("pk").completions.add(strange)
    found = [(one.kind, one.answers, one.prompt_tokens, one.cost, one.unpriced) for one in calls_by_kind(run)]
    assert found == [("critique", 1, 5, Decimal(1), 0), ("verdict", 1, 5, None, 1)]


@pytest.mark.django_db
def test_pace_is_of_the_last_minute_or_since_the_start() -> None:
    run = start_run(study=make_study(instances=2, k=5), judge=make_judge())
    now = timezone.now()
    cells = list(run.judgments.order_by("pk"))
    assert pace_of(run, pending=10, now=now).per_second is None
    for number, cell in enumerate(cells[:6]):
        cell.judged_at = now - timedelta(seconds=20 * number)  # three of them within the last minute, one at its edge
        cell.save()
    run.started_at = now - timedelta(hours=1)
    assert pace_of(run, pending=4, now=now).per_second == pytest.approx(4 / 60)
    assert pace_of(run, pending=4, now=now).seconds_left == pytest.approx(60)
    run.started_at = now - timedelta(seconds=10)
    assert pace_of(run, pending=4, now=now).per_second == pytest.approx(1 / 10)


@pytest.mark.any_engine
@pytest.mark.django_db
def test_figures_look_at_the_plain_question_asked_first() -> None:
    study = make_study(instances=3, k=1)
    run = start_run(study=study, judge=make_judge("coin"))
    run.judgments.all().delete()
    for pair in pairs_in(study):
        fill(run, pair, "ab", verdict=-1)
        Judgment.objects.create(run=run, pair=pair, order="ab", repeat=1, status="parsed", verdict=1)
        Judgment.objects.create(run=run, pair=pair, order="ab", negated=True, status="parsed", verdict=1)
    found = figures_of(run)
    assert (found.first.value, found.first.n) == (1.0, 3)
    assert (found.longer.value, found.longer.n) == (1.0, 3)  # the builders' A is the longer text
    assert sum(one.decided for one in found.length_bins) == 3
    assert found.orders is None
    assert found.self_agreement is not None
    assert (found.self_agreement.value, found.self_agreement.n) == (0.5, 6)
    assert found.negation is not None
    assert (found.negation.value, found.negation.n) == (0.0, 3)


@pytest.mark.any_engine
@pytest.mark.django_db
def test_a_run_without_a_single_answer_has_undefined_figures() -> None:
    found = figures_of(start_run(study=make_study(instances=1, k=1), judge=make_judge("coin", order="both")))
    assert (found.first.value, found.longer.value) == (None, None)
    assert (found.orders, found.self_agreement, found.negation) == (None, None, None)
