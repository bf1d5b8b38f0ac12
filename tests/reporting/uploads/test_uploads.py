"""Files that are sent: kept, read by the worker with progress, and gone afterwards, whatever becomes of the processes."""

import io
import json
import os
import shutil
import zipfile
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError
from django.test import Client
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from annotation.core.errors import AnnotationError, BadLine
from annotation.core.reasons import reason
from annotation.core.refusals import refusal, restored
from annotation.core.tasks import progress
from annotation.models import Study, Upload
from annotation.privacy.erasing import erase_rater
from reporting.uploads import files as upload_files
from reporting.uploads import jobs as upload_jobs
from reporting.uploads.jobs import (
    PROGRESS,
    folder_of,
    look_after_uploads,
    read_files,
    take_in,
)
from reporting.worker import DEATH_RULES
from tests.factories import api_of, json_lines, make_annotator, make_study, make_user, signed_in, study_line

pytestmark = pytest.mark.django_db
PAGE = "/studies/study/upload/"
LINES = json_lines([study_line("a"), study_line("b")])


@pytest.fixture
def study(settings: Any, tmp_path: Path) -> Study:
    settings.DATA_DIR = tmp_path / "data"
    return make_study(instances=0)


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave every file to the worker."""
    monkeypatch.setattr(upload_jobs, "SMALL", 0)


def files(**contents: bytes) -> list[Any]:
    return [SimpleUploadedFile(name.replace("_", "."), data) for name, data in contents.items()]


def send(study: Study, **contents: bytes) -> Upload:
    return take_in(study=study, kind="study", files=files(**contents), options=OPTIONS)


def send_and_work(study: Study, **contents: bytes) -> Upload:
    upload = send(study, **contents)
    work()
    upload.refresh_from_db()
    return upload


OPTIONS = {"dataset": "", "system_1": "", "system_2": ""}


def archive(*members: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members:
            file.writestr(name, data)
    return packed.getvalue()


def work() -> None:
    """Do the queued tasks as a worker does."""
    for task in DBTaskResult.objects.filter(task_path=read_files.module_path, status="READY"):
        task.task.func(*task.args_kwargs["args"])


def left(study: Study) -> list[Path]:
    return list(upload_jobs._uploads().glob("*"))  # the folder that must be empty


@pytest.mark.parametrize("name", ["file_parquet", "file_arrow", "file_zip"])
def test_a_small_file_that_may_unpack_to_any_size_is_left_to_the_worker(
    study: Study, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for reader in ("read_sent", "unpack"):
        monkeypatch.setattr(upload_jobs, reader, lambda *_, **__: pytest.fail("read by the web process"))
    assert send(study, **{name: b"small"}).status == Upload.Status.QUEUED


@pytest.mark.slow
def test_a_large_file_is_read_by_the_worker_and_its_page_shows_how_far(
    study: Study, large: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = signed_in(make_user("rita", "researcher", study=study))
    sent = {"kind": "study", "file": SimpleUploadedFile("../<b>f.jsonl", LINES)}
    page = client.post(PAGE, sent, follow=True)
    upload = Upload.objects.get()
    assert page.redirect_chain == [(f"{PAGE}{upload.key}/", 302)]
    assert 'hx-trigger="every 1s' in page.text
    assert "<b>f" not in page.text
    assert [one.name for one in folder_of(upload).iterdir()] == ["00000.jsonl"]  # of the sender's name only the ending
    assert not study.instances.exists()

    shown = []
    reported = progress.report

    def seen(*told: Any) -> None:
        monkeypatch.setattr(progress, "SECONDS", 0)
        reported(*told)
        shown.append(client.get(f"{PAGE}{upload.key}/", headers={"HX-Request": "true"}).text)

    monkeypatch.setattr("annotation.core.files.lines.report", seen)
    work()

    assert f'max="{len(LINES)}"' in shown[0]
    done = client.get(f"{PAGE}{upload.key}/").text
    assert "f.jsonl: 2 instances added (study study)" in done
    assert "hx-trigger" not in done
    assert left(study) == []
    assert read_files.func(upload.pk) is False  # a task that runs twice reads it once
    assert client.get(f"/studies/study/upload/{'x' * 16}/").status_code == 404


def test_a_refused_file_is_gone_and_its_errors_stay(study: Study, large: None) -> None:
    upload = send(study, f_jsonl=json_lines([{"instance_id": "a"}]))
    work()
    upload.refresh_from_db()
    assert (upload.status, restored(**upload.bad_lines[0])) == (
        "failed",
        BadLine(1, refusal("missing", field="source")),
    )
    assert upload.message == reason("bad_lines", name="f.jsonl", number=2)
    assert "line 1: source is missing" in str(upload_jobs.refusal_of(upload))
    assert left(study) == []
    erase_rater(annotator=make_annotator(study), by=None, at=timezone.now())  # refusals may quote raters' codes
    assert not Upload.objects.exists()


def test_what_a_killed_process_had_begun_is_read_again(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(*_: Any, **__: Any) -> None:
        raise SystemExit  # nothing is caught in a process that is killed

    monkeypatch.setattr(upload_files, "read_upload", die)
    monkeypatch.setattr(upload_jobs, "_update", lambda *_, **__: None)
    with pytest.raises(SystemExit):
        send(study, f_jsonl=LINES)
    monkeypatch.undo()
    upload = Upload.objects.get()
    Upload.objects.update(status="running", executor=upload_jobs.this_process())
    look_after_uploads()
    assert not DBTaskResult.objects.exists()  # the process is alive

    monkeypatch.setattr(upload_jobs, "is_gone", lambda name: True)
    (folder_of(upload) / PROGRESS).write_text("[")
    look_after_uploads()
    look_after_uploads()
    assert DBTaskResult.objects.count() == 1
    assert upload_jobs.progress_of(upload) is None  # half a note
    work()
    assert study.instances.count() == 2
    assert left(study) == []


def test_a_file_that_ends_every_worker_is_refused(study: Study, large: None) -> None:
    upload = send(study, f_jsonl=LINES)
    DEATH_RULES[read_files.module_path].give_up(DBTaskResult.objects.get(), reason("workers_died", number=5))
    upload.refresh_from_db()
    assert upload.message == reason("file_unread", name="f.jsonl", why=reason("workers_died", number=5))
    assert left(study) == []


def test_a_second_pass_over_a_file_is_named(study: Study, large: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SECONDS", 0.0)
    upload = send(study, f_jsonl=LINES)
    Upload.objects.update(status="running")
    user = make_user("reader", "researcher", study=study)
    reader, client = signed_in(user), api_of(user)
    with progress.noted_in(upload_jobs.folder_of(upload) / upload_jobs.PROGRESS):
        for done, passes in ((10, 1), (90, 1), (20, 2), (30, 2)):
            progress.report("reading", done, 100)
            noted = upload_jobs.progress_of(upload)
            assert noted is not None
            assert (noted.done, noted.passes, noted.rate >= 0) == (done, passes, True)
            page = reader.get(f"/studies/{study.slug}/upload/{upload.key}/").text
            assert ("pass 2" in page, f"{done} % read" in page) == (passes == 2, True)
            told = client.get(f"/api/v1/studies/{study.slug}/imports/{upload.key}/").json()
            assert (told["passes"], told["done"]) == (passes, done)


def test_a_busy_database_is_waited_for(study: Study, large: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(**_: Any) -> None:
        raise OperationalError("database is locked")

    upload = send(study, f_jsonl=LINES)
    with monkeypatch.context() as patch:
        patch.setattr(upload_files, "read_upload", busy)
        with pytest.raises(OperationalError):
            read_files.func(upload.pk)
    upload.refresh_from_db()
    assert upload.status == "queued"
    DBTaskResult.objects.update(status="FAILED", exception_class_path="django.db.utils.OperationalError")
    look_after_uploads()  # after the last attempt
    upload.refresh_from_db()
    assert (upload.status, left(study)) == ("failed", [])


def test_a_disk_that_is_full_leaves_nothing(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(upload_jobs, "_keep", full)
    with pytest.raises(AnnotationError, match="can't be kept: No space left"):
        send(study, f_jsonl=LINES)
    assert (left(study), Upload.objects.count()) == ([], 0)


def test_files_of_no_upload_are_removed_after_an_hour(study: Study, large: None) -> None:
    upload = send(study, f_jsonl=LINES)
    for name in ("fresh", "old"):
        (folder_of(upload).parent / name).mkdir()
    for folder in (folder_of(upload).parent / "old", folder_of(upload)):
        os.utime(folder, (1, 1))
    look_after_uploads()
    assert {one.name for one in left(study)} == {"fresh", upload.key}


def test_what_a_killed_web_process_was_receiving_is_removed_after_an_hour(settings: Any, tmp_path: Path) -> None:
    settings.FILE_UPLOAD_TEMP_DIR = str(tmp_path)
    old, new = tmp_path / "a.upload.csv", tmp_path / "b.upload"
    for path in (old, new):
        path.write_bytes(b"x")
    os.utime(old, (0, 0))
    look_after_uploads()
    assert list(tmp_path.glob("*.upload*")) == [new]


@pytest.mark.slow
def test_results_are_kept_for_a_time_and_the_page_lists_the_latest(
    study: Study, manager: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, *others = [send(study, f_jsonl=LINES).key for _ in range(upload_jobs.MOST_LISTED + 2)]
    assert study.uploads.count() == len(others) + 1
    assert [one.key for one in manager.get("/studies/study/upload/").context["uploads"]] == others[:0:-1]

    study.uploads.filter(key=first).update(finished_at=timezone.now() - upload_jobs.KEPT_FOR)
    kept = [*others, send(study, f_jsonl=LINES).key]
    assert set(study.uploads.values_list("key", flat=True)) == set(kept)

    monkeypatch.setattr(upload_jobs, "MOST_KEPT", 2)
    send(study, f_jsonl=LINES)
    assert study.uploads.count() == 2


# Several files, folders and archives


SECOND = json.dumps([study_line("c"), study_line("d")], indent=1).encode()


@pytest.mark.parametrize(
    "contents",
    [
        pytest.param({"a_jsonl": LINES, "b_json": SECOND}, id="several files"),
        pytest.param({"f_zip": archive(("d/a.jsonl", LINES), ("d/b.json", SECOND), ("d/state.json", b"{}"))}, id="ZIP"),
    ],
)
def test_a_data_set_of_several_files_is_read_as_one(study: Study, contents: dict[str, bytes]) -> None:
    assert send_and_work(study, **contents).status == "done"
    assert list(study.instances.values_list("instance_id", flat=True)) == ["a", "b", "c", "d"]


def test_bad_lines_of_several_files_have_the_numbers_of_their_own(study: Study) -> None:
    bad = json.dumps([study_line("c"), {"instance_id": "d"}], indent=1).encode()
    upload = send(study, a_jsonl=LINES + b"{}\n", b_json=bad)
    line = 1 + next(number for number, text in enumerate(bad.split(b"\n")) if b'"d"' in text)
    bad = [restored(**one) for one in upload.bad_lines]
    assert BadLine(3, refusal("missing", field="instance_id"), "a.jsonl") in bad
    assert BadLine(line - 1, refusal("missing", field="source"), "b.json") in bad  # where its object begins
    assert "CSV" in send(study, a_csv=b"x", b_csv=b"y").message.text


def link(name: str) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name)
    member.external_attr = 0o120777 << 16
    return member


@pytest.mark.parametrize(
    ("packed", "code"),
    [
        (archive(("../../out.jsonl", LINES)), "leads_out"),
        (archive(("/out.jsonl", LINES)), "leads_out"),
        (archive((link("f.jsonl"), b"/etc/passwd")), "link_or_no_file"),
        (archive(("bomb.jsonl", b"\n" * (5 * 2**20))), "unpacks_too_large"),
        (archive(("readme.txt", b"x")), "no_data_file"),
        (archive(("f.jsonl", LINES))[:-30], "no_archive"),
    ],
    ids=["parent", "absolute", "link", "bomb", "nothing", "cut off"],
)
def test_a_bad_archive_is_refused_and_leaves_nothing(
    study: Study, settings: Any, tmp_path: Path, packed: bytes, code: str
) -> None:
    settings.UPLOAD_MAX_BYTES = 2**20
    before: Sequence[Path] = sorted(tmp_path.iterdir())
    upload = send_and_work(study, f_zip=packed)
    assert (upload.message.code, upload.message.values["name"]) == (code, "f.zip")
    assert upload.message.values.get("limit", 2) == 2
    assert (left(study), study.instances.count()) == ([], 0)
    assert sorted(one for one in tmp_path.iterdir() if one.name != "data") == [
        one for one in before if one.name != "data"
    ]


def test_an_archive_leaves_the_disk_the_space_that_votes_need(
    study: Study, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = settings.LEAST_FREE_BYTES + len(LINES)
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: SimpleNamespace(free=free))
    assert send_and_work(study, f_zip=archive(("f.jsonl", LINES))).status == "done"
    assert send_and_work(study, f_zip=archive(("f.jsonl", LINES + b"\n"))).message.code == "no_room_to_unpack"
    assert left(study) == []


def test_a_small_file_that_nobody_began_is_queued(study: Study) -> None:
    upload = Upload.objects.create(study=study, kind="study", names=["f.jsonl"], size=1, options=OPTIONS)
    look_after_uploads()
    assert not DBTaskResult.objects.exists()
    Upload.objects.update(asked_at=timezone.now() - timedelta(minutes=2))
    look_after_uploads()
    work()
    upload.refresh_from_db()
    assert upload.message == reason("file_gone", name="f.jsonl")


@pytest.mark.any_engine
@pytest.mark.parametrize(("key", "escaped"), [("a\\u0000b", "a\\x00b"), ("a\\ud800b", "a\\ud800b")])
def test_field_that_no_database_stores_is_named_escaped(study: Study, key: str, escaped: str) -> None:
    [line] = send(study, a_jsonl=2 * f'{{"{key}": 1}}\n'.encode()).bad_lines
    assert (line["code"], line["values"]["fields"]) == ("in_no_record", escaped)
