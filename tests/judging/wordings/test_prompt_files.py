"""Researchers' own wordings: reading them, checking them before anything is asked, keeping them in versions."""

import time
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from annotation.members.groups import create_group
from judging.core.errors import BadPrompt, BadSettings, UnknownJudge
from judging.core.visibility import judges_seen_by, prompt_files_of
from judging.methods import Presentation
from judging.models import Judge, PromptFile
from judging.wordings.checks import ANSWER_FORMS, PARSER_HELP, READERS, fitting_methods, preview, problems_of
from judging.wordings.prompt_files import add_prompt, find_prompt, read_folder
from judging.wordings.prompt_text import LONGEST, PromptText, read_prompt, split_prompt
from tests.judging.builders import make_judge, make_study, make_user

WORDING = """Judge what stands between [$fence begin] and [$fence end].
Input: $source
A: $first
B: $second
Verdict: <A or B>"""
SHOWN = Presentation(task="free", question="Which?", source="The source.", first="One.", second="Two.", identity="x")


def add(
    text: str = WORDING, name: str = "mine", parser: str = "verdict-line", **settings: Any
) -> tuple[PromptFile, bool]:
    return add_prompt(prompt=split_prompt(text), name=name, parser=parser, **settings)


# Reading a file


def test_head_names_the_prompt_and_its_parser() -> None:
    data = b"\xef\xbb\xbf---\r\nname: short\r\n\r\nparser:  letter \r\n---\r\n\r\nThe text.\r\n\r\nMore.\r\n"
    assert read_prompt(data) == PromptText("The text.\n\nMore.", name="short", parser="letter")


def test_text_without_a_head_is_all_wording() -> None:
    assert split_prompt("One.\n---\nname: no\n---\n") == PromptText("One.\n---\nname: no\n---")


@pytest.mark.parametrize(
    ("data", "told"),
    [
        pytest.param(b"One.\nTw\xff.", "Line 2 is not UTF-8", id="Latin-1"),
        pytest.param("One.".encode("utf-16"), "Line 1 is not UTF-8", id="UTF-16"),
        pytest.param(b"One.\x00", "NUL", id="NUL"),
        pytest.param(b"x" * (LONGEST + 1), "longer than", id="long"),
        pytest.param(b"\xff" * (4 * LONGEST + 1), "longer than", id="huge"),
        pytest.param(b"---\nname: x\nOne.", "no second line", id="open head"),
        pytest.param(b"---\nverdicts: A\n---\nOne.", "it holds: verdicts: A", id="unknown key"),
        pytest.param(b"---\nname\n---\nOne.", "it holds: name", id="no colon"),
        pytest.param(b"---\nname: x\nname: y\n---\nOne.", "name twice", id="twice"),
    ],
)
def test_file_that_is_no_prompt_is_refused(data: bytes, told: str) -> None:
    with pytest.raises(BadPrompt) as refused:
        read_prompt(data)
    assert told in str(refused.value)


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(BadPrompt, match="surrogate"):
        split_prompt("\ud800")


# Checking a wording


@pytest.mark.parametrize(
    ("text", "parser", "told"),
    [
        pytest.param("", "letter", ["There is no text"], id="empty"),
        pytest.param(WORDING, "", ["names no parser"], id="no parser"),
        pytest.param(WORDING, "guess", ["guess", "verdict-line"], id="unknown parser"),
        pytest.param(
            WORDING.replace("$second", "").replace("$source", ""), "letter", ["$second, $source"], id="missing"
        ),
        pytest.param(WORDING + " $sauce ${rubric}", "letter", ["$rubric, $sauce"], id="unknown"),
        pytest.param(WORDING + " $notes_first", "letter", ["$notes_first"], id="another method's"),
        pytest.param(WORDING + "\nIt costs $ 5.", "letter", ["line 6", "$$"], id="dollar"),
        pytest.param(WORDING + "\n${first", "letter", ["line 6", "$$"], id="open brace"),
        pytest.param(WORDING.replace("Verdict", "Winner"), "verdict-line", ["verdict-line reads a line"], id="label"),
        pytest.param(
            WORDING.replace("A or B", "1 or 2").replace("A:", "1:"), "letter", ["offers no letters"], id="letters"
        ),
        pytest.param(WORDING, "brackets", ["[[A]]"], id="brackets"),
        pytest.param(WORDING, "sentence", ["is better"], id="sentence"),
        pytest.param(WORDING, "json", ["“verdict”"], id="json"),
        pytest.param(WORDING, "ranked-list", ["text_1"], id="list"),
        pytest.param(WORDING, "function", ["text_1"], id="function"),
        pytest.param(WORDING, "model-letter", ["m or M"], id="model-letter"),
        pytest.param("$sauce", "guess", ["$fence, $first, $second, $source", "$sauce", "guess"], id="all at once"),
    ],
)
def test_problems_of_a_wording_are_all_said(text: str, parser: str, told: list[str]) -> None:
    problems = "\n".join(problems_of(text, parser))
    assert [part for part in told if part not in problems] == []


@pytest.mark.parametrize(
    ("answer", "parser"),
    [
        pytest.param("$choice: <$letters>", "verdict-line", id="the task's own label"),
        pytest.param("**Preferred**: $offer", "verdict-line", id="Markdown"),
        pytest.param("Answer with $offer.", "letter", id="letter"),
        pytest.param("End with [[A]] or [[B]].", "brackets", id="brackets"),
        pytest.param("End with [RESULT] A or [RESULT] B.", "brackets", id="brackets: Prometheus"),
        pytest.param("Answer m or M.", "model-letter", id="model-letter"),
        pytest.param('End with "Text A is better." or "Text B is better."', "sentence", id="sentence"),
        pytest.param('Answer {"verdict": "A"} or {"verdict": "B"}', "json", id="json"),
        pytest.param('[{"name": "text_1", "rank": 1}, {"name": "text_2", "rank": 2}]', "ranked-list", id="list"),
        pytest.param(
            '{"ranking": [{"name": "text_1", "rank": 1}, {"name": "text_2", "rank": 2}]}', "function", id="function"
        ),
    ],
)
def test_each_parser_finds_its_answer_form(answer: str, parser: str) -> None:
    assert problems_of(WORDING.replace("Verdict: <A or B>", answer), parser) == []


def test_each_parser_has_its_form_and_its_help() -> None:
    assert set(ANSWER_FORMS) == set(PARSER_HELP) == set(READERS)


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["A ", "{", "[[", "verdict ", "is ", "$first ", "$$", "*", "\n", "text_1 "])
def test_checking_a_long_text_takes_no_time(piece: str) -> None:
    text = (piece * LONGEST)[:LONGEST]
    started = time.process_time()
    for parser in READERS:
        problems_of(text, parser)
    assert time.process_time() - started < 2.0


def test_placeholders_inside_texts_stay_as_they_are() -> None:
    hostile = "$first $$ ${second} $fence $"
    shown = Presentation(task="free", question="Q", source=hostile, first=hostile, second="Two.", identity="x")
    [message] = preview(WORDING, "verdict-line", shown)
    assert message["content"].count(hostile) == 2
    assert message["content"].count("Two.") == 1


# Keeping it in versions


@pytest.mark.django_db
def test_same_text_again_is_unchanged_and_another_is_the_next_version() -> None:
    first, is_new = add()
    assert (str(first), is_new) == ("mine.v1", True)
    assert add() == (first, False)
    assert add(f"\n{WORDING}\n\n".replace("\n", "\r\n")) == (first, False)
    second, is_new = add(WORDING + "\nBe brief.")
    assert (str(second), is_new) == ("mine.v2", True)
    assert str(add(WORDING + "\nBe brief.", parser="letter")[0]) == "mine.v3"
    assert PromptFile.objects.get(version=1).text == WORDING


@pytest.mark.django_db
def test_going_back_to_an_earlier_text_is_a_version_of_its_own() -> None:
    for text in (WORDING, WORDING + "\nBe brief.", WORDING):
        add(text)
    assert find_prompt("mine").text == WORDING
    assert str(find_prompt("mine")) == "mine.v3"


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["", "with space", "dotted.v2", "käse", "x" * 81, "a/b"])
def test_name_that_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(BadPrompt, match="name"):
        add(name=name)
    assert not PromptFile.objects.exists()


@pytest.mark.django_db
def test_head_counts_less_than_what_is_asked_for() -> None:
    prompt, _ = add(f"---\nname: other\nparser: json\n---\n{WORDING}")
    assert (prompt.name, prompt.parser, prompt.text) == ("mine", "verdict-line", WORDING)
    named, _ = add(f"---\nname: other\nparser: letter\n---\n{WORDING}", name="", parser="")
    assert (named.name, named.parser) == ("other", "letter")


@pytest.mark.django_db
def test_name_belongs_to_one_group() -> None:
    ours, theirs = create_group(slug="ours"), create_group(slug="theirs")
    add(group=ours)
    for group in (theirs, None):
        with pytest.raises(BadPrompt, match="mine is taken"):
            add(WORDING + "\nBe brief.", group=group)
    assert PromptFile.objects.get().group == ours


@pytest.mark.django_db
def test_prompt_is_found_by_name_and_version_within_its_group() -> None:
    ours, theirs = create_group(slug="ours"), create_group(slug="theirs")
    first, _ = add(group=ours)
    second, _ = add(WORDING + "\nBe brief.", group=ours)
    everybodys, _ = add(name="open")
    assert [find_prompt("mine"), find_prompt("mine.v1")] == [second, first]
    assert find_prompt("mine", prompt_files_of(ours)) == second
    assert find_prompt("open", prompt_files_of(theirs)) == everybodys
    for name in ("mine", "mine.v1", "open.v2", "no"):
        with pytest.raises(UnknownJudge, match=r"there are: open\.v1$"):
            find_prompt(name, prompt_files_of(theirs))
    assert set(prompt_files_of(theirs)) == {everybodys}


@pytest.mark.django_db
def test_judge_with_another_groups_wording_is_not_seen() -> None:
    study = make_study()
    reader = make_user("reader", "researcher", study)
    theirs, ours = (
        add(name=name, group=group)[0] for name, group in (("a", create_group(slug="theirs")), ("b", study.group))
    )
    make_judge(name="their-judge", prompt_file=theirs)
    seen = make_judge(name="our-judge", prompt_file=ours, endpoint=Judge.objects.get().endpoint)
    plain = make_judge("longer", name="plain")
    assert set(judges_seen_by(reader)) == {seen, plain}


# The folder


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Path:
    settings.PROMPT_FOLDER = str(tmp_path)
    return tmp_path


def write(folder: Path, name: str, text: str = f"---\nparser: verdict-line\n---\n{WORDING}") -> None:
    (folder / name).write_text(text, encoding="utf-8")


@pytest.mark.django_db
def test_folder_is_read_again_by_content(folder: Path) -> None:
    write(folder, "plain.txt")
    write(folder, "notes.md", "not a prompt")
    (folder / "sub.txt").mkdir()
    assert str(find_prompt("plain")) == "plain.v1"
    write(folder, "plain.txt")
    assert read_folder().added == []
    write(folder, "plain.txt", f"---\nparser: letter\n---\n{WORDING}")
    assert str(find_prompt("plain")) == "plain.v2"
    (folder / "plain.txt").unlink()
    assert str(find_prompt("plain")) == "plain.v2"
    assert PromptFile.objects.count() == 2


@pytest.mark.django_db
def test_bad_file_of_the_folder_keeps_no_other_from_being_offered(folder: Path) -> None:
    (folder / "bytes.txt").write_bytes(b"\xff")
    write(folder, "good.txt")
    write(folder, "huge.txt", "x" * (4 * LONGEST + 1))
    write(folder, "silent.txt", WORDING)
    write(folder, "two.words.txt")
    reading = read_folder()
    assert [str(prompt) for prompt in reading.added] == ["good.v1"]
    assert sorted(reading.problems) == ["bytes.txt", "huge.txt", "silent.txt", "two.words.txt"]
    assert "names no parser" in reading.problems["silent.txt"][0]


@pytest.mark.django_db
def test_file_that_went_bad_is_not_replaced_by_its_last_version(folder: Path) -> None:
    write(folder, "plain.txt")
    find_prompt("plain")
    write(folder, "plain.txt", "---\nparser: letter\n---\n$sauce")
    with pytest.raises(BadPrompt, match=r"plain\.txt: .*\$sauce"):
        find_prompt("plain")
    assert str(find_prompt("plain.v1")) == "plain.v1"


@pytest.mark.django_db
def test_folder_takes_no_groups_name(folder: Path) -> None:
    add(name="plain", group=create_group(slug="ours"))
    write(folder, "plain.txt")
    assert "taken" in read_folder().problems["plain.txt"][0]


@pytest.mark.django_db
def test_missing_folder_is_said(folder: Path, settings: Any) -> None:
    settings.PROMPT_FOLDER = str(folder / "none")
    assert read_folder().problems == {"PROMPT_FOLDER": ["There is no such folder."]}


# The command


def run_command(*arguments: str, **options: str) -> str:
    out = StringIO()
    call_command("add_prompt", *arguments, stdout=out, **options)
    return out.getvalue()


@pytest.mark.django_db
def test_command_adds_a_file_under_its_own_name(tmp_path: Path) -> None:
    create_group(slug="ours")
    write(tmp_path, "plain.txt")
    file = str(tmp_path / "plain.txt")
    run_command(file)
    run_command(file)
    run_command(file, name="other", parser="letter", group="ours")
    stored = PromptFile.objects.order_by("pk").values_list("name", "version", "parser", "group__slug")
    assert list(stored) == [("plain", 1, "verdict-line", None), ("other", 1, "letter", "ours")]


def test_methods_that_take_a_wording_are_named() -> None:
    assert "direct" in fitting_methods()
    with pytest.raises(BadSettings):
        preview("$sauce", "letter", SHOWN)
