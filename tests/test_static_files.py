"""Static files on the wire: which copy goes to whom, and how a browser asks whether its copy is still good."""

import gzip
from typing import Any

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db  # closing an answer looks after connections

PATH = "/static/css/tandem.css"


def ask(method: str = "get", **headers: str) -> tuple[Any, bytes]:
    """Ask for the style sheet; return the answer, and its body as it came."""
    response: Any = getattr(Client(), method)(PATH, headers={name.replace("_", "-"): headers[name] for name in headers})
    body = b"".join(response.streaming_content) if response.streaming else response.content
    response.close()
    return response, body


@pytest.mark.parametrize(
    "accepted",
    ["", "identity", "gzip;q=0", "gzip; q=0.0", "br, gzip;q=0.000", "*", "gzip;q=0, *", "xgzip", "gzip;q=no"],
)
def test_who_takes_no_gzip_gets_none(accepted: str) -> None:
    response, body = ask(Accept_Encoding=accepted)
    assert "Content-Encoding" not in response
    assert b"{" in body


@pytest.mark.parametrize("accepted", ["gzip", "GZIP", "deflate, gzip, br", "gzip;q=0.1", "br;q=0, gzip ; Q=1.0"])
def test_who_takes_gzip_gets_it(accepted: str) -> None:
    response, body = ask(Accept_Encoding=accepted)
    assert response["Content-Encoding"] == "gzip"
    assert gzip.decompress(body) == ask()[1]


def test_each_copy_has_an_etag_of_its_own() -> None:
    plain, packed = ask()[0], ask(Accept_Encoding="gzip")[0]
    assert plain["ETag"] != packed["ETag"]
    assert packed["ETag"].endswith('"')
    assert all("Accept-Encoding" in one["Vary"] for one in (plain, packed))


@pytest.mark.parametrize("accepted", ["", "gzip"])
@pytest.mark.parametrize("said", ["{}", "W/{}", '"other", {}', "*"])
def test_a_copy_that_is_still_good_is_not_sent_again(accepted: str, said: str) -> None:
    tag = ask(Accept_Encoding=accepted)[0]["ETag"]
    again, body = ask(Accept_Encoding=accepted, If_None_Match=said.format(tag))
    assert (again.status_code, again["ETag"], again["Vary"]) == (304, tag, "Accept-Encoding")
    assert body == b""


def test_a_copy_of_the_other_kind_is_not_taken_for_this_one() -> None:
    plain, packed = ask()[0]["ETag"], ask(Accept_Encoding="gzip")[0]["ETag"]
    assert ask(Accept_Encoding="gzip", If_None_Match=plain)[0].status_code == 200
    assert ask(If_None_Match=packed)[0].status_code == 200
    stale = ask(Accept_Encoding="gzip", If_None_Match='"gone-gzip"')[0]
    assert (stale.status_code, stale["Content-Encoding"]) == (200, "gzip")


def test_a_date_will_do_for_browsers_that_keep_no_etag() -> None:
    since = ask()[0]["Last-Modified"]
    packed, _ = ask(Accept_Encoding="gzip", If_Modified_Since=since)
    assert (packed.status_code, packed["ETag"]) == (304, ask(Accept_Encoding="gzip")[0]["ETag"])


def test_head_says_what_get_would() -> None:
    whole, _ = ask(Accept_Encoding="gzip")
    head, body = ask("head", Accept_Encoding="gzip")
    for name in ("ETag", "Content-Encoding", "Content-Length", "Vary"):
        assert head[name] == whole[name], name
    assert body == b""
