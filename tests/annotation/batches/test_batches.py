"""Making batches: which instances, which pairs, how many raters, and the same again from the same seed."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from analysis.planning.selection import inclusion_probabilities
from annotation.batches.forms import CreateBatch
from annotation.batches.sampling import shown_selection
from annotation.batches.services import create_batch
from annotation.core.actions import filled
from annotation.core.errors import InvalidSelection, UnknownName
from annotation.core.reasons import reason
from annotation.models import Alignment, Batch, Hit, HitPair, SeparabilityRun, Slot, Study
from tests.factories import add_instances, batch_spec, make_batch, make_study

pytestmark = pytest.mark.django_db


def separate(study: Study, values: list[float | None], similarity: str = "rouge1") -> SeparabilityRun:
    """Keep these separabilities for the instances of a study, in their order."""
    a, b = study.systems.all()
    run = SeparabilityRun.objects.create(
        study=study, dataset="news", system_a=a, system_b=b, similarity=similarity, group="configuration",
        low=0, high=1, texts_sha256="", software_version="0",
    )  # fmt: skip
    matchups = [instance.matchups.get() for instance in study.instances.all()]
    Alignment.objects.bulk_create(
        Alignment(run=run, matchup=matchup, cross=0, separability=value)
        for matchup, value in zip(matchups, values, strict=True)
    )
    return run


def chosen(batch: Batch) -> list[str]:
    """Ids of a batch's instances, in the order of the study."""
    found = batch.hits.order_by("matchup__instance__position")
    return list(found.values_list("matchup__instance__instance_id", flat=True))


def layout(batch: Batch) -> list[tuple[str, list[int]]]:
    """What raters get: the HITs in their order, each with the indexes of its pairs."""
    return [
        (hit.matchup.instance.instance_id, [link.pair.index for link in hit.hit_pairs.all()])
        for hit in batch.hits.order_by("position")
    ]


@pytest.mark.engine
def test_all_takes_every_instance_once_with_slots_for_each_rater() -> None:
    study = make_study(instances=4)

    batch = make_batch(study, pairs=2, raters=3)

    assert chosen(batch) == ["news-1", "news-2", "news-3", "news-4"]
    assert sorted(batch.hits.values_list("position", flat=True)) == [0, 1, 2, 3]
    assert Counter(Slot.objects.values_list("number", flat=True)) == {1: 4, 2: 4, 3: 4}
    assert Slot.objects.free().count() == 12
    assert (batch.status, batch.origin, batch.selection["pool"], batch.selection["left_out"]) == (
        "open",
        "collected",
        4,
        [],
    )


@pytest.mark.engine
def test_top_takes_the_most_separable_by_the_similarity_that_was_named() -> None:
    study = make_study(instances=5)
    separate(study, [0.1, 0.9, None, 0.5, 0.7])
    separate(study, [0.9, 0.1, None, None, None], similarity="chrf")

    batch = make_batch(study, select="top:3", similarity="rouge1")
    other = make_batch(study, name="other", select="top:1", similarity="chrf")

    assert (chosen(batch), chosen(other)) == (["news-2", "news-4", "news-5"], ["news-1"])
    assert batch.selection["similarity"] == "rouge1"


def test_batch_keeps_by_which_numbers_it_was_chosen() -> None:
    study = make_study(instances=2)
    separate(study, [0.1, 0.9])
    run = SeparabilityRun.objects.get()
    SeparabilityRun.objects.update(samples=3, seed=1, group="study", low=0.25, high=0.75)

    kept = make_batch(study, select="top:1").selection["separability"]

    assert kept["measure"] == "rouge1, 3 generations, seed 1"
    assert kept["normalisation"] == {"group": "study", "min": 0.25, "max": 0.75}
    assert kept["texts_sha256"] == run.texts_sha256
    assert make_batch(study, name="other", select="random:1").selection["separability"] is None


@pytest.mark.engine
def test_stratified_takes_as_many_from_every_bin() -> None:
    study = make_study(instances=8)
    separate(study, [0.0, 0.1, 0.2, 0.25, 0.6, 0.8, 0.9, 1.0])  # two bins: [0, .5) and [.5, 1]

    batch = make_batch(study, select="stratified:2x3")
    ids = chosen(batch)

    assert set(batch.hits.values_list("inclusion_probability", flat=True)) == {3 / 4}
    assert len(set(ids) & {"news-1", "news-2", "news-3", "news-4"}) == 3
    assert len(set(ids) & {"news-5", "news-6", "news-7", "news-8"}) == 3
    with pytest.raises(
        InvalidSelection, match=r"stratified:4x3 of news: alpha / beta: asked for 3 from each bin; too few"
    ):
        make_batch(study, name="more", select="stratified:4x3")


@pytest.mark.engine
def test_importance_keeps_each_instances_chance() -> None:
    study = make_study(instances=6)
    values = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    separate(study, values)  # type: ignore[arg-type]

    batch = make_batch(study, select="importance:3")

    expected = dict(zip([f"news-{n}" for n in range(1, 7)], inclusion_probabilities(values, 3), strict=True))
    found = dict(batch.hits.values_list("matchup__instance__instance_id", "inclusion_probability"))
    assert len(found) == 3
    assert found == pytest.approx({key: expected[key] for key in found})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"select": "ids", "instance_ids": ["news-1", "news-9", "no"]}, "2 of the ids can't be rated .*: news-9, no"),
        ({"select": "ids"}, "the list of ids is empty"),
        ({"select": "best"}, "selection is 'best'; it must be all, random:N"),
        ({"select": "random:0"}, "selection is 'random:0'"),
        ({"select": "random:"}, "selection is 'random:'"),
        ({"select": "random:4"}, "random:4 of news: alpha / beta: .*4"),
        ({"select": "top:1"}, "separability of news: alpha / beta is not computed yet; compute it on the study"),
        ({"select": "top:1", "similarity": "rouge1-length"}, "--similarity rouge1-length"),
        ({"select": "top:1", "similarity": "bogus"}, "there is no similarity bogus; known: .*rouge1"),
        ({"gold_rate": 0.3, "repeat_rate": 0.3}, "make 0.6; together they may be 0.5 at most"),
        ({"purpose": "gold", "gold_rate": 0.1}, "a batch for gold has no hidden checks"),
        ({"purpose": "qualification", "repeat_rate": 0.1}, "a batch for qualification has no hidden checks"),
        (
            {"pairs": 3},
            "no instance of news: alpha / beta can be rated: 3 with fewer than 3 pairs. There are 2: set pairs to 2",
        ),
    ],
    ids=str,
)
def test_what_cannot_be_chosen_is_refused_and_leaves_no_batch(settings: dict[str, Any], message: str) -> None:
    study = make_study()

    with pytest.raises(InvalidSelection, match=message):
        make_batch(study, **settings)

    assert Batch.objects.count() == 0


@pytest.mark.parametrize("settings", [{"dataset": "talk"}, {"systems": ("alpha", "gamma")}, {"systems": ("alpha", "alpha")}], ids=str)  # fmt: skip
def test_an_unknown_configuration_is_refused_with_those_that_exist(settings: dict[str, Any]) -> None:
    study = make_study()

    with pytest.raises(UnknownName, match=r"study study has no .*; it has news: alpha / beta"):
        make_batch(study, **settings)


def test_fewer_pairs_than_there_are_is_a_sample_without_replacement() -> None:
    study = make_study(instances=20, k=6)

    batch = make_batch(study, pairs=3)

    samples = [tuple(pairs) for _, pairs in layout(batch)]
    assert all(len(set(pairs)) == 3 and list(pairs) == sorted(pairs) for pairs in samples)
    assert len(set(samples)) > 1
    assert {index for pairs in samples for index in pairs} == {0, 1, 2, 3, 4, 5}


@pytest.mark.slow
@pytest.mark.engine
def test_a_seed_fixes_instances_order_and_pairs() -> None:
    study = make_study(instances=12, k=4)
    settings: dict[str, Any] = {"pairs": 2, "select": "random:6"}

    first, again, other = (
        layout(make_batch(study, name=name, seed=seed, **settings)) for name, seed in (("a", 5), ("b", 5), ("c", 6))
    )

    assert first == again
    assert first != other
    assert [name for name, _ in first] != sorted(name for name, _ in first)  # the queue has an order of its own


@pytest.mark.engine
def test_instances_that_cannot_be_shown_are_left_out_and_counted() -> None:
    study = make_study(instances=2, k=3)
    add_instances(study, prefix="few", instances=1, k=2)
    add_instances(study, prefix="bare", instances=2, k=3, source="")

    batch = make_batch(study, pairs=3)

    assert chosen(batch) == ["news-1", "news-2"]
    assert batch.selection["left_out"] == [
        {**reason("without_source").stored(), "number": 2},
        {**reason("with_few_pairs", pairs=3).stored(), "number": 1},
    ]
    in_words = {"without source text": 2, "with fewer than 3 pairs": 1}
    assert shown_selection(batch.selection)["left_out"] == in_words
    extended = shown_selection({"extensions": [batch.selection]})
    assert extended["extensions"][0]["left_out"] == in_words
    assert batch.selection["pool"] == 2
    with pytest.raises(InvalidSelection, match="1 of the ids can't be rated"):
        make_batch(study, name="x", pairs=3, select="ids", instance_ids=["bare-1"])


@pytest.mark.engine
def test_the_same_batch_again_changes_nothing() -> None:
    study = make_study()
    make_batch(study, select="random:2", seed=3)
    before = (Hit.objects.count(), HitPair.objects.count(), Slot.objects.count())

    spec = batch_spec(study, systems=("beta", "alpha"), pairs=2, raters=2, select="random:2", seed=3)
    again = create_batch(spec=spec, name="batch")
    without_seed = create_batch(spec=replace(spec, seed=4), name="batch", drawn=True)

    assert (again[1], without_seed[1]) == (False, False)
    assert again[0].pk == without_seed[0].pk
    assert before == (Hit.objects.count(), HitPair.objects.count(), Slot.objects.count())


@pytest.mark.parametrize(
    "change",
    [{"seed": 4}, {"pairs": 1}, {"raters": 3}, {"select": "all"}, {"similarity": "chrf"}, {"instance_ids": ["x"]}],
    ids=str,
)
def test_the_same_name_with_other_settings_is_refused(change: dict[str, Any]) -> None:
    study = make_study()
    make_batch(study, select="random:2", seed=3)

    with pytest.raises(InvalidSelection, match="with other settings"):
        make_batch(study, **{"select": "random:2", "seed": 3, **change})

    assert Batch.objects.count() == 1


def test_a_seed_that_was_not_given_is_drawn_and_recorded() -> None:
    form = filled(CreateBatch, {"name": "b", "dataset": "news", "systems": ["alpha", "beta"]}, study=make_study(k=5))

    [batch], made = form.run()

    assert made
    assert 0 <= batch.seed < 2**31


@pytest.mark.parametrize("name", ["", "x" * 201])
@pytest.mark.engine
def test_a_name_that_does_not_fit_is_refused(name: str) -> None:
    with pytest.raises(Exception, match="name: ") as caught:
        make_batch(make_study(), name=name)

    assert type(caught.value).__name__ == "AnnotationError"


@pytest.mark.slow
@pytest.mark.engine
def test_a_large_batch_takes_few_queries(django_assert_max_num_queries: Any) -> None:
    study = make_study(instances=150, k=2)

    with django_assert_max_num_queries(40):
        make_batch(study, raters=3)

    assert Slot.objects.count() == 450
