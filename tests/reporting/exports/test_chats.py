"""Conversations in the forms of other tools: as messages where these take them, and read back as the same."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command

from annotation.importing.study_files import import_study
from annotation.models import Generation, Instance, Matchup, Study
from tests.factories import claim, make_annotator, make_batch, rate
from tests.reporting.exports.test_elsewhere import IMPORTS

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
CHATS = settings.BASE_DIR / "examples" / "chats.jsonl"


@pytest.fixture
def study() -> Study:
    """The example's conversations, the first text of each preferred."""
    study, _ = import_study(data=CHATS.read_bytes(), name=CHATS.name, slug="chats")
    study.instances.update(gold=None)  # which these forms do not have
    make_batch(study, dataset="chats", systems=("heron", "magpie"), pairs=1, raters=1)
    annotator = make_annotator(study)
    for _ in range(3):
        rate(claim(annotator))
    return study


def exported(form: str, out: Path, name: str) -> Any:
    call_command("export_preferences", "chats", "--as", form, "--out", str(out))
    text = (out / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()] if name.endswith("jsonl") else json.loads(text)


def came() -> dict[str, dict[str, Any]]:
    return {row["instance_id"]: row for row in map(json.loads, CHATS.read_text(encoding="utf-8").splitlines())}


@pytest.mark.parametrize("form", IMPORTS)
def test_what_is_exported_is_what_the_study_has(form: str, study: Study, tmp_path: Path) -> None:
    command, name = IMPORTS[form]
    exported(form, tmp_path, name)
    call_command(command, str(tmp_path / name), "--study", "chats")
    assert (Instance.objects.count(), Generation.objects.count(), Matchup.objects.count()) == (3, 6, 3)


def test_messages_are_in_the_files_as_they_came(study: Study, tmp_path: Path) -> None:
    rows = came()
    for record in exported("alpacaeval", tmp_path, "annotations.json"):
        row = rows[record["instance_id"]]
        assert record["instruction"] == row["source"]
        assert [record["output_1"]] == row["generations"][record["generator_1"]]
    battles = {record["question_id"]: record for record in exported("arena", tmp_path, "battles.json")}
    [text] = rows["reverse-words"]["generations"][battles["reverse-words"]["model_a"]]
    assert battles["reverse-words"]["conversation_a"] == [*rows["reverse-words"]["source"], *text]
    assert battles["weather-tool"]["conversation_a"][0] == {"role": "user", "content": rows["weather-tool"]["source"]}


def test_trl_has_prompt_chosen_and_rejected_as_messages(study: Study, tmp_path: Path) -> None:
    lines = {record["instance_id"]: record for record in exported("trl", tmp_path, "preferences.jsonl")}
    record, row = lines["weather-tool"], came()["weather-tool"]
    assert record["prompt"] == [{"role": "user", "content": row["source"]}]
    texts = [row["generations"]["heron"][0], [{"role": "assistant", "content": row["generations"]["magpie"][0]}]]
    assert sorted([record["chosen"], record["rejected"]], key=str) == sorted(texts, key=str)
