"""Separability by several measures: draws, models, what is kept side by side, and what can't be computed."""

import json
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command
from django.db.models import Max
from django.utils import timezone

from analysis.similarity.rouge import pairwise_rouge1
from analysis.similarity.separability import alignments
from annotation.core.actions import filled
from annotation.core.errors import AnnotationError, BadFields, InvalidSelection, UnknownName
from annotation.models import Alignment, Generation, Matchup, SeparabilityRun, StagedAlignment
from annotation.models.separability import names_of
from annotation.separability import alignments as separability_alignments
from annotation.separability import measure as separability_measure
from annotation.separability import texts as separability_texts
from annotation.separability.forms import ComputeSeparability
from annotation.separability.measure import default_similarity, measure_of
from annotation.separability.services import compute_separability, latest_run, latest_runs, require_run
from annotation.studies.configurations import configurations
from tests.annotation.separability.separability_studies import (
    APART,
    MIXED,
    FakeModel,
    drawn_texts,
    rows_of,
    run_of,
    stored,
    study_of,
)
from tests.factories import add_instances, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

THREE = ("alpha", "beta", "gamma")
SAMPLED = ("rouge1, 3 generations, seed 0", "rouge1, 3 generations, seed 7", "rouge1, 3 cross pairs, seed 0")


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> FakeModel:
    """Let every similarity that needs a model find this one."""
    fake = FakeModel()
    monkeypatch.setattr(separability_measure, "find_similarity_model", lambda needed, spec, **_: fake)
    monkeypatch.setattr(separability_measure, "default_model", lambda: "letters")
    return fake


# Alignments, against the slow way


def test_all_pairs_of_three_systems_are_those_of_the_slow_way() -> None:
    texts = drawn_texts(5, k=3, systems=THREE)
    study = study_of(*texts)

    results = compute_separability(study=study)

    assert [str(one.configuration) for one in results] == [
        "news: alpha / beta",
        "news: alpha / gamma",
        "news: beta / gamma",
    ]
    found = stored(study)
    for place, one in enumerate(texts, start=1):
        for a, b in (("alpha", "beta"), ("alpha", "gamma"), ("beta", "gamma")):
            slow = alignments(pairwise_rouge1(one[a] + one[b], one[a] + one[b]), 3)
            assert found["rouge1", f"{a} / {b}", f"news-{place}"][:3] == pytest.approx(tuple(slow), abs=1e-15)


def test_instances_that_are_compared_together_do_not_mix(monkeypatch: pytest.MonkeyPatch) -> None:
    study = study_of(*drawn_texts(9))
    compute_separability(study=study)
    whole = stored(study)
    SeparabilityRun.objects.all().delete()

    monkeypatch.setattr(separability_texts, "READ_AT_ONCE", 2)
    monkeypatch.setattr(separability_texts, "MOST_CHARACTERS", 100)
    monkeypatch.setattr(separability_texts, "_WINDOW", 3)
    compute_separability(study=study)

    assert stored(study) == whole


def test_unequal_numbers_of_texts_all_count() -> None:
    study = study_of({"alpha": ["cat", "cat", "dog"], "beta": ["cat", "cat"]}, APART)
    compute_separability(study=study)
    # AA: three pairs, of which one alike → 1/3; BB 1; cross: 4 of 6 alike → 2/3
    found = stored(study)["rouge1", "alpha / beta", "news-1"]
    assert found == pytest.approx((1 / 3, 1.0, 2 / 3, 1 / 3))


# Draws


def test_samples_are_drawn_by_the_seed_and_by_nothing_else() -> None:
    study = study_of(*drawn_texts(6, k=6))
    (first,) = compute_separability(study=study, samples=3, seed=1)
    before = stored(study)
    assert (first.run.samples, first.run.seed, first.run.cross_pairs, first.run.short) == (3, 1, None, 0)
    assert {key[0] for key in before} == {"rouge1, 3 generations, seed 1"}

    other = add_instances(make_study("other", instances=0), rows_of(*drawn_texts(6, k=6))[::-1])  # in another order
    add_instances(other, rows_of(*drawn_texts(2, k=6, seed=9), dataset="talk"))
    compute_separability(study=other, samples=3, seed=1)
    assert stored(other, run__dataset="news") == stored(study) == before
    compute_separability(study=study, samples=3, seed=2)
    assert list(stored(study, run__seed=2).values()) != list(before.values())


def test_a_draw_is_of_texts_of_its_system() -> None:
    # Whatever three of the six are drawn, A's texts are all alike, as are B's, and they share nothing.
    study = study_of({"alpha": ["cat dog"] * 6, "beta": ["sun sea"] * 6}, {"alpha": ["elm"] * 6, "beta": ["elm"] * 6})
    compute_separability(study=study, samples=3)
    assert [value[3] for value in stored(study).values()] == pytest.approx([1.0, 0.0])
    assert run_of(study).seed == 0


def test_cross_pairs_are_drawn_and_selves_stay() -> None:
    study = study_of(*drawn_texts(8, k=5))
    compute_separability(study=study)
    compute_separability(study=study, cross_pairs=4, seed=3)
    whole = list(stored(study, run__cross_pairs=None).values())
    drawn = list(stored(study, run__cross_pairs=4).values())
    assert [value[:2] for value in drawn] == [value[:2] for value in whole]
    assert [value[2] for value in drawn] != [value[2] for value in whole]
    assert SeparabilityRun.objects.count() == 2


def test_all_are_taken_where_there_are_fewer_and_that_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    study = study_of({"alpha": ["cat dog", "cat sun"], "beta": ["sun sea"] * 4}, *drawn_texts(1, k=4))
    call_command("compute_separability", "study", "--similarity", "rouge1", "--samples", "3", "--cross", "9")
    assert capsys.readouterr().out.strip() == (
        "news: alpha / beta: 2 matchups computed, 1 with fewer texts than were to be drawn: all taken"
    )
    compute_separability(study=study)
    whole, drawn = stored(study, run__samples=None), stored(study, run__samples=3)
    of_first = [next(v for k, v in some.items() if k[2] == "news-1") for some in (whole, drawn)]
    assert of_first[0][:3] == of_first[1][:3]
    assert run_of(study).short == 0


@pytest.mark.parametrize("values", [{"samples": 1}, {"samples": 0}, {"cross": 0}, {"seed": -1}], ids=str)
def test_draws_that_can_not_be_made_are_refused(values: dict[str, int]) -> None:
    with pytest.raises(BadFields) as refused:
        filled(ComputeSeparability, values)
    assert refused.value.codes == {name: ["min_value"] for name in values}


# Parts of a study


def test_a_part_leaves_the_rest_alone() -> None:
    study = study_of(*drawn_texts(2, systems=THREE))
    add_instances(study, rows_of(*drawn_texts(2, systems=THREE, seed=2), dataset="talk"))
    results = compute_separability(study=study, dataset="talk", systems=("gamma", "alpha"))
    assert [str(one.configuration) for one in results] == ["talk: alpha / gamma"]
    assert len(compute_separability(study=study, dataset="news")) == 3
    assert SeparabilityRun.objects.count() == 4
    with pytest.raises(UnknownName, match="has no film"):
        compute_separability(study=study, dataset="film")


# Several measures


def test_runs_by_several_measures_stand_side_by_side_and_those_without_draws_come_first() -> None:
    study = study_of(*drawn_texts(3, k=5))
    (configuration,) = configurations(study)
    for settings in ({}, {"samples": 3}, {"samples": 3, "seed": 7}, {"cross_pairs": 3}, {"similarity": "exact"}):
        compute_separability(study=study, **{"group": "-1,1", **settings})
    assert [run.label for run in SeparabilityRun.objects.all()] == [
        "exact",
        "rouge1, 3 cross pairs, seed 0",
        "rouge1, 3 generations, seed 7",
        "rouge1, 3 generations, seed 0",
        "rouge1",
    ]
    (result,) = compute_separability(study=study, samples=3, group="-1,1")
    assert not result.changed
    assert SeparabilityRun.objects.count() == 5
    found = {
        name: run.label for name in (None, "exact", "rouge1", *SAMPLED) if (run := latest_run(configuration, name))
    }
    # Computed last was rouge1; draws replace it only where they are asked for.
    assert found == {None: "rouge1", "exact": "exact", "rouge1": "rouge1", **{name: name for name in SAMPLED}}
    assert [run.label for run in latest_runs(study).values()] == ["rouge1"]
    SeparabilityRun.objects.filter(similarity="rouge1", samples=None, cross_pairs=None).delete()
    only_draws = latest_run(configuration, "rouge1")
    assert only_draws.label == "rouge1, 3 generations, seed 0"


def test_two_models_of_one_name_are_told_apart_by_their_fingerprints(model: FakeModel) -> None:
    study = study_of(*drawn_texts(3, k=3))
    (configuration,) = configurations(study)
    for fingerprint, draws in (
        ("a" * 8 + "1" * 56, {}),
        ("a" * 8 + "2" * 56, {}),
        ("a" * 8 + "2" * 56, {"samples": 2}),
    ):
        model.fingerprint = fingerprint
        compute_separability(study=study, similarity="cosine", group="-1,1", **draws)
    runs = SeparabilityRun.objects.all()
    one, two = "cosine (letters, aaaaaaaa1)", "cosine (letters, aaaaaaaa2)"
    assert names_of(runs) == ["cosine", "cosine (letters), 2 generations, seed 0", one, two]
    found = [latest_run(configuration, name) for name in (one, two, "cosine", "cosine (letters)")]
    assert [(run.model_fingerprint[8], run.samples) for run in found if run] == [
        ("1", None),
        ("2", None),
        ("2", None),
        ("2", None),
    ]


def test_an_unknown_similarity_is_told_what_there_is() -> None:
    study = study_of(*drawn_texts(3, k=3))
    compute_separability(study=study, samples=2)
    (configuration,) = configurations(study)
    with pytest.raises(InvalidSelection, match=r"known: .*rouge1.*: rouge1; rouge1, 2 generations, seed 0$"):
        require_run(configuration, "rouge1, 4 generations, seed 0")


def test_everything_is_recorded(capsys: pytest.CaptureFixture[str], model: FakeModel) -> None:
    study_of(*drawn_texts(3, k=5))
    call_command(
        *("compute_separability", "study", "--similarity", "cosine", "--model", "letters", "--samples", "4"),
        *("--cross", "5", "--seed", "11", "--group", "0,1", "--systems", "beta", "alpha", "--dataset", "news"),
        *("--format", "json"),
    )
    (said,) = json.loads(capsys.readouterr().out)
    run = SeparabilityRun.objects.get()
    assert (run.model, run.model_fingerprint) == ("letters", "f" * 64)
    assert (run.samples, run.cross_pairs, run.seed, run.group, run.low, run.high) == (4, 5, 11, "0,1", 0.0, 1.0)
    assert run.software_version
    assert run.seconds is not None
    assert run.seconds > 0
    assert (said["run"], said["matchups"], said["computed"], said["seed"]) == (run.pk, 3, 3, 11)


# What is computed again


class Counter:
    """Counts how many instances are compared."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: list[str] = []
        plain = separability_measure.AlignmentMeasure.matrices

        def counted(measure: Any, groups: Any) -> Any:
            self.names += groups
            return plain(measure, groups)

        monkeypatch.setattr(separability_measure.AlignmentMeasure, "matrices", counted)


def test_a_changed_text_has_its_own_instance_compared_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    study = study_of(*drawn_texts(6, systems=THREE))
    compute_separability(study=study)
    counter = Counter(monkeypatch)
    changed = Generation.objects.filter(instance__instance_id="news-4", system__name="beta").first()
    Generation.objects.filter(pk=changed.pk).update(text="ivy ivy ivy bay")

    results = compute_separability(study=study)

    assert counter.names == ["instance news-4 of news"]
    assert [one.computed for one in results] == [1, 0, 1]  # alpha / gamma is as it was
    incremental = stored(study)
    SeparabilityRun.objects.all().delete()
    compute_separability(study=study)
    assert stored(study) == incremental


@pytest.mark.parametrize("change", ["added", "removed", "swapped"])
def test_a_text_more_or_less_or_elsewhere_is_noticed(change: str) -> None:
    study = study_of(*drawn_texts(3))
    compute_separability(study=study)
    first = Generation.objects.filter(instance__instance_id="news-2", system__name="alpha").order_by("index")
    if change == "added":
        Generation.objects.create(instance=first[0].instance, system=first[0].system, index=99, text="oak")
    elif change == "removed":
        last = first.aggregate(last=Max("index"))["last"]
        Generation.objects.filter(pk=first.get(index=last).pk).delete()
    else:
        beta = Generation.objects.get(instance__instance_id="news-2", system__name="beta", index=0)
        texts = first[0].text, beta.text
        Generation.objects.filter(pk=first[0].pk).update(text=texts[1])
        Generation.objects.filter(pk=beta.pk).update(text=texts[0])
    (result,) = compute_separability(study=study)
    assert (result.changed, result.computed) == (True, 1)


def test_a_matchup_that_goes_takes_its_alignment_along() -> None:
    study = study_of(APART, MIXED)
    compute_separability(study=study)
    Matchup.objects.filter(instance__instance_id="news-1").delete()
    (result,) = compute_separability(study=study)
    assert (result.matchups, result.changed, Alignment.objects.count()) == (1, True, 1)


def test_another_version_or_model_recomputes_everything(monkeypatch: pytest.MonkeyPatch, model: FakeModel) -> None:
    study = study_of(*drawn_texts(3))
    compute_separability(study=study, similarity="cosine")
    monkeypatch.setattr(separability_measure, "VERSION", "99")
    (result,) = compute_separability(study=study, similarity="cosine")
    assert (result.computed, SeparabilityRun.objects.count()) == (3, 1)
    model.fingerprint = "0" * 64
    (result,) = compute_separability(study=study, similarity="cosine")
    assert (result.computed, SeparabilityRun.objects.count()) == (3, 2)


# Models


@pytest.mark.weekly
def test_a_model_reads_each_text_once(model: FakeModel) -> None:
    texts = drawn_texts(4, systems=THREE)
    study = study_of(*texts)
    compute_separability(study=study, similarity="bertscore-length", group="study")
    seen = [text for batch in model.read for text in batch]
    assert sorted(seen) == sorted({text for one in texts for some in one.values() for text in some})


def test_a_model_that_gives_nan_is_an_error_that_names_the_instance(model: FakeModel) -> None:
    study = study_of(*drawn_texts(2), {"alpha": ["cat dog", "gnu"], "beta": ["sun", "sea"]})
    compute_separability(study=study, group="0,1")
    before = stored(study)
    for similarity in ("cosine", "bertscore"):
        model.nan_for = "gnu"
        with pytest.raises(AnnotationError, match=r"instance news-3 of news.*gnu"):
            compute_separability(study=study, similarity=similarity)
    assert stored(study) == before


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param(np.full((4, 4), np.nan), "NaN or infinity for the text 'cat dog'", id="nan"),
        pytest.param(np.ones(3), r"an array \(3,\) for 4 texts", id="another shape"),
    ],
)
def test_a_similarity_of_ones_own_that_fails_names_the_instance(
    monkeypatch: pytest.MonkeyPatch, value: np.ndarray, message: str
) -> None:
    study = study_of(APART, MIXED)
    monkeypatch.setattr(
        separability_measure.registry,
        "get",
        lambda name: lambda a, b: value if "cat sun" in a else np.ones((len(a), len(b))),
    )
    with pytest.raises(AnnotationError, match=f"instance news-2 of news: {message}"):
        compute_separability(study=study)
    assert not SeparabilityRun.objects.exists()


def test_the_default_is_by_meaning_where_a_model_is_and_by_words_where_none_is(
    model: FakeModel, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    study = study_of(*drawn_texts(3))
    call_command("compute_separability", "study")
    assert run_of(study).label == "bertscore-length (letters)"
    assert capsys.readouterr().err == ""

    monkeypatch.setattr(separability_measure, "default_model", lambda: "")
    call_command("compute_separability", "study")
    assert run_of(study).label == "rouge1-length"
    assert "notice: no language model is installed" in capsys.readouterr().err
    assert default_similarity("named").similarity == "bertscore-length"


def test_measures_that_differ_in_anything_have_keys_that_differ() -> None:
    measures = [
        measure_of(similarity="rouge1"),
        measure_of(similarity="bleu"),
        measure_of(similarity="rouge1", samples=2),
        measure_of(similarity="rouge1", cross_pairs=2),
        measure_of(similarity="rouge1", samples=2, seed=1),
    ]
    assert len({one.sha256 for one in measures}) == len(measures)
    assert measure_of(similarity="rouge1", seed=5).seed is None  # nothing is drawn


# Texts at their limits


def test_empty_texts_have_their_defined_similarities(model: FakeModel) -> None:
    study = study_of({"alpha": ["cat", " "], "beta": ["cat", " "]}, APART)
    # Empty against empty is 1, against cat 0: selves 0, cross (1 + 0 + 0 + 1) / 4
    compute_separability(study=study, similarity="cosine")
    assert stored(study)["cosine (letters)", "alpha / beta", "news-1"][:3] == pytest.approx((0.0, 0.0, 0.5))


def test_an_instance_without_a_systems_texts_is_named() -> None:
    study = study_of(APART, MIXED)
    Generation.objects.filter(instance__instance_id="news-2", system__name="beta").delete()
    with pytest.raises(AnnotationError, match="instance news-2 of news has no text of beta"):
        compute_separability(study=study)


# A computation that is cut off


def cut_off_after(monkeypatch: pytest.MonkeyPatch, instances: int) -> None:
    """Let a computation end, as by a kill, when so many instances are compared; it stages all it has at once."""
    monkeypatch.setattr(separability_texts, "READ_AT_ONCE", 1)
    monkeypatch.setattr(separability_alignments, "STAGE_SECONDS", 0.0)
    left = iter(range(instances))
    plain = separability_measure.AlignmentMeasure.matrices

    def limited(measure: Any, groups: Any) -> Any:
        if next(left, None) is None:
            raise SystemExit
        return plain(measure, groups)

    monkeypatch.setattr(separability_measure.AlignmentMeasure, "matrices", limited)


def test_a_computation_that_is_cut_off_leaves_the_numbers_alone_and_is_gone_on_with() -> None:
    study = study_of(*drawn_texts(8))
    compute_separability(study=study, similarity="bleu", group="0,1")
    before = stored(study)
    with pytest.MonkeyPatch.context() as patch:
        cut_off_after(patch, 5)
        with pytest.raises(SystemExit):
            compute_separability(study=study)
    assert stored(study) == before
    assert StagedAlignment.objects.count() == 5

    Generation.objects.filter(instance__instance_id="news-1", index=0).update(text="elm")  # one that is staged
    with pytest.MonkeyPatch.context() as patch:
        counter = Counter(patch)
        (result,) = compute_separability(study=study)
    assert sorted(counter.names) == [f"instance news-{n} of news" for n in (1, 6, 7, 8)]
    assert result.computed == 8
    assert not StagedAlignment.objects.exists()
    resumed = stored(study, run__similarity="rouge1")
    SeparabilityRun.objects.filter(similarity="rouge1").delete()
    compute_separability(study=study)
    assert stored(study, run__similarity="rouge1") == resumed


def test_another_computation_that_was_stored_meanwhile_does_no_harm() -> None:
    study = study_of(*drawn_texts(5))
    compute_separability(study=study)
    Generation.objects.filter(instance__instance_id="news-1", index=0).update(text="elm")
    told: list[tuple[int, int]] = []

    def meanwhile(done: int, total: int) -> None:
        told.append((done, total))
        if len(told) == 1:
            Generation.objects.filter(instance__instance_id="news-2", index=0).update(text="oak")
            compute_separability(study=study)

    compute_separability(study=study, progress=meanwhile)
    assert told == [(4, 5), (5, 5)]
    assert SeparabilityRun.objects.count() == 1
    assert Alignment.objects.count() == 5
    (settled,) = compute_separability(study=study)  # what the slower one did not see is noticed now
    assert settled.computed == 1
    found = stored(study)
    SeparabilityRun.objects.all().delete()
    compute_separability(study=study)
    assert stored(study) == found


def test_old_leavings_go(monkeypatch: pytest.MonkeyPatch) -> None:
    study = study_of(*drawn_texts(3))
    matchup = Matchup.objects.earliest("pk")
    long_ago = timezone.now() - separability_alignments.STAGED_FOR * 2
    StagedAlignment.objects.create(measure_sha256="0" * 64, matchup=matchup, cross=0.0, staged_at=long_ago)
    monkeypatch.setattr(separability_alignments, "STAGE_SECONDS", 0.0)
    compute_separability(study=study)
    assert not StagedAlignment.objects.exists()
