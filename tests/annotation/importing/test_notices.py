"""Notices of an import: sources that instances share, and texts that are names of systems."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client

from annotation.core.reasons import reason
from annotation.importing.comparisons import import_votes
from annotation.importing.formats.study_file import InstanceRow
from annotation.importing.notices import InstanceNotices
from annotation.studies.instances import SourceCounts, instance_clusters
from tests.factories import csv_file, json_lines, make_study, make_user, study_line, token_of

SOURCES = ["one two", "one\n two ", " three", "four", ""]


@pytest.mark.parametrize(
    ("sources", "counts", "is_repeated"),
    [
        (SOURCES, (4, 3), True),
        (SOURCES[1:], (3, 3), False),
        (["", " ", "\n"], (0, 0), False),
        (["One", "one"], (2, 2), False),
        ([], (0, 0), False),
    ],
)
def test_sources_are_equal_but_for_white_space_and_empty_ones_are_none(
    sources: list[str], counts: tuple[int, int], is_repeated: bool
) -> None:
    counted = SourceCounts(sources)
    assert (counted.instances, counted.different, counted.is_repeated) == (*counts, is_repeated)


def row(source: str, **texts: list[str]) -> InstanceRow:
    return InstanceRow(1, source, "d", source, texts)


@pytest.mark.parametrize(
    ("rows", "numbers"),
    [
        ([row("a", x=["X "], y=["y", "text of x"]), row("b", x=["y"], y=["Why?"])], ["3 of 5"]),
        ([row("a", x=["text"], y=["why"])], []),
        ([row(source, x=["text"], y=["why"]) for source in "aab"], ["3 instances", "2 different"]),
        ([row("a", x=[""], y=[" "])], []),
        ([row("a", x=["x"]), row("a", x=["text"])], ["2 instances have the same", "1 of 2"]),
    ],
)
def test_texts_that_are_names_of_systems_are_counted(rows: list[InstanceRow], numbers: list[str]) -> None:
    notices = InstanceNotices()
    for item in rows:
        notices.add([item])
    text = " ".join(map(str, notices.listed()))
    assert all(number in text for number in numbers)
    assert bool(text) == bool(numbers)


def repeated(count: int = 3) -> bytes:
    """Write a study file whose instances share one source, and whose texts are their systems' names."""
    texts = {"alpha": ["alpha"], "beta": ["beta"]}
    return json_lines([study_line(f"i{number}", generations=texts) for number in range(count)])


NUMBERS = ("3 instances have the same", "6 of 6 texts")


@pytest.mark.django_db
def test_a_command_gives_the_notices_in_lines_of_their_own(tmp_path: Any, capsys: Any) -> None:
    file = tmp_path / "f.jsonl"
    file.write_bytes(repeated())
    call_command("import_study", str(file), "--study", "s")
    added, *notices = capsys.readouterr().out.splitlines()
    assert "3 instances added" in added
    assert all(number in notice for number, notice in zip(NUMBERS, notices, strict=True))
    call_command("import_study", str(file), "--study", "s")
    assert len(capsys.readouterr().out.splitlines()) == 1  # nothing new


@pytest.mark.slow
@pytest.mark.django_db
def test_page_and_api_give_the_notices(client: Client, settings: Any, tmp_path: Any) -> None:
    settings.DATA_DIR = tmp_path
    study, other = make_study(instances=0), make_study("other", instances=0)
    user = make_user("rea", "researcher", study=study)

    def send(path: str, **more: Any) -> Any:
        sent = {"kind": "study", "file": SimpleUploadedFile("f.jsonl", repeated())}
        return client.post(path, sent, **more)

    sender = make_user("api", "researcher", study=other)
    headers = {"Authorization": f"Token {token_of(sender)}"}
    detail = send(f"/api/v1/studies/{other.slug}/import/", headers=headers).json()["detail"]
    assert [number in line for number, line in zip(NUMBERS, detail.splitlines()[1:], strict=True)] == [True, True]

    client.force_login(user)
    page = client.get(send(f"/studies/{study.slug}/upload/")["Location"]).content.decode()
    warnings = [part.split("</p>")[0] for part in page.split('class="notice warning"')[1:]]
    assert all(number in warning for number, warning in zip(NUMBERS, warnings, strict=True))
    clusters = instance_clusters(study)
    assert len(clusters.by_id) == 3
    assert len(set(clusters.by_id.values())) == 1


@pytest.mark.slow
@pytest.mark.django_db
def test_votes_whose_texts_are_read_from_the_column_of_systems_give_a_notice() -> None:
    vote = {"prompt": 8, "left": "alpha", "right": "beta", "worker": "w", "winner": "left"}
    texts = [{"id": number, "source": f"Prompt {number}.", "left": "alpha", "right": "beta"} for number in (1, 2)]
    votes = csv_file([{**vote, "id": number, "prompt": number} for number in (1, 2)])
    _, stored, _ = import_votes(
        data=votes, name="v.csv", texts=json_lines(texts), texts_name="t.jsonl", slug="s", dataset="d"
    )
    [notice] = stored.notices
    assert notice == reason("names_of_systems", number=4, count=4)
