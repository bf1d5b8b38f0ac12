"""How long personal data are kept: until a study's time is over, or, without one, until a deletion is requested."""

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.management import call_command

from annotation.annotators.consent import withdraw
from annotation.models import Annotator, Batch, Event, Rating, Study, Submission, WebhookEvent
from annotation.privacy.retention import ended_at, erase_expired, erase_traces, expired_studies
from annotation.studies.services import archive_study
from reporting.worker import erase_expired_data
from tests.annotation.privacy.database_text import left_of
from tests.annotation.recruitment.prolific.setup import OTHER_PID, OTHER_SESSION, PID, join_and_rate
from tests.annotation.recruitment.prolific.setup import channel as channel
from tests.annotation.recruitment.prolific.setup import prolific as prolific
from tests.annotation.recruitment.prolific.test_webhook import body_of, post
from tests.factories import NOON, claim, make_annotator, make_batch, make_study, rate

pytestmark = [pytest.mark.django_db, pytest.mark.engine]
DAY = timedelta(days=1)


def store() -> Study:
    study = make_study(keep_personal_days=30)
    make_batch(study, raters=2)
    return study


@pytest.fixture
def ada(study: Study) -> Annotator:
    annotator = make_annotator(study, "ada")
    rate(claim(annotator))
    return annotator


def test_a_study_ends_with_the_archive_or_its_last_batch(study: Study) -> None:
    assert ended_at(study) is None
    study.batches.update(status=Batch.Status.CLOSED, closed_at=NOON)
    assert ended_at(study) == NOON
    make_batch(study, name="second", raters=1)
    assert ended_at(study) is None
    archive_study(study=study, at=NOON + DAY)
    assert ended_at(study) == NOON + DAY


def test_who_raters_are_goes_on_the_day_and_their_ratings_stay(ada: Annotator, study: Study) -> None:
    archive_study(study=study, at=NOON)
    assert erase_expired(at=NOON + 30 * DAY - timedelta(seconds=1)) == []
    assert User.objects.filter(username="ada").exists()
    [done] = erase_expired(at=NOON + 30 * DAY)
    assert (done.study, done.raters) == (study, 1)
    assert not User.objects.filter(username="ada").exists()
    ada.refresh_from_db()
    assert ada.withdrawn_at is None
    assert Rating.objects.count() == 2
    assert erase_expired(at=NOON + 31 * DAY) == []
    assert study.events.get(kind=Event.Kind.ERASED).changes == {"raters": 1}


def test_ratings_of_a_rater_who_withdrew_go_too(ada: Annotator, study: Study) -> None:
    withdraw(annotator=ada, at=NOON)
    archive_study(study=study, at=NOON)
    erase_expired(at=NOON + 30 * DAY)
    assert Rating.objects.count() == 0
    assert not User.objects.filter(username="ada").exists()


def test_a_study_without_a_time_keeps_everything(ada: Annotator, study: Study) -> None:
    Study.objects.update(keep_personal_days=None)
    archive_study(study=study, at=NOON)
    assert erase_expired(at=NOON + 10_000 * DAY) == []
    assert User.objects.filter(username="ada").exists()


def test_imported_raters_are_left_as_they_are(study: Study) -> None:
    Annotator.objects.create(study=study, code="W1", kind="imported")
    archive_study(study=study, at=NOON)
    assert list(expired_studies(NOON + 31 * DAY)) == []


@pytest.mark.slow
def test_the_ids_of_people_who_never_came_go_too(channel: Any) -> None:
    join_and_rate(channel)
    post(channel, body_of("RESERVED", session=OTHER_SESSION, pid=OTHER_PID))
    assert left_of(OTHER_PID)
    Study.objects.update(keep_personal_days=30)
    archive_study(study=channel.study, at=NOON)
    erase_expired(at=NOON + 30 * DAY)
    assert left_of(PID, OTHER_PID, OTHER_SESSION) == []
    assert Submission.objects.count() == 2
    assert not WebhookEvent.objects.exists()


@pytest.mark.parametrize(
    "erase_now",
    [
        pytest.param(lambda: call_command("erase_expired", stdout=StringIO()), id="command"),
        pytest.param(erase_expired_data, id="worker"),
    ],
)
def test_the_dry_run_says_what_command_and_worker_do(ada: Annotator, study: Study, erase_now: Any) -> None:
    archive_study(study=study, at=NOON)
    out = StringIO()
    call_command("erase_expired", "--dry-run", stdout=out)
    assert "study: personal data of 1 rater, due since 2024-05-31" in out.getvalue()
    assert User.objects.filter(username="ada").exists()
    erase_now()
    assert not User.objects.filter(username="ada").exists()


def test_traces_of_signing_in_go_when_they_are_old() -> None:
    for name, days in (("old", 8), ("new", 6)):
        attempt = AccessAttempt.objects.create(
            username=name, ip_address="203.0.113.7", failures_since_start=1, user_agent="", get_data="", post_data="",
            http_accept="", path_info="",
        )  # fmt: skip
        AccessAttempt.objects.filter(pk=attempt.pk).update(attempt_time=NOON - days * DAY)
        Session.objects.create(session_key=name, session_data="", expire_date=NOON + (7 - days) * DAY)
    assert erase_traces(at=NOON) == 2
    assert AccessAttempt.objects.get().username == "new"
    assert Session.objects.get().session_key == "new"
