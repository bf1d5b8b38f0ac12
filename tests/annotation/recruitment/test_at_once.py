"""Concurrent requests to a channel: each counts once, and no more raters get in than it allows."""

import pytest
from django.utils import timezone

from annotation.core.errors import AnnotationError, ClaimRefused
from annotation.models import Annotator, Channel, Invitation, Participant, Submission, WebhookEvent
from annotation.recruitment.arrival_limits import TooManyArrivals, join_limited
from annotation.recruitment.invitations import accept_invitation
from tests.annotation.allocation.test_races import together
from tests.annotation.recruitment.prolific.setup import ProlificServer, come, make_prolific, store_study
from tests.annotation.recruitment.prolific.setup import prolific as prolific
from tests.annotation.recruitment.prolific.test_webhook import now, tell
from tests.annotation.recruitment.test_anonymous import opened
from tests.annotation.recruitment.test_invitations import made
from tests.factories import NOON, make_study

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def test_those_who_come_at_one_moment_are_counted_one_by_one() -> None:
    channel = opened(make_study("secret-name", instances=0), per_address="3")
    results = together(
        [
            lambda n=n: join_limited(channel=channel, external_id=str(n), address="203.0.113.9", at=NOON)[0]  # type: ignore[misc]
            for n in range(8)
        ]
    )
    assert sum(isinstance(result, Participant) for result in results) == 3
    assert sum(isinstance(result, TooManyArrivals) for result in results) == 5
    assert Annotator.objects.count() == 3


def test_one_person_who_presses_many_times_at_once_is_one_rater() -> None:
    channel = opened(make_study("secret-name", instances=0), per_address="1")
    results = together([lambda: join_limited(channel=channel, external_id="a", address="x", at=NOON)[0].pk] * 8)
    assert len(set(results)) == 1


def test_an_invitation_that_many_accept_at_one_moment_is_spent_once() -> None:
    made(make_study("secret-name", instances=0))
    invitation = Invitation.objects.get()

    results = together([lambda: accept_invitation(invitation=invitation, at=timezone.now())] * 8)

    assert sum(isinstance(result, Annotator) for result in results) == 1
    assert sum(isinstance(result, ClaimRefused) for result in results) == 7


def test_many_who_invite_at_one_moment_make_one_channel() -> None:
    study = make_study("secret-name", instances=0)
    results = together([lambda: made(study)] * 8)
    assert not [result for result in results if isinstance(result, AnnotationError)]
    assert Channel.objects.get().invitations.count() == 8


def test_one_browser_of_two_gets_the_place_at_prolific(prolific: ProlificServer) -> None:
    channel = make_prolific(store_study(), prolific)

    assert sorted(together([lambda: come(channel)[0].status_code] * 2)) == [302, 403]

    assert Participant.objects.count() == Submission.objects.count() == 1


def test_a_message_of_prolific_sent_twice_is_kept_once(prolific: ProlificServer) -> None:
    channel = make_prolific(store_study(), prolific)
    come(channel)
    stamp = now()

    results = together([lambda: tell(channel, "AWAITING REVIEW", event="E1", at=stamp)] * 2)

    assert sorted(results) == ["applied", "duplicate"]
    assert WebhookEvent.objects.count() == 1
