"""Times on pairs: what a page says with a vote and when a stage is closed, and what is stored of it."""

from datetime import timedelta

import pytest
from django.test import Client

from annotation.hits.displays import mark_shown
from annotation.models import Assignment, Rating, VoteChange
from annotation.rating.forms import parse_times
from annotation.rating.scriptless import take_votes
from annotation.rating.second_stage import reveal, save_second_vote
from annotation.rating.store_vote import ClientReport
from annotation.rating.votes import lock_first_votes, save_vote, submit_assignment
from tests.annotation.rating.test_second_stage import two_stage
from tests.factories import NOON, claim, keys_of, make_annotator, make_batch, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

END = NOON + timedelta(seconds=100)


def shown(k: int = 2) -> tuple[Assignment, list[str]]:
    """Claim a HIT whose page was sent at noon; return it with its pairs' keys in their order."""
    study = make_study(instances=1, k=k)
    make_batch(study, pairs=k, raters=1)
    assignment = claim(make_annotator(study))
    mark_shown(assignment=assignment, at=NOON)
    return assignment, keys_of(assignment)


def vote(
    assignment: Assignment, key: str, after: float, *, choice: str = "left", report: ClientReport | None = None
) -> Rating:
    at = NOON + timedelta(seconds=after)
    return save_vote(assignment=assignment, pair_key=key, choice=choice, at=at, report=report or ClientReport())


def stored(stage: str = "first") -> list[tuple[float | None, float | None]]:
    """Return active and wall seconds, pair by pair."""
    ratings = Rating.objects.filter(stage=stage).order_by("display__position")
    return list(ratings.values_list("active_seconds", "wall_seconds"))


@pytest.mark.engine
@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        pytest.param((40, 75), (17, 25), [(40, 75), (17, 25)], id="more than with the votes"),
        pytest.param((3, 4), None, [(8, 10), (15, 20)], id="less, or nothing, takes no time away"),
        pytest.param((1e9, 1e9), (50, 20), [(100, 100), (20, 20)], id="no more than can have passed"),
    ],
)
def test_time_after_a_vote_comes_with_the_submission_and_the_history_keeps_the_votes(
    first: tuple[float, float], second: tuple[float, float] | None, expected: list[tuple[float, float]]
) -> None:
    assignment, (one, two) = shown()
    vote(assignment, one, 10, report=ClientReport(active_seconds=8, wall_seconds=10))
    vote(assignment, two, 30, report=ClientReport(active_seconds=15, wall_seconds=20))
    vote(assignment, one, 35, choice="right", report=ClientReport(active_seconds=1, wall_seconds=2))
    told = {key: seconds for key, seconds in ((one, first), (two, second)) if seconds}

    times = {key: ClientReport(active_seconds=active, wall_seconds=wall) for key, (active, wall) in told.items()}
    submit_assignment(assignment=assignment, at=END, times=times)

    assert stored() == expected
    history = VoteChange.objects.order_by("pk").values_list("active_seconds", "wall_seconds")
    assert list(history) == [(8, 10), (15, 20), (8, 10)]


def test_without_a_script_times_sum_to_the_hits_whatever_is_changed() -> None:
    assignment, (one, two) = shown()
    mark_shown(assignment=assignment, at=NOON + timedelta(seconds=9))  # looked at again
    vote(assignment, one, 10)
    vote(assignment, two, 25)
    vote(assignment, one, 40, choice="right")

    assert stored() == [(None, 10 + 15), (None, 15)]


def test_changes_that_come_at_once_without_a_script_add_their_share_of_the_time() -> None:
    assignment, (one, two) = shown()
    vote(assignment, one, 10)
    vote(assignment, two, 30)
    changes = [{"pair_key": key, "choice": "right"} for key in (one, two)]

    take_votes(assignment=assignment, stage="first", votes=changes, at=NOON + timedelta(seconds=60))

    assert stored() == [(None, 10 + 15), (None, 20 + 15)]


@pytest.mark.engine
def test_each_stage_gets_its_own_times_when_it_is_closed() -> None:
    assignment = claim(make_annotator(two_stage("none", instances=1, raters=1)))
    mark_shown(assignment=assignment, at=NOON)
    pairs = keys_of(assignment)
    for key in pairs:
        vote(assignment, key, 10, report=ClientReport(active_seconds=1, wall_seconds=2))
    first = {key: ClientReport(active_seconds=3, wall_seconds=4) for key in pairs}
    assignment = lock_first_votes(assignment=assignment, at=END, times=first)
    lock_first_votes(
        assignment=assignment, at=END, times={key: ClientReport(wall_seconds=9) for key in pairs}
    )  # a second click
    for key in pairs:
        reveal(assignment=assignment, at=END)
        said = ClientReport(active_seconds=5, wall_seconds=6)
        save_second_vote(
            assignment=assignment, pair_key=key, choice="left", reason="", at=END + timedelta(seconds=20), report=said
        )
    last = {key: ClientReport(active_seconds=7, wall_seconds=8) for key in pairs}
    submit_assignment(assignment=assignment, at=END + timedelta(seconds=30), times=last)

    assert stored("first") == [(3, 4)] * len(pairs)
    assert stored("revised") == [(7, 8)] * len(pairs)


def test_times_that_cannot_be_read_are_left_out() -> None:
    told = ["a:1:2", "b:1", "c:one:2", ":", "", "d:1:2:3", "\x00:0:0", "e:-1:nan", "f:inf:1e999"]

    times = parse_times(told)

    assert times.keys() == {"a", "\x00", "e", "f"}
    assert times["a"] == ClientReport(active_seconds=1, wall_seconds=2)
    for name in ("e", "f"):
        assert times[name].seconds(earliest=NOON, received_at=END) == (None, None)


def test_a_submission_takes_times_as_its_page_sends_them_and_no_refusal_comes_of_nonsense(client: Client) -> None:
    assignment, (one, two) = shown()
    for key in (one, two):
        vote(assignment, key, 10, report=ClientReport(active_seconds=1, wall_seconds=2))
    client.force_login(assignment.annotator.user)

    sent = {"times": [f"{one}:3.5:4.5", f"{two}:much:9", "stranger:1:1", "\x00:1:1"]}
    assert client.post(f"/rate/hit/{assignment.key}/submit/", sent).status_code == 302

    assert Assignment.objects.get().state == "submitted"
    assert stored() == [(3.5, 4.5), (1, 2)]
