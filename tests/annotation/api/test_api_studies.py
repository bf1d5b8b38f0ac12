"""Studies set up through the API: what the pages do, to the same people, with the same refusals."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.test import APIClient

from annotation.models import Event, ResearchGroup, RoleGrant, Study
from tests.factories import (
    api_of,
    claim,
    json_lines,
    make_annotator,
    make_batch,
    make_study,
    make_user,
    signed_in,
    study_line,
    token_of,
)

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

STUDIES = "/api/v1/studies/"
MINE = f"{STUDIES}study/"


def store() -> Study:
    return make_study(instances=2)


@pytest.fixture
def manager(study: Study) -> APIClient:
    return api_of(make_user("manager", "study-admin", study=study))


@pytest.fixture
def researcher(study: Study) -> APIClient:
    return api_of(make_user("researcher", "researcher", study=study))


# Who may


def test_sessions_need_their_csrf_token_and_tokens_need_none(study: Study) -> None:
    user = make_user("manager", "study-admin", study=study)
    with_token = APIClient(enforce_csrf_checks=True)
    with_token.credentials(HTTP_AUTHORIZATION=f"Token {token_of(user)}")
    assert with_token.patch(MINE, {"title": "By token"}, format="json").status_code == 200

    session = signed_in(user, enforce_csrf_checks=True)
    refused = session.patch(MINE, {"title": "By session"}, content_type="application/json")
    assert refused.status_code == 403
    assert "CSRF" in refused.json()["detail"]
    session.get("/studies/study/")
    token = session.cookies["csrftoken"].value
    accepted = session.patch(
        MINE, {"title": "By session"}, content_type="application/json", headers={"X-CSRFToken": token}
    )
    assert accepted.status_code == 200
    assert Study.objects.get().title == "By session"


# Making


def test_a_study_is_made_from_a_template_and_belongs_to_who_made_it(study: Study, researcher: APIClient) -> None:
    answer = researcher.post(
        STUDIES, {"slug": "fresh", "template": "paper-004", "title": "Fresh", "raters_per_hit": 4}, format="json"
    )

    assert answer.status_code == 201, answer.json()
    assert answer.headers["Location"] == f"{STUDIES}fresh/"
    shown = answer.json()
    assert (shown["slug"], shown["title"], shown["group"]) == ("fresh", "Fresh", "main")
    assert (shown["pairs_per_hit"], shown["raters_per_hit"], shown["ties_allowed"]) == (5, 4, True)
    assert (shown["pay_per_hit"], shown["currency"], shown["archived_at"]) == ("1.20", "USD", None)
    grant = RoleGrant.objects.get(study__slug="fresh")
    assert (grant.user.username, grant.role) == ("researcher", "study-admin")
    assert {**researcher.get(f"{STUDIES}fresh/").json(), "notices": []} == shown


def test_a_form_makes_a_study_as_json_does(researcher: APIClient) -> None:
    answer = researcher.post(
        STUDIES, {"slug": "fresh", "protocol": "two-stage", "arms": ["none", "table:c8"], "ties_allowed": "false"}
    )

    assert answer.status_code == 201, answer.json()
    assert answer.json()["title"] == "fresh"
    assert (answer.json()["arms"], answer.json()["ties_allowed"]) == (["none", "table:c8"], False)


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({}, "slug"),
        ({"slug": "study"}, "slug"),
        ({"slug": "new"}, "slug"),
        ({"slug": "a b"}, "slug"),
        ({"slug": [5]}, "slug"),
        ({"slug": "x", "template": "nope"}, "template"),
        ({"slug": "x", "group": "elsewhere"}, "group"),
        ({"slug": "x", "colour": "blue"}, "colour"),
        ({"slug": "x", "ties_allowed": 1}, "ties_allowed"),
        ({"slug": "x", "arms": [["none"]]}, "arms"),
        ({"slug": "x", "question": ["a"]}, "question"),
        ({"slug": "x", "question": {"a": 1}}, "question"),
        ({"slug": "x", "pairs_per_hit": 0}, "pairs_per_hit"),
        ({"slug": "x", "raters_per_hit": "many"}, "raters_per_hit"),
        ({"slug": "x", "pay_per_hit": 1}, "currency"),
        pytest.param({"slug": "x", "repeat_warn_below": 10**400}, "repeat_warn_below", id="a number beyond all floats"),
        ({"slug": "x", "protocol": "two-stage"}, "arms"),
    ],
    ids=str,
)
def test_a_study_that_cannot_be_made_says_which_field(researcher: APIClient, sent: dict[str, Any], field: str) -> None:
    ResearchGroup.objects.create(slug="elsewhere", name="Elsewhere")

    answer = researcher.post(STUDIES, sent, format="json")

    assert (answer.status_code, list(answer.json()["fields"])) == (422, [field])
    assert Study.objects.count() == 1


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"[]", 400),
        (b'"text"', 400),
        (b"[" * 100_000, 400),
        (b'{"slug": "x", "title": "\\ud800"}', 400),
        (b'{"slug": "x", "\\ud800": 1}', 400),
        (b'{"slug": "x", "title": "\\u0000"}', 400),
        (b'{"slug": "x", "title": NaN}', 400),
        (b'{"slug": "' + b"x" * 2_200_000 + b'"}', 413),
    ],
    ids=["broken", "list", "text", "deep", "surrogate", "surrogate key", "nul", "nan", "large"],
)
def test_bodies_that_cannot_be_read_are_refused_in_json(researcher: APIClient, body: bytes, status: int) -> None:
    answer = researcher.generic("POST", STUDIES, body, content_type="application/json")

    assert answer.status_code == status
    assert answer.json()["detail"]
    assert Study.objects.count() == 1


# Changing


def test_settings_are_changed_and_the_rest_stays(study: Study, manager: APIClient) -> None:
    answer = manager.patch(
        MINE, {"question": "Which is clearer?", "most_hits_per_rater": 20, "balance_arms": False}, format="json"
    )

    assert answer.status_code == 200
    shown = answer.json()
    assert (shown["question"], shown["most_hits_per_rater"], shown["balance_arms"]) == ("Which is clearer?", 20, False)
    assert (shown["title"], shown["ties_allowed"], shown["consent_version"]) == ("study", True, 1)
    assert manager.patch(MINE, {"most_hits_per_rater": None}, format="json").json()["most_hits_per_rater"] is None
    assert manager.patch(MINE, {}, format="json").status_code == 200
    assert Event.objects.count() == 0
    assert manager.put(MINE, {"title": "x"}, format="json").status_code == 405
    assert manager.delete(MINE).status_code == 422
    assert manager.patch(MINE, {"slug": "other"}, format="json").status_code == 422


def test_a_change_under_way_needs_a_reason_and_is_in_the_log(study: Study, manager: APIClient) -> None:
    make_batch(study)
    claim(make_annotator(study))
    change = {"question": "Which is clearer?", "pay_per_hit": "1.50", "currency": "EUR"}

    refused = manager.patch(MINE, change, format="json")
    assert refused.status_code == 422
    assert sorted(refused.json()["fields"]) == ["currency", "pay_per_hit", "question"]
    study.refresh_from_db()
    assert study.question == "Which one is better?"

    assert manager.patch(MINE, {**change, "amendment_reason": "Too vague."}, format="json").status_code == 200
    entry = manager.get(f"{MINE}log/").json()["results"][0]
    assert (entry["kind"], entry["reason"], entry["batch"]) == ("amendment", "Too vague.", None)
    assert entry["changes"]["question"] == ["Which one is better?", "Which is clearer?"]
    assert entry["changes"]["pay_per_hit"] == [None, "1.50"]
    assert "manager" not in manager.get(f"{MINE}log/").content.decode()
    too_long = manager.patch(MINE, {"contact": "me", "amendment_reason": "x" * 2001}, format="json")
    assert list(too_long.json()["fields"]) == ["amendment_reason"]
    study.arm_draws.create(number=0, annotator=study.annotators.get(), arm="none")
    fixed = manager.patch(MINE, {"arm_unit": "instance", "amendment_reason": "Why not."}, format="json")
    assert (fixed.status_code, list(fixed.json()["fields"])) == (409, ["arm_unit"])


# Files


def read(client: APIClient, data: bytes, kind: str = "study", **fields: str) -> Any:
    file = SimpleUploadedFile("f.jsonl", data)
    return client.post(f"{MINE}import/", {"kind": kind, "file": file, **fields}, format="multipart")


def test_a_file_is_read_once(study: Study, manager: APIClient) -> None:
    first, again = (read(manager, json_lines([study_line("a")])) for _ in range(2))

    assert (first.json()["study"], first.json()["detail"]) == ("study", "f.jsonl: 1 instance added (study study)")
    assert again.status_code == 200
    assert "nothing new" in again.json()["detail"]
    assert (study.instances.count(), study.imports.count()) == (3, 1)


def test_bad_lines_are_listed_with_number_and_reason_and_nothing_is_stored(study: Study, manager: APIClient) -> None:
    answer = read(manager, json_lines([study_line("a"), {"instance_id": "b"}]) + b"{\n")

    assert answer.status_code == 422
    told = answer.json()
    assert told["bad_lines"] == len(told["lines"]) == 3
    assert told["lines"][0] == {"number": 2, "code": "missing", "reason": "source is missing"}
    assert [line["number"] for line in told["lines"]] == [2, 2, 3]
    assert study.instances.count() == 2


def test_an_upload_that_lacks_something_says_what(study: Study, manager: APIClient, settings: Any) -> None:
    assert list(read(manager, b"x", kind="poem").json()["fields"]) == ["kind"]
    assert list(read(manager, b"x", kind="mturk").json()["fields"]) == ["dataset", "system_1", "system_2"]
    assert list(manager.post(f"{MINE}import/", {}, format="multipart").json()["fields"]) == ["file"]
    assert manager.post(f"{MINE}import/", {}, format="json").status_code == 415
    settings.UPLOAD_MAX_BYTES = 1000
    assert "Larger than" in read(manager, b"x" * 1001).json()["fields"]["file"][0]


# Copying and the archive


def test_a_reader_copies_a_study_and_administers_the_copy(study: Study, researcher: APIClient) -> None:
    answer = researcher.post(f"{MINE}copy/", {"slug": "second", "with_instances": True}, format="json")

    assert answer.status_code == 201, answer.json()
    assert Study.objects.get(slug="second").instances.count() == 2
    assert researcher.patch(f"{STUDIES}second/", {"title": "Second"}, format="json").status_code == 200
    for sent, field in (
        ({"slug": "second"}, "slug"),
        ({"slug": "third", "with_instances": 3}, "with_instances"),
        ({"slug": "third", "ratings": True}, "ratings"),
    ):
        refused = researcher.post(f"{MINE}copy/", sent, format="json")
        assert refused.status_code == 422
        assert list(refused.json()["fields"]) == [field]


def test_the_archive_is_logged_and_can_be_left(study: Study, manager: APIClient) -> None:
    assert manager.post(f"{MINE}archive/", {"reason": "Done."}, format="json").json()["archived_at"] is not None
    assert manager.post(f"{MINE}archive/").status_code == 200
    assert manager.get(MINE).status_code == 200
    assert manager.post(f"{MINE}restore/").json()["archived_at"] is None

    kinds = [(event["kind"], event["reason"]) for event in manager.get(f"{MINE}log/").json()["results"]]
    assert kinds == [("restored", ""), ("archived", "Done.")]
    assert list(manager.post(f"{MINE}archive/", {"why": "x"}, format="json").json()["fields"]) == ["why"]
