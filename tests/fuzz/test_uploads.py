"""Hostile strings on their way in, by page, API and command: what is stored is what was sent, and comes out again."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client
from rest_framework.test import APIClient

from annotation.models import Generation, Study
from tests.factories import json_lines, make_study, token_of
from tests.hostile import STRINGS

pytestmark = pytest.mark.django_db
FORMULA = ("=", "+", "-", "@", "\t", "\r")


@pytest.fixture
def study() -> Study:
    return make_study(instances=0)


@pytest.fixture
def root() -> User:
    return User.objects.create_superuser("root")


def file() -> bytes:
    """Return a study file with each string as source and as texts of two systems with such names."""
    return json_lines(
        {
            "instance_id": f"i{number}", "dataset": "<b>d'ata\"", "source": f"Of {text}",
            "generations": {"<i>one": [f"1 {text}"], "=2+2": [f"2 {text}"]},
        }
        for number, text in enumerate(STRINGS)
    )  # fmt: skip


def by_page(root: User, data: bytes, folder: Path) -> None:
    client = Client()
    client.force_login(root)
    sent = {"kind": "study", "file": SimpleUploadedFile("f.jsonl", data)}
    assert client.post("/studies/study/upload/", sent).status_code == 302


def by_api(root: User, data: bytes, folder: Path) -> None:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Token {token_of(root)}")
    sent = {"kind": "study", "file": SimpleUploadedFile("f.jsonl", data)}
    assert client.post("/api/v1/studies/study/import/", sent, format="multipart").status_code < 300


def by_command(root: User, data: bytes, folder: Path) -> None:
    path = folder / "f.jsonl"
    path.write_bytes(data)
    call_command("import_study", str(path), "--study", "study")


@pytest.mark.parametrize("send", [by_page, by_api, by_command])
def test_what_is_sent_is_stored_and_exported_as_it_was(
    study: Study, root: User, send: Callable[[User, bytes, Path], None], tmp_path: Path
) -> None:
    send(root, file(), tmp_path)
    stored = dict(study.instances.values_list("instance_id", "source"))
    assert {f"i{number}": f"Of {text}" for number, text in enumerate(STRINGS)} == stored
    texts = Generation.objects.filter(system__name="=2+2").values_list("instance__instance_id", "text")
    assert dict(texts) == {f"i{number}": f"2 {text}" for number, text in enumerate(STRINGS)}

    client = Client()
    client.force_login(root)
    lines = _download(client, "texts.jsonl").strip("\n").split("\n")  # not splitlines(): a line is a line of JSON
    assert {row["source"] for row in map(json.loads, lines)} == set(stored.values())
    for row in csv.DictReader(io.StringIO(_download(client, "texts.csv"), newline="")):
        assert not any(str(cell).startswith(FORMULA) for cell in row.values() if not _is_number(cell)), row


def _download(client: Client, name: str) -> str:
    answer = client.get(f"/studies/study/export/{name}")
    return b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("text", ["a\x00b", "\ud800"], ids=["NUL", "half a surrogate pair"])
def test_what_no_database_stores_is_refused_whole(study: Study, root: User, text: str) -> None:
    line = json.dumps({"instance_id": "i1", "source": f"Of {text}", "generations": {"a": ["A"], "b": ["B"]}}).encode()
    client = Client()
    client.force_login(root)
    sent = {"kind": "study", "file": SimpleUploadedFile("f.jsonl", line)}
    page = client.post("/studies/study/upload/", sent, follow=True).content.decode()
    assert "1 bad line; nothing was stored" in page
    assert not study.instances.exists()
