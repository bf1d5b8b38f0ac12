"""What the server's log gets of people: keys of accounts, and neither names nor addresses nor a platform's ids."""

import copy
import io
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.utils.module_loading import import_string

from annotation.members.groups import add_member, revoke_role
from annotation.models import Channel, Study
from annotation.recruitment.channels import make_channel
from annotation.recruitment.invitations import invite, reissue
from config.log_filters import MASK, masked
from tests.annotation.recruitment.prolific.setup import NOON, OTHER_PID, PID, SESSION, come, link
from tests.annotation.recruitment.prolific.setup import channel as channel
from tests.annotation.recruitment.prolific.setup import prolific as prolific
from tests.annotation.recruitment.prolific.setup import study as study
from tests.factories import make_user, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
NAME, EMAIL, ADDRESS = "ada.lovelace", "ada@example.org", "203.0.113.77"
PERSONAL = (NAME, EMAIL, ADDRESS, PID, OTHER_PID, SESSION)


@pytest.fixture
def written(settings: Any) -> Iterator[io.StringIO]:
    """Return what the server's own handler would write, with its filters and its loggers' levels."""
    given = copy.deepcopy(settings.LOGGING)
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    for name in given["handlers"]["console"]["filters"]:
        handler.addFilter(import_string(given["filters"][name]["()"])())
    loggers = [logging.getLogger(), *(logging.getLogger(name) for name in ("django.server", "gunicorn.error"))]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    yield stream
    for logger, level in zip(loggers, levels, strict=True):
        logger.removeHandler(handler)
        logger.setLevel(level)


def assert_no_person_in(lines: str) -> None:
    assert lines
    assert [text for text in PERSONAL if text in lines] == []


def test_a_failed_sign_in_is_logged_without_name_and_address(written: io.StringIO) -> None:
    User.objects.create_user(NAME, password="a long enough one")
    for password in ("wrong", "wrong again", *["and again"] * 9):
        Client(REMOTE_ADDR=ADDRESS).post("/login/", {"username": NAME, "password": password})
    assert "login failure" in written.getvalue()
    assert "Locking out" in written.getvalue()
    assert_no_person_in(written.getvalue())


def test_roles_and_links_are_logged_by_the_numbers_of_accounts(written: io.StringIO, study: Study) -> None:
    boss = User.objects.create_superuser("boss.of.all", password="a long enough one")
    member, _changed = add_member(username=NAME, role="researcher", place=study, new=True, by=boss)
    revoke_role(user=member, role="researcher", place=study, by=boss)
    accounts = make_channel(study=study, kind="accounts", name="Links", options={}, is_open=True)
    [made] = invite(channel=accounts, count=1, base_url="http://testserver", at=NOON)
    reissue(channel=accounts, code=made.rater, base_url="http://testserver", at=NOON, by=boss)
    lines = written.getvalue()
    assert f"researcher given to account {member.pk} in {study} by account {boss.pk}" in lines
    assert f"researcher taken from account {member.pk} in {study} by account {boss.pk}" in lines
    assert f"new link for rater {made.rater} of study {study} created by account {boss.pk}" in lines
    assert_no_person_in(lines)
    assert "boss.of.all" not in lines


def test_an_arrival_and_a_refused_message_are_logged_without_platform_ids(
    written: io.StringIO, channel: Channel
) -> None:
    channel.is_open = False
    channel.save()
    assert come(channel)[0].status_code == 403
    Client().post(f"/hooks/prolific/{channel.key}/", {"participant_id": OTHER_PID}, content_type="application/json")
    logging.getLogger("django.server").info('"%s" %s %s', f"GET {link(channel)} HTTP/1.1", "403", "100")
    lines = written.getvalue()
    assert f"/join/{channel.key}/?PROLIFIC_PID={MASK}&STUDY_ID={MASK}&SESSION_ID={MASK} HTTP/1.1" in lines
    assert f"/hooks/prolific/{channel.key}/" in lines
    assert_no_person_in(lines)


def test_an_error_is_logged_without_what_its_words_hold_of_a_person(
    written: io.StringIO, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down(*_args: object, **_named: object) -> None:
        raise RuntimeError(f"{EMAIL} came as {PID}")

    monkeypatch.setattr("annotation.rating.joining_views.progress_of", break_down)
    browser = signed_in(make_user(NAME, "annotator", study=study), raise_request_exception=False)
    assert browser.get("/rate/progress/").status_code == 500
    assert "Internal Server Error: /rate/progress/" in written.getvalue()
    assert f"RuntimeError: {MASK} came as {MASK}" in written.getvalue()
    assert_no_person_in(written.getvalue())


def test_what_a_database_says_of_a_row_stays_out_of_the_log(written: io.StringIO) -> None:
    User.objects.create(username=NAME)
    try:
        with transaction.atomic():
            User.objects.create(username=NAME)
    except IntegrityError:
        logging.getLogger("tests").exception("twice on %s", connection.vendor)
    assert "IntegrityError" in written.getvalue()
    assert NAME not in written.getvalue()


@pytest.mark.parametrize(
    ("line", "left"),
    [
        pytest.param(f"Broken pipe from ('{ADDRESS}', 41414)", f"Broken pipe from {MASK}", id="runserver"),
        pytest.param(f"Invalid request from ip={ADDRESS}: no", f"Invalid request from ip={MASK}: no", id="gunicorn"),
        pytest.param(
            "Key (username)=(bob) already exists.", f"Key (username)=({MASK}) already exists.", id="PostgreSQL"
        ),
        pytest.param("account bob@@KEY", f"account {MASK}", id="a name somebody gave themselves"),
        pytest.param("/studies/talks/?q=Ada+L", f"/studies/talks/?q={MASK}", id="a search"),
        pytest.param("endpoint http://127.0.0.1:8080/v1", "endpoint http://127.0.0.1:8080/v1", id="an endpoint"),
    ],
)
def test_lines_that_name_people_are_masked(line: str, left: str) -> None:
    assert masked(line) == left


def test_the_web_server_writes_its_errors_through_the_same_filter(settings: Any) -> None:
    assert settings.LOGGING["loggers"]["gunicorn.error"]["handlers"] == ["console"]
