"""What is forecast is what is made, with pairs drawn without replacement, and nothing is stored on the way."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from annotation.batches.forecast import extension_forecast, forecast
from annotation.batches.sampling import BatchSpec, SelectionSpec, ids_of, pool_of
from annotation.core.reasons import reason
from annotation.models import Batch, Event, Hit, HitPair, Slot, Study
from annotation.studies.configurations import configurations
from tests.annotation.batches.test_batches import chosen, layout, separate
from tests.factories import add_instances, make_batch, make_study

pytestmark = pytest.mark.django_db


def spec_of(study: Study, spec: str = "all", **changes: Any) -> BatchSpec:
    selection = SelectionSpec(spec, changes.pop("instance_ids", ()), changes.pop("similarity", None))
    return BatchSpec(
        configurations(study)[0], **{"pairs": 2, "raters": 2, "seed": 1, "selection": selection, **changes}
    )


class TestDraws(TestCase):
    """For any K, N, number and seed."""

    @pytest.mark.slow
    @settings(max_examples=8, deadline=None)
    @given(k=st.integers(1, 5), instances=st.integers(1, 6), seed=st.integers(0, 2**31 - 1), data=st.data())
    def test_what_is_forecast_is_what_is_made(self, k: int, instances: int, seed: int, data: st.DataObject) -> None:
        n, count = data.draw(st.integers(1, k)), data.draw(st.integers(1, instances))
        study = make_study(instances=instances, k=k)
        separate(study, [place / 10 for place in range(instances)])
        spec = data.draw(st.sampled_from(["all", f"random:{count}", f"top:{count}", f"importance:{count}"]))

        found = forecast(spec_of(study, spec, pairs=n, seed=seed))
        assert Batch.objects.filter(study=study).count() == 0
        one, again = (make_batch(study, name=name, pairs=n, select=spec, seed=seed) for name in ("one", "again"))

        assert list(found.instance_ids) == chosen(one)
        assert found.hits == (instances if spec == "all" else count)
        assert (found.hits, found.pairs) == (one.hits.count(), HitPair.objects.filter(hit__batch=one).count())
        assert found.work.ratings == n * Slot.objects.filter(batch=one).count()
        assert layout(one) == layout(again)
        samples = [pairs for _, pairs in layout(one)]
        assert all(len(set(pairs)) == n and set(pairs) <= set(range(k)) for pairs in samples)


@pytest.mark.engine
def test_a_forecast_stores_nothing_and_says_what_it_would_cost() -> None:
    study = make_study(instances=6, k=3, pay_per_hit=Decimal("0.50"), currency="EUR", minutes_per_hit=5)
    add_instances(study, prefix="bare", instances=2, k=3, source="")

    found = forecast(spec_of(study, "random:4", most_hits_per_rater=3), fee_percent=Decimal(10))

    assert (found.pool, found.chosen, found.left, found.left_out) == (6, 4, 2, {reason("without_source"): 2})
    assert (found.work.ratings, found.work.raters, found.work.cost) == (16, 3, Decimal("4.40"))
    assert found.as_json["cost"] == "4.40"
    assert found.as_json["hours"] == pytest.approx(8 * 5 / 60)
    assert (found.similarity, found.as_json["histogram"]) == (None, [])
    assert (Batch.objects.count(), Hit.objects.count(), Event.objects.count()) == (0, 0, 0)


@pytest.mark.engine
def test_the_histogram_shows_what_is_chosen_and_what_is_left() -> None:
    study = make_study(instances=6)
    separate(study, [0.0, 0.1, 0.4, 0.9, 1.0, None])

    found = forecast(spec_of(study, "top:2"))

    first, last, undefined = found.bars[0], found.bars[9], found.bars[10]
    assert len(found.bars) == 11
    assert (first.low, first.high, first.chosen, first.left) == (0.0, 0.1, 0, 1)
    assert (last.chosen, last.left, last.closed, last.chosen_width, last.left_width) == (2, 0, True, "100.00%", "0.00%")
    assert (undefined.low, undefined.chosen, undefined.left, undefined.left_width) == (None, 0, 1, "50.00%")


def test_the_histogram_has_the_bins_of_a_stratified_choice() -> None:
    study = make_study(instances=8)
    separate(study, [0.0, 0.1, 0.2, 0.25, 0.6, 0.8, 0.9, 1.0])

    found = forecast(spec_of(study, "stratified:2x3"))

    assert [(bar.low, bar.high, bar.chosen, bar.left) for bar in found.bars] == [(0, 0.5, 3, 1), (0.5, 1, 3, 1)]


def test_a_qualification_has_no_number_of_ratings() -> None:
    study = make_study(instances=2)
    study.instances.update(gold={"better": "alpha"})

    found = forecast(spec_of(study, purpose="qualification"))

    assert (found.hits, found.pairs, found.work) == (2, 4, None)
    assert found.as_json["ratings"] is None


@pytest.mark.engine
def test_the_pool_of_an_extension_leaves_out_what_the_batch_has() -> None:
    study = make_study(instances=5)
    batch = make_batch(study, select="ids", instance_ids=["news-4", "news-1", "news-4"])
    assert chosen(batch) == ["news-1", "news-4"]

    pool = pool_of(spec_of(study), batch)

    assert pool.instance_ids == ("news-2", "news-3", "news-5")
    assert pool.left_out == {reason("in_batch_already"): 2}
    assert extension_forecast(batch, 1, SelectionSpec("random:2"), 5).hits is not None


def test_ids_are_read_one_a_line() -> None:
    assert ids_of(" a\r\n\nb c \n\rd\x85e") == ["a", "b c", "d\x85e"]


@pytest.mark.slow
def test_a_forecast_takes_as_many_queries_for_ten_times_the_instances(
    django_assert_num_queries: Any, django_assert_max_num_queries: Any
) -> None:
    study = make_study(instances=20)
    separate(study, [place / 20 for place in range(20)])
    forecast(spec_of(study, "random:10"))

    with django_assert_max_num_queries(8) as few:  # databases differ in how columns are read
        forecast(spec_of(study, "random:10"))
    add_instances(study, prefix="more", instances=180)
    with django_assert_num_queries(len(few)):
        forecast(spec_of(study, "random:100"))
