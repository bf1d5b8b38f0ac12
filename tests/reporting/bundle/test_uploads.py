"""Bundles that are sent: read by the worker into an empty study, for site admins alone."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from rest_framework.test import APIClient

from annotation.core.reasons import Reason, reason
from annotation.models import Study, Upload
from reporting.bundle.exporting import export_bundle
from reporting.bundle.numbers import PAGES
from reporting.uploads.jobs import folder_of, read_files
from tests.factories import api_of, make_study, make_user
from tests.reporting.builders import build_configuration, build_study, findings, rate

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
IMPORT = "/api/v1/studies/study/import/"


def packed(folder: Path, change: str = "") -> SimpleUploadedFile:
    """Pack a bundle as the page of files does, with a byte more in one of its files."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder.parent).as_posix()
            if path.is_file():
                file.writestr(name, path.read_bytes() + (b" " if path.name == change else b""))
    return SimpleUploadedFile("small-bundle.zip", made.getvalue())


@pytest.fixture(scope="module")
def bundle(module_rows: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle of a small study: all that a study can have is tested where bundles are read."""
    study = build_study("small")
    study.title = "Small"
    study.save()
    built = build_configuration(study, instances=2, pairs=2)
    rate(built, 0, "ann", [1, -1])
    folder = tmp_path_factory.mktemp("bundles") / "small"
    export_bundle(built.study, folder)
    return folder


@pytest.fixture
def admin(settings: Any, tmp_path: Path) -> Any:
    settings.DATA_DIR = tmp_path / "data"
    make_study(instances=0)
    user = make_user("root")
    user.is_superuser = True
    user.save()
    return user


def send(client: APIClient, file: Any, kind: str = "bundle") -> Any:
    return client.post(IMPORT, {"kind": kind, "file": file}, format="multipart")


def test_a_bundle_that_is_sent_makes_the_same_study(bundle: Path, admin: Any) -> None:
    client = api_of(admin)
    answer = send(client, packed(bundle))
    assert (answer.status_code, answer.json()["status"]) == (202, "queued")
    assert not Study.objects.get(slug="study").instances.exists()
    assert read_files.call(Upload.objects.get().pk), Upload.objects.get().message

    read = client.get(answer["Location"]).json()
    assert (read["status"], read["lines"]) == ("done", [])
    stated = json.loads((bundle / "numbers.json").read_text(encoding="utf-8"))
    found = json.loads(json.dumps(findings(Study.objects.get(slug="study"))))
    assert {name: found[name] for name in found if name != "study"} == {
        name: stated[name] for name in stated if name not in ("study", "others", *PAGES)
    }
    assert Study.objects.get(slug="study").title == "Small"
    assert not folder_of(Upload.objects.get()).exists()

    assert send(client, packed(bundle)).status_code == 202  # once more, into what is there now
    again = Upload.objects.get(status="queued")
    assert not read_files.call(again.pk)
    again.refresh_from_db()
    assert (again.message.code, again.message.values["study"]) == ("study_not_empty", "study")


@pytest.mark.parametrize(
    ("change", "code"),
    [("", "bundle_verified"), ("ratings.jsonl.gz", "changed_in_bundle")],
    ids=["whole", "changed"],
)
def test_a_bundle_is_verified_without_being_read_in(bundle: Path, admin: Any, change: str, code: str) -> None:
    client = api_of(admin)
    answer = send(client, packed(bundle, change), "bundle-check")
    read_files.call(Upload.objects.get().pk)
    read = client.get(answer["Location"]).json()
    assert read["status"] == ("failed" if change else "done")
    message = Upload.objects.get().message
    assert (message.code, read["detail"]) == (code, message.text)
    assert not Study.objects.get(slug="study").instances.exists()


@pytest.mark.parametrize(
    ("change", "name", "why"),
    [
        pytest.param("numbers.json", "b.zip", reason("changed_in_bundle", file="numbers.json"), id="changed byte"),
        pytest.param("", "b.jsonl", reason("not_one_archive", name="b.jsonl"), id="no archive"),
    ],
)
def test_a_bundle_that_is_none_leaves_the_study_empty(
    bundle: Path, admin: Any, change: str, name: str, why: Reason
) -> None:
    file = packed(bundle, change)
    file.name = name
    assert send(api_of(admin), file).status_code == 202
    upload = Upload.objects.get()
    assert not read_files.call(upload.pk)
    upload.refresh_from_db()
    assert upload.message == why
    assert not Study.objects.get(slug="study").systems.exists()


def test_only_site_admins_may_send_a_bundle(bundle: Path, admin: Any, client: Client) -> None:
    study = Study.objects.get(slug="study")
    rita = make_user("rita", "researcher", study=study)
    for user, token in ((rita, {}), (admin, {"studies": [study]})):
        refused = send(api_of(user, **token), packed(bundle))
        assert (refused.status_code, list(refused.json()["fields"])) == (422, ["kind"])
    for user, offered in ((rita, False), (admin, True)):
        client.force_login(user)
        assert ('value="bundle"' in client.get("/studies/study/upload/").text) is offered
    assert not Upload.objects.exists()


def test_a_bundle_is_recognised(bundle: Path, admin: Any, client: Client) -> None:
    rita = make_user("rita", "researcher", study=Study.objects.get(slug="study"))
    assert send(api_of(rita), packed(bundle), "auto").status_code == 409
    assert not Upload.objects.exists()

    look = api_of(admin).post(f"{IMPORT}look/", {"file": packed(bundle)}, format="multipart").json()
    assert (look["kind"], look["problems"]) == ("bundle", [])
    assert send(api_of(admin), packed(bundle), "auto").status_code == 202
    client.force_login(admin)
    client.post("/studies/new/", {"kind": "auto", "file": packed(bundle), "slug": "fresh"})
    for upload in Upload.objects.all():
        assert upload.kind == "bundle"
        assert read_files.call(upload.pk), upload.message
    assert {study.title for study in Study.objects.filter(slug__in=["study", "fresh"])} == {"Small"}
