"""A bundle appears whole or not at all, and is of one moment."""

import errno
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from annotation.models import Rating, Study
from reporting.bundle import exporting
from reporting.bundle.exporting import export_bundle
from reporting.bundle.verifying import verify_bundle
from reporting.exports.folders import Folder
from tests.reporting.builders import build_configuration, build_study, rate


def rated_study() -> Study:
    built = build_configuration(build_study(), instances=2, pairs=2)
    rate(built, 0, "ann", [1, -1])
    rate(built, 1, "ann", [0, 1])
    return built.study


def while_writing(monkeypatch: pytest.MonkeyPatch, name: str, act: Callable[[], object]) -> None:
    """Do something just before a file is written."""
    write = Folder.write_rows

    def write_rows(folder: Folder, file: str, rows: Any) -> None:
        if file == name:
            act()
        write(folder, file, rows)

    monkeypatch.setattr(Folder, "write_rows", write_rows)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_ratings_that_come_in_meanwhile_are_in_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = rated_study()

    def vote() -> None:
        other = connection.copy()  # of another process
        with other.cursor() as cursor:
            cursor.execute("UPDATE annotation_rating SET verdict = 1")
        other.close()

    while_writing(monkeypatch, "ratings.jsonl.gz", vote)
    export_bundle(study, tmp_path / "bundle")

    numbers = verify_bundle(tmp_path / "bundle").numbers
    assert numbers["configurations"][0]["raters"][0]["counts"] == {"a": 1, "tie": 1, "b": 2}
    assert set(Rating.objects.values_list("verdict", flat=True)) == {1}


def full() -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def killed() -> None:
    raise KeyboardInterrupt


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize(
    ("what", "error", "reason"),
    [(full, CommandError, "^can't write to bundle: No space left on device$"), (killed, KeyboardInterrupt, None)],
)
def test_nothing_is_there_after_an_end_in_the_middle(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    what: Callable[[], None],
    error: type[BaseException],
    reason: str | None,
) -> None:
    study = rated_study()
    while_writing(monkeypatch, "records/rating.jsonl.gz", what)
    with pytest.raises(error, match=reason):
        call_command("export_bundle", study.slug, "--out", str(tmp_path / "bundle"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.django_db
def test_a_bundle_tells_of_every_file_and_is_never_written_over(tmp_path: Path) -> None:
    study, told = rated_study(), []
    folder = tmp_path / "bundle"
    folder.mkdir()  # an empty folder may be there
    manifest = export_bundle(study, folder, progress=lambda done, total: told.append((done, total)))
    assert [done for done, _ in told] == list(range(1, told[-1][1] + 1))
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert files == {*manifest["files"], "manifest.json"}
    assert (manifest["files"]["ratings.jsonl.gz"]["rows"], manifest["seeds"]["study"]) == (4, study.seed)
    before = (folder / "manifest.json").read_bytes()
    assert json.loads(before) == manifest
    with pytest.raises(CommandError, match="exists already"):
        call_command("export_bundle", study.slug, "--out", str(tmp_path / "bundle"))
    assert (folder / "manifest.json").read_bytes() == before
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CommandError, match="exists already"):
        call_command("export_bundle", study.slug, "--out", str(tmp_path / "link"))


@pytest.mark.slow
@pytest.mark.django_db
def test_a_bundle_whose_numbers_do_not_follow_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = rated_study()
    wrong = {"version": "0", "configurations": [], "others": []}
    monkeypatch.setattr(exporting, "all_numbers", lambda *given: wrong)
    with pytest.raises(CommandError, match=r"of numbers\.json differ"):
        call_command("export_bundle", study.slug, "--out", str(tmp_path / "bundle"))
    assert list(tmp_path.iterdir()) == []
