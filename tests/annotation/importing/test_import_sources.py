"""Source texts without generations: read by a command and on the upload page, and refused everywhere else."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from annotation.core.errors import BadFile
from annotation.importing.study_files import import_study
from annotation.models import ImportRecord, Instance, Pair, Study
from tests.factories import output_of

pytestmark = [pytest.mark.django_db, pytest.mark.engine]
ROWS = [
    {"instance_id": "a", "source": "One talk.", "dataset": "talk", "topic": "tea"},
    {"instance_id": "b", "source": "Another <b>talk</b>.", "generations": {}, "metadata": {"lang": "en"}},
]


def lines(*rows: dict[str, Any]) -> bytes:
    return "\n".join(map(json.dumps, rows)).encode()


def command(path: Path, *more: str) -> str:
    return output_of("import_sources", str(path), "--study", "tea", *more)


def test_command_reads_sources_and_again_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "sources.jsonl").write_bytes(lines(*ROWS))
    out = command(tmp_path / "sources.jsonl", "--dataset", "other", "--task", "summarization", "--question", "Which?")
    assert out.strip() == "sources.jsonl: 2 instances added (study tea)"
    found = Instance.objects.order_by("position").values_list("instance_id", "dataset", "source", "metadata")
    assert list(found) == [
        ("a", "talk", "One talk.", {"topic": "tea"}),
        ("b", "other", "Another <b>talk</b>.", {"lang": "en"}),
    ]
    assert Study.objects.get().question == "Which?"
    assert ImportRecord.objects.get().kind == "sources"
    assert "nothing new" in command(tmp_path / "sources.jsonl", "--dataset", "other")
    assert not Pair.objects.exists()


def test_csv_with_ids_and_sources(tmp_path: Path) -> None:
    (tmp_path / "sources.csv").write_text("instance_id,source\na,One talk.\n")
    command(tmp_path / "sources.csv")
    (tmp_path / "texts.csv").write_text("instance_id,source,heron/1\na,One talk.,x\n")
    with pytest.raises(CommandError, match="columns of texts"):
        command(tmp_path / "texts.csv")


@pytest.mark.any_engine
@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"instance_id": "a"}, "source is missing"),
        ({"instance_id": "a", "source": " "}, "source is empty"),
        ({"source": "x"}, "instance_id is missing"),
        ({"instance_id": "a", "source": "x", "generations": {"heron": ["y"]}}, "the file has generations"),
        ({"instance_id": "a", "source": "x", "gold": {"better": "heron"}}, "the file has gold"),
        ({"instance_id": "a", "source": "x", "metadata": []}, "metadata is not"),
    ],
)
def test_line_that_cant_be_taken_is_listed(row: dict[str, Any], told: str) -> None:
    with pytest.raises(BadFile, match=f"line 2: {told}"):
        import_study(
            data=lines({"instance_id": "z", "source": "fine"}, row), name="s.jsonl", slug="tea", sources_only=True
        )
    assert not Study.objects.exists()


def test_texts_may_come_by_a_study_file_later() -> None:
    import_study(data=lines({"instance_id": "a", "source": "One."}), name="s.jsonl", slug="tea", sources_only=True)
    row = {"instance_id": "a", "source": "One.", "generations": {"heron": ["x"], "wren": ["y"]}}
    _, stored = import_study(data=lines(row), name="t.jsonl", slug="tea")
    assert stored.counts == {"added": 0, "extended": 1, "unchanged": 0}
    assert Pair.objects.count() == 1
    _, again = import_study(
        data=lines({"instance_id": "a", "source": "One."}), name="s.jsonl", slug="tea", sources_only=True
    )
    assert again.counts == {"added": 0, "extended": 0, "unchanged": 1}
