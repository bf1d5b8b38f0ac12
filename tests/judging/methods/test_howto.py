"""The page on adding a judge, walked through: its files, its classes, its test and its commands come from the page."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from judging.core.errors import UnparsedVerdict
from judging.methods import Reply, base, find_method, method_names, prompts
from judging.methods.parsing import parsers
from judging.methods.parsing.parsers import PARSERS
from judging.methods.prompted import offer_for
from judging.methods.task_files import TASKS
from judging.models import Completion, Judge, Judgment
from tests.fakes import StandIn
from tests.howto import run, run_tests
from tests.judging.builders import make_study

PAGE = Path(__file__).resolve().parent.parent.parent.parent / "docs" / "howto" / "add_a_judge.md"
TEXT = PAGE.read_text(encoding="utf-8")
NEW_METHOD = TEXT[TEXT.index("## A new method") :]


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", NEW_METHOD, re.DOTALL)


def commands() -> list[list[str]]:
    """Return the commands about the new method, as what comes after manage.py."""
    return [shlex.split(line) for line in re.findall(r"manage\.py (.+)", NEW_METHOD)]


@pytest.fixture(autouse=True)
def _followed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Put the page's prompt files beside those that are there, and register its classes and its parser."""
    methods = tmp_path / "methods"
    methods.mkdir()
    for file in (prompts.FOLDER / "methods").iterdir():
        (methods / file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    names = re.findall(r"`judging/prompts/methods/([a-z-]+\.v1\.txt)`:\n\n```text", NEW_METHOD)
    for name, text in zip(names, blocks("text"), strict=True):
        (methods / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(prompts, "FOLDER", tmp_path)
    monkeypatch.setattr(base, "_METHODS", dict(base._METHODS))
    monkeypatch.setattr(parsers, "PARSERS", PARSERS.copy())
    for code in blocks("python")[:-1]:
        run(code)


@pytest.mark.slow
@pytest.mark.django_db
def test_new_method_is_added_and_run_with_the_pages_commands(settings: Any) -> None:
    settings.ENDPOINT_ALLOWLIST = ["127.0.0.1"]
    make_study("my-study", instances=1, k=2, task_kind="dialogue")
    said = "Headline: One is late.\nMore helpful: B\nLess helpful: A"  # answers either question
    with StandIn(answer=lambda body: said) as stand_in:
        call_command("add_endpoint", "big", base_url=stand_in.base_url, model="big-1")
        for command in commands():
            call_command(*command)

    assert [command[0] for command in commands()] == ["add_judge", "run_judge"]
    judge = Judge.objects.get()
    assert (judge.method, judge.negated, judge.params) == ("headline", True, {"ties": True})
    assert Judgment.objects.count() == 4
    for judgment in Judgment.objects.all():
        assert judgment.verdict == (1 if judgment.order == "ab" else -1)
        assert judgment.rationale.startswith("Headline: One is late.")
        assert judgment.prompt_version == "headline.v1+dialogue.v1"
    asked = [completion.request["messages"][0]["content"] for completion in Completion.objects.all()]
    assert {"\nLess helpful: <" in text for text in asked} == {True, False}
    assert all("<A, B or C>" in text for text in asked)


def test_test_of_the_page_passes() -> None:
    assert run_tests(blocks("python")[-1]) == ["test_facts_are_listed_once_and_shown_with_both_texts"]


def test_parser_of_the_page_reads_what_it_says() -> None:
    read, offer = parsers.find_parser("arrow"), offer_for("chat", False, False)
    assert read(Reply("Both are fine.\n-> b"), offer).letter == "B"
    for text in ("-> C", "> -> B", "so -> B"):
        with pytest.raises(UnparsedVerdict):
            read(Reply(text), offer)


def test_every_method_option_and_parser_is_on_the_page() -> None:
    rows = dict(re.findall(r"(?m)^\| (`[^|]*`) \|[^|]*\| ([^|]*)\|$", TEXT))
    named = {name for cell in rows for name in re.findall(r"`([a-z0-9-]+)`", cell)}
    assert named == set(method_names()) - {"imported", "headline", "by-facts"}
    options = {option for name in named for option in find_method(name).options}
    assert {option for option in options if f"`{option}" not in TEXT} == set()
    assert all(f"`{name}`" in NEW_METHOD for name in PARSERS)


@pytest.mark.parametrize("name", ["direct", "few-shot", "self-consistency", "pointwise", "sgm-prepair"])
def test_options_of_a_method_are_those_of_its_row(name: str) -> None:
    [row] = re.findall(rf"(?m)^\| `{name}` \|[^|]*\| ([^|]*)\|$", TEXT)
    assert re.findall(r"`([a-z_]+)`", row) == list(find_method(name).options)
    for option, default in re.findall(r"`([a-z_]+)` \(([a-z0-9]+)\)", row):
        assert str(find_method(name).options[option]).lower() == default


def test_every_task_is_on_the_page() -> None:
    assert all(f"`{task}`" in TEXT for task in TASKS)
