"""The second factor: it stands before every page, Django's admin included, and no code is taken twice."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django_otp.oath import totp
from django_otp.plugins.otp_totp.models import TOTPDevice

from annotation.members.accounts import login_link
from annotation.members.second_factor import begin_set_up, finish_set_up
from annotation.members.second_factor_views import CODE_AWAITED_FOR
from annotation.models import AuditEntry
from tests.annotation.allocation.test_races import together
from tests.factories import make_user, signed_in, token_of

PASSWORD = "correct horse battery"

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def boss() -> User:
    return User.objects.create_superuser("boss", password=PASSWORD)


def code_of(user: User, *, ahead: int = 0) -> str:
    """Return what the app shows, perhaps some steps of 30 seconds later."""
    return f"{totp(TOTPDevice.objects.get(user=user).bin_key, drift=ahead):06d}"


def equip(user: User) -> list[str]:
    """Set the second factor up; return the backup codes."""
    begin_set_up(user=user)
    return finish_set_up(user=user, code=code_of(user, ahead=-1))


def by_password(user: User, **more: str) -> Client:
    browser = Client()
    browser.post("/login/", {"username": user.username, "password": PASSWORD, **more})
    return browser


def who(browser: Client) -> str | None:
    return browser.session.get("_auth_user_id")


def test_password_and_link_alone_open_nothing_and_a_code_opens_the_page_that_was_asked_for(boss: User) -> None:
    equip(boss)
    browser = by_password(boss, next="/groups/")
    assert who(browser) is None
    assert browser.get("/groups/").status_code == browser.get("/admin/").status_code == 302
    wrong = browser.post("/login/code/", {"code": "000000"})
    assert (wrong.status_code, who(browser)) == (422, None)
    TOTPDevice.objects.update(throttling_failure_timestamp=timezone.now() - timedelta(minutes=1))
    right = browser.post("/login/code/", {"code": code_of(boss)})
    assert (right.status_code, right["Location"]) == (302, "/groups/")
    assert browser.get("/admin/").status_code == 200

    linked = Client()
    boss.refresh_from_db()
    answer = linked.post(login_link(user=boss, base_url=""))
    assert (answer["Location"], who(linked)) == ("/login/code/", None)


def test_a_code_is_taken_once(boss: User) -> None:
    equip(boss)
    code = code_of(boss)
    first, second = by_password(boss), by_password(boss)
    assert first.post("/login/code/", {"code": code}).status_code == 302
    assert second.post("/login/code/", {"code": code}).status_code == 422
    assert who(second) is None


def test_a_backup_code_is_taken_once_and_after_many_codes_of_the_app(boss: User) -> None:
    backup, *_others = equip(boss)
    browser = by_password(boss)
    assert browser.post("/login/code/", {"code": code_of(boss)}).status_code == 302  # which delays no backup code
    browser = by_password(boss)
    assert browser.post("/login/code/", {"code": f" {backup.upper()} "}).status_code == 302
    again = by_password(boss)
    assert again.post("/login/code/", {"code": backup}).status_code == 422


def test_guessing_is_slowed_down_from_any_browser(boss: User) -> None:
    equip(boss)
    by_password(boss).post("/login/code/", {"code": "000000"})
    right = by_password(boss).post("/login/code/", {"code": code_of(boss)})
    assert right.status_code == 422
    assert TOTPDevice.objects.get().throttling_failure_count == 1


@pytest.mark.parametrize("end", ["account is shut", "password has changed", "time is over"])
def test_a_sign_in_that_waits_ends_with_its_ground(boss: User, monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    equip(boss)
    browser = by_password(boss)
    if end == "account is shut":
        User.objects.update(is_active=False)
    elif end == "password has changed":
        boss.set_password("another")
        boss.save()
    else:
        later = timezone.now() + CODE_AWAITED_FOR
        monkeypatch.setattr("annotation.members.second_factor_views.timezone.now", lambda: later)
    assert browser.post("/login/code/", {"code": code_of(boss)})["Location"] == "/login/"


def test_setting_up_shows_the_secret_until_a_code_is_given_and_backup_codes_once(boss: User) -> None:
    browser = by_password(boss)
    page = "/account/second-factor/"
    browser.post(page, {"act": "begin"})
    shown = browser.get(page).text
    assert 'src="data:image/svg+xml' in shown
    assert re.search(r"data-secret>[A-Z2-7]{32}<", shown)
    assert browser.post(page, {"act": "finish", "code": "000000"}).status_code == 422
    TOTPDevice.objects.update(throttling_failure_timestamp=timezone.now() - timedelta(minutes=1))
    done = browser.post(page, {"act": "finish", "code": code_of(boss)}).text
    codes = re.findall(r"<code>([a-z2-7]{8})</code>", done)
    assert len(set(codes)) == 10
    again = browser.get(page).text
    assert not any(code in again for code in codes)
    assert "data-secret" not in again
    assert browser.post(page, {"act": "begin"}).status_code == 422  # a stolen session replaces no app
    assert browser.post(page, {"act": "remove", "code": "000000"}).status_code == 422
    assert TOTPDevice.objects.filter(confirmed=True).count() == 1
    renewed = browser.post(page, {"act": "codes", "code": codes[0]}).text
    assert codes[1] not in renewed
    new = re.findall(r"<code>([a-z2-7]{8})</code>", renewed)
    assert browser.post(page, {"act": "remove", "code": new[0]}).status_code == 302
    assert not TOTPDevice.objects.exists()


def test_where_it_is_required_researchers_set_it_up(settings: Any, django_assert_num_queries: Any) -> None:
    settings.SECOND_FACTOR_REQUIRED = True
    rita, ann = make_user("rita", "researcher"), make_user("ann", "annotator")
    token = token_of(rita)
    browser = signed_in(rita)
    for page in ("/studies/", "/api/v1/studies/", "/admin/"):
        assert browser.get(page)["Location"] == "/account/second-factor/", page
    assert browser.get("/account/second-factor/").status_code == 200
    assert Client().get("/api/v1/studies/", headers={"Authorization": f"Token {token}"}).status_code == 200
    equip(rita)
    assert browser.post("/account/second-factor/", {"act": "verify", "code": code_of(rita)}).status_code == 302
    assert browser.get("/studies/").status_code == 200

    rater = signed_in(ann)
    assert "second-factor" not in rater.get("/rate/").headers.get("Location", "")
    with CaptureQueriesContext(connection) as required:
        rater.get("/rate/progress/")
    settings.SECOND_FACTOR_REQUIRED = False
    with django_assert_num_queries(len(required)):
        rater.get("/rate/progress/")


def test_an_admin_resets_it_for_a_person_on_page_and_command_and_the_audit_log_says_so(boss: User) -> None:
    rita = make_user("rita", "researcher")
    equip(rita)
    browser = by_password(boss)
    chosen = {"action": "reset_second_factor", "_selected_action": [str(rita.pk)]}
    browser.post("/admin/auth/user/", chosen)
    assert not TOTPDevice.objects.filter(user=rita).exists()
    changes = AuditEntry.objects.get().changes
    assert [(one["kind"], one["model"]) for one in changes] == [("deleted", "otp_totp.totpdevice")]
    assert rita.pk in changes[0]["changes"]["user"]
    equip(rita)
    call_command("reset_second_factor", "rita")
    assert not TOTPDevice.objects.filter(user=rita).exists()


def test_secrets_are_on_no_page_of_djangos_admin(boss: User) -> None:
    equip(boss)
    browser = signed_in(boss)
    assert "otp" not in browser.get("/admin/").text.lower()
    assert browser.get("/admin/otp_totp/totpdevice/").status_code == 404
    assert browser.get("/admin/login/")["Location"] == "/login/?next=/admin/"


@pytest.mark.engine
@pytest.mark.django_db(transaction=True)
def test_of_two_that_send_one_code_at_the_same_moment_one_comes_in(boss: User) -> None:
    equip(boss)
    code = code_of(boss)
    browsers = [by_password(boss), by_password(boss)]
    answers = together([lambda one=one: one.post("/login/code/", {"code": code}).status_code for one in browsers])
    assert sorted(answers) == [302, 422]
