"""Votes: from the screen to study order, changed until the HIT is submitted, and never by somebody else."""

from datetime import timedelta

import numpy as np
import pytest
from django.db import IntegrityError, transaction

from annotation.configurations import configuration
from annotation.errors import AssignmentClosed, ConsentNeeded, UnknownName, VotesMissing
from annotation.models import Assignment, Rating, Slot
from annotation.services.claims import release_expired
from annotation.services.consent import answer_consent
from annotation.services.studies import save_settings
from annotation.services.votes import places_without_vote, save_vote, screen_choice, submit_assignment
from annotation.tables import people, select
from annotation.version import VERSION
from tests.factories import NOON, claim, make_annotator, make_batch, make_study, rate

pytestmark = pytest.mark.django_db

LATER = NOON + timedelta(minutes=61)


def claimed(*, instances: int = 1, k: int = 2, raters: int = 2) -> Assignment:
    study = make_study(instances=instances, k=k)
    make_batch(study, pairs=k, raters=raters)
    return claim(make_annotator(study))


def keys(assignment: Assignment) -> list[str]:
    return list(assignment.displays.order_by("position").values_list("pair__key", flat=True))


@pytest.mark.parametrize(
    ("a_is_left", "choice", "verdict"),
    [
        (True, "left", -1),  # A is left and preferred
        (True, "none", 0),
        (True, "right", 1),
        (False, "left", 1),  # B is left and preferred
        (False, "none", 0),
        (False, "right", -1),
    ],
)
def test_a_choice_is_turned_from_the_screen_to_the_study_and_back(a_is_left: bool, choice: str, verdict: int) -> None:
    assignment = claimed(k=1)
    assignment.displays.update(a_is_left=a_is_left)

    rating = save_vote(assignment=assignment, pair_key=keys(assignment)[0], choice=choice, at=NOON)

    assert rating.verdict == verdict
    assert screen_choice(Rating.objects.select_related("display").get()) == choice
    assert (rating.stage, rating.rated_at, rating.software_version) == ("first", NOON, VERSION)


def test_a_vote_may_be_changed_until_the_hit_is_submitted() -> None:
    assignment = claimed(k=1)
    for choice in ("left", "none", "right"):
        save_vote(assignment=assignment, pair_key=keys(assignment)[0], choice=choice, at=NOON)
        assert screen_choice(Rating.objects.select_related("display").get()) == choice
    submit_assignment(assignment=assignment, at=NOON)

    with pytest.raises(AssignmentClosed, match="submitted before; nothing was changed"):
        save_vote(assignment=assignment, pair_key=keys(assignment)[0], choice="left", at=NOON)

    assert screen_choice(Rating.objects.select_related("display").get()) == "right"


def test_activity_extends_the_lease() -> None:
    assignment = claimed()
    at = NOON + timedelta(minutes=50)

    save_vote(assignment=assignment, pair_key=keys(assignment)[0], choice="left", at=at)

    assignment.refresh_from_db()
    assert assignment.expires_at == at + timedelta(minutes=60)


def test_a_pair_of_another_hit_is_refused() -> None:
    assignment = claimed(instances=2)
    other = claim(make_annotator(assignment.hit.batch.study, "other"))
    assert other.hit_id != assignment.hit_id

    with pytest.raises(UnknownName, match="not on this page"):
        save_vote(assignment=assignment, pair_key=keys(other)[0], choice="left", at=NOON)
    assert Rating.objects.count() == 0


@pytest.mark.parametrize("choice", ["", "up", "LEFT", "-1"])
def test_a_choice_that_is_not_offered_is_refused(choice: str) -> None:
    assignment = claimed()

    with pytest.raises(UnknownName, match="is not one of the choices"):
        save_vote(assignment=assignment, pair_key=keys(assignment)[0], choice=choice, at=NOON)


def test_no_preference_is_refused_where_it_is_not_offered() -> None:
    assignment = claimed()
    save_settings(study=assignment.hit.batch.study, ties_allowed=False)

    with pytest.raises(UnknownName, match="'none' is not one of the choices"):
        save_vote(assignment=assignment, pair_key=keys(assignment)[0], choice="none", at=NOON)


def test_a_hit_without_all_votes_is_not_submitted_and_names_the_places() -> None:
    assignment = claimed(k=4)
    for place in (0, 2):
        save_vote(assignment=assignment, pair_key=keys(assignment)[place], choice="left", at=NOON)

    with pytest.raises(VotesMissing, match="still open: 2, 4"):
        submit_assignment(assignment=assignment, at=NOON)

    assert places_without_vote(assignment) == [2, 4]
    assert Assignment.objects.get().state == "claimed"


def test_a_second_submit_is_refused_and_changes_nothing() -> None:
    assignment = rate(claimed())

    with pytest.raises(AssignmentClosed, match="submitted before"):
        submit_assignment(assignment=assignment, at=LATER)

    assignment.refresh_from_db()
    assert (assignment.state, assignment.submitted_at, assignment.expires_at) == ("submitted", NOON, None)
    assert Slot.objects.filter(assignment=assignment).count() == 1


# Leases that ran out


def test_an_annotator_who_comes_back_in_time_goes_on() -> None:
    assignment = claimed(raters=1)
    save_vote(assignment=assignment, pair_key=keys(assignment)[0], choice="left", at=NOON)
    release_expired(study=assignment.hit.batch.study, at=LATER)

    save_vote(assignment=assignment, pair_key=keys(assignment)[1], choice="right", at=LATER)
    submit_assignment(assignment=assignment, at=LATER)

    assert Assignment.objects.get().state == "submitted"
    assert Slot.objects.get().assignment == assignment
    assert Rating.objects.count() == 2


def test_an_annotator_whose_slot_was_given_away_is_told_and_the_votes_stay() -> None:
    assignment = claimed(raters=1)
    save_vote(assignment=assignment, pair_key=keys(assignment)[0], choice="left", at=NOON)
    taken = claim(make_annotator(assignment.hit.batch.study, "next"), LATER)

    with pytest.raises(AssignmentClosed, match="Your time for this HIT ran out"):
        save_vote(assignment=assignment, pair_key=keys(assignment)[1], choice="left", at=LATER)

    assert Slot.objects.get().assignment == taken
    assert Rating.objects.filter(display__assignment=assignment).count() == 1
    assert Assignment.objects.get(pk=assignment.pk).state == "expired"


def test_an_annotator_who_has_gone_on_does_not_hold_two_hits() -> None:
    old = claimed(instances=2, raters=1)
    study = old.hit.batch.study
    claim(make_annotator(study, "taker"), LATER)
    Slot.objects.filter(hit=old.hit).update(assignment=None)
    Assignment.objects.filter(annotator__user__username="taker").update(state="expired")
    other_hit = Slot.objects.exclude(hit=old.hit).get().hit
    Assignment.objects.create(hit=other_hit, annotator=old.annotator, state="claimed")

    with pytest.raises(AssignmentClosed, match="no longer open to you"):
        save_vote(assignment=old, pair_key=keys(old)[0], choice="left", at=LATER)

    assert Assignment.objects.filter(annotator=old.annotator, state="claimed").get().hit == other_hit
    assert Slot.objects.free().filter(hit=old.hit).count() == 1


# Consent


def test_votes_are_not_taken_from_someone_who_took_consent_back() -> None:
    assignment = claimed()
    answer_consent(annotator=assignment.annotator, accepted=False, at=NOON)

    with pytest.raises(ConsentNeeded):
        save_vote(assignment=assignment, pair_key=keys(assignment)[0], choice="left", at=NOON)
    with pytest.raises(ConsentNeeded):
        submit_assignment(assignment=assignment, at=NOON)

    assert Rating.objects.count() == 0


def test_a_changed_consent_text_is_a_new_version_and_line_ends_are_no_change() -> None:
    study = make_study(consent_text="First line.\nSecond line.")

    same = save_settings(study=study, consent_text="First line.\r\nSecond line.\r\n", title="New")
    assert (same.consent_version, same.title) == (1, "New")

    changed = save_settings(study=study, consent_text="First line.\nAnother.")
    assert changed.consent_version == 2


# The database's own guard


def test_the_database_refuses_what_must_never_be() -> None:
    assignment = rate(claimed(instances=2))
    second = claim(assignment.annotator)
    for broken in (
        Assignment(hit=assignment.hit, annotator=assignment.annotator, state="expired"),  # one HIT twice
        Assignment(hit=assignment.hit, annotator=second.annotator, state="claimed"),  # two open claims
        Slot(hit=second.hit, number=9, assignment=assignment),  # two slots by one assignment
        Rating(display=assignment.displays.first(), verdict=0),  # two votes on a pair
        Rating(display=second.displays.first(), verdict=2),
        Rating(display=second.displays.first(), verdict=0, wall_seconds=-1),
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            broken.save()


# What counts


def test_only_submitted_unexcluded_work_in_a_slot_counts() -> None:
    study = make_study(instances=1, k=2)
    make_batch(study, raters=6)
    counted, unsubmitted, excluded, barred, surplus = (claim(make_annotator(study, f"r{n}")) for n in range(5))
    for assignment in (counted, excluded, barred, surplus):
        rate(assignment)
    rate(unsubmitted, submit=False)
    Assignment.objects.filter(pk=excluded.pk).update(excluded=True)
    barred.annotator.excluded = True
    barred.annotator.save()
    Slot.objects.filter(assignment=surplus).update(assignment=None)

    found = people(select(configuration(study, dataset="news", systems=("alpha", "beta"))))

    assert found.raters == (counted.annotator.code,)
    assert list(Assignment.objects.counted()) == [Assignment.objects.get(pk=counted.pk)]
    assert len(found.outcomes) == 2


def test_arrays_are_in_study_order_with_the_side_beside_them() -> None:
    study = make_study(instances=2, k=3)
    batch = make_batch(study, pairs=3)
    annotator = make_annotator(study)
    for _ in range(2):
        rate(claim(annotator), "left")
    found = configuration(study, dataset="news", systems=("beta", "alpha"))

    selection = select(found, [batch])
    rated = people(selection, [batch])

    # Left was always preferred, so A is preferred exactly where A was left.
    assert (rated.outcomes.verdict == -1).tolist() == rated.first_is_a.tolist()
    assert set(rated.outcomes.verdict.tolist()) == {-1.0, 1.0}
    assert rated.outcomes.instance.tolist() == [0, 0, 0, 1, 1, 1]
    assert rated.outcomes.pair.tolist() == [0, 1, 2, 0, 1, 2]
    assert selection.instance_ids == ("news-1", "news-2")
    assert len(selection.pair_ids) == 6


def test_a_pair_that_was_shown_and_not_answered_is_a_missing_verdict() -> None:
    study = make_study(instances=1, k=2)
    make_batch(study, raters=3)
    whole, holed, _ = (rate(claim(make_annotator(study, name))) for name in "abc")
    holed.displays.get(pair__index=1).ratings.all().delete()
    whole.displays.get(pair__index=0).ratings.create(stage="revised", verdict=0)

    selection = select(configuration(study, dataset="news", systems=("alpha", "beta")))
    first, revised = people(selection), people(selection, stage="revised")

    missing = [
        (first.raters[rater], pair)
        for rater, pair, verdict in zip(first.outcomes.rater, first.outcomes.pair, first.outcomes.verdict, strict=True)
        if np.isnan(verdict)
    ]
    assert len(first.outcomes) == 6
    assert missing == [(holed.annotator.code, 1)]
    assert (revised.raters, revised.outcomes.verdict.tolist()) == ((whole.annotator.code,), [0.0])


def test_verdicts_outside_a_selection_stay_out_of_its_arrays() -> None:
    study = make_study(instances=2, k=2)
    one = make_batch(study, name="one", select="ids", instance_ids=["news-2"], pairs=1)
    make_batch(study, name="two", select="ids", instance_ids=["news-1"])
    annotator = make_annotator(study)
    for _ in range(2):
        rate(claim(annotator))
    found = configuration(study, dataset="news", systems=("alpha", "beta"))

    rated = people(select(found, [one]))

    assert rated.outcomes.instance.tolist() == [0]
    assert len(people(select(found)).outcomes) == 3


def test_a_selection_is_what_is_on_hits_or_everything_when_there_are_none() -> None:
    study = make_study(instances=3, k=2)
    found = configuration(study, dataset="news", systems=("alpha", "beta"))
    assert len(select(found).pair_ids) == 6

    batch = make_batch(study, pairs=1, select="ids", instance_ids=["news-3"])

    assert select(found).instance_ids == ("news-3",)
    assert len(select(found, [batch]).pair_ids) == 1
    assert select(found, []).instance_ids == ("news-1", "news-2", "news-3")
