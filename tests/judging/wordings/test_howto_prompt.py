"""The page on bringing a prompt of one's own, walked through: its example and its commands are taken from the page."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from judging.methods.own_wording import OF_ONE_TEXT, OWN_PLACEHOLDERS
from judging.models import Completion, Judgment, PromptFile
from judging.wordings.checks import READERS
from tests.fakes import StandIn
from tests.howto import text_of
from tests.judging.builders import make_study

TEXT = text_of("docs/howto/improve_a_judge.md#bring-your-own-prompt")


def example() -> str:
    """Return the prompt file that the page shows."""
    [found] = re.findall(r"```text\n(.*?)```", TEXT, re.DOTALL)
    return str(found)


def commands() -> list[list[str]]:
    """Return the page's commands in their order, as what comes after manage.py."""
    return [shlex.split(line) for line in re.findall(r"manage\.py (.+)", TEXT)]


@pytest.mark.slow
@pytest.mark.django_db
def test_page_can_be_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    settings.ENDPOINT_ALLOWLIST = ["127.0.0.1"]
    monkeypatch.chdir(tmp_path)
    Path("plain-words.txt").write_text(example(), encoding="utf-8")
    make_study("my-study", instances=1, k=2, question="Which one is plainer?", task_kind="free")

    with StandIn(answer=lambda body: "The second one is shorter.\nVerdict: B") as stand_in:
        call_command("add_endpoint", "big", base_url=stand_in.base_url, model="big-1")
        for command in commands():
            call_command(*command)

    assert [command[0] for command in commands()] == ["add_prompt", "add_judge", "run_judge"]
    assert str(PromptFile.objects.get()) == "plain-words.v1"
    assert set(Judgment.objects.values_list("status", "rationale")) == {("parsed", "The second one is shorter.")}
    assert {"plain-words.v1:verdict-line" in one.prompt_version for one in Judgment.objects.all()} == {True}
    content = Completion.objects.earliest("pk").request["messages"][0]["content"]
    assert content.startswith("You help an editor who wants plain words. Which one is plainer?")
    assert content.endswith("name the letter A or the letter B:\nVerdict: <A or B>")


@pytest.mark.django_db
def test_folder_of_the_page_offers_the_same(tmp_path: Path, settings: Any) -> None:
    settings.PROMPT_FOLDER = str(tmp_path)
    (tmp_path / "plain-words.txt").write_text(example(), encoding="utf-8")
    make_study("my-study")
    call_command("add_endpoint", "big", base_url="https://models.example/v1", model="big-1")
    call_command("add_judge", "plain", method="direct", endpoint="big", prompt="plain-words")
    assert str(PromptFile.objects.get()) == "plain-words.v1"


def test_page_names_every_parser_and_every_placeholder() -> None:
    assert [name for name in READERS if f"| `{name}` |" not in TEXT] == []
    assert [name for name in OWN_PLACEHOLDERS | OF_ONE_TEXT if f"`${name}`" not in TEXT] == []
