"""What goes into findings: whose sets are incomplete, what the pooled scale is, and the words for what is missing."""

import json
from typing import Any

import pytest

from annotation.importing.formats.study_file import InstanceRow
from annotation.importing.rating_files import import_ratings
from annotation.models import Annotator, Hit, Study
from annotation.separability.services import compute_separability
from annotation.studies.outcomes import batches_named
from annotation.studies.votes import read_votes
from reporting.findings.reasons import ONE_CAME_LATER, ONE_OF_ONE_GENERATION
from reporting.separability.arrays import SeparabilityFilters
from reporting.separability.reading import distinguishable
from tests.factories import add_instances, make_batch, make_study
from tests.reporting.builders import findings

pytestmark = [pytest.mark.django_db, pytest.mark.engine, pytest.mark.slow]


def rate(study: Study, rater: str, pairs: dict[int, int], *, batch: str = "b", b: str = "beta") -> None:
    """Store a rater's ratings on news-1: pair index → rating."""
    rows = [
        {
            "batch": batch,
            "instance_id": "news-1",
            "system_a": "alpha",
            "system_b": b,
            "pair_index": pair,
            "rater": rater,
            "rating": rating,
            "shown_first": "a",
        }
        for pair, rating in pairs.items()
    ]
    import_ratings(data="\n".join(map(json.dumps, rows)).encode(), name="r.jsonl", slug=study.slug)


def people(study: Study, **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = findings(study, rounds=20, **options)["configurations"][0]["raters"][0]
    return found


def test_a_set_is_complete_when_its_own_hit_is_answered() -> None:
    study = make_study(instances=1, k=5)
    rate(study, "r1", {0: 1, 1: 1, 2: 1}, batch="b1")
    rate(study, "r2", {2: 1, 3: 0, 4: 1}, batch="b2")

    found = people(study)

    assert (found["rating_sets"], found["incomplete_rating_sets"]) == (2, 0)
    assert list(found["consistency_distribution"]) == ["0.0", "0.333333", "0.666667", "1.0"]  # thirds only


def test_others_studies_play_no_part_where_a_study_has_most_hits_and_where_it_has_few() -> None:
    most, few = make_study("most", instances=1, k=5), make_study("few", instances=1, k=5)
    for place in range(3):
        rate(most, "r", {place: 1}, batch=f"b{place}")
    rate(few, "r", {0: -1, 1: 0})
    counts = {study.slug: people(study)["counts"] for study in (most, few)}
    assert counts == {"most": {"a": 0, "tie": 0, "b": 3}, "few": {"a": 1, "tie": 1, "b": 0}}
    for study in (most, few):
        hits, batches = Hit.objects.filter(batch__study=study), [batch.pk for batch in study.batches.all()]
        votes = read_votes(study, hits, batches, stage="first", question=study.questions[0])
        assert set(votes.pair.tolist()) == set(hits.values_list("pairs", flat=True))


def test_excluding_one_rater_makes_no_other_set_complete() -> None:
    study = make_study(instances=1, k=5)
    rate(study, "bad", dict.fromkeys(range(5), 1))
    rate(study, "good", dict.fromkeys(range(4), 1))
    assert people(study)["incomplete_rating_sets"] == 1

    Annotator.objects.filter(code="bad").update(excluded=True)

    found = people(study)
    assert (found["rating_sets"], found["incomplete_rating_sets"]) == (0, 1)
    assert found["mean_consistency"]["value"] is None
    assert found["mean_consistency"]["why_code"] == "all_incomplete"
    assert people(study, with_incomplete=True)["mean_consistency"]["value"] == 1
    (sentence,) = [one for one in findings(study, rounds=20)["answer"] if "incomplete" in one["rule"]]
    assert (sentence["rule"], sentence["values"]) == ("all_incomplete", {"rating_sets": 1})


def test_the_pooled_scale_does_not_move_with_a_choice_of_batches() -> None:
    study = make_study(instances=0)
    texts = {"alpha": ["a b c d", "a b c e"], "beta": ["a x y z", "a x y w"], "gamma": ["k l m n", "o p q r"]}
    add_instances(study, [InstanceRow(1, "news-1", "news", "s", texts)])
    compute_separability(study=study)
    rate(study, "r1", {0: 1, 1: 1}, batch="ab")
    whole = findings(study, rounds=20)["pooled"]

    part = findings(study, rounds=20, batches=batches_named(study, ["ab"]))["pooled"]

    assert part["normalisation"] == whole["normalisation"]
    assert whole["normalisation"]["min"] == 0  # gamma shares no word with the others


@pytest.fixture
def checked() -> Study:
    """A study whose data set `first` is for a qualification; of `news`, news-3 is a hidden check."""
    study = make_study(instances=0)
    near = {"alpha": ["a b c d", "a b c e"], "beta": ["a b x y", "a b x z"]}
    far = {"alpha": ["p q r s", "p q v w"], "beta": ["k l m n", "g h i j"]}
    rows = [InstanceRow(number, f"news-{number}", "news", "s", near) for number in (1, 2)]
    gold = {"gold": {"better": "alpha"}}
    rows += [InstanceRow(3, "news-3", "news", "s", far, **gold), InstanceRow(4, "first-1", "first", "s", far, **gold)]
    add_instances(study, rows)
    compute_separability(study=study, similarity="rouge1")
    make_batch(study, name="q", dataset="first", purpose="qualification")
    make_batch(study, name="g", purpose="gold", select="ids", instance_ids=["news-3"])
    return study


@pytest.mark.parametrize("batch", [False, True])
def test_qualification_and_hidden_checks_are_in_no_finding(checked: Study, batch: bool) -> None:
    if batch:
        make_batch(checked, name="r")

    found = findings(checked, rounds=20)

    assert [(one["dataset"], one["instances"], one["pairs"]) for one in found["configurations"]] == [("news", 2, 4)]
    # The checks' texts share no word: by them the lowest alignment of the study would be 0.
    assert found["pooled"]["normalisation"]["min"] == pytest.approx(0.5)
    assert found["pooled"]["undefined"] == 0


@pytest.mark.any_engine
def test_qualification_and_hidden_checks_are_not_looked_at_for_separability(checked: Study) -> None:
    found = distinguishable(checked, SeparabilityFilters(rounds=20))

    assert [(one["dataset"], one["matchups"]) for one in found["configurations"]] == [("news", 2)]


def test_instances_that_came_after_separability_are_told_from_those_without_one() -> None:
    study = make_study(instances=2, k=2)
    add_instances(study, [InstanceRow(1, "lone", "news", "s", {"alpha": ["a b"], "beta": ["c d", "c e"]})])
    compute_separability(study=study)
    add_instances(study, [InstanceRow(1, "late", "news", "s", {"alpha": ["a b"] * 2, "beta": ["c d", "c e"]})])

    separability = findings(study, rounds=20)["configurations"][0]["separability"]

    pooled = findings(study, rounds=20)["pooled"]
    assert (pooled["undefined"], pooled["why_code"]) == (2, "in_no_bin")
    assert separability["undefined"] == 2
    assert separability["why"] == f"{ONE_CAME_LATER.text}; {ONE_OF_ONE_GENERATION.text}"
