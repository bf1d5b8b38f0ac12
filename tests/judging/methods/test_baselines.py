"""The controls that need no endpoint, and the drawing of orders."""

import pytest

from analysis.types import Verdict
from annotation.core.tasks.stopping import StopFlag
from judging.calls.presentations import in_study_order, orders_for
from judging.methods import Baseline, Outcome, Presentation, find_method
from judging.models import Judge, Judgment
from judging.runs.execution import execute
from judging.runs.services import start_run
from tests.judging.builders import make_judge, make_study


def decide(
    name: str, *, source: str = "source", first: str = "", second: str = "", identity: str = "x", seed: int = 1
) -> Verdict:
    method = find_method(name)
    assert isinstance(method, Baseline)
    shown = Presentation("summarization", "?", source, first, second, identity)
    return method.decide(shown, seed=seed)


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        pytest.param("longer", "short", Verdict.A, id="first"),
        pytest.param("short", "longer", Verdict.B, id="second"),
        pytest.param("same", "size", Verdict.TIE, id="equal"),
        pytest.param("ééé", "abcd", Verdict.B, id="characters, not bytes"),
        pytest.param("", "", Verdict.TIE, id="empty"),
    ],
)
def test_longer_text_wins(first: str, second: str, verdict: Verdict) -> None:
    assert decide("longer", first=first, second=second) == verdict


@pytest.mark.parametrize(
    ("source", "first", "second", "verdict"),
    [
        # ROUGE-1 F1 is 2 common / (words of source + words of text): here 2*2/(4+2) against 2*1/(4+2).
        pytest.param("one two three four", "one two", "one five", Verdict.A, id="first"),
        pytest.param("one two three four", "one five", "one two", Verdict.B, id="second"),
        # 2*2/(4+2) against 2*2/(4+4): what isn't from the source costs.
        pytest.param("one two three four", "one two", "one two five six", Verdict.A, id="words from elsewhere"),
        # 2*2/(4+2) against 2*3/(4+3): of two extracts the longer one is nearer to the source.
        pytest.param("one two three four", "one two", "one two three", Verdict.B, id="a longer extract"),
        pytest.param("the birds were singing", "bird sings", "bees hum", Verdict.A, id="stems"),
        pytest.param("one two three four", "one two", "two one", Verdict.TIE, id="equal"),
        pytest.param("", "one two", "one", Verdict.TIE, id="no source"),
        pytest.param("鳥が鳴く", "鳥が鳴く", "蜂", Verdict.TIE, id="no Latin letters"),
    ],
)
def test_text_with_more_words_of_the_source_wins(source: str, first: str, second: str, verdict: Verdict) -> None:
    assert decide("overlap", source=source, first=first, second=second) == verdict


def test_coin_is_fair_and_the_same_for_the_same_seed() -> None:
    tosses = [decide("coin", identity=f"pair {number}") for number in range(2000)]
    assert tosses == [decide("coin", identity=f"pair {number}") for number in range(2000)]
    assert tosses != [decide("coin", identity=f"pair {number}", seed=2) for number in range(2000)]
    assert 0.45 < tosses.count(Verdict.A) / 2000 < 0.55
    assert Verdict.TIE not in tosses


def test_random_order_is_balanced_and_drawn_from_the_seed() -> None:
    one, other = Judge(order="random", seed=1), Judge(order="random", seed=2)
    drawn = [orders_for(one, f"pair {number}") for number in range(2000)]
    assert drawn == [orders_for(one, f"pair {number}") for number in range(2000)]
    assert drawn != [orders_for(other, f"pair {number}") for number in range(2000)]
    assert 0.45 < drawn.count(["ab"]) / 2000 < 0.55


@pytest.mark.parametrize(("order", "orders"), [("ab", ["ab"]), ("ba", ["ba"]), ("both", ["ab", "ba"])])
def test_fixed_order_is_kept(order: str, orders: list[str]) -> None:
    assert orders_for(Judge(order=order, seed=1), "pair") == orders


@pytest.mark.parametrize("verdict", Verdict)
def test_sides_are_turned_around_only_when_b_was_shown_first(verdict: Verdict) -> None:
    outcome = Outcome(verdict, p_second=0.25, score_first=4.0, score_second=2.0)
    assert in_study_order(outcome, "ab") == (verdict, 0.25, 4.0, 2.0)
    assert in_study_order(outcome, "ba") == (-verdict, 0.75, 2.0, 4.0)


@pytest.mark.slow
@pytest.mark.django_db
def test_coin_tosses_the_same_in_a_database_with_other_row_numbers() -> None:
    def toss() -> list[tuple[object, ...]]:
        study, judge = make_study(instances=6, k=3), make_judge("coin", order="random")
        execute(start_run(study=study, judge=judge).pk, stop=StopFlag())
        fields = ("pair__matchup__instance__instance_id", "pair__index", "order", "verdict")
        found = list(Judgment.objects.order_by(*fields[:2]).values_list(*fields))
        Judgment.objects.all().delete()
        judge.runs.all().delete()
        judge.delete()
        study.delete()
        return found

    once = toss()
    assert toss() == once
    assert {row[2] for row in once} == {"ab", "ba"}


@pytest.mark.django_db
def test_stopped_baseline_leaves_its_cells_open() -> None:
    run = start_run(study=make_study(), judge=make_judge("coin"))
    stop = StopFlag()
    stop.set()
    assert execute(run.pk, stop=stop).status == "queued"
    assert Judgment.objects.filter(status="pending").count() == 6
