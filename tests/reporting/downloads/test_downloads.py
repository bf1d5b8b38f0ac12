"""The page of files: who sees it, files made by the worker, and files that may not be sent any more."""

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from annotation.annotators.consent import withdraw
from annotation.core.errors import AnnotationError
from annotation.core.reasons import reason
from annotation.jobs.work import do_job
from annotation.models import Rating, Study
from annotation.privacy.erasing import erase_rater
from reporting.bundle.verifying import verify_bundle
from reporting.downloads import making
from reporting.downloads.jobs import path_of, queue_file
from reporting.models import MadeFile
from tests.factories import make_user, signed_in
from tests.reporting.builders import build_configuration, build_study, rate

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def study(settings: Any, tmp_path: Path) -> Study:
    settings.DATA_DIR = tmp_path / "data"
    built = build_configuration(build_study(), instances=2, pairs=2)
    rate(built, 0, "ann", [1, -1])
    rate(built, 1, "bob", [0, 1])
    return built.study


def run_tasks() -> None:
    for task in DBTaskResult.objects.filter(task_path=do_job.module_path, status="READY"):
        do_job.func(*task.args_kwargs["args"])


@pytest.fixture
def made(study: Study, researcher: Client) -> MadeFile:
    researcher.post(f"/studies/{study.slug}/files/bundle/", {"texts": "on", "reasons": "on"})
    run_tasks()
    return MadeFile.objects.get()


def test_a_bundle_is_made_by_the_worker_and_verifies(study: Study, researcher: Client, tmp_path: Path) -> None:
    address = f"/studies/{study.slug}/files/"
    asked = researcher.post(f"{address}bundle/", {"texts": "on", "reasons": "on"}, follow=True)
    assert "without completions" in asked.text
    researcher.post(f"{address}bundle/", {"reasons": "on", "texts": "on"}, follow=True)
    assert MadeFile.objects.count() == 1

    run_tasks()

    made = MadeFile.objects.get()
    part = researcher.get(address, headers={"HX-Request": "true"}).text
    assert "<h1>" not in part
    assert "hx-trigger" not in part  # nothing is under way
    assert f"files/{made.key}.zip" in part
    sent = researcher.get(f"{address}{made.key}.zip")
    assert sent["Content-Disposition"] == 'attachment; filename="tried-bundle.zip"'
    data = b"".join(sent.streaming_content)  # type: ignore[attr-defined]
    assert len(data) == made.size
    zipfile.ZipFile(io.BytesIO(data)).extractall(tmp_path)
    bundle = verify_bundle(tmp_path / "tried-bundle")
    assert bundle.manifest["contents"] == {"texts": True, "completions": False, "reasons": True}
    assert [path.name for path in path_of(made).parent.iterdir()] == [path_of(made).name]
    assert do_job.func("reporting.MadeFile", made.pk) == ""  # a task that runs twice makes it once


def test_a_file_with_the_work_of_a_rater_who_left_is_gone(study: Study, researcher: Client, made: MadeFile) -> None:
    withdraw(annotator=study.annotators.get(code="ann"), at=timezone.now())
    assert researcher.get(f"/studies/{study.slug}/files/{made.key}.zip").status_code == 404
    assert not path_of(made).exists()
    assert not MadeFile.objects.exists()


def test_erasing_a_rater_removes_the_files(study: Study, made: MadeFile) -> None:
    erase_rater(annotator=study.annotators.get(code="ann"), by=None, at=timezone.now(), keep_ratings=True)
    assert not path_of(made).exists()


def test_only_the_latest_files_are_kept(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "MOST_KEPT", 2)
    for number in range(3):
        queue_file(study, "bundle", {"texts": True, "completions": True, "reasons": number == 1})
        run_tasks()
    assert [one.options["reasons"] for one in study.made_files.all()] == [False, True]
    assert len(list(path_of(study.made_files.all()[0]).parent.iterdir())) == 2


def test_a_failure_is_said_and_leaves_nothing(
    study: Study, researcher: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_made: MadeFile, folder: Path, _progress: Any) -> None:
        folder.mkdir()
        raise AnnotationError("the <disk> is full")

    monkeypatch.setitem(making.MAKERS, "bundle", fail)
    made, _ = queue_file(study, "bundle", {})
    run_tasks()
    assert "Ended early: the &lt;disk&gt; is full" in researcher.get(f"/studies/{study.slug}/files/").text
    assert list(path_of(made).parent.iterdir()) == []


def test_training_data_of_nobody_are_refused_by_code(study: Study, researcher: Client) -> None:
    Rating.objects.all().delete()
    address = f"/api/v1/studies/{study.slug}/files/"
    assert researcher.post(address, {"kind": "refined"}, content_type="application/json").status_code == 202
    run_tasks()
    made = MadeFile.objects.get()
    assert (made.status, made.message) == ("stopped", reason("no_preferences_of", study=study.slug, raters=["people"]))
    (row,) = researcher.get(address).json()
    assert (row["message"], row["message_code"]) == (made.message.text, "no_preferences_of")
    assert made.message.text in researcher.get(f"/studies/{study.slug}/files/").text


def test_a_stopping_worker_leaves_the_file_in_the_queue(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_given: Any) -> None:
        raise SystemExit(0)

    monkeypatch.setitem(making.MAKERS, "bundle", stop)
    made, _ = queue_file(study, "bundle", {})
    with pytest.raises(SystemExit):
        do_job.func("reporting.MadeFile", made.pk)
    assert MadeFile.objects.get().status == "queued"


def test_what_a_killed_worker_left_goes_when_the_file_is_made_again(study: Study) -> None:
    made, _ = queue_file(study, "bundle", {"texts": True, "completions": False, "reasons": False})
    left = path_of(made).with_name(f".{made.key}")
    left.mkdir(parents=True)
    (left / "half.jsonl").write_text("{", encoding="utf-8")
    run_tasks()
    assert [path.name for path in left.parent.iterdir()] == [path_of(made).name]


def test_a_report_is_made(study: Study, researcher: Client) -> None:
    asked = researcher.post(f"/studies/{study.slug}/files/report/", follow=True)
    assert asked.status_code == 200
    run_tasks()
    made = MadeFile.objects.get()
    assert not made.message
    with zipfile.ZipFile(path_of(made)) as file:
        assert {name.rpartition("/")[2] for name in file.namelist()} == {
            "report.html",
            "references.bib",
            "numbers.json",
        }


def test_training_data_are_counted_and_made(study: Study, researcher: Client) -> None:
    address = f"/studies/{study.slug}/files/preferences/"
    wanted = {"form": "trl", "raters": ["people"], "votes": "each", "without": ["ties"]}
    rows = f"/studies/{study.slug}/files/rows/"
    counted = researcher.post(rows, wanted).text
    assert "preferences.jsonl: 3 rows" in " ".join(counted.split())
    assert "<h1>" not in counted
    assert "rows" not in researcher.post(rows, {"form": "trl"}).text
    assert researcher.post(address, {**wanted, "form": "parquet"}).status_code == 422
    assert researcher.post(address, wanted).status_code == 302
    run_tasks()
    made = MadeFile.objects.get()
    assert made.status == "done", made.message
    with zipfile.ZipFile(path_of(made)) as file:
        assert len(file.read("tried-preferences/preferences.jsonl").splitlines()) == 3


def test_training_data_without_a_row_are_of_no_row(study: Study, researcher: Client) -> None:
    Rating.objects.all().delete()
    researcher.post(f"/studies/{study.slug}/files/preferences/", {"form": "trl", "raters": ["people"], "votes": "each"})
    run_tasks()
    assert MadeFile.objects.get().status == "done"
    assert "<small>0 rows</small>" in researcher.get(f"/studies/{study.slug}/files/").text


def test_a_file_of_another_study_is_not_there(study: Study, researcher: Client, made: MadeFile) -> None:
    other = build_study("other")
    make_user("both", "researcher", study=other)
    client = signed_in(make_user("stranger", "researcher", study=other))
    assert client.get(f"/studies/other/files/{made.key}.zip").status_code == 404
    assert client.get(f"/studies/{study.slug}/files/{made.key}.zip").status_code == 404
