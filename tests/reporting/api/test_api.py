"""The API's lists and rows: who sees what, filters, pages, and a schema that is true."""

import json
from copy import deepcopy
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.utils import timezone
from rest_framework.test import APIClient

from annotation.core.reasons import reason
from annotation.models import Annotator, ComparisonTable, Display, Flag, VoteChange
from annotation.recruitment.channels import invitation_channel
from judging.models import Completion, Endpoint, Judge, Judgment, TableCheck, TableMaking
from reporting.exports.files import export_lines
from tests.factories import api_of, make_user
from tests.reporting.builders import Built, build_configuration, build_study, judge, rate, separate

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
OF_STUDIES = [
    *("studies", "systems", "instances", "generations", "matchups", "pairs", "batches", "hits", "assignments"),
    *("ratings", "history", "flags", "annotators", "channels", "tables", "runs", "judgments", "completions"),
]
ALL = [*OF_STUDIES, "judges", "endpoints"]
KEYS = {
    "studies": "slug",
    "channels": "key",
    "pairs": "key",
    "hits": "key",
    "assignments": "key",
    "completions": "cache_key",
}


def build_everything(slug: str) -> Built:
    """A study with at least one row of every kind."""
    built = build_configuration(build_study(slug), instances=2, pairs=2)
    separate(built, [(0.5, 0.5, 0.1), (0.5, 0.5, 0.4)], [0.1, 0.4])
    rate(built, 0, "ann", [-1, 1])
    judge(built, "direct", [(0, 0, "ab", -1), (0, 1, "ba", 1)])
    completion = Completion.objects.create(cache_key=f"{built.study.pk:064x}", base_url="https://x.example", request={})
    for judgment in Judgment.objects.filter(run__study=built.study):
        judgment.completions.add(completion)
    ComparisonTable.objects.create(study=built.study, table_id="t1", pair=built.pairs[0][0], variant="c8")
    display = Display.objects.filter(assignment__hit__batch__study=built.study).earliest("pk")
    VoteChange.objects.create(display=display, stage="first", verdict=-1, received_at=timezone.now())
    Flag.objects.create(display=display, kind="empty", flagged_at=timezone.now())
    invitation_channel(study=built.study)
    return built


def store() -> Built:
    return build_everything("mine")


@pytest.fixture
def mine(stored: Built) -> Built:
    """The study that the reader may read."""
    return deepcopy(stored)


@pytest.fixture
def other(mine: Built) -> Built:
    """A study of another group."""
    Endpoint.objects.create(name="local", base_url="https://x.example/v1", model="m", key_env="SOME_KEY")
    return build_everything("other")


@pytest.fixture
def reader(mine: Built) -> APIClient:
    return api_of(make_user("reader", "researcher", study=mine.study))


def test_reader_sees_rows_of_their_studies_only_and_lists_are_filtered_by_study(
    reader: APIClient, other: Built
) -> None:
    admin = api_of(get_user_model().objects.create_superuser("root", password="a long enough one"))
    for name in OF_STUDIES:
        found, everything = (client.get(f"/api/v1/{name}/").json() for client in (reader, admin))
        assert found["count"] > 0, name
        assert everything["count"] == 2 * found["count"], name
        key = KEYS.get(name, "id")
        seen = {row[key] for row in found["results"]}
        hidden = [row[key] for row in everything["results"] if row[key] not in seen]
        for one, status in {min(seen): 200, hidden[0]: 404, hidden[-1]: 404}.items():
            assert reader.get(f"/api/v1/{name}/{one}/").status_code == status, (name, one)
        for row in everything["results"]:
            if "study" in row:
                assert (row["study"] == "mine") == (row[key] in seen), (name, row)
        if name != "studies":
            of_mine, of_other = (
                client.get(f"/api/v1/{name}/", {"study": study}).json()
                for client, study in ((admin, "mine"), (reader, "other"))
            )
            assert ({row[key] for row in of_mine["results"]}, of_other["count"]) == (seen, 0), name


def test_readers_are_not_told_where_an_endpoint_is(reader: APIClient, other: Built, mine: Built) -> None:
    Judge.objects.update(endpoint=Endpoint.objects.get(name="local"))
    answers = [reader.get(f"/api/v1/{name}/") for name in ALL if name != "endpoints"]
    assert all(answer.json()["count"] > 0 for answer in answers)
    for told in (*(answer.content.decode() for answer in answers), *export_lines(mine.study, "judgments", "jsonl")):
        assert "x.example" not in told
        assert "base_url" not in told


def test_annotators_are_codes_and_no_accounts(reader: APIClient, mine: Built) -> None:
    Annotator.objects.filter(code="ann").update(user=make_user("jane.doe@example.org"))
    for name in ("annotators", "assignments", "ratings"):
        assert "jane.doe" not in reader.get(f"/api/v1/{name}/").content.decode()
    assert set(reader.get("/api/v1/annotators/").json()["results"][0]) == {
        *("id", "study", "code", "kind", "joined_at", "excluded", "exclusion_reason"),
        *("warned_at", "blocked_at", "block_reason", "block_reason_code"),
    }


def test_nothing_of_who_has_withdrawn_is_listed(reader: APIClient, mine: Built) -> None:
    rate(mine, 1, "gone", [1, 1])
    names = ("annotators", "assignments", "ratings", "history", "flags")
    before = {name: reader.get(f"/api/v1/{name}/").json()["count"] for name in names}

    Annotator.objects.filter(code="ann").update(withdrawn_at=timezone.now())

    for name in names:
        after = reader.get(f"/api/v1/{name}/").json()
        assert after["count"] < before[name], name
        assert "ann" not in {row.get("rater", row.get("annotator", row.get("code"))) for row in after["results"]}, name


def test_purposes_and_settings_are_shown(reader: APIClient, mine: Built) -> None:
    study = reader.get("/api/v1/studies/mine/").json()
    assert (study["protocol"], study["arms"], study["qualification_share"]) == ("one-stage", [], 0.8)
    for name, query, count in (
        ("ratings", {"rater": "ann"}, 2),
        ("ratings", {"rater": "bob"}, 0),
        ("judgments", {"judge": "direct", "status": "parsed"}, 2),
        ("instances", {"dataset": "news"}, 2),
        ("assignments", {"state": "claimed"}, 0),
    ):
        assert reader.get(f"/api/v1/{name}/", query).json()["count"] == count, (name, query)
    [batch] = reader.get("/api/v1/batches/", {"purpose": "rating"}).json()["results"]
    assert (batch["purpose"], batch["gold_rate"], batch["repeat_rate"]) == ("rating", 0, 0)
    assert reader.get("/api/v1/batches/", {"purpose": "gold"}).json()["count"] == 0
    [assignment] = reader.get("/api/v1/assignments/", {"purpose": "rating"}).json()["results"]
    assert (assignment["attempt"], assignment["repeat_of"], assignment["late"]) == (1, None, False)
    assert {"arm", "locked_at", "pay_due", "returned_at", "return_reason"} <= set(assignment)
    [flag] = reader.get("/api/v1/flags/", {"kind": "empty", "rater": "ann"}).json()["results"]
    assert (flag["pair"], flag["row"], flag["table"]) == (mine.pairs[0][0].key, None, None)
    [change] = reader.get("/api/v1/history/", {"stage": "first", "rater": "ann"}).json()["results"]
    assert (change["verdict"], change["shown_table"]) == (-1, None)


def test_completion_behind_many_judgments_is_listed_once(reader: APIClient, mine: Built) -> None:
    assert Judgment.objects.filter(completions__isnull=False).count() == 2
    assert reader.get("/api/v1/completions/").json()["count"] == 1


def test_lists_come_in_pages_that_do_not_overlap(reader: APIClient, mine: Built) -> None:
    build_configuration(mine.study, instances=120, pairs=1, dataset="many")
    first = reader.get("/api/v1/instances/").json()
    second = reader.get(first["next"]).json()
    ids = [row["id"] for page in (first, second) for row in page["results"]]
    assert len(ids) == len(set(ids)) == first["count"] == 122
    assert (second["count"], second["next"]) == (None, None)
    assert reader.get(second["previous"]).json()["results"] == first["results"]
    pages = [reader.get("/api/v1/instances/", {"page_size": "50"}).json()]
    while pages[-1]["next"]:
        pages.append(reader.get(pages[-1]["next"]).json())
    assert [len(page["results"]) for page in pages] == [50, 50, 22]
    assert [row["id"] for page in pages for row in page["results"]] == ids


@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        pytest.param({"page_size": "0"}, 400, "page_size", id="no rows"),
        pytest.param({"page_size": "9999"}, 400, "page_size", id="too many rows"),
        pytest.param({"page_size": "ten"}, 400, "page_size", id="no number"),
        pytest.param({"cursor": "cD1hYmM="}, 404, "cursor", id="cursor of another list"),
        pytest.param({"cursor": "xyz"}, 404, "cursor", id="no cursor"),
        pytest.param({"datset": "news"}, 400, "unknown parameter datset; allowed: cursor, dataset", id="typo"),
        pytest.param({"page": "2"}, 400, "unknown parameter page", id="page"),
    ],
)
def test_what_a_list_does_not_take_is_refused_in_json(
    reader: APIClient, query: dict[str, str], status: int, said: str
) -> None:
    answer = reader.get("/api/v1/instances/", query)
    assert answer.status_code == status
    assert said in answer.json()["detail"]


def test_unknown_addresses_and_parameters_are_refused_in_json(reader: APIClient) -> None:
    for path in ("nothing/", "studies/mine/nothing/", "instances/1/2/"):
        missing = reader.get(f"/api/v1/{path}")
        assert (missing.status_code, missing.json()["detail"]) == (404, f"there is no address /api/v1/{path}")
    for path in ("studies/mine/", "studies/mine/findings/", "studies/mine/files/"):
        assert reader.get(f"/api/v1/{path}", {"judgee": "x"}).status_code == 400, path
    assert "<title>" in reader.get("/nothing/").content.decode()
    wrong = reader.get("/api/v1/judgments/", {"run": "first"})
    assert (wrong.status_code, list(wrong.json()["fields"])) == (400, ["run"])
    for accept in ("text/html", "application/xml"):
        answer = reader.get("/api/v1/studies/", headers={"accept": accept})
        assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json")


def test_findings_that_a_client_has_are_not_sent_again(reader: APIClient, mine: Built) -> None:
    for name in ("findings", "leaderboard"):
        first = reader.get(f"/api/v1/studies/mine/{name}/")
        tag = first.headers["ETag"]
        again = reader.get(f"/api/v1/studies/mine/{name}/", headers={"if-none-match": tag})
        assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", tag)
        other = reader.get(f"/api/v1/studies/mine/{name}/", {"with_incomplete": "1"}, headers={"if-none-match": tag})
        assert other.status_code == 200
    rate(mine, 1, "ann", [1, 1])
    assert reader.get("/api/v1/studies/mine/findings/", headers={"if-none-match": tag}).status_code == 200


def test_lists_take_a_fixed_number_of_queries(
    reader: APIClient, mine: Built, django_assert_max_num_queries: Any
) -> None:
    few = {}
    for name in (*OF_STUDIES, "judges"):
        with django_assert_max_num_queries(12) as few[name]:
            reader.get(f"/api/v1/{name}/")
    rate(mine, 0, "bob", [-1, 1])
    rate(mine, 1, "bob", [-1, 1])
    judge(mine, "other", [(0, 0, "ab", -1), (0, 1, "ba", 1)])
    build_configuration(mine.study, instances=3, pairs=2, dataset="more")
    for name, taken in few.items():
        with django_assert_max_num_queries(len(taken), info=name):
            reader.get(f"/api/v1/{name}/")


def test_odd_addresses_are_not_found(reader: APIClient) -> None:
    for path in ("pairs/%00/", "instances/99999999999999999999999/", "instances/abc/", "studies/no-such/"):
        assert reader.get(f"/api/v1/{path}").status_code == 404
    assert reader.get("/api/v1/instances/", {"dataset": "\0"}).status_code == 400


def test_one_table_comes_with_its_checks_and_its_making(reader: APIClient, mine: Built) -> None:
    table = ComparisonTable.objects.get()
    text = mine.pairs[0][0].generation_a.text
    ComparisonTable.objects.update(rows=[{"aspect": "x", "only_a": text, "both": "", "only_b": "quartz"}])
    assert "checks" not in reader.get("/api/v1/tables/").json()["results"][0]
    bare = reader.get(f"/api/v1/tables/{table.pk}/").json()
    assert (bare["making"], bare["checks"]["vectors"], bare["checks"]["threshold"]) == (None, {}, 0.5)
    assert (bare["checks"]["n"], bare["checks"]["supported"]) == (2, 0.5)
    [row] = bare["checks"]["rows"]
    assert [row[cell]["support"] for cell in ("only_a", "both", "only_b")] == [1.0, None, 0.0]
    lost = reason("no_table_in", text="sorry")
    record = {"samples": [{"rows": []}, {"lost": lost.stored()}], "bracket": []}
    TableMaking.objects.create(judgment=Judgment.objects.earliest("pk"), table=table, record=record)
    endpoint = Endpoint.objects.create(name="local", base_url="https://x.example/v1", model="m")
    TableCheck.objects.create(table=table, endpoint=endpoint, model="m", found={"n": 2})
    full = reader.get(f"/api/v1/tables/{table.pk}/").json()
    shown = {**record, "samples": [{"rows": []}, {"lost": lost.text, "lost_code": "no_table_in"}]}
    assert (full["making"], full["checks"]["vectors"]) == (shown, {"m": {"n": 2}})


def test_schema_is_valid_and_declares_refusals(tmp_path: Any) -> None:
    file = tmp_path / "schema.json"
    call_command("spectacular", "--validate", "--fail-on-warn", "--format", "openapi-json", "--file", str(file))
    schema = json.loads(file.read_text(encoding="utf-8"))
    paths = schema["paths"]
    for name in ALL:
        assert f"/api/v1/{name}/" in paths
    for path, operations in paths.items():
        if path != "/api/v1/schema/":
            assert set(operations) <= {"get", "post", "patch", "delete"}
            for operation in operations.values():
                assert {"401", "403", "404"} <= set(operation["responses"])
    rows = schema["components"]["schemas"]
    for name, field in (("JudgeRun", "questions"), ("Judgment", "question"), ("Rating", "question")):
        assert field in rows[name]["properties"]
        assert field not in rows[name]["required"]  # it is there where a study asks several questions
