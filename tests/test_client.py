"""The client of the API, and the notebook that shows it, against the server's own code and a stand-in for a model."""

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django_tasks_db.models import DBTaskResult

from annotation.core.tasks.stopping import StopFlag
from annotation.jobs.work import do_job
from annotation.models import Annotator, Study, Upload
from annotation.models.members import Role
from judging.endpoints.client import OpenAIClient
from judging.endpoints.retrying import RetryingClient
from judging.models import Distillation, GenerationRun, JudgeRun
from judging.runs.execution import execute
from reporting.models import MadeFile
from reporting.uploads import jobs as upload_jobs
from reporting.uploads.jobs import read_files
from tandem.client import ApiError, Tandem
from tests.factories import make_study, make_user, token_of
from tests.fakes import StandIn, prefer_first
from tests.judging.builders import make_endpoint, no_sleep

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
NOTEBOOK = Path(__file__).parent.parent / "examples" / "study_by_api.ipynb"


class Server(httpx2.BaseTransport):
    """The server's code in this process; what is queued is done before the next request, as by a worker."""

    def __init__(self) -> None:
        self.wsgi = httpx2.WSGITransport(app=WSGIHandler())
        self.busy = 0
        self.lost = 0
        self.refusal = ""  # why jobs that ask a model stop
        self.requests: list[httpx2.Request] = []

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        for run in JudgeRun.objects.filter(status=JudgeRun.Status.QUEUED):
            execute(
                run.pk,
                stop=StopFlag(),
                make_client=lambda endpoint: RetryingClient(OpenAIClient(endpoint), sleep=no_sleep),
            )
        for made in MadeFile.objects.filter(status="queued"):
            do_job.func("reporting.MadeFile", made.pk)
        for upload in Upload.objects.filter(status="queued"):
            read_files.call(upload.pk)
        status = "stopped" if self.refusal else "done"
        for kind in (Distillation, GenerationRun):
            kind._default_manager.filter(status="queued").update(status=status, message=self.refusal)
        DBTaskResult.objects.filter(status="READY").update(status="SUCCESSFUL")
        if self.busy:
            self.busy -= 1
            return httpx2.Response(503, headers={"Retry-After": "0"}, json={"detail": "busy"})
        answer = self.wsgi.handle_request(request)
        if self.lost:
            self.lost -= 1
            answer.read()
            raise httpx2.ReadError("the answer was lost")
        return answer


@pytest.fixture
def server(settings: Any) -> Iterator[Server]:
    settings.ENDPOINT_ALLOWLIST = ["127.0.0.1"]
    settings.ALLOWED_HOSTS = ["server"]
    for signal in (request_started, request_finished):  # the test's transaction has one connection
        signal.disconnect(close_old_connections)
    yield Server()
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


def client_of(server: Server, *scopes: str) -> Tandem:
    admin = make_user("boss", Role.STUDY_ADMIN)
    return Tandem("http://server", token_of(admin, *scopes), transport=server, sleep=lambda _seconds: None)


def test_the_notebook_goes_from_texts_to_exported_rows(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert all(not cell.get("outputs") for cell in cells)
    admin = make_user("boss", Role.STUDY_ADMIN)
    values = {"TANDEM_URL": "http://server", "TANDEM_TOKEN": token_of(admin), "TANDEM_ENDPOINT": "stand-in"}
    values["TANDEM_FOLDER"] = str(tmp_path)
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    make_client = httpx2.Client
    monkeypatch.setattr(httpx2, "Client", lambda **given: make_client(**{**given, "transport": server}))
    monkeypatch.chdir(NOTEBOOK.parent.parent)
    found: dict[str, Any] = {}
    with StandIn(answer=prefer_first) as stand_in:
        make_endpoint(stand_in.base_url, price_prompt="0.1", price_completion="0.1")
        for cell in code:
            exec(compile(cell, str(NOTEBOOK), "exec"), found)  # ours
    assert found["run"]["status"] == "done"
    assert len(stand_in.bodies) == found["estimate"]["calls"] == 120
    assert Annotator.objects.filter(study__slug="from-a-notebook").count() == 3
    sets = found["raters"].set_index("rater")["rating_sets"].to_dict()
    assert sets["judge:notebook-judge"] == 12
    assert len(found["judgments"]) == 120
    assert set(found["judgments"]["verdict"]) == {-1, 1}
    assert sorted(found["exported"]["verdict"]) == sorted(found["judgments"]["verdict"])
    [record] = Study.objects.get(slug="from-a-notebook").imports.all()
    assert (record.kind, record.options["mapping"]["source"]) == ("study", "dialogue")


def test_lists_are_read_page_by_page(server: Server) -> None:
    make_study("talks", instances=7)
    tandem = client_of(server)
    assert len(list(tandem.rows("instances", page_size=3, study="talks"))) == 7
    assert len(server.requests) == 3


def test_what_is_refused_says_why(server: Server) -> None:
    tandem = client_of(server, "read")
    for call, status in (
        (lambda: tandem.create_study("new"), 403),
        (lambda: tandem.findings("nothing"), 404),
        (lambda: tandem.get("instances/", studdy="x"), 400),
        (lambda: tandem.export("nothing", "ratings", "never.jsonl"), 404),
    ):
        with pytest.raises(ApiError) as refused:
            call()
        assert refused.value.status == status
    assert not Path("never.jsonl").exists()
    tandem = Tandem("http://server", "wrong", transport=server)
    with pytest.raises(ApiError, match="401"):
        tandem.get("studies/")


def test_a_lost_answer_and_a_busy_server_are_no_loss(server: Server) -> None:
    tandem = client_of(server)
    server.busy, server.lost = 2, 1
    assert tandem.create_study("fresh")["slug"] == "fresh"
    assert Study.objects.count() == 1
    assert [request.method for request in server.requests] == ["POST"] * 4
    assert len({request.headers["Idempotency-Key"] for request in server.requests}) == 1
    server.busy = 9
    with pytest.raises(ApiError, match="503"):
        tandem.get("studies/")


def test_files_are_made_and_saved(server: Server, tmp_path: Path, settings: Any) -> None:
    settings.DATA_DIR = tmp_path / "data"
    make_study("talks", instances=2)
    tandem = client_of(server)
    bundle = tandem.make_file("talks", "bundle", tmp_path / "b.zip", texts=False)
    with zipfile.ZipFile(bundle) as file:
        assert "talks-bundle/manifest.json" in file.namelist()
    tandem.make_file("talks", "preferences", tmp_path / "b.zip", form="label-studio")
    with zipfile.ZipFile(bundle) as file:
        assert "talks-preferences/labels.xml" in file.namelist()
    rows = tandem.export("talks", "texts", tmp_path / "texts.jsonl").read_text(encoding="utf-8")
    assert [json.loads(line)["instance_id"] for line in rows.splitlines()] == ["news-1", "news-2"]
    uploaded = tandem.upload("talks", tmp_path / "texts.jsonl")
    assert "nothing new" in uploaded
    assert sorted(one.name for one in tmp_path.iterdir()) == ["b.zip", "data", "texts.jsonl"]


def test_work_is_waited_for_and_its_failures_are_raised(
    server: Server, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DATA_DIR = tmp_path
    monkeypatch.setattr(upload_jobs, "SMALL", 0)
    make_endpoint(name="local")
    study = make_study("talks", instances=1)
    tandem = client_of(server)
    line = {"instance_id": "x", "dataset": "news", "source": "s", "generations": {"alpha": ["a"], "beta": ["b"]}}
    file = tmp_path / "more.jsonl"
    file.write_text(json.dumps(line), encoding="utf-8")
    assert "1 instance added" in tandem.upload("talks", file)
    file.write_text("no", encoding="utf-8")
    with pytest.raises(ApiError) as refused:
        tandem.upload("talks", file)
    assert (refused.value.lines[0]["number"], study.instances.count()) == (1, 2)

    assert tandem.set_aspects("talks", ["Facts"])["version"] == 1
    assert tandem.distil_aspects("talks", "local", pairs=1)["aspects"] == ["Facts"]
    sampled = {"samples": 1, "wording": "Shorten: $source"}
    assert tandem.sample_texts("talks", "gamma", "local", **sampled)["model"]
    server.refusal = "the endpoint is gone"
    with pytest.raises(ApiError, match="the endpoint is gone"):
        tandem.sample_texts("talks", "delta", "local", **sampled)
    tandem.add_judge("coin", "coin")
    assert tandem.add_member("talks", "helper", "researcher", new=True)["role"] == "researcher"
    assert {one["username"] for one in tandem.members("talks")} == {"boss", "helper"}
    assert list(tandem.disagreements("talks")) == []
    assert tandem.accuracy("talks")["study"] == tandem.logic("talks")["study"] == "talks"
    assert tandem.make_tables("talks", "local", samples=1)["status"] == "queued"
