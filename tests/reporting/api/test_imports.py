"""Files read into a study by the API: small ones at once, large ones by the worker, with progress and bad lines."""

from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.test import APIClient

from annotation.core.tasks import progress
from annotation.models import Study, Upload
from annotation.models.members import Role
from reporting.uploads import jobs as upload_jobs
from tests.factories import api_of, make_study, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
ROW = b'{"instance_id": "%d", "dataset": "news", "source": "s", "generations": {"a": ["x"], "b": ["y"]}}'
AT = "/api/v1/studies/study/"


@pytest.fixture
def study(settings: Any, tmp_path: Path) -> Study:
    settings.DATA_DIR = tmp_path
    return make_study(instances=0)


@pytest.fixture
def api(study: Study) -> APIClient:
    return api_of(make_user("rea", Role.RESEARCHER, study=study))


def send(api: APIClient, *contents: bytes) -> Any:
    files = [SimpleUploadedFile(f"{number}.jsonl", content) for number, content in enumerate(contents)]
    return api.post(f"{AT}import/", {"kind": "study", "file": files}, format="multipart")


def test_a_small_file_is_read_at_once_and_bad_lines_are_kept(api: APIClient, study: Study) -> None:
    sent = send(api, ROW % 1)
    assert (sent.status_code, sent.json()["status"], "1 instance" in sent.json()["detail"]) == (200, "done", True)
    refused = send(api, b"\n".join([ROW % 2, b"{}", b"no"]))
    assert (refused.status_code, {one["number"] for one in refused.json()["lines"]}) == (422, {2, 3})
    assert study.instances.count() == 1
    failed, done = api.get(f"{AT}imports/").json()
    assert (failed["status"], failed["bad_lines"], done["key"]) == (
        "failed",
        refused.json()["bad_lines"],
        sent.json()["key"],
    )
    told = api.get(f"{AT}imports/{failed['key']}/").json()
    assert told["lines"] == refused.json()["lines"]
    assert api.get(f"{AT}imports/none/").status_code == 404


def test_a_large_file_is_read_by_the_worker_with_progress(
    api: APIClient, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upload_jobs, "SMALL", 0)
    sent = send(api, ROW % 1, ROW % 2)
    assert (sent.status_code, sent.json()["status"], sent.json()["stage"]) == (202, "queued", None)
    where = sent.headers["Location"]
    upload = Upload.objects.get()
    Upload.objects.update(status="running")
    with progress.noted_in(upload_jobs.folder_of(upload) / upload_jobs.PROGRESS):
        progress.report("storing", 3, 8)
        running = api.get(where).json()
    assert (running["status"], running["stage"], running["done"], running["total"]) == ("running", "storing", 3, 8)
    assert (running["rate"], running["seconds_left"]) == (0, None)
    assert progress.Noted("storing", 3, 8, 2.5).seconds_left == 2
    upload_jobs.read_files.call(upload.pk)
    assert (api.get(where).json()["status"], study.instances.count()) == ("done", 2)
