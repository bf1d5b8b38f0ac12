"""Findings on studies small enough to be worked out by hand."""

from typing import Any

import pytest
from django.utils import timezone

from annotation.core.errors import UnknownName
from annotation.models import Annotator, Assignment, Batch, Study
from annotation.studies.outcomes import batches_named
from judging.models import Judge
from reporting.core.text import SCRIPTED
from reporting.findings.data.asked import judges_named
from reporting.findings.data.inputs import Filters
from reporting.findings.data.reading import read_study
from reporting.findings.reasons import not_computed_with
from reporting.findings.text import as_text
from tests.reporting.builders import (
    Built,
    build_batch,
    build_configuration,
    build_study,
    findings,
    judge,
    rate,
    separate,
)

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def store() -> Built:
    """Four instances of two pairs; δ is 0, 0.25, 0.5 and 1."""
    built = build_configuration(build_study("stored"), instances=4, pairs=2)
    separate(built, [(0.5, 0.5, 0.5)] * 4, [0.0, 0.25, 0.5, 1.0])
    return built


def only(study: Study, **filters: Any) -> dict[str, Any]:
    """The one configuration of a study."""
    (one,) = findings(study, rounds=50, **filters)["configurations"]
    return one


def test_study_without_ratings_is_undefined_and_not_zero(built: Built) -> None:
    people = only(built.study)["raters"][0]
    assert people["ratings"] == people["rating_sets"] == people["raters"] == 0
    for estimate in (people["mean_consistency"], people["raw_agreement"], people["krippendorff_alpha"]["ordinal"]):
        assert estimate["value"] is None
        assert estimate["low"] is None
        assert estimate["n"] == 0
        assert estimate["why_code"]
    assert [bin_["instances"] for bin_ in people["bins"]] == [1, 1, 1, 1]
    assert findings(built.study)["rankings"][0]["systems"][0]["value"] is None


def test_consistency_and_strength_by_hand(built: Built) -> None:
    rate(built, 0, "ann", [-1, -1])  # consistency 1, strength -1
    rate(built, 0, "bob", [-1, 1])  # 0, 0
    rate(built, 1, "ann", [0, 1])  # 0.5, 0.5
    rate(built, 2, "bob", [0, 0])  # 0, 0
    people = only(built.study)["raters"][0]
    assert people["raters"] == 2
    assert people["mean_consistency"]["value"] == pytest.approx((1 + 0 + 0.5 + 0) / 4)
    assert people["mean_consistency"]["n"] == people["rating_sets"] == 4
    assert people["mean_preference_strength"]["value"] == pytest.approx((-1 + 0 + 0.5 + 0) / 4)
    assert people["consistency_distribution"] == {"0.0": 2, "0.5": 1, "1.0": 1}
    assert people["preference_strength_distribution"] == {"-1.0": 1, "-0.5": 0, "0.0": 2, "0.5": 1, "1.0": 0}
    assert people["counts"] == {"a": 3, "tie": 3, "b": 2}
    # Two units have both people's votes: (-1, -1) agree, (-1, 1) do not; the other four have one.
    assert people["raw_agreement"]["value"] == pytest.approx(0.5)
    assert (people["raw_agreement"]["n"], people["raw_agreement"]["excluded"]) == (2, 4)


def test_bins_by_hand(built: Built) -> None:
    # Edges 0, 0.25, 0.5, 0.75, 1: the third bin holds 0.5, nothing lies in [0.75, 1) but 1 itself.
    rate(built, 0, "ann", [-1, -1])
    rate(built, 3, "ann", [0, 1])
    rate(built, 3, "bob", [1, 1])
    one = only(built.study)
    assert one["separability"]["edges"] == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert one["separability"]["normalisation"] == {"group": "configuration", "min": 0.0, "max": 1.0}
    assert one["separability"]["values"] == {"news-0": 0.0, "news-1": 0.25, "news-2": 0.5, "news-3": 1.0}
    bins = one["raters"][0]["bins"]
    assert [bin_["rating_sets"] for bin_ in bins] == [1, 0, 0, 2]
    assert [bin_["mean_consistency"]["value"] for bin_ in bins] == [1.0, None, None, 0.75]
    assert bins[1]["consistency_distribution"] == {"0.0": 0, "0.5": 0, "1.0": 0}
    assert bins[1]["mean_consistency"]["why_code"] == "no_set_in_bin"
    # A single instance in a bin cannot be resampled.
    assert bins[3]["mean_consistency"]["low"] is None


def test_separability_is_null_with_the_reason_when_not_computed() -> None:
    built = build_configuration(build_study(), instances=1, pairs=2)
    rate(built, 0, "ann", [1, 1])
    one = only(built.study)
    assert one["separability"] is None
    assert one["raters"][0]["bins"] == []
    assert one["raters"][0]["why_code"]
    assert one["raters"][0]["mean_consistency"]["value"] == 1.0
    alone = build_configuration(build_study("alone"), instances=1, pairs=1)  # one text cannot have one
    rate(alone, 0, "ann", [1])
    found = findings(alone.study)
    assert found["configurations"][0]["why_code"] == "one_text"
    assert "no_separability" not in [said["rule"] for said in found["answer"]]


def test_undefined_separability_is_null_and_in_no_bin() -> None:
    built = build_configuration(build_study(), instances=2, pairs=1)
    separate(built, [(None, 0.5, 0.5), (0.5, 0.5, 0.1)], [None, 0.4])
    one = only(built.study)
    assert one["separability"]["values"] == {"news-0": None, "news-1": 0.4}
    assert one["separability"]["undefined"] == 1
    assert one["separability"]["why_code"]
    assert sum(bin_["instances"] for bin_ in one["raters"][0]["bins"]) == 1


def test_named_similarity_is_used_and_else_the_most_recent(built: Built) -> None:
    separate(built, [(0.5, 0.5, 0.5)] * 4, [0.1, 0.2, 0.3, 0.4], similarity="bleu")
    assert only(built.study)["separability"]["similarity"] == "bleu"
    assert only(built.study, similarity="rouge1")["separability"]["similarity"] == "rouge1"
    assert only(built.study, similarity="bertscore")["why"] == not_computed_with("bertscore").text


def test_shown_first_counts_places_and_not_systems(built: Built) -> None:
    # ann prefers A shown first, then A shown second; bob ties, then prefers B shown first.
    rate(built, 0, "ann", [-1, -1], a_is_left=[True, False])
    rate(built, 0, "bob", [0, 1], a_is_left=[True, False])
    people = only(built.study)["raters"][0]
    assert people["shown_first"] == {"first": 2, "tie": 1, "second": 1}
    assert people["preferred_first"]["value"] == pytest.approx(2 / 3)
    assert people["preferred_first"]["n"] == 3


def test_uncounted_ratings_are_left_out_and_counted_by_reason(built: Built) -> None:
    rate(built, 0, "kept", [1, 1])
    rate(built, 0, "open", [-1, -1], state="claimed")
    rate(built, 0, "late", [-1, -1], fills_slot=False)
    rate(built, 0, "out", [-1, -1])
    Annotator.objects.filter(code="out").update(excluded=True)
    people = only(built.study)["raters"][0]
    assert people["counts"] == {"a": 0, "tie": 0, "b": 2}
    assert people["exclusions"] == {
        "withdrawn": 0, "check": 0, "excluded": 2, "not_submitted": 2, "surplus": 2, "repeated": 0,
    }  # fmt: skip


def test_checks_and_withdrawn_ratings_are_counted_once_each_whatever_else_holds(built: Built) -> None:
    rate(built, 0, "kept", [1, 1])
    first = rate(built, 1, "kept", [-1, -1])
    rate(built, 2, "gone", [-1, -1], fills_slot=False)
    for purpose, place in (("gold", 2), ("qualification", 3)):
        made = rate(built, place, f"r-{purpose}", [-1, -1], fills_slot=False)
        Assignment.objects.filter(pk=made.pk).update(purpose=purpose)
    again = rate(built, 3, "kept", [1, 1], fills_slot=False, state="claimed")
    Assignment.objects.filter(pk=again.pk).update(purpose="repeat", repeat_of=first, attempt=2, excluded=True)
    Annotator.objects.filter(code="gone").update(withdrawn_at=timezone.now(), excluded=True)

    people = only(built.study)["raters"][0]

    assert people["counts"] == {"a": 2, "tie": 0, "b": 2}
    assert people["raters"] == 1
    assert people["exclusions"] == {
        "withdrawn": 2, "check": 6, "excluded": 0, "not_submitted": 0, "surplus": 0, "repeated": 0,
    }  # fmt: skip


def test_second_vote_of_a_person_on_a_pair_in_another_batch_is_left_out(built: Built) -> None:
    again = build_batch(
        built.study, built.dataset, built.system_a, built.system_b, built.matchups, built.pairs, name="again"
    )
    rate(built, 0, "ann", [1, 1])
    rate(again, 0, "ann", [-1, -1])
    people = only(built.study)["raters"][0]
    assert people["counts"] == {"a": 0, "tie": 0, "b": 2}
    assert people["exclusions"]["repeated"] == 2
    only_again = only(built.study, batches=batches_named(built.study, ["again"]))["raters"][0]
    assert only_again["counts"] == {"a": 2, "tie": 0, "b": 0}


def test_incomplete_sets_are_left_out_and_counted() -> None:
    built = build_configuration(build_study("gaps"), instances=1, pairs=3)
    rate(built, 0, "ann", [1, None, None])
    rate(built, 0, "bob", [1, -1, 1])
    rate(built, 0, "eve", [1, 1, None])
    complete, all_sets = (only(built.study, with_incomplete=too)["raters"][0] for too in (False, True))
    assert (complete["rating_sets"], complete["incomplete_rating_sets"]) == (1, 2)
    assert (complete["mean_consistency"]["value"], complete["mean_consistency"]["excluded"]) == (0, 2)
    # A set of one rating never counts.
    assert (all_sets["rating_sets"], all_sets["incomplete_rating_sets"]) == (2, 2)
    assert (all_sets["mean_consistency"]["value"], all_sets["mean_consistency"]["excluded"]) == (0.5, 1)


def test_a_judge_asked_about_some_pairs_only_has_no_complete_set() -> None:
    built = build_configuration(build_study("few"), instances=1, pairs=3)
    rate(built, 0, "ann", [1, 1, 1])
    judge(built, "some", [(0, 0, "ab", 1), (0, 1, "ab", 1)])
    found = only(built.study)["raters"][1]
    assert (found["rating_sets"], found["incomplete_rating_sets"]) == (0, 1)


def test_batch_of_another_configuration_hides_this_one(built: Built) -> None:
    build_configuration(built.study, instances=1, dataset="talk", batch="talk-batch")
    found = findings(built.study, batches=batches_named(built.study, ["talk-batch"]), rounds=1)
    assert [one["dataset"] for one in found["configurations"]] == ["talk"]
    assert found["filters"]["batches"] == ["talk-batch"]


def test_scripted_raters_are_labelled(built: Built) -> None:
    rate(built, 0, "ann", [1, 1])
    assert only(built.study)["raters"][0]["scripted"] is False
    rate(built, 1, "robot", [1, 1], kind="scripted")
    found = findings(built.study, rounds=1)
    people = found["configurations"][0]["raters"][0]
    assert (people["scripted"], people["scripted_raters"], people["raters"]) == (True, 1, 2)
    assert people["note"] == SCRIPTED
    assert found["pooled"]["scripted"] is True


def test_judge_agreement_by_hand(built: Built) -> None:
    # Unit (0, 0): votes -1, -1, 1, so majority -1; unit (0, 1): 1, 0, -1, no majority; unit (1, 0): vote 0.
    rate(built, 0, "ann", [-1, 1])
    rate(built, 0, "bob", [-1, 0])
    rate(built, 0, "cem", [1, -1])
    rate(built, 1, "ann", [0, 1])
    # The judge: -1, 1, 0, and unparsed on the last. By vote: 2 of 3, 1 of 3, 1 of 1, so 4 of 7, one vote left out.
    judge(built, "direct", [(0, 0, "ab", -1), (0, 1, "ba", 1), (1, 0, "ab", 0), (1, 1, "ab", "unparsed")])
    found = only(built.study)["raters"][1]
    assert (found["rater"], found["kind"], found["raters"]) == ("judge:direct", "judge", 1)
    counts = {name: found[name] for name in ("asked", "parsed", "unparsed", "refused", "errors")}
    assert counts == {"asked": 4, "parsed": 3, "unparsed": 1, "refused": 0, "errors": 0}
    by_vote, by_majority = found["agreement_with_people"], found["agreement_with_majority"]
    assert (by_vote["value"], by_vote["n"], by_vote["excluded"]) == (pytest.approx(4 / 7), 7, 1)
    # By majority: (0, 0) and (1, 0) agree; (0, 1) has none.
    assert (by_majority["value"], by_majority["n"], by_majority["excluded"]) == (1.0, 2, 1)
    assert "raw_agreement" not in found
    # -1 shown ab is the first place, 1 shown ba too.
    assert found["shown_first"] == {"first": 2, "tie": 1, "second": 0}
    assert found["counts"] == {"a": 1, "tie": 1, "b": 1}
    assert (found["rating_sets"], found["incomplete_rating_sets"]) == (1, 1)


def test_judge_that_always_prefers_the_first_text_has_ties_but_shows_its_bias(built: Built) -> None:
    both = [(0, pair, order, -1 if order == "ab" else 1) for pair in (0, 1) for order in ("ab", "ba")]
    judge(built, "lazy", both, order="both")
    found = only(built.study)["raters"][1]
    assert found["counts"] == {"a": 0, "tie": 2, "b": 0}
    assert found["shown_first"] == {"first": 4, "tie": 0, "second": 0}
    assert found["preferred_first"]["value"] == 1.0


def test_judge_without_any_answer_is_undefined(built: Built) -> None:
    rate(built, 0, "ann", [-1, 1])
    judge(built, "mute", [(0, 0, "ab", "refused"), (0, 1, "ab", "error")])
    found = only(built.study)["raters"][1]
    assert (found["asked"], found["refused"], found["errors"], found["rating_sets"]) == (2, 1, 1, 0)
    assert found["mean_consistency"]["value"] is None
    assert found["agreement_with_people"]["value"] is None
    assert found["agreement_with_people"]["excluded"] == 2


def test_rates_of_more_than_two_systems_say_whom_each_met() -> None:
    study = build_study()
    rate(build_configuration(study, instances=2, pairs=1), 0, "ann", [1])
    rate(
        build_configuration(study, instances=1, pairs=2, systems=("first-system", "third"), prefix="x"), 0, "a", [1, 0]
    )
    ranking = findings(study, rounds=1)["rankings"][0]
    assert "is not a ranking" in ranking["caution"]
    assert {row["system"]: row["opponents"] for row in ranking["systems"]} == {
        "first-system": {"second-system": 1, "third": 2},
        "second-system": {"first-system": 1},
        "third": {"first-system": 2},
    }


def test_choice_by_separability_is_said_beside_the_numbers(built: Built) -> None:
    made = {"asked": {"spec": "top:3"}, "similarity": "rouge1", "separability": {"measure": "rouge1"}, "pool": 40}
    more = {"asked": {"spec": "random:1"}, "similarity": None, "separability": None, "pool": 37, "hits": 1}
    Batch.objects.filter(pk=built.batch.pk).update(selection={**made, "extensions": [more]})
    rate(built, 0, "ann", [1, 1])

    found = findings(built.study, rounds=1)

    [row] = found["configurations"][0]["chosen"]
    assert row == {
        "batch": "news-batch",
        "spec": "top:3",
        "kind": "top",
        "measure": "rouge1",
        "instances": len(built.hits) - 1,
        "pool": 40,
    }
    said = "top:3 of 40 by separability (rouge1)"
    assert said in found["pooled"]["chosen_note"]
    assert all(said in ranking["chosen_note"] for ranking in found["rankings"])
    assert as_text(found).count(said) == 1


@pytest.mark.parametrize("selection", [{}, {"asked": {"spec": "random:3"}, "pool": 40, "separability": None}])
def test_instances_drawn_at_random_need_no_word(built: Built, selection: dict[str, Any]) -> None:
    Batch.objects.filter(pk=built.batch.pk).update(selection=selection)
    found = findings(built.study, rounds=1)
    assert found["configurations"][0]["chosen"] == []
    assert "chosen_note" not in found["pooled"]


def test_judges_that_are_named_are_looked_at_alone(built: Built) -> None:
    judge(built, "one", [(0, 0, "ab", 1)])
    judge(built, "two", [(0, 0, "ab", -1)])

    found = findings(built.study, rounds=1, judges=judges_named(built.study, ["two"]))

    assert [rater["rater"] for rater in found["configurations"][0]["raters"]] == ["people", "judge:two"]
    assert {ranking["rater"] for ranking in found["rankings"]} == {"people", "judge:two"}
    assert found["filters"]["judges"] == ["two"]
    whole = findings(built.study, rounds=1)["configurations"][0]["raters"]
    assert found["configurations"][0]["raters"] == [rater for rater in whole if rater["rater"] != "judge:one"]
    with pytest.raises(UnknownName, match=r"no judge three has run on study .*; those that have: one, two"):
        judges_named(built.study, ["three"])


@pytest.mark.parametrize(
    ("shown", "method", "count"), [(None, "direct", 0), (("two",), "direct", 1), (("two",), "coin", 0)]
)
def test_judges_that_filters_leave_out_are_counted(
    built: Built, shown: tuple[str, ...] | None, method: str, count: int
) -> None:
    for name in ("one", "two"):
        judge(built, name, [(0, 0, "ab", 1)])
    Judge.objects.filter(name="one").update(method=method)
    assert read_study(built.study, Filters(judges=shown)).judges_not_shown == count


def test_pooling_needs_one_similarity_for_all_configurations_and_a_scale(built: Built) -> None:
    alike = build_configuration(build_study(), instances=2, pairs=1)
    separate(alike, [(0.5, 0.5, 0.5)] * 2, [0.3, 0.3])
    found = findings(alike.study, rounds=1)
    assert [bin_["instances"] for bin_ in found["configurations"][0]["raters"][0]["bins"]] == [0, 0, 0, 2]
    assert (found["pooled"]["mean_consistency_by_bin"], found["pooled"]["why_code"]) == (None, "no_scale")
    other = build_configuration(built.study, instances=1, dataset="talk")
    separate(other, [(0.5, 0.5, 0.5)], [0.1], similarity="bleu")
    assert findings(built.study, rounds=1)["pooled"]["why_code"] == "no_shared_measure"
