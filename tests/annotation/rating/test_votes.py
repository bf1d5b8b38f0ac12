"""Votes: from the screen to study order, changed until the HIT is submitted, and never by another annotator."""

from datetime import timedelta
from decimal import Decimal

import numpy as np
import pytest
from django.db import IntegrityError, transaction

from annotation.annotators.consent import answer_consent
from annotation.core.errors import AnnotationError, AssignmentClosed, ConsentNeeded, Unacceptable, VoteConflict
from annotation.core.version import VERSION
from annotation.hits.displays import mark_shown
from annotation.hits.slots import release_expired
from annotation.models import Assignment, Rating, Slot, VoteChange
from annotation.quality.qualification import screen_side
from annotation.rating.store_vote import ClientReport
from annotation.rating.votes import is_counted, save_vote, submit_assignment
from annotation.studies.configurations import configuration
from annotation.studies.outcomes import human_ratings, select
from annotation.studies.services import save_settings
from tests.factories import NOON, claim, keys_of, make_annotator, make_batch, make_study, rate

pytestmark = [pytest.mark.django_db, pytest.mark.engine, pytest.mark.slow]

LATER = NOON + timedelta(minutes=61)


def claimed(*, instances: int = 1, k: int = 2, raters: int = 2) -> Assignment:
    study = make_study(instances=instances, k=k)
    make_batch(study, pairs=k, raters=raters)
    return claim(make_annotator(study))


def test_a_choice_is_turned_from_the_screen_to_the_study_and_back() -> None:
    assignment = claimed(k=1)
    for a_is_left, choice, verdict in (
        (True, "left", -1),  # A is left and preferred
        (True, "none", 0),
        (True, "right", 1),
        (False, "left", 1),  # B is left and preferred
        (False, "none", 0),
        (False, "right", -1),
    ):
        assignment.displays.update(a_is_left=a_is_left)
        rating = save_vote(assignment=assignment, pair_key=keys_of(assignment)[0], choice=choice, at=NOON)

        assert rating.verdict == verdict
        assert Rating.objects.select_related("display").get().choice == choice
        assert (rating.stage, rating.rated_at, rating.software_version) == ("first", NOON, VERSION)


def test_a_vote_may_be_changed_and_extends_the_lease_until_the_hit_is_submitted() -> None:
    assignment = claimed(k=1)
    at = NOON + timedelta(minutes=50)
    for choice in ("left", "none", "right"):
        save_vote(assignment=assignment, pair_key=keys_of(assignment)[0], choice=choice, at=at)
        assert Rating.objects.select_related("display").get().choice == choice
    assignment.refresh_from_db()
    assert assignment.expires_at == at + timedelta(minutes=60)
    submit_assignment(assignment=assignment, at=at)

    before = history(assignment)
    with pytest.raises(AssignmentClosed, match="submitted before; nothing was changed"):
        save_vote(assignment=assignment, pair_key=keys_of(assignment)[0], choice="left", at=at)
    with pytest.raises(AssignmentClosed, match="submitted before"):
        submit_assignment(assignment=assignment, at=LATER)

    assert history(assignment) == before
    assert Rating.objects.select_related("display").get().choice == "right"
    assignment.refresh_from_db()
    assert (assignment.state, assignment.submitted_at, assignment.expires_at) == ("submitted", at, None)
    assert Slot.objects.filter(assignment=assignment).count() == 1


def test_a_choice_that_is_not_offered_is_refused() -> None:
    assignment = claimed()
    save_settings(study=assignment.hit.batch.study, ties_allowed=False, reason="Too many ties.")
    for choice in ("", "up", "LEFT", "-1", "none"):
        with pytest.raises(Unacceptable, match=f"“{choice}” is not one of the choices"):
            save_vote(assignment=assignment, pair_key=keys_of(assignment)[0], choice=choice, at=NOON)


# Leases that ran out


def test_a_vote_after_the_time_ran_out_is_marked_late_and_a_further_one_is_not() -> None:
    assignment = claimed(raters=1)

    late = save_vote(assignment=assignment, pair_key=keys_of(assignment)[0], choice="left", at=LATER)
    again = save_vote(assignment=assignment, pair_key=keys_of(assignment)[1], choice="left", at=LATER)
    submitted = submit_assignment(assignment=assignment, at=LATER)

    assert (late.late, again.late, submitted.late) == (True, False, False)
    assert is_counted(submitted)


@pytest.mark.parametrize(("pays_late", "due"), [(False, "0.00"), (True, "1.50")])
def test_late_work_is_kept_and_not_counted_once_another_has_its_place(pays_late: bool, due: str) -> None:
    assignment = claimed(raters=1)
    study = assignment.hit.batch.study
    save_settings(study=study, pay_per_hit=Decimal("1.50"), currency="EUR", pay_late=pays_late, reason="Now paid.")
    taken = rate(claim(make_annotator(assignment.hit.batch.study, "next"), LATER))

    for key in keys_of(assignment):
        assert save_vote(assignment=assignment, pair_key=key, choice="right", at=LATER).late
    assert Assignment.objects.get(pk=assignment.pk).state == "expired"
    submitted = submit_assignment(assignment=assignment, at=LATER)

    assert (submitted.state, submitted.late, is_counted(submitted)) == ("submitted", True, False)
    assert Assignment.objects.get(pk=submitted.pk).pay_due == Decimal(due)
    assert Slot.objects.get().assignment == taken
    assert [one.pk for one in Assignment.objects.counted()] == [taken.pk]
    assert Rating.objects.count() == 4


def test_late_work_counts_where_its_slot_is_still_unfilled() -> None:
    assignment = claimed(raters=1)
    release_expired(at=LATER)
    for key in keys_of(assignment):
        save_vote(assignment=assignment, pair_key=key, choice="left", at=LATER)
    release_expired(at=LATER + timedelta(minutes=61))

    submitted = submit_assignment(assignment=assignment, at=LATER + timedelta(minutes=62))

    assert submitted.late
    assert is_counted(Assignment.objects.get(pk=submitted.pk))


def test_an_annotator_who_has_gone_on_finishes_the_old_hit_without_holding_two() -> None:
    old = claimed(instances=2, raters=2)
    release_expired(at=LATER)
    other_hit = Slot.objects.exclude(hit=old.hit).first().hit
    current = Assignment.objects.create(hit=other_hit, annotator=old.annotator, state="claimed", expires_at=LATER)

    for key in keys_of(old):
        assert save_vote(assignment=old, pair_key=key, choice="left", at=NOON + timedelta(minutes=61)).late
    assert list(Assignment.objects.filter(annotator=old.annotator, state="claimed")) == [current]
    submitted = submit_assignment(assignment=old, at=NOON + timedelta(minutes=61))

    assert is_counted(submitted)  # its slot was still free
    assert list(Assignment.objects.filter(annotator=old.annotator, state="claimed")) == [current]


def test_late_work_on_a_matchup_rated_again_meanwhile_does_not_count_twice() -> None:
    old = claimed(raters=2)
    study = old.hit.batch.study
    release_expired(at=LATER)
    make_batch(study, name="second")
    again = Assignment.objects.create(
        hit=study.batches.get(name="second").hits.get(), annotator=old.annotator, state="submitted", submitted_at=LATER
    )
    Slot.objects.filter(hit=again.hit, number=1).update(assignment=again)
    for key in keys_of(old):
        save_vote(assignment=old, pair_key=key, choice="left", at=LATER)

    assert not is_counted(submit_assignment(assignment=old, at=LATER))


# History


def history(assignment: Assignment) -> list[tuple[int, str]]:
    rows = VoteChange.objects.filter(display__assignment=assignment).order_by("pk")
    return [(row.display_id, screen_side(row.verdict, row.display)) for row in rows]


def test_a_history_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotation.rating.store_vote.MOST_CHANGES", 3)
    assignment = claimed(k=1)
    for choice in ("left", "none", "left"):
        save_vote(assignment=assignment, pair_key=keys_of(assignment)[0], choice=choice, at=NOON)
    with pytest.raises(Unacceptable, match="too often"):
        save_vote(assignment=assignment, pair_key=keys_of(assignment)[0], choice="none", at=NOON)
    assert len(history(assignment)) == 3


def test_a_choice_from_a_page_that_does_not_know_the_last_one_is_refused() -> None:
    assignment = claimed(k=1)
    key = keys_of(assignment)[0]

    def vote(choice: str, page: str, version: int) -> Rating:
        sent = ClientReport(page=page, version=version)
        return save_vote(assignment=assignment, pair_key=key, choice=choice, at=NOON, report=sent)

    vote("left", "one", 0)
    with pytest.raises(VoteConflict, match="You have chosen on another page since; that stays"):
        vote("right", "two", 0)
    vote("left", "two", 0)  # says what is stored: nothing to refuse
    vote("none", "one", 0)  # the answer to its first choice was lost on the way: its own change is no news to it
    vote("right", "two", 2)  # loaded again

    display = assignment.displays.get().pk
    assert history(assignment) == [(display, "left"), (display, "none"), (display, "right")]
    assert Rating.objects.count() == 1


# Times


def test_times_are_kept_within_what_can_have_passed() -> None:
    assignment = claimed(k=2)
    mark_shown(assignment=assignment, at=NOON)
    at = NOON + timedelta(seconds=40)
    sent = ClientReport(chosen_at=NOON + timedelta(seconds=30), active_seconds=90, wall_seconds=3600)
    impossible = ClientReport(chosen_at=NOON + timedelta(days=3), active_seconds=-1)

    rating, other = (
        save_vote(assignment=assignment, pair_key=key, choice="left", at=at, report=report)
        for key, report in zip(keys_of(assignment), (sent, impossible), strict=True)
    )

    assert (rating.active_seconds, rating.wall_seconds) == (40, 40)
    assert other.active_seconds is None  # and not zero
    chosen = VoteChange.objects.order_by("pk").values_list("chosen_at", flat=True)
    assert list(chosen) == [NOON + timedelta(seconds=30), None]


# Consent


def test_votes_are_not_taken_from_someone_who_took_consent_back() -> None:
    assignment = claimed()
    answer_consent(annotator=assignment.annotator, accepted=False, at=NOON)

    with pytest.raises(ConsentNeeded):
        save_vote(assignment=assignment, pair_key=keys_of(assignment)[0], choice="left", at=NOON)
    with pytest.raises(ConsentNeeded):
        submit_assignment(assignment=assignment, at=NOON)

    assert Rating.objects.count() == 0


def test_a_changed_consent_text_is_a_new_version_and_line_ends_are_no_change() -> None:
    study = make_study(consent_text="First line.\nSecond line.")

    same = save_settings(study=study, consent_text="First line.\r\nSecond line.\r\n", title="New")
    assert (same.consent_version, same.title) == (1, "New")

    changed = save_settings(study=study, consent_text="First line.\nAnother.")
    assert changed.consent_version == 2
    with pytest.raises(AnnotationError):
        save_settings(study=changed, consent_text="")


# The database's own guard


def test_the_database_refuses_what_must_never_be() -> None:
    assignment = rate(claimed(instances=2))
    second = claim(assignment.annotator)
    for broken in (
        Assignment(hit=assignment.hit, annotator=assignment.annotator, state="expired"),  # one HIT twice
        Assignment(hit=assignment.hit, annotator=second.annotator, state="claimed"),  # two open claims
        Slot(
            hit=second.hit, batch=second.hit.batch, position=0, number=9, assignment=assignment
        ),  # two slots by one assignment
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

    found = human_ratings(select(configuration(study, dataset="news", systems=("alpha", "beta"))))

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
    rated = human_ratings(selection, [batch])

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
    Rating.objects.for_question(0).filter(display=holed.displays.get(pair__index=1)).delete()
    Rating.objects.create(display=whole.displays.get(pair__index=0), stage="revised", verdict=0)

    selection = select(configuration(study, dataset="news", systems=("alpha", "beta")))
    first, revised = human_ratings(selection), human_ratings(selection, stage="revised")

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

    rated = human_ratings(select(found, [one]))

    assert rated.outcomes.instance.tolist() == [0]
    assert len(human_ratings(select(found)).outcomes) == 3


def test_a_selection_is_what_is_on_hits_or_everything_when_there_are_none() -> None:
    study = make_study(instances=3, k=2)
    found = configuration(study, dataset="news", systems=("alpha", "beta"))
    assert len(select(found).pair_ids) == 6

    batch = make_batch(study, pairs=1, select="ids", instance_ids=["news-3"])

    assert select(found).instance_ids == ("news-3",)
    assert len(select(found, [batch]).pair_ids) == 1
    assert select(found, []).instance_ids == ("news-1", "news-2", "news-3")
