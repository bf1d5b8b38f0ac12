"""Giving out HITs: who gets which, what a lease that ran out frees, and the sides that are drawn."""

from datetime import timedelta
from typing import Any

import pytest

from annotation.allocation import claims
from annotation.allocation.claims import claimable_slots, has_work
from annotation.allocation.lease import extend_lease, has_consented, lock_hit
from annotation.allocation.no_work import no_work_reason
from annotation.annotators.consent import answer_consent
from annotation.core.errors import ClaimRefused, ConsentNeeded
from annotation.hits.slots import release_expired
from annotation.models import Assignment, Batch, Rating, Slot, Study
from annotation.rating.votes import save_vote
from tests.factories import NOON, claim, make_annotator, make_batch, make_study, rate

pytestmark = [pytest.mark.django_db, pytest.mark.engine, pytest.mark.slow]

LATER = NOON + timedelta(minutes=61)  # a lease is 60 minutes


def instance_of(assignment: Assignment) -> str:
    return assignment.hit.matchup.instance.instance_id


def filled() -> dict[str, list[int]]:
    """Numbers of the slots that are held, by instance."""
    found: dict[str, list[int]] = {}
    for name, number in Slot.objects.exclude(assignment=None).values_list(
        "hit__matchup__instance__instance_id", "number"
    ):
        found.setdefault(name, []).append(number)
    return {name: sorted(numbers) for name, numbers in found.items()}


def test_a_claim_takes_a_slot_and_shows_every_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "new_seed", lambda: 7)
    study = make_study(instances=1, k=3)
    make_batch(study, pairs=3)

    assignment = claim(make_annotator(study))

    assert (assignment.state, assignment.expires_at, assignment.seed) == ("claimed", NOON + timedelta(minutes=60), 7)
    assert assignment.slot.number == 1
    assert sorted(assignment.displays.values_list("position", flat=True)) == [0, 1, 2]
    assert sorted(assignment.displays.values_list("pair__index", flat=True)) == [0, 1, 2]


def test_a_slot_that_came_free_does_not_put_its_hit_before_an_emptier_one() -> None:
    study = make_study(instances=2)
    make_batch(study, raters=3)
    first, other = claim(make_annotator(study, "a")), claim(make_annotator(study, "b"))
    second = claim(make_annotator(study, "c"))
    assert second.hit_id == first.hit_id
    rate(second)
    rate(other)
    fourth = rate(claim(make_annotator(study, "d")))
    assert fourth.hit_id == other.hit_id
    fifth = rate(claim(make_annotator(study, "e")))
    assert fifth.hit_id == first.hit_id

    # One claim, one filled on `other`'s HIT; on `first`'s two are filled and the lowest number comes free.
    release_expired(at=LATER)

    assert filled()[instance_of(first)] == [1, 2]
    assert filled()[instance_of(other)] == [1, 2]
    Slot.objects.filter(assignment=fourth).update(assignment=None)
    assert claim(make_annotator(study, "f"), LATER).hit_id == other.hit_id


def test_a_matchup_that_was_rated_in_one_batch_is_not_given_again_in_another() -> None:
    study = make_study(instances=2, k=2)
    make_batch(study, name="one", select="ids", instance_ids=["news-1"])
    annotator = make_annotator(study)
    rate(claim(annotator))
    make_batch(study, name="two", pairs=1)

    assert instance_of(rate(claim(annotator))) == "news-2"
    with pytest.raises(ClaimRefused):
        claim(annotator)


def test_why_there_is_nothing_is_told() -> None:
    study = make_study(instances=1)
    annotator = make_annotator(study)
    with pytest.raises(ClaimRefused, match="Nothing is open for rating at the moment"):
        claim(annotator)

    batch = make_batch(study, raters=1)
    claim(make_annotator(study, "other"))
    with pytest.raises(ClaimRefused, match="may come free in 60 min: please look again then"):
        claim(annotator)

    Batch.objects.filter(pk=batch.pk).update(status="paused")
    assert no_work_reason(annotator, NOON).startswith("Nothing is open")


@pytest.mark.parametrize(
    ("model", "change"),
    [
        *((Batch, {"status": status}) for status in ("draft", "paused", "closed")),
        (Batch, {"origin": "imported"}),
        (Study, {"archived_at": NOON}),
    ],
    ids=str,
)
def test_only_open_batches_that_collect_here_are_given_out(model: Any, change: dict[str, Any]) -> None:
    study = make_study()
    make_batch(study)
    model.objects.update(**change)
    annotator = make_annotator(Study.objects.get())

    assert not has_work(annotator)
    with pytest.raises(ClaimRefused, match="Nothing is open"):
        claim(annotator)
    assert not Assignment.objects.exists()


def test_hits_of_another_study_are_not_given_out() -> None:
    make_batch(make_study("other"))
    study = make_study("own", instances=1)
    make_batch(study)
    annotator = make_annotator(study)

    assert claim(annotator).hit.batch.study == study
    assert set(claimable_slots(make_annotator(study, "b")).values_list("hit__batch__study__slug", flat=True)) == {"own"}


def test_consent_comes_first_and_can_be_taken_back() -> None:
    study = make_study()
    make_batch(study)
    annotator = make_annotator(study, consent=False)
    with pytest.raises(ConsentNeeded):
        claim(annotator)

    answer_consent(annotator=annotator, accepted=True, at=NOON)
    assert has_consented(annotator)
    answer_consent(annotator=annotator, accepted=False, at=NOON)

    assert not has_consented(annotator)
    assert list(annotator.consents.values_list("accepted", "version")) == [(True, 1), (False, 1)]
    with pytest.raises(ConsentNeeded):
        claim(annotator)
    assert Assignment.objects.count() == 0


# Leases


def test_a_lease_holds_until_its_last_moment() -> None:
    study = make_study(instances=1)
    make_batch(study, raters=1)
    held = claim(make_annotator(study, "a"))
    assert held.expires_at is not None

    just_before = held.expires_at - timedelta(microseconds=1)
    assert not extend_lease(lock_hit(held), just_before, extend=False).late
    assert extend_lease(lock_hit(held), held.expires_at, extend=False).late
    assert release_expired(at=just_before) == 0
    assert release_expired(at=held.expires_at) == 1
    assert release_expired(at=held.expires_at) == 0
    assert extend_lease(lock_hit(held), LATER, extend=False).late  # is held again, as its place is free
    held.refresh_from_db()
    assert (held.state, held.expires_at) == ("claimed", LATER + timedelta(minutes=60))


def test_many_leases_of_one_hit_run_out_at_once() -> None:
    study = make_study(instances=1)
    make_batch(study, raters=4)
    a, b, c, d = (claim(make_annotator(study, name)) for name in "abcd")
    rate(b)
    rate(d)

    assert release_expired(at=LATER) == 2

    assert dict(Slot.objects.values_list("number", "assignment")) == {1: b.pk, 2: d.pk, 3: None, 4: None}
    assert {a.pk, c.pk} == set(Assignment.objects.filter(state="expired").values_list("pk", flat=True))


def test_a_hit_that_was_begun_is_taken_up_again_before_any_other() -> None:
    study = make_study(instances=5)
    make_batch(study)
    annotator = make_annotator(study)
    begun = claim(annotator)
    display = begun.displays.select_related("pair")[0]
    save_vote(assignment=begun, pair_key=display.pair.key, choice="none", at=NOON)
    shown = list(begun.displays.values_list("pk", "a_is_left"))
    hit = begun.hit
    rate(claim(make_annotator(study, "other")))
    hit.position = 99  # behind all others
    hit.save()

    again = claim(annotator, LATER + timedelta(minutes=60))

    assert again.pk == begun.pk
    assert again.state == "claimed"
    assert list(again.displays.values_list("pk", "a_is_left")) == shown
    assert Rating.objects.filter(display__assignment=again).count() == 1


# Sides


def test_pairs_stand_as_on_the_hit_where_the_study_says_so_and_the_sides_are_drawn_all_the_same() -> None:
    study = make_study(instances=1, k=8, pair_order="fixed")
    make_batch(study, pairs=8, raters=4)

    shown = [claim(make_annotator(study, f"r{n}")).displays.order_by("position") for n in range(4)]

    assert all(list(displays.values_list("pair__index", flat=True)) == list(range(8)) for displays in shown)
    assert len({tuple(displays.values_list("a_is_left", flat=True)) for displays in shown}) > 1


def test_two_annotators_see_draws_of_their_own() -> None:
    study = make_study(instances=1, k=8)
    make_batch(study, pairs=8, raters=4)

    shown = {
        tuple(claim(make_annotator(study, f"r{n}")).displays.order_by("position").values_list("pair", "a_is_left"))
        for n in range(4)
    }

    assert len(shown) == 4
