"""Data sets of the Hugging Face hub: what is exported is loaded by the library `datasets` itself, and what it writes is imported."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Generation, Instance
from tests.hub_folders import hub_library, load_folder
from tests.reporting.builders import Built, build_configuration, build_study, rate

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def built() -> Built:
    """A study whose ids and texts are all dates: of JSON, `datasets` would take them for times."""
    built = build_configuration(build_study("source"), instances=3, pairs=1)
    for day, matchup in enumerate(built.matchups, start=1):
        Instance.objects.filter(pk=matchup.instance_id).update(instance_id=f"2024-01-0{day}", source=f"2023-01-0{day}")
    for day, one in enumerate(Generation.objects.order_by("pk"), start=1):
        Generation.objects.filter(pk=one.pk).update(text=f"2022-01-0{day}")
    for place, verdict in enumerate([-1, 1, 0]):
        rate(built, place, "ann", [verdict])
    return built


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def texts(slug: str) -> list[tuple[Any, ...]]:
    found = Generation.objects.filter(instance__study__slug=slug)
    return sorted(found.values_list("instance__instance_id", "instance__source", "system__name", "index", "text"))


def test_exported_preferences_are_loaded_as_they_were_given(built: Built, tmp_path: Path) -> None:
    for form in ("trl", "hf"):
        call_command("export_preferences", "source", "--as", form, "--out", str(tmp_path / form))
    found = load_folder(tmp_path / "hf")
    assert list(found) == ["train"]
    given = lines(tmp_path / "trl" / "preferences.jsonl")
    assert [row["instance_id"] for row in given] == ["2024-01-01", "2024-01-02"]
    assert found["train"] == [{**row, "dataset": "news"} for row in given]


def test_repaired_preferences_are_loaded_with_what_was_held_out(built: Built, tmp_path: Path) -> None:
    call_command(
        "refine_preferences",
        "source",
        "--as",
        "hf",
        "--held-out",
        "0.4",
        "--seed",
        "1",
        "--out",
        str(tmp_path / "parts"),
    )
    call_command("refine_preferences", "source", "--as", "hf", "--held-out", "0.1", "--out", str(tmp_path / "none"))
    call_command("refine_preferences", "source", "--out", str(tmp_path / "every.jsonl"))
    every = [{**row, "dataset": "news"} for row in lines(tmp_path / "every.jsonl")]

    parts = load_folder(tmp_path / "parts")
    assert [len(parts[name]) for name in ("train", "test")] == [1, 1]
    assert sorted(map(str, parts["train"] + parts["test"])) == sorted(map(str, every))
    assert load_folder(tmp_path / "none") == {"train": every}  # a tenth of three instances is none


def test_a_folder_without_preferences_is_not_written(tmp_path: Path) -> None:
    rate(build_configuration(build_study("source"), instances=1, pairs=1), 0, "ann", [0])
    with pytest.raises(CommandError, match="no preference to write"):
        call_command("export_preferences", "source", "--as", "hf", "--out", str(tmp_path / "hf"))


def test_exported_rows_are_loaded_with_their_types(built: Built, tmp_path: Path) -> None:
    for form in ("jsonl", "parquet"):
        call_command("export_study", "source", "--what", "ratings", "--format", form, "--out", str(tmp_path / form))
    (tmp_path / "jsonl" / "ratings.jsonl").rename(tmp_path / "ratings.jsonl")
    assert load_folder(tmp_path / "parquet")["train"] == lines(tmp_path / "ratings.jsonl")


def test_saved_folders_are_imported(built: Built, tmp_path: Path) -> None:
    call_command("export_study", "source", "--what", "texts", "--format", "jsonl", "--out", str(tmp_path))
    rows = lines(tmp_path / "texts.jsonl")
    rows[0]["generations"]["third"] = ["a text of one instance alone"]  # other rows get an empty field of that name
    rows[1]["metadata"] = {"topic": "rain"}
    datasets = hub_library()
    one = datasets.Dataset.from_list(rows)
    one.save_to_disk(str(tmp_path / "one"))
    parts = datasets.DatasetDict({"train": one.select([0, 1]), "test": one.select([2])})
    parts.save_to_disk(str(tmp_path / "parts"))
    parts["train"].to_parquet(str(tmp_path / "hub" / "train.parquet"))
    parts["test"].to_parquet(str(tmp_path / "hub" / "test.parquet"))

    (tmp_path / "hub" / "README.md").write_text("A card.", encoding="utf-8")
    (tmp_path / "empty").mkdir()
    with pytest.raises(CommandError, match="holds no file that ends with"):
        call_command("import_study", str(tmp_path / "empty"), "--study", "copy")
    third = ("2024-01-01", "2023-01-01", "third", 0, "a text of one instance alone")
    for name in ("one", "parts", "hub"):
        call_command("import_study", str(tmp_path / name), "--study", f"copy-{name}")
        assert texts(f"copy-{name}") == sorted([*texts("source"), third]), name
        metadata = Instance.objects.filter(study__slug=f"copy-{name}").values_list("instance_id", "metadata")
        assert dict(metadata) == {"2024-01-01": {}, "2024-01-02": {"topic": "rain"}, "2024-01-03": {}}, name
