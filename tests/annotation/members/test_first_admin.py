"""The first site admin gets in by a link that a terminal shows, and by nothing else."""

import io
import time
from types import SimpleNamespace

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from annotation.core.errors import AnnotationError
from annotation.members.accounts import first_admin_link, has_site_admin
from annotation.models.members import Role
from tests.factories import make_user, output_of

pytestmark = pytest.mark.django_db


class Terminal(io.StringIO):
    """What a person at the machine reads."""

    def isatty(self) -> bool:
        return True


def start(out: io.StringIO | None = None, err: io.StringIO | None = None) -> tuple[str, str]:
    """Run what a start of the server runs; return what it wrote to its output and to its errors."""
    out, err = out or Terminal(), err or io.StringIO()
    options = {"base_url": "http://localhost:8000", "if_terminal": True, "no_color": True}
    call_command("first_admin", stdout=out, stderr=err, **options)
    return out.getvalue(), err.getvalue()


def link_in(said: str) -> str:
    [link] = [word for word in said.split() if "/login/link/" in word]
    return link.removeprefix("http://localhost:8000")


@pytest.mark.slow
def test_the_link_of_a_fresh_database_signs_a_site_admin_in_once() -> None:
    link = link_in(start()[0])
    browser = Client()
    assert "Sign in as admin" in browser.get(link).text
    assert browser.post(link).status_code == 302
    assert browser.get("/admin/").status_code == 200
    assert Client().post(link).status_code == 403


def test_the_link_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    link, later = link_in(start()[0]), time.time() + 24 * 3600 + 60
    monkeypatch.setattr("sesame.tokens_v2.time", SimpleNamespace(time=lambda: later))
    assert Client().post(link).status_code == 403
    assert Client().post(link_in(start()[0])).status_code == 302  # a later start gives another


def test_a_second_start_gives_a_link_before_the_first_sign_in(monkeypatch: pytest.MonkeyPatch) -> None:
    first, later = link_in(start()[0]), time.time() + 60
    monkeypatch.setattr("sesame.tokens_v2.time", SimpleNamespace(time=lambda: later))
    second = link_in(start()[0])
    assert second != first
    assert Client().post(second).status_code == 302
    assert Client().post(first).status_code == 403
    assert start() == ("", "")
    assert User.objects.count() == 1


@pytest.mark.parametrize("password", [None, "a long enough one"])
def test_nothing_is_printed_or_made_when_there_is_a_site_admin(password: str | None) -> None:
    User.objects.create_superuser("root", password=password)
    assert start() == start(io.StringIO()) == ("", "")
    with pytest.raises(AnnotationError, match="there is a site admin already"):
        first_admin_link(base_url="")
    assert User.objects.count() == 1


def test_a_log_gets_the_command_and_no_link() -> None:
    out, err = start(io.StringIO())
    assert "manage.py first_admin" in out
    assert "/login/link/" not in out + err
    assert not User.objects.exists()


def test_whoever_runs_the_command_gets_the_link_through_a_pipe_too() -> None:
    link = link_in(output_of("first_admin", "--base-url", "http://localhost:8000"))
    assert Client().post(link).status_code == 302


def test_a_terminal_behind_a_redirected_output_gets_the_link() -> None:
    out, err = start(io.StringIO(), Terminal())
    assert out == ""
    assert Client().post(link_in(err)).status_code == 302


def test_an_existing_account_of_that_name_is_not_made_site_admin() -> None:
    make_user("admin", Role.ANNOTATOR)
    with pytest.raises(CommandError, match="another account's"):
        start()
    assert not User.objects.filter(is_superuser=True).exists()


def test_a_deactivated_site_admin_does_not_count_and_stays_out() -> None:
    User.objects.create_superuser("admin", is_active=False)
    assert not has_site_admin()
    with pytest.raises(AnnotationError, match="another account's"):
        first_admin_link(base_url="")
    assert not User.objects.get().is_active
