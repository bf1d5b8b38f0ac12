"""Hidden checks, thresholds, and the qualification before the first HIT."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.allocation.claims import claim_hit, has_work, return_hit
from annotation.allocation.lease import has_consented
from annotation.allocation.no_work import no_work_reason
from annotation.annotators.consent import answer_consent, withdraw
from annotation.core.errors import AssignmentClosed, ClaimRefused
from annotation.core.reasons import reason
from annotation.hits.slots import release_expired
from annotation.models import Annotator, Assignment, Batch, QualificationResult, Rating, Slot, Study
from annotation.monitoring.batch_annotators import glance_at, raters_of
from annotation.quality.exclusion import exclude_annotator, unblock_annotator
from annotation.quality.hidden_checks import scores_of
from annotation.quality.qualification import begin_attempt, pairs_needed, qualification_status
from annotation.rating.presenters import displays_of, first_page
from annotation.rating.second_stage import reveal, save_second_vote
from annotation.rating.votes import is_counted, lock_first_votes, save_vote, submit_assignment
from annotation.studies.configurations import configuration
from annotation.studies.outcomes import human_ratings, select
from tests.factories import NOON, add_instances, claim, instance_rows, make_annotator, make_batch, make_study, rate

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def gold_rows(count: int, better: str = "alpha", prefix: str = "gold") -> list[Any]:
    rows = instance_rows(instances=count, prefix=prefix)
    return [replace(row, gold={"better": better, "why": f"Because of {row.instance_id}."}) for row in rows]


def studied(
    *,
    instances: int = 6,
    gold: int = 0,
    qualification: int = 0,
    rates: tuple[float, float] = (0.0, 0.0),
    **settings: Any,
) -> Study:
    """Make a study with a rating batch, and batches of gold and qualification HITs in all of which A is better."""
    study = make_study(instances=instances, **settings)
    make_batch(study, raters=2, gold_rate=rates[0], repeat_rate=rates[1])
    for purpose, count in (("gold", gold), ("qualification", qualification)):
        if count:
            add_instances(study, gold_rows(count, prefix=purpose))
            names = [f"{purpose}-{n}" for n in range(1, count + 1)]
            make_batch(study, name=purpose, purpose=purpose, select="ids", instance_ids=names)
    return study


def answer(assignment: Assignment, *, prefer_a: bool) -> Assignment:
    """Rate a whole HIT for one system, whatever side it is on, and submit it."""
    displays = assignment.displays.order_by("position")
    return rate(assignment, ["left" if display.a_is_left == prefer_a else "right" for display in displays])


def known_annotator(study: Study, name: str = "rater") -> Annotator:
    """Make an annotator with a code that is always the same, for which the same checks are drawn."""
    annotator = make_annotator(study, name)
    annotator.code = name
    annotator.save()
    return annotator


def at_minute(number: int) -> Any:
    return NOON + timedelta(minutes=number)


def work(annotator: Annotator, hits: int, *, prefer_a: bool = True) -> list[Assignment]:
    return [answer(claim(annotator), prefer_a=prefer_a) for _ in range(hits)]


# Hidden checks


def test_checks_come_at_about_their_rate_fill_no_slot_and_enter_no_rating_set() -> None:
    study = studied(instances=30, gold=13, rates=(0.2, 0.2), seed=3)
    done = work(known_annotator(study), 30)

    repeats = [one for one in done if one.purpose == "repeat"]
    assert 2 <= sum(one.purpose == "gold" for one in done) <= 12  # 6 expected of 30
    assert 2 <= len(repeats) <= 12
    assert all(hasattr(one, "slot") == (one.purpose == "rating") for one in done)
    for repeat in repeats:  # an earlier HIT with every side swapped, never straight after
        before = dict(repeat.repeat_of.displays.values_list("pair_id", "a_is_left"))
        again = dict(repeat.displays.values_list("pair_id", "a_is_left"))
        assert again == {pair: not left for pair, left in before.items()}
        place = [one.pk for one in done].index(repeat.pk)
        assert done[place - 1].pk != repeat.repeat_of_id
    assert len({repeat.repeat_of_id for repeat in repeats}) == len(repeats)
    found = human_ratings(select(configuration(study, dataset="news", systems=("alpha", "beta"))))
    assert len(found.outcomes) == 2 * sum(one.purpose == "rating" for one in done)


def test_without_rates_there_are_no_checks() -> None:
    study = studied(gold=3)
    assert {one.purpose for one in work(make_annotator(study), 6)} == {"rating"}


def test_gold_hits_stay_out_of_the_findings_and_each_comes_once() -> None:
    study = studied(gold=2, rates=(0.5, 0.0), seed=2)
    annotator = known_annotator(study)
    done = work(annotator, 8)

    gold = [one.hit_id for one in done if one.purpose == "gold"]
    assert len(gold) == len(set(gold)) == 2
    selection = select(configuration(study, dataset="news", systems=("alpha", "beta")))
    assert not any(name.startswith("gold") for name in selection.instance_ids)
    assert len(human_ratings(selection).outcomes) == 12


def test_no_check_is_given_where_nothing_is_left_to_rate() -> None:
    study = studied(instances=1, gold=5, rates=(0.5, 0.0))
    annotator = known_annotator(study)
    while True:
        try:
            last = answer(claim(annotator), prefer_a=True)
        except ClaimRefused:
            break
    assert last.purpose == "rating"


def test_gold_and_repeats_are_scored_by_pair() -> None:
    study = studied(instances=12, gold=6, rates=(0.25, 0.25), seed=4)
    annotator = known_annotator(study)
    work(annotator, 5, prefer_a=True)
    work(annotator, 8, prefer_a=False)
    gold = annotator.assignments.filter(purpose="gold")
    repeats = annotator.assignments.filter(purpose="repeat")

    def verdicts(assignment: Assignment) -> dict[int, int]:
        rows = Rating.objects.filter(display__assignment=assignment)
        return dict(rows.values_list("display__pair_id", "verdict"))

    right = sum(verdict == -1 for one in gold for verdict in verdicts(one).values())
    same = sum(verdicts(one)[pair] == verdicts(one.repeat_of)[pair] for one in repeats for pair in verdicts(one))
    scores = scores_of([annotator.pk])[annotator.pk]
    assert (scores.gold_asked, scores.gold_right) == (2 * gold.count(), right)
    assert (scores.repeat_asked, scores.repeat_same) == (2 * repeats.count(), same)
    assert 0 < scores.gold_right < scores.gold_asked
    assert 0 < scores.repeat_same < scores.repeat_asked


def test_nothing_checked_is_no_share() -> None:
    annotator = make_annotator(studied())
    scores = scores_of([annotator.pk])[annotator.pk]
    assert (scores.gold_share, scores.repeat_share) == (None, None)


# Thresholds


def until_checked(study: Study, *, prefer_a: bool) -> Annotator:
    annotator = known_annotator(study)
    while annotator.assignments.filter(purpose="gold", state="submitted").count() < 2:
        answer(claim(annotator), prefer_a=prefer_a)
    annotator.refresh_from_db()
    return annotator


@pytest.mark.parametrize(
    ("prefer_a", "settings", "warned", "blocked"),
    [
        pytest.param(True, {"gold_warn_below": 1.0, "gold_block_below": 1.0}, False, False, id="all right"),
        pytest.param(False, {"gold_warn_below": 0.5}, True, False, id="warned"),
        pytest.param(False, {"gold_block_below": 0.5}, False, True, id="blocked"),
        pytest.param(False, {"gold_block_below": 0.5, "check_pairs_needed": 5}, False, False, id="too few pairs"),
        pytest.param(False, {}, False, False, id="no thresholds"),
    ],
)
def test_a_threshold_warns_or_blocks_from_enough_pairs_on(
    prefer_a: bool, settings: dict[str, Any], warned: bool, blocked: bool
) -> None:
    study = studied(instances=12, gold=4, rates=(0.5, 0.0), **{"check_pairs_needed": 4, **settings})
    annotator = until_checked(study, prefer_a=prefer_a)

    assert (annotator.warned_at is not None, annotator.blocked_at is not None) == (warned, blocked)
    assert has_work(annotator) is not blocked
    if blocked:
        assert annotator.block_reason == reason("gold_below", share=0.0, number=4, limit=0.5)
        assert annotator.block_reason.text == "0.00 of 4 known answers, below 0.5"
        with pytest.raises(ClaimRefused, match="has ended"):
            claim(annotator)
        assert not annotator.excluded  # what they rated stays, until a researcher decides otherwise
        unblock_annotator(annotator=annotator, by=None, at=NOON)
        assert claim(annotator).state == "claimed"


def test_the_reason_of_a_block_is_not_read_when_a_check_is_submitted() -> None:
    rater = known_annotator(studied(gold=2, rates=(0.5, 0.0), gold_block_below=0.5))
    while (check := rate(claim(rater), submit=False)).purpose != "gold":
        submit_assignment(assignment=check, at=NOON)
    with CaptureQueriesContext(connection) as asked:
        submit_assignment(assignment=check, at=NOON)
    assert [one["sql"] for one in asked if "block_reason" in one["sql"]] == []


def fail_first_check(study: Study, *, hits: int) -> Annotator:
    """Let raters do some HITs, until a check, which comes next for about every other rater, blocks one of them."""
    Batch.objects.update(gold_rate=0)
    raters = [known_annotator(study, f"r{number}") for number in range(8)]
    for rater in raters:
        work(rater, hits)
    Batch.objects.exclude(name="plain").update(gold_rate=0.5)
    blocked = next(rater for rater in raters if claim(rater).purpose == "gold")
    answer(claim(blocked), prefer_a=False)
    blocked.refresh_from_db()
    assert blocked.blocked_at is not None
    return blocked


def blocked_in(study: Study) -> dict[str, int]:
    return {batch.name: glance_at(batch, raters_of(batch, NOON)).blocked for batch in study.batches.all()}


def test_a_rater_blocked_before_the_first_hit_is_listed_with_the_batches_that_they_might_have_rated() -> None:
    study = studied(instances=8, gold=1, gold_block_below=0.9, check_pairs_needed=1)
    make_batch(study, name="plain")
    make_batch(study, name="shorter", pairs=1)
    rater = fail_first_check(study, hits=0)

    assert blocked_in(study) == {"batch": 1, "gold": 1, "plain": 0, "shorter": 0}
    Batch.objects.filter(name="batch").update(status="closed")
    assert blocked_in(study)["batch"] == 0
    Batch.objects.filter(name="batch").update(status="paused")
    exclude_annotator(annotator=rater, reason="x", reopen=False, by=None, at=NOON)
    assert set(blocked_in(study).values()) == {0}


def test_a_rater_blocked_after_other_hits_is_listed_with_their_batch_alone() -> None:
    study = studied(instances=8, gold=1, gold_block_below=0.9, check_pairs_needed=1)
    make_batch(study, name="second")
    fail_first_check(study, hits=1)
    assert blocked_in(study) == {"batch": 1, "gold": 1, "second": 0}


def test_a_warning_is_told_once_and_not_at_the_check_that_brought_it(client: Client) -> None:
    study = studied(instances=12, gold=2, rates=(0.5, 0.0), gold_warn_below=0.5, check_pairs_needed=2)
    annotator = known_annotator(study)
    client.force_login(annotator.user, backend="annotation.members.signed_in.AccountBackend")
    told = []
    for place in range(6):
        assignment = claim(annotator, timezone.now())
        displays = assignment.displays.order_by("position")
        wrong = ["right" if display.a_is_left else "left" for display in displays]
        rate(assignment, wrong, at=timezone.now(), submit=False)
        page = client.post(f"/rate/hit/{assignment.key}/submit/", follow=True)
        if "read the guidelines again" in page.text:
            told.append(place)

    checks = list(annotator.assignments.order_by("pk").values_list("purpose", flat=True))
    assert told == [checks.index("gold") + 1]


# What must not give a check away


def until(annotator: Annotator, purpose: str, at: Any = NOON) -> Assignment:
    """Work until a HIT of this purpose is claimed."""
    while (assignment := claim(annotator, at)).purpose != purpose:
        answer(assignment, prefer_a=True)
    return assignment


@pytest.mark.parametrize("purpose", ["rating", "gold", "repeat"])
def test_what_ran_out_comes_back_whatever_it_is(purpose: str) -> None:
    # So many that a check not being drawn before the end is out of the question.
    annotator = known_annotator(studied(instances=60, gold=4, rates=(0.25, 0.25)))
    assignment = until(annotator, purpose)

    again = claim(annotator, at_minute(61))

    assert (again.pk, again.state) == (assignment.pk, "claimed")


@pytest.mark.parametrize("purpose", ["rating", "gold", "repeat"])
def test_a_return_leaves_the_number_of_hits_done_whatever_it_is(purpose: str) -> None:
    annotator = known_annotator(studied(instances=40, gold=4, rates=(0.25, 0.25)))
    assignment = until(annotator, purpose)
    before = first_page(assignment, NOON, displays_of(assignment))["hit_place"]

    return_hit(assignment=assignment, reason="unclear", comment="", at=NOON)
    following = claim(annotator)

    assert first_page(following, NOON, displays_of(following))["hit_place"] == before


def test_returning_a_check_brings_another_one() -> None:
    annotator = known_annotator(studied(instances=60, gold=4, rates=(0.1, 0.0)))
    first = until(annotator, "gold")
    return_hit(assignment=first, reason="unclear", comment="", at=NOON)

    second = claim(annotator)

    assert second.purpose == "gold"
    assert second.hit_id != first.hit_id
    answer(second, prefer_a=True)
    assert annotator.assignments.filter(purpose="gold").count() == 2


def test_a_gold_hit_is_as_long_as_the_others() -> None:
    study = studied(instances=6, rates=(0.5, 0.0))
    add_instances(study, gold_rows(2))
    make_batch(study, name="shorter", purpose="gold", pairs=1)
    annotator = known_annotator(study)

    assert {assignment.purpose for assignment in work(annotator, 6)} == {"rating"}


def test_who_was_blocked_gets_nothing_back_that_ran_out() -> None:
    annotator = known_annotator(studied(instances=4))
    assignment = rate(claim(annotator), submit=False)
    release_expired(at=at_minute(61))
    Annotator.objects.filter(pk=annotator.pk).update(blocked_at=NOON)

    submitted = submit_assignment(assignment=assignment, at=at_minute(62))

    assert not is_counted(submitted)
    assert not Slot.objects.exclude(assignment=None).exists()


def test_a_revised_choice_repeated_is_answered_as_before() -> None:
    study = studied(rates=(0.0, 0.5), protocol="two-stage", arms=["none"], seed=1)
    annotator = known_annotator(study)

    def both_stages(choices: tuple[str, str]) -> Assignment:
        assignment = claim(annotator)
        for stage, prefer in enumerate(choices):
            for display in assignment.displays.select_related("pair").order_by("position"):
                choice = "left" if display.a_is_left == (prefer == "a") else "right"
                sent: dict[str, Any] = {"assignment": assignment, "pair_key": display.pair.key, "at": NOON}
                if stage == 0:
                    save_vote(**sent, choice=choice)
                else:
                    reveal(assignment=Assignment.objects.get(pk=assignment.pk), at=NOON)
                    save_second_vote(**sent, choice=choice, reason="The second look showed what the first had missed.")
            if stage == 0:
                lock_first_votes(assignment=assignment, at=NOON)
        return submit_assignment(assignment=assignment, at=NOON)

    while both_stages(("a", "b") if not annotator.assignments.filter(purpose="repeat").exists() else ("b", "b")):
        if annotator.assignments.filter(purpose="repeat", state="submitted").exists():
            break
    scores = scores_of([annotator.pk])[annotator.pk]
    assert (scores.repeat_asked, scores.repeat_same) == (2, 2)


# Qualification


def test_the_qualification_comes_first_and_passing_it_opens_the_work() -> None:
    study = studied(qualification=2)
    annotator = make_annotator(study)
    assert qualification_status(annotator).required

    first, second, third = work(annotator, 3)

    assert [one.purpose for one in (first, second, third)] == ["qualification", "qualification", "rating"]
    result = QualificationResult.objects.get()
    assert (result.attempt, result.pairs, result.right, result.passed) == (1, 4, 4, True)
    found = qualification_status(annotator)
    assert (found.required, found.passed) == (False, True)
    assert not Slot.objects.filter(assignment__purpose="qualification").exists()


def test_a_failed_qualification_may_be_tried_again_as_often_as_the_study_says() -> None:
    study = studied(qualification=1, qualification_attempts=2, qualification_share=0.5)
    annotator = make_annotator(study)
    answer(claim(annotator), prefer_a=False)
    found = qualification_status(annotator)
    assert (found.required, found.attempts_used, found.attempts_left, found.awaits_retry) == (True, 1, 1, True)
    with pytest.raises(ClaimRefused):
        claim(annotator)

    begin_attempt(annotator=annotator, at=NOON)
    again = claim(annotator)
    assert (again.purpose, again.attempt, again.displays.count()) == ("qualification", 2, 2)
    answer(again, prefer_a=False)

    found = qualification_status(annotator)
    assert (found.attempts_left, found.awaits_retry, has_work(annotator)) == (0, False, False)
    assert "did not pass the qualification for this study" in no_work_reason(annotator, NOON)
    with pytest.raises(ClaimRefused, match="nothing to try again"):
        begin_attempt(annotator=annotator, at=NOON)
    assert list(QualificationResult.objects.values_list("attempt", "right", "passed")) == [(1, 0, False), (2, 0, False)]


@pytest.mark.parametrize(("share", "passed"), [(0.5, True), (0.51, False)])
def test_the_share_that_is_needed_is_enough(share: float, passed: bool) -> None:
    annotator = make_annotator(studied(qualification=1, qualification_share=share))
    displays = claim(annotator).displays.order_by("position")
    rate(claim(annotator), ["left" if d.a_is_left == (d.position == 0) else "right" for d in displays])

    assert QualificationResult.objects.get().passed is passed


@pytest.mark.parametrize(
    ("share", "pairs", "needed"), [(0.56, 25, 14), (0.1, 30, 3), (0.5, 3, 2), (0.0, 4, 0), (1.0, 7, 7)]
)
def test_the_number_needed_is_the_share_rounded_up(share: float, pairs: int, needed: int) -> None:
    assert pairs_needed(share, pairs) == needed


def test_a_qualification_that_is_closed_meanwhile_is_settled_on_what_was_answered() -> None:
    study = studied(qualification=2)
    annotator = make_annotator(study)
    answer(claim(annotator), prefer_a=True)
    Batch.objects.filter(purpose="qualification").first().hits.last().delete()

    assert claim(annotator).purpose == "rating"
    assert (QualificationResult.objects.get().pairs, QualificationResult.objects.get().passed) == (2, True)


# Giving back


def test_a_returned_hit_frees_its_slot_and_does_not_come_again() -> None:
    study = studied(instances=2)
    annotator = make_annotator(study)
    assignment = rate(claim(annotator), submit=False)

    returned = return_hit(assignment=assignment, reason="unclear", comment="too long", at=NOON)

    assert (returned.state, returned.return_reason, returned.return_comment) == ("returned", "unclear", "too long")
    assert not Slot.objects.exclude(assignment=None).exists()
    following = claim(annotator)
    assert following.hit_id != assignment.hit_id
    assert Rating.objects.count() == 2  # kept
    rate(following)
    assert not has_work(annotator)
    with pytest.raises(AssignmentClosed):
        rate(returned, submit=False)
    with pytest.raises(AssignmentClosed):
        return_hit(assignment=returned, reason="unclear", comment="", at=NOON)


# Withdrawing


def test_who_withdraws_leaves_findings_gets_nothing_more_and_frees_the_slots() -> None:
    study = studied(instances=3)
    gone, stays = make_annotator(study, "gone"), make_annotator(study, "stays")
    work(gone, 2)
    work(stays, 1)
    current = claim(gone)

    withdraw(annotator=gone, at=at_minute(5))
    withdraw(annotator=gone, at=at_minute(9))

    gone.refresh_from_db()
    assert gone.withdrawn_at == at_minute(5)
    assert not has_consented(gone)
    found = human_ratings(select(configuration(study, dataset="news", systems=("alpha", "beta"))))
    assert found.raters == (stays.code,)
    assert set(Slot.objects.exclude(assignment=None).values_list("assignment__annotator", flat=True)) == {stays.pk}
    assert Assignment.objects.get(pk=current.pk).state == "expired"
    assert Rating.objects.filter(display__assignment__annotator=gone).count() == 4  # nothing is deleted
    with pytest.raises(ClaimRefused, match="withdrawn"):
        claim_hit(annotator=gone, at=NOON)
    with pytest.raises(ClaimRefused, match="can't be taken back"):
        answer_consent(annotator=gone, accepted=True, at=NOON)
    with pytest.raises(AssignmentClosed):
        rate(current, submit=False)
    with pytest.raises(AssignmentClosed):
        return_hit(assignment=current, reason="other", comment="one more word", at=NOON)


def test_the_same_answer_again_is_not_stored_again() -> None:
    annotator = make_annotator(studied())
    for accepted in (True, False, False, True):
        answer_consent(annotator=annotator, accepted=accepted, at=NOON)
    assert list(annotator.consents.order_by("pk").values_list("accepted", flat=True)) == [True, False, True]
