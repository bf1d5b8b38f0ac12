"""Findings weighted back to all instances that could be drawn: from the draw to the page."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from django.core.management import call_command

from annotation.models import Annotator, Assignment, Batch, Hit, HitPair, Study
from tests.annotation.batches.test_batches import chosen, separate
from tests.factories import claim, make_annotator, make_batch, make_study, make_user, signed_in
from tests.factories import rate as vote
from tests.reporting.builders import Built, build_batch, build_configuration, build_study, findings, judge, rate

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def rater_of(study: Study, place: int = 0, **filters: Any) -> dict[str, Any]:
    """What is found on one rater of a study's one configuration: people, or the judge."""
    (one,) = findings(study, rounds=50, **filters)["configurations"]
    found: dict[str, Any] = one["raters"][place]
    return found


def answer(annotator: Annotator, preferred: Mapping[str, Sequence[str]]) -> Assignment:
    """Claim a HIT and prefer these systems on the pairs of its instance, in the order of their pages."""
    assignment = claim(annotator)
    left = list(assignment.displays.order_by("position").values_list("a_is_left", flat=True))
    wanted = preferred[assignment.hit.matchup.instance.instance_id]
    choices = ["left" if (name == "a") == a_is_left else "right" for name, a_is_left in zip(wanted, left, strict=True)]
    return vote(assignment, choices)


@pytest.fixture
def drawn(db: None) -> Batch:
    """Two of four instances, of separability 0.1 to 0.4: 2 w / Σ w is 0.2, 0.4, 0.6 and 0.8. Drawn: the even ones.

    All three agree on the separable one (A, A), and nobody has an opinion on the other (A, B).
    """
    study = make_study(instances=4)
    separate(study, [0.1, 0.2, 0.3, 0.4])
    batch = make_batch(study, select="importance:2", raters=3, seed=2)
    assert chosen(batch) == ["news-2", "news-4"]
    for name in ("ann", "bob", "cid"):
        annotator = make_annotator(study, name)
        for _ in range(2):
            answer(annotator, {"news-2": "ab", "news-4": "aa"})
    return batch


def test_estimates_from_an_importance_sample_by_hand(drawn: Batch, capsys: pytest.CaptureFixture[str]) -> None:
    people = rater_of(drawn.study)
    found = people["weighted"]

    assert people["mean_consistency"]["value"] == pytest.approx(3 / 6)
    # Weights are 1/0.8 = 1.25 and 1/0.4 = 2.5; three sets each: (3·1.25·1 + 3·2.5·0) / (3·1.25 + 3·2.5).
    assert found["mean_consistency"]["value"] == pytest.approx(1 / 3)
    assert found["mean_consistency"]["as_drawn"] == pytest.approx(1 / 2)
    assert (found["mean_consistency"]["n"], found["mean_consistency"]["of"]) == (6, "rating sets")
    assert (found["mean_consistency"]["low"], found["mean_consistency"]["n_instances"]) == (None, 2)
    call_command("findings", drawn.study.slug)
    [line] = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("  mean consistency")]
    assert line[2:4] == ["0.500", "0.333,"]  # both numbers side by side
    assert found["mean_preference_strength"]["value"] == pytest.approx(-1 / 3)
    assert found["mean_preference_strength"]["as_drawn"] == pytest.approx(-1 / 2)
    # Six of six verdicts for A, and three of six: (6·1.25 + 3·2.5) / (6·1.25 + 6·2.5), drawn (6 + 3) / 12.
    assert found["shares"]["a"]["value"] == found["win_rate_a"]["value"] == pytest.approx(2 / 3)
    assert found["shares"]["a"]["as_drawn"] == found["win_rate_a"]["as_drawn"] == pytest.approx(3 / 4)
    assert found["shares"]["tie"]["value"] == 0
    assert found["shares"]["b"]["value"] == pytest.approx(1 / 3)
    assert (found["shares"]["b"]["n"], found["shares"]["b"]["of"]) == (12, "verdicts")
    assert (found["rating_sets"], found["instances"], found["rating_sets_left_out"]) == (6, 2, 0)
    assert (found["smallest_weight"], found["largest_weight"]) == pytest.approx((1.25, 2.5))
    assert found["effective_instances"] == pytest.approx(3.75**2 / (1.25**2 + 2.5**2))
    assert "why" not in found


def test_ratings_of_a_batch_without_chances_are_left_out_and_counted(drawn: Batch) -> None:
    before = rater_of(drawn.study)["weighted"]
    make_batch(drawn.study, name="all", raters=1, select="ids", instance_ids=["news-1"])
    answer(make_annotator(drawn.study, "dee"), {"news-1": "bb"})

    people = rater_of(drawn.study)

    assert people["rating_sets"] == 7
    after = people["weighted"]
    assert (after["rating_sets"], after["rating_sets_left_out"]) == (6, 1)
    assert after["why_code"] == "chance_unknown"
    for name in ("mean_consistency", "win_rate_a"):
        assert after[name]["value"] == before[name]["value"]
        assert after[name]["as_drawn"] == before[name]["as_drawn"]
    assert after["mean_consistency"]["excluded"] == 1
    assert after["win_rate_a"]["excluded"] == 2
    assert "weighted" not in rater_of(drawn.study, batches=[Batch.objects.get(name="all")])


def test_strata_are_weighted_back_by_what_they_hold() -> None:
    study = make_study(instances=4)
    separate(study, [0.0, 0.1, 0.2, 1.0])  # the lower bin holds three, the upper one
    make_batch(study, select="stratified:2x1", raters=1)
    rater = make_annotator(study)
    for _ in range(2):
        answer(rater, {**dict.fromkeys(["news-1", "news-2", "news-3"], "ab"), "news-4": "bb"})

    found = rater_of(study)["weighted"]

    assert found["mean_consistency"]["as_drawn"] == pytest.approx(1 / 2)
    assert found["mean_consistency"]["value"] == pytest.approx((1 * 1 + 3 * 0) / 4)


@pytest.mark.parametrize(("select", "answers"), [("random:2", {"news-1": "aa", "news-2": "ab"}), ("importance:1", {})])
def test_equal_chances_and_no_ratings_have_nothing_to_weight(select: str, answers: dict[str, str]) -> None:
    study = make_study(instances=2)
    separate(study, [0.1, 0.4])
    make_batch(study, select=select, raters=1)
    if answers:
        answer(make_annotator(study), answers)
    assert "weighted" not in rater_of(study)


@pytest.fixture
def twice(db: None) -> tuple[Built, Built]:
    """One of two instances is on the HITs of two batches, which drew it with chance 0.5 and 0.25."""
    first = build_configuration(build_study(), instances=2, pairs=2)
    second = build_batch(
        first.study, first.dataset, first.system_a, first.system_b, first.matchups[:1], first.pairs[:1], name="second"
    )  # fmt: skip
    Hit.objects.filter(batch=first.batch).update(inclusion_probability=0.5)
    Hit.objects.filter(batch=second.batch).update(inclusion_probability=0.25)
    return first, second


def test_each_rating_set_counts_with_the_chance_of_its_own_hit(twice: tuple[Built, Built]) -> None:
    first, second = twice
    rate(first, 0, "ann", [1, 1])
    rate(second, 0, "bob", [1, -1])

    found = rater_of(first.study)["weighted"]

    assert found["mean_consistency"]["value"] == pytest.approx((2 * 1 + 4 * 0) / (2 + 4))
    assert (found["rating_sets"], found["instances"]) == (2, 1)
    assert (found["smallest_weight"], found["largest_weight"]) == (2, 4)
    assert found["effective_instances"] == 1
    assert found["mean_consistency"]["low"] is None


def test_rating_set_on_hits_of_two_chances_is_left_out(twice: tuple[Built, Built]) -> None:
    first, second = twice
    for built, kept in ((first, first.pairs[0][0]), (second, second.pairs[0][1])):
        HitPair.objects.filter(hit=built.hits[0]).exclude(pair=kept).delete()
        built.pairs[0] = [kept]
        rate(built, 0, "ann", [1])
    rate(first, 1, "bob", [0, 1])

    found = rater_of(first.study)["weighted"]

    assert (found["rating_sets"], found["instances"], found["rating_sets_left_out"]) == (1, 1, 1)
    assert found["mean_consistency"]["value"] == 0.5
    assert found["win_rate_a"]["value"] == found["win_rate_a"]["as_drawn"] == 0.25


def test_votes_of_incomplete_sets_count_and_their_consistency_does_not(twice: tuple[Built, Built]) -> None:
    first, _ = twice
    Hit.objects.filter(matchup=first.matchups[1]).update(inclusion_probability=0.1)
    rate(first, 0, "ann", [1, None])
    rate(first, 1, "ann", [0, 1])

    found = rater_of(first.study)["weighted"]

    assert (found["rating_sets"], found["mean_consistency"]["value"]) == (1, 0.5)
    assert (found["smallest_weight"], found["largest_weight"]) == (2, 10)
    assert found["win_rate_a"]["n"] == 3
    # One vote for B with weight 2; a tie and a vote for B with weight 10: 5 of 22 points.
    assert found["win_rate_a"]["value"] == pytest.approx(5 / 22)


def test_pairs_rated_again_count_with_the_chance_of_the_first_hit(twice: tuple[Built, Built]) -> None:
    first, second = twice
    Hit.objects.filter(matchup=first.matchups[1]).update(inclusion_probability=0.1)
    rate(first, 0, "ann", [1, 1])
    rate(second, 0, "ann", [1, -1])
    rate(first, 1, "ann", [1, -1])

    found = rater_of(first.study)["weighted"]

    assert (found["rating_sets"], found["rating_sets_left_out"]) == (2, 0)
    assert found["mean_consistency"]["value"] == pytest.approx((2 * 1 + 10 * 0) / (2 + 10))


def test_judge_is_weighted_where_all_hits_on_an_instance_record_one_chance(twice: tuple[Built, Built]) -> None:
    first, second = twice
    Hit.objects.filter(batch=second.batch).update(inclusion_probability=0.5)
    Hit.objects.filter(batch=first.batch, matchup=first.matchups[1]).update(inclusion_probability=0.1)
    judge(first, "direct", [(0, 0, "ab", 1), (0, 1, "ab", 1), (1, 0, "ab", -1), (1, 1, "ab", 1)])
    found = rater_of(first.study, 1)["weighted"]
    assert found["mean_consistency"]["as_drawn"] == 0.5
    assert found["mean_consistency"]["value"] == pytest.approx((2 * 1 + 10 * 0) / (2 + 10))

    Hit.objects.filter(batch=second.batch).update(inclusion_probability=None)
    found = rater_of(first.study, 1)["weighted"]
    assert (found["rating_sets"], found["rating_sets_left_out"]) == (1, 1)
    assert "weighted" in rater_of(first.study, 1, batches=[first.batch])


def test_page_shows_both_and_nothing_without_chances(drawn: Batch) -> None:
    client = signed_in(make_user("reader", "researcher", study=drawn.study))
    address = f"/studies/{drawn.study.slug}/findings/"
    page = client.get(address).content.decode()
    assert "75.0% / 0.0% / 25.0%" in page
    assert "66.7% / 0.0% / 33.3%" in page
    Hit.objects.update(inclusion_probability=None)
    assert "Weighted back" not in client.get(address).content.decode()
