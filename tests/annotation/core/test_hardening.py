"""What a hostile or careless user must not be able to do: lock others out, read tokens, wear the server down."""

import io
import json
import logging
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.db import IntegrityError
from django.test import Client, RequestFactory
from django.urls import reverse

from annotation.core.errors import MOST_BAD_LINES, AnnotationError, BadFile, BadLine
from annotation.core.files.file_bounds import Bound
from annotation.core.files.lines import read_csv, read_json
from annotation.core.http import client_ip
from annotation.core.reasons import Reason
from annotation.importing.formats.study_file import MOST_SYSTEMS
from annotation.importing.rating_files import import_ratings
from annotation.members.accounts import login_link
from annotation.models import Study
from annotation.studies.services import ensure_study
from config.log_filters import OneLine
from tests.annotation.importing.test_rating_files import line
from tests.factories import json_lines, make_annotator, make_study, make_user, parse_study_file

pytestmark = pytest.mark.django_db


@pytest.mark.slow
def test_stale_links_lock_no_user_out_and_leave_no_token_behind(client: Client) -> None:
    user = make_user("ann", "annotator")
    stale = login_link(user=user, base_url="")
    assert Client().post(stale).status_code == 302
    for _ in range(15):
        assert Client().get(stale).status_code == 403
        assert Client().post(stale).status_code == 403
    user.refresh_from_db()  # signing in has moved last_login, which a link signs

    fresh = client.post(login_link(user=user, base_url=""))

    assert fresh.status_code == 302
    assert fresh["Referrer-Policy"] == "no-referrer"
    assert not AccessAttempt.objects.exists()


def test_the_address_is_the_nearest_proxys_word_or_the_connections(settings: Any) -> None:
    request = RequestFactory().get("/", HTTP_X_FORWARDED_FOR="198.51.100.1, 203.0.113.9", REMOTE_ADDR="127.0.0.1")
    for settings.BEHIND_PROXY, address in ((True, "203.0.113.9"), (False, "127.0.0.1")):
        assert client_ip(request) == address


def test_a_bad_host_is_a_plain_400_and_one_line_in_the_log() -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    logging.getLogger().addHandler(handler)
    try:
        answer = Client(headers={"Host": "evil.example"}).get("/login/")
    finally:
        logging.getLogger().removeHandler(handler)
    assert answer.status_code == 400
    assert "Bad Request" in answer.text
    assert "evil" not in answer.text
    [line] = stream.getvalue().splitlines()
    assert line == "Invalid HTTP_HOST header: 'evil.example'. You may need to add 'evil.example' to ALLOWED_HOSTS."


def test_other_suspicious_requests_keep_their_stack_trace() -> None:
    kept = [one for one in logging.getLogger("django.security").filters if isinstance(one, OneLine)]
    assert kept == []
    assert any(isinstance(one, OneLine) for one in logging.getLogger("django.security.DisallowedHost").filters)


@pytest.mark.engine
def test_a_new_study_never_takes_over_one_that_was_made_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    def collide(self: Study, *args: Any, **kwargs: Any) -> None:
        raise IntegrityError("UNIQUE constraint failed")

    make_study("taken", instances=0)
    with pytest.raises(AnnotationError, match="is taken"):
        ensure_study(slug="taken", must_be_new=True)
    monkeypatch.setattr(Study, "save", collide)
    with pytest.raises(AnnotationError, match="taken a moment ago"):
        ensure_study(slug="fresh", must_be_new=True)


def test_a_file_of_another_kind_is_not_read_to_its_end() -> None:
    records, bad = read_json(b"x\n" * (2 * MOST_BAD_LINES))
    assert list(records) == []
    assert len(bad) == MOST_BAD_LINES
    error = BadFile("big.jsonl", bad)
    assert "and reading stopped there" in str(error)
    assert len(error.abridged(100).splitlines()) == 102  # the head, 100 lines, how many more


def test_a_long_reason_is_cut() -> None:
    assert len(str(BadLine(1, Reason("long", "y" * 10_000)))) < 600


def test_one_line_lists_a_bounded_number_of_problems() -> None:
    line = {"instance_id": "a", "source": "s", "generations": {"p": [0] * 900, "q": ["fine"]}}
    with pytest.raises(BadFile) as caught:
        parse_study_file(json.dumps(line).encode(), "f.jsonl")
    assert len(caught.value.lines) == 51
    assert "and 850 more problems" in str(caught.value)


@pytest.mark.slow
def test_many_columns_and_keys_are_checked_in_one_pass() -> None:
    # 50,000 names: comparing each with every other would take minutes.
    header = ",".join(f"c{number}" for number in range(50_000)) + ",c7\n"
    _, _, bad = read_csv(header.encode())
    assert [line.text for line in bad] == ["column 'c7' is there more than once"]
    keys = ",".join(f'"k{number}":1' for number in range(50_000))
    records, bad = read_json(f'{{{keys},"k7":2}}'.encode())
    assert list(records) == []
    assert bad[0].text == "not valid JSON: the key 'k7' is there more than once"


def test_too_many_systems_are_refused() -> None:
    generations = {f"s{number}": ["text"] for number in range(MOST_SYSTEMS + 1)}
    line = {"instance_id": "a", "source": "s", "generations": generations}
    with pytest.raises(BadFile, match=f"at most {MOST_SYSTEMS} are taken"):
        parse_study_file(json.dumps(line).encode(), "f.jsonl")


def test_too_many_matchups_are_refused() -> None:
    # A file of 54 texts may make 25 * 54 = 1,350 matchups; 52 systems make 1,326, and 53 make 1,378.
    lines = [
        {"instance_id": "a", "source": "s", "generations": {f"s{number}": ["text"] for number in range(systems)}}
        for systems in (52, 53)
    ]
    fits, exceeds = (json.dumps(line).encode() for line in lines)
    assert len(parse_study_file(fits, "f.jsonl", bound=Bound(54))) == 1
    with pytest.raises(BadFile, match="matchups"):
        parse_study_file(exceeds, "f.jsonl", bound=Bound(54))


def test_a_file_can_not_add_ratings_under_an_accounts_code() -> None:
    study = make_study()
    annotator = make_annotator(study, "ann")
    row = line(batch="forged", rater=annotator.code)
    with pytest.raises(BadFile, match="has an account"):
        import_ratings(data=json_lines([row]), name="r.jsonl", slug=study.slug)
    assert not annotator.assignments.exists()


@pytest.mark.parametrize("address", ["/rate/hit/%00/", "/rate/consent/%00/"])
def test_a_nul_in_an_address_is_a_404(client: Client, address: str) -> None:
    client.force_login(make_user("ann", "annotator"))
    assert client.get(address).status_code == 404


@pytest.mark.slow
def test_what_a_signed_in_user_is_shown_is_not_kept_by_caches(client: Client) -> None:
    study = make_study()
    client.force_login(make_user("rita", "researcher"))
    for name in ("annotation:study", "annotation:instances", "reporting:findings", "reporting:findings-json"):
        assert "no-store" in client.get(reverse(name, args=[study.slug]))["Cache-Control"]


@pytest.mark.parametrize("address", ["/login/", "/healthz", "/no/such/page"])
def test_no_page_may_use_devices_frames_or_other_sites(client: Client, address: str) -> None:
    headers = client.get(address).headers
    assert {"camera=()", "geolocation=()", "microphone=()"} <= set(headers["Permissions-Policy"].split(", "))
    assert "default-src 'self'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]  # as 'unsafe-inline'
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert (headers["X-Frame-Options"], headers["X-Content-Type-Options"]) == ("DENY", "nosniff")
    assert headers["Referrer-Policy"] == "same-origin"


def test_a_body_far_beyond_what_may_be_sent_is_not_kept(client: Client, settings: Any) -> None:
    settings.UPLOAD_MAX_BYTES = 2**20
    announced = {"CONTENT_LENGTH": str(4 * 2**20 + 1), "content_type": "multipart/form-data; boundary=x"}
    for path in ("/", "/api/v1/studies/study/import/"):
        answer = client.post(path, b"", **announced)
        assert (answer.status_code, "up to 1 MB" in answer.text) == (413, True), path
    assert answer.json()["detail"].startswith("This is too large")
