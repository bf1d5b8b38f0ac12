"""What the API does beside reading: judges and their runs, files, channels, invitations, raters and their HITs."""

import io
import json
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.utils import timezone
from rest_framework.test import APIClient

from annotation.jobs.work import do_job
from annotation.models import Annotator, Assignment, Channel, Message, Pair
from annotation.models.members import Role
from judging.models import Endpoint, Judge, JudgeRun, Judgment
from reporting.api.sent_once import KEPT_FOR
from reporting.exports.files import export_lines
from reporting.models import MadeFile, SentRequest
from tests.factories import claim, make_annotator, make_batch, make_study, make_user, rate, token_of
from tests.judging.builders import make_endpoint
from tests.judging.tables.table_builders import make_table

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


class Client:
    """A person's program: posts and gets JSON below `/api/v1/`."""

    def __init__(self, user: Any) -> None:
        self.api = APIClient()
        self.api.credentials(HTTP_AUTHORIZATION=f"Token {token_of(user)}")

    def get(self, path: str, **query: str) -> Any:
        return self.api.get(f"/api/v1/{path}", query)

    def post(self, path: str, **values: Any) -> Any:
        return self.api.post(f"/api/v1/{path}", values, format="json")

    def patch(self, path: str, **values: Any) -> Any:
        return self.api.patch(f"/api/v1/{path}", values, format="json")


def files_in(packed: Any) -> dict[str, bytes]:
    """Return the files of a ZIP archive that was sent, by their names in its folder."""
    with zipfile.ZipFile(io.BytesIO(b"".join(packed.streaming_content))) as file:
        return {Path(name).name: file.read(name) for name in file.namelist()}


def store() -> Any:
    study = make_study(instances=2, k=2)
    make_batch(study)
    return study


@pytest.fixture
def researcher(study: Any) -> Client:
    return Client(make_user("rea", Role.RESEARCHER, study=study))


@pytest.fixture
def admin(study: Any) -> Client:
    return Client(make_user("boss", Role.STUDY_ADMIN, study=study))


def test_a_judge_is_added_estimated_and_run(researcher: Client) -> None:
    assert make_endpoint(name="local", price_prompt="1", price_completion="2")
    made = researcher.post("judges/", name="fair", method="direct", endpoint="local", order="both", params={"seed": 3})
    assert (made.status_code, made.json()["order"], made.json()["params"]) == (201, "both", {"seed": 3})
    assert researcher.post("judges/", name="fair", method="direct", endpoint="local", order="both").status_code == 409

    asked = {
        "study": "study",
        "judge": "fair",
        "batch": "batch",
        "instances": ["news-1"],
        "max_cost": "0.5",
        "batch_size": 500,
    }
    few = {name: value for name, value in asked.items() if name not in ("max_cost", "batch_size")}
    estimate = researcher.post("runs/estimate/", **few).json()
    assert (estimate["presentations"], estimate["calls"], estimate["currency"]) == (4, 4, "USD")
    assert estimate["cost"] > 0
    assert JudgeRun.objects.count() == 0

    started = researcher.post("runs/", **asked)
    run = JudgeRun.objects.get()
    assert (started.status_code, started.json()["status"], started.headers["Location"]) == (
        *(202, "queued"),
        f"/api/v1/runs/{run.pk}/",
    )
    assert (str(run.max_cost), run.batch_size, run.pair_filter) == ("0.500000", 500, {"instances": ["news-1"]})
    told = [
        researcher.post(f"runs/{run.pk}/{what}/").json()["status"] for what in ("pause", "resume", "cancel", "again")
    ]
    assert told == ["paused", "queued", "cancelled", "queued"]
    assert researcher.post(f"runs/{run.pk}/resume/").status_code == 409
    assert researcher.post(f"runs/{run.pk}/retry/").status_code == 409  # it is queued
    for wrong, status in (({"instances": ["x"]}, 404), ({"in_fligth": 3}, 422)):
        assert researcher.post("runs/", **{**asked, **wrong}).status_code == status
    assert JudgeRun.objects.count() == 1
    progress = researcher.get(f"runs/{run.pk}/progress/").json()
    assert (progress["asked"], progress["pending"], progress["status"]) == (0, 4, ["queued"])


def test_site_admins_set_up_endpoints(researcher: Client, django_user_model: Any) -> None:
    root = Client(django_user_model.objects.create_superuser("root"))
    new = {"name": "far", "base_url": "https://93.184.216.34/v1", "model": "m", "key_env": "FAR_KEY"}
    assert researcher.post("endpoints/", **new).status_code == 403
    made = root.post("endpoints/", **new, headers={"X-Team": "nlp"}, price_prompt="0.25")
    assert (made.status_code, made.json()["headers"]) == (201, ["X-Team"])
    changed = root.patch("endpoints/far/", requests_per_minute=30, price_prompt=None)
    assert (changed.json()["requests_per_minute"], changed.json()["price_prompt"]) == (30, None)
    assert root.patch("endpoints/far/", base_url="https://elsewhere.example").status_code == 422
    assert root.post("endpoints/far/test/").json() == {"pending": True}
    assert Endpoint.objects.get().base_url == "https://93.184.216.34/v1"
    assert researcher.post("judges/", name="far", method="direct", endpoint="far").status_code == 201
    assert Judge.objects.get().endpoint == Endpoint.objects.get()


def test_rows_and_made_files_are_had(
    researcher: Client, admin: Client, study: Any, settings: Any, tmp_path: Any
) -> None:
    settings.DATA_DIR = tmp_path
    rate(claim(make_annotator(study)), ["left", "right"])
    for form in ("csv", "jsonl"):
        sent = researcher.get("studies/study/exports/ratings/", format=form)
        assert b"".join(sent.streaming_content).decode() == "".join(export_lines(study, "ratings", form))
    assert researcher.get("studies/study/exports/ratings/", format="xlsx").status_code == 400
    assert researcher.get("studies/study/exports/everything/").status_code == 404

    assert researcher.post("studies/study/files/", kind="report", texts=False).status_code == 422
    asked = researcher.post("studies/study/files/", kind="bundle", reasons=False)
    key = asked.json()["key"]
    assert (asked.status_code, asked.json()["status"], asked.json()["content"]) == (202, "queued", None)
    assert asked.json()["options"] == {"texts": True, "completions": True, "reasons": False}
    assert researcher.post("studies/study/files/", kind="bundle", reasons=False).json()["key"] == key
    assert researcher.get(f"studies/study/files/{key}/content/").status_code == 404
    assert do_job.func("reporting.MadeFile", MadeFile.objects.get().pk) == "done"
    [listed] = researcher.get("studies/study/files/").json()
    assert listed == researcher.get(f"studies/study/files/{key}/").json()
    assert (listed["status"], listed["done"] == listed["total"] > 9) == ("done", True)
    manifest = json.loads(files_in(researcher.api.get(listed["content"]))["manifest.json"])
    assert manifest["contents"]["reasons"] is False
    assert researcher.api.delete(f"/api/v1/studies/study/files/{key}/").status_code == 403
    assert admin.api.delete(f"/api/v1/studies/study/files/{key}/").status_code == 204
    assert admin.get("studies/study/files/").json() == []


def test_preferences_are_made_as_the_command_writes_them(
    researcher: Client, study: Any, settings: Any, tmp_path: Any
) -> None:
    settings.DATA_DIR = tmp_path / "data"
    rate(claim(make_annotator(study)), ["left", "none"])
    files = "studies/study/files/"
    for wrong, status in (
        ({"kind": "preferences", "form": "parquet"}, 422),
        ({"kind": "preferences", "raters": ["judge:nobody"]}, 404),
        ({"kind": "preferences", "dataset": "none"}, 404),
        ({"kind": "report", "form": "trl"}, 422),
        ({"kind": "ranking"}, 404),
        ({"kind": "ranking", "limit": 3}, 422),
        ({"kind": "ranking", "run": True, "judge": "nobody"}, 404),
        ({"kind": "refined", "held_out": 1}, 422),
        ({"kind": "table-checks"}, 422),
    ):
        assert researcher.post(files, **wrong).status_code == status, wrong
    assert not MadeFile.objects.exists()

    counted = researcher.post(f"{files}estimate/", kind="preferences", form="trl", without=["ties"]).json()
    assert counted == {"rows": {"preferences.jsonl": 1}}
    for form in ("trl", "arena"):
        asked = researcher.post(files, kind="preferences", form=form, raters=["people"], systems=["beta", "alpha"])
        assert asked.json()["options"]["raters"] == ["people"]
        assert do_job.func("reporting.MadeFile", MadeFile.objects.get(key=asked.json()["key"]).pk) == "done"
        made = researcher.get(f"{files}{asked.json()['key']}/").json()
        call_command("export_preferences", "study", "--as", form, "--out", str(tmp_path / form))
        found = files_in(researcher.api.get(made["content"]))
        assert found == {path.name: path.read_bytes() for path in (tmp_path / form).iterdir()}
    assert set(found) == {"battles.json"}


@pytest.mark.parametrize(
    ("kind", "asked", "command"),
    [
        ("refined", {"form": "instruction", "negated": True}, ["refine_preferences", "--as=instruction", "--negated"]),
        ("ranking", {"methods": ["pairs"], "seeds": 2}, ["rank", "--method=pairs", "--seeds=2"]),
    ],
)
def test_files_of_logic_hold_what_the_commands_say(
    kind: str, asked: Any, command: Any, researcher: Client, study: Any, settings: Any, tmp_path: Any, capsys: Any
) -> None:
    settings.DATA_DIR = tmp_path / "data"
    rate(claim(make_annotator(study)), ["left", "none"])
    run = JudgeRun.objects.create(study=study, judge=Judge.objects.create(name="fair", method="direct"), status="done")
    for pair in Pair.objects.filter(matchup__instance__study=study):
        Judgment.objects.create(run=run, pair=pair, order="ab", status="parsed", verdict=1)
    out = ["--out", str(tmp_path / "file.jsonl")] if kind == "refined" else []
    call_command(command[0], "study", *command[1:], *out, "--format=json")
    said = json.loads(capsys.readouterr().out)

    made = researcher.post("studies/study/files/", kind=kind, **asked).json()
    assert researcher.post("studies/study/files/", kind=kind, **asked).json()["key"] == made["key"]
    assert do_job.func("reporting.MadeFile", MadeFile.objects.get().pk) == "done"

    found = files_in(researcher.get(f"studies/study/files/{made['key']}/content/"))
    [numbers] = [json.loads(data) for name, data in found.items() if name.endswith(".json")]
    assert {**numbers, "written": 0} == {**said, "written": 0}
    [other] = [data for name, data in found.items() if not name.endswith(".json")]
    assert other == (tmp_path / "file.jsonl").read_bytes() if out else other.startswith(b"<svg")


def test_a_ranking_asks_the_judge_for_what_is_not_stored(
    researcher: Client, study: Any, settings: Any, tmp_path: Any, capsys: Any
) -> None:
    settings.DATA_DIR = tmp_path
    Judge.objects.create(name="guess", method="coin")
    Judge.objects.create(name="elsewhere", method="imported")
    refused = researcher.post("studies/study/files/", kind="ranking", run=True, judge="elsewhere")
    assert (refused.status_code, MadeFile.objects.count()) == (409, 0)
    asked = {"kind": "ranking", "run": True, "judge": "guess"}
    expected = researcher.post("studies/study/files/estimate/", **asked).json()
    assert (expected["judge"], expected["presentations"], JudgeRun.objects.count()) == ("guess", 4, 0)
    for wrong in ({"kind": "ranking", "judge": "guess", "run": False}, {"kind": "report"}):
        assert researcher.post("studies/study/files/estimate/", **wrong).status_code in (404, 422), wrong

    made = researcher.post("studies/study/files/", **asked, max_cost="1.5", in_flight=2).json()
    assert (made["options"]["methods"], made["options"]["seeds"]) == (["pairs"], 1)
    assert do_job.func("reporting.MadeFile", MadeFile.objects.get().pk) == "done"
    told = researcher.get(f"studies/study/files/{made['key']}/").json()
    assert (told["status"], told["done"]) == ("done", told["total"])
    found = json.loads(files_in(researcher.api.get(told["content"]))["ranking.json"])
    assert (found["run"]["finished"], found["run"]["asked"]) == (4, 4)
    call_command("rank", "study", "--judge=guess", "--run", "--format=json")
    again = json.loads(capsys.readouterr().out)
    assert again["run"]["asked"] == 0
    assert again["methods"] == found["methods"]


def test_what_table_checks_take_is_estimated(researcher: Client, study: Any) -> None:
    make_endpoint(name="local")
    asked = {"kind": "table-checks", "endpoint": "local"}
    assert researcher.post("studies/study/files/estimate/", **asked).status_code == 409  # there are no tables
    make_table(Pair.objects.filter(matchup__instance__study=study)[0])
    assert researcher.post("studies/study/files/estimate/", **asked).json()["calls"] == 2


def test_channels_are_set_up_and_raters_invited(researcher: Client, admin: Client, study: Any) -> None:
    assert researcher.post("channels/", study="study", kind="anonymous", name="class").status_code == 403
    made = admin.post("channels/", study="study", kind="anonymous", name="class", options={"most_raters": 7})
    assert (made.status_code, made.json()["is_open"], made.json()["options"]["most_raters"]) == (201, False, 7)
    key = made.json()["key"]
    changed = admin.patch(f"channels/{key}/", is_open=True, options={"most_hits": 2}, batch="batch").json()
    assert (changed["is_open"], changed["name"], changed["batch"]) == (True, "class", "batch")
    assert (changed["options"]["most_raters"], changed["options"]["most_hits"]) == (7, 2)
    assert admin.patch(f"channels/{key}/", batch=None).json()["batch"] is None
    for wrong in ({"kind": "pigeon"}, {"options": {"colour": "red"}}, {"options": {"most_raters": 0}}):
        refused = admin.post("channels/", **{"study": "study", "kind": "anonymous", "name": "other", **wrong})
        assert (refused.status_code, Channel.objects.count()) == (422, 1), wrong

    invited = admin.post("studies/study/invitations/", count=2, days=3)
    assert (invited.status_code, len(invited.json())) == (201, 2)
    channel = Channel.objects.get(kind="accounts")
    assert admin.get(f"channels/{channel.key}/links/").json() == invited.json()
    assert invited.json()[0]["link"].startswith("http://testserver/join/")
    assert researcher.get(f"channels/{channel.key}/links/").status_code == 403
    assert len(admin.post(f"channels/{channel.key}/links/", count=1).json()) == 1
    again = admin.post(f"channels/{channel.key}/reissue/", rater=invited.json()[0]["rater"]).json()
    assert again["link"] not in [one["link"] for one in invited.json()]
    assert admin.post(f"channels/{channel.key}/reissue/", rater="nobody").status_code == 404
    assert admin.post("studies/study/invitations/", count=0).status_code == 422


def test_raters_and_their_hits_are_decided_about(researcher: Client, admin: Client, study: Any) -> None:
    annotator = make_annotator(study)
    hit = rate(claim(annotator), ["left", "right"])
    rater, work = f"annotators/{annotator.pk}/", f"assignments/{hit.key}/"
    assert researcher.post(f"{rater}exclude/", reason="hasty").status_code == 403
    assert admin.post(f"{rater}exclude/").status_code == 422
    effect = admin.post(f"{rater}exclude/", reason="hasty", reopen=True).json()
    assert (effect["changed"], effect["reopened"]) == (True, 1)
    assert Annotator.objects.get().exclusion_reason == "hasty"
    assert admin.post(f"{rater}include/").json()["counted"] == 1
    assert admin.post(f"{rater}unblock/").json()["changed"] is False
    assert admin.post(f"{work}reject/", reason="one side").json()["changed"] is True
    assert Assignment.objects.get().excluded
    assert admin.post(f"{work}accept/").json()["counted"] == 1
    assert admin.post(f"{work}release/").status_code == 409
    assert admin.post(f"{rater}message/", text="Thank you").status_code == 204
    assert Message.objects.get().text == "Thank you"
    [due] = admin.get("studies/study/payments/").json()
    assert (due["code"], due["hits"], due["counted"]) == (annotator.code, 1, 1)
    assert admin.get(f"{rater}data/").json()["studies"]
    assert researcher.get(f"{rater}data/").status_code == 403
    assert admin.post(f"{rater}erase/").status_code == 422
    assert admin.post(f"{rater}erase/", keep_ratings=False).status_code == 204
    assert admin.get(rater).status_code == 404


def test_a_request_that_is_sent_again_is_done_once(researcher: Client, admin: Client) -> None:
    def post(client: Client, path: str, key: str, **values: Any) -> Any:
        return client.api.post(f"/api/v1/{path}", values, format="json", headers={"Idempotency-Key": key})

    researcher.post("judges/", name="long", method="longer")
    asked = {"study": "study", "judge": "long"}
    first = post(researcher, "runs/", "a", **asked)
    JudgeRun.objects.update(status=JudgeRun.Status.PAUSED)
    again = post(researcher, "runs/", "a", **asked)
    assert (again.status_code, again.content, again.headers["Location"]) == (
        *(first.status_code, first.content),
        first.headers["Location"],
    )
    assert JudgeRun.objects.get().status == JudgeRun.Status.PAUSED
    assert post(researcher, "runs/", "a", **asked, in_flight=3).status_code == 422
    assert post(admin, "runs/", "a", **asked).json()["status"] == "queued"
    assert post(researcher, "runs/", "", **asked).status_code == 400
    assert post(researcher, "runs/", "x" * 101, **asked).status_code == 400

    refused = post(researcher, "judges/", "b", name="new", method="none")
    assert refused.status_code == 422
    assert post(researcher, "judges/", "b", name="new", method="coin").status_code == 201

    def upload(instance: str) -> Any:
        line = {"instance_id": instance, "source": "s", "generations": {"alpha": ["a", "b"], "beta": ["c", "d"]}}
        sent = {"kind": "study", "dataset": "news", "file": SimpleUploadedFile("a.jsonl", json.dumps(line).encode())}
        address = "/api/v1/studies/study/import/"
        return researcher.api.post(address, sent, format="multipart", headers={"Idempotency-Key": "d"})

    first = upload("more-1")
    assert (first.status_code, upload("more-1").content) == (200, first.content)
    assert upload("more-2").status_code == 422  # of the same size

    assert len(post(admin, "studies/study/invitations/", "c", count=2).json()) == 2
    assert post(admin, "studies/study/invitations/", "c", count=2).status_code == 409
    assert Annotator.objects.count() == 2
    assert not SentRequest.objects.filter(answer__contains="/join/").exists()
    SentRequest.objects.update(sent_at=timezone.now() - KEPT_FOR - timedelta(seconds=1))
    assert len(post(admin, "studies/study/invitations/", "c", count=1).json()) == 1
    assert SentRequest.objects.count() == 1
