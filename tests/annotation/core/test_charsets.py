"""A request that says it is written in another character set than UTF-8 is refused, whatever it holds."""

import pytest
from django.test import Client
from django.urls import reverse

BODY = b'--x\r\nContent-Disposition: form-data; name="username"\r\n\r\n+2AA- \\ud800 abc\r\n--x--\r\n'
pytestmark = pytest.mark.django_db


@pytest.fixture
def sender() -> Client:
    """A browser that is shown a page of error where the server has one."""
    return Client(raise_request_exception=False)


@pytest.mark.parametrize(
    "charset",
    ["utf-7", "unicode_escape", "raw_unicode_escape", "rot13", "hex", "idna", "latin-1", "utf-16", "none-such"],
)
def test_another_charset_is_refused(sender: Client, charset: str) -> None:
    for kind in ("multipart/form-data; boundary=x", "application/x-www-form-urlencoded", "text/plain"):
        answer = sender.generic("POST", reverse("annotation:login"), BODY, content_type=f"{kind}; charset={charset}")
        assert answer.status_code == 415
        assert "UTF-8" in answer.text


@pytest.mark.parametrize(
    "said", ["", "; charset=utf-8", "; charset=UTF-8", "; charset=utf8", '; charset="Utf-8"', "; charset="]
)
def test_utf_8_is_taken_however_it_is_spelt(sender: Client, said: str) -> None:
    kind = f"multipart/form-data; boundary=x{said}"
    answer = sender.generic("POST", reverse("annotation:login"), BODY, content_type=kind)
    assert answer.status_code == 200
    assert "abc" in answer.text  # the form is shown again with the name that was sent


def test_a_get_that_names_a_charset_is_refused_too(sender: Client) -> None:
    answer = sender.get(reverse("annotation:login"), {"next": "+2AA-"}, CONTENT_TYPE="text/plain; charset=utf-7")
    assert answer.status_code == 415


@pytest.mark.parametrize("name", ["name*=utf-7''%2B2AA-", "name*=unicode_escape''%5Cud800", "name*=rot13''abc"])
def test_a_field_whose_name_is_in_another_charset_harms_nothing(sender: Client, name: str) -> None:
    body = BODY.replace(b'name="username"', name.encode())
    kind = "multipart/form-data; boundary=x"
    assert sender.generic("POST", reverse("annotation:login"), body, content_type=kind).status_code == 200
