"""Prompts in the forms in which others publish theirs, in our own words: what is read, what is sent, what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from judging.core.errors import BadPrompt, BadSettings
from judging.methods import Presentation
from judging.models import Judge, Judgment, PromptFile
from judging.runs.judges import add_judge
from judging.wordings.checks import preview
from judging.wordings.prompt_files import add_prompt
from judging.wordings.prompt_text import PromptText
from judging.wordings.published_forms import read_published
from tests.fakes import ScriptedClient
from tests.judging.builders import judge_with, make_endpoint, make_study

CHAT = """<|im_start|>system
You rank birds.
<|im_end|>
<|im_start|>user
Costs $5. Song: {"text": "{instruction}"}
{"model": "model_1", "answer": "{output_1}"} {'model': 'model_2', 'answer': "{output_2}"}
<|im_end|>
"""
LINES = "\n".join(
    json.dumps({"name": name, "type": "pairwise", "system_prompt": "You weigh answers.", "prompt_template": template})
    for name, template in {
        "two": "Asked: {question}\nOne: {answer_a}\nOther: {answer_b}\nSay [[A]] or [[B]].",
        "with-key": "Asked: {question}\nKey: {ref_answer_1}\nOne: {answer_a}\nOther: {answer_b}\nSay [[A]] or [[B]].",
        "single": "Asked: {question}\nOnly: {answer}\nRate it as [[5]].",
        "turns": "Asked: {question_1} {question_2}\nOne: {answer_a_1}\nOther: {answer_b_1}",
    }.items()
)
SETTINGS = """
judge_model: any
system_prompt: "You choose."
prompt_template: ["Asked: {question_1}\\nOne: {answer_1}\\nOther: {answer_2}\\nSay [[A>B]] or {{so}}."]
"""
PYTHON = '''
REL_SYSTEM_PROMPT = "You are fair."
WITH_KEY = """Do: {instruction}
A: {response_A}
B: {response_B}
Key: {reference_answer}
By: {rubric}
Feedback: """
WITHOUT_KEY = "Do: {instruction} A: {response_A} B: {response_B} By: {rubric}"
open("/nowhere")
'''
SHOWN = Presentation("free", "Which sings?", "the $song", "the wren", "the heron", "x", reference="the key")


def sent(text: str, form: str, entry: str = "") -> list[str]:
    """Return the contents of the messages about a pair, first the system's."""
    given = read_published(text.encode(), form, entry)
    assert given.form == form
    return [one["content"] for one in preview(given.text, given.parser, SHOWN, system=given.system)]


ASKED = "Asked: the $song\nOne: the wren\nOther: the heron\n"
BIRDS = """Costs $5. Song: {"text": "the $song"}
{"model": "model_1", "answer": "the wren"} {'model': 'model_2', 'answer': "the heron"}"""


@pytest.mark.parametrize(
    ("text", "form", "entry", "messages"),
    [
        pytest.param(CHAT, "alpaca-eval", "", ["You rank birds.", BIRDS], id="alpaca-eval"),
        pytest.param(
            "{instruction}|{output_1}|{output_2}", "alpaca-eval", "", ["the $song|the wren|the heron"], id="no chat"
        ),
        pytest.param(LINES, "mt-bench", "two", ["You weigh answers.", f"{ASKED}Say [[A]] or [[B]]."], id="mt-bench"),
        pytest.param(SETTINGS, "arena-hard", "", ["You choose.", f"{ASKED}Say [[A>B]] or {{so}}."], id="arena-hard"),
        pytest.param(
            LINES,
            "mt-bench",
            "with-key",
            ["You weigh answers.", f"{ASKED}Say [[A]] or [[B]].".replace("One:", "Key: the key\nOne:")],
            id="mt-bench with a reference",
        ),
    ],
)
def test_fields_are_filled_and_all_else_stays_as_it_is(text: str, form: str, entry: str, messages: list[str]) -> None:
    assert sent(text, form, entry) == messages


def test_rubric_is_the_criterion_of_the_task() -> None:
    system, asked = sent(PYTHON, "prometheus", "WITH_KEY")
    assert system == "You are fair."
    assert asked.startswith("Do: the $song\nA: the wren\nB: the heron\nKey: the key\nBy: ")
    assert asked.endswith("Which sings?\nFeedback:")


@pytest.mark.parametrize(
    ("text", "form", "entry", "reason"),
    [
        pytest.param(LINES, "mt-bench", "", "show two texts: two, with-key", id="several"),
        pytest.param(LINES, "mt-bench", "turns", "show two texts: two, with-key", id="fields that nothing fills"),
        pytest.param(LINES, "mt-bench", "single", "show two texts: two, with-key", id="one text"),
        pytest.param(PYTHON, "prometheus", "", "show two texts: WITH_KEY, WITHOUT_KEY", id="named in Python"),
        pytest.param("{instruction}", "alpaca-eval", "", "show two texts: –", id="no second text"),
        pytest.param(2 * "{instruction} {output_1} {output_2}", "alpaca-eval", "", "show two texts: –", id="a batch"),
        pytest.param("a: [", "arena-hard", "", r"not have the form arena-hard \(ParserError\)", id="no YAML"),
        pytest.param("x: 1", "arena-hard", "", r"not have the form arena-hard \(KeyError\)", id="other YAML"),
        pytest.param("{", "mt-bench", "", r"not have the form mt-bench \(JSONDecodeError\)", id="no JSON"),
        pytest.param("def", "prometheus", "", r"not have the form prometheus \(SyntaxError\)", id="no Python"),
        pytest.param("<|im_start|>user\na<|im_end|>" * 2, "alpaca-eval", "", r"\(ValueError\)", id="two turns"),
        pytest.param(
            "!!python/object/apply:os.getcwd []", "arena-hard", "", r"\(ConstructorError\)", id="YAML that runs"
        ),
        pytest.param("x", "other", "", "Unknown form other. Allowed: alpaca-eval, mt-bench", id="unknown form"),
        pytest.param("x" * 300_000, "alpaca-eval", "", "longer than 50,000 characters", id="long"),
    ],
)
def test_file_of_another_form_is_refused(text: str, form: str, entry: str, reason: str) -> None:
    with pytest.raises(BadPrompt, match=reason):
        read_published(text.encode(), form, entry)


@pytest.mark.parametrize(
    ("asks", "parser"),
    [
        pytest.param("Which is best, m or M?", "model-letter", id="model-letter"),
        pytest.param("Give a ranking as a list.", "ranked-list", id="ranked-list"),
        pytest.param("Say Output (a) or Output (b).", "letter", id="letter"),
        pytest.param('Explain, then say "[[A]]" or "[[B]]".', "brackets", id="brackets"),
    ],
)
def test_parser_of_an_alpaca_eval_prompt_goes_by_what_it_asks_for(asks: str, parser: str) -> None:
    text = f"{{instruction}} {{output_1}} {{output_2}} {asks}"
    assert read_published(text.encode(), "alpaca-eval").parser == parser


@pytest.mark.django_db
def test_prompt_that_says_nowhere_how_to_answer_is_noticed(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "settings.yaml"
    template = "prompt_template: 'Asked: {QUESTION} One: {ANSWER_A} Other: {ANSWER_B}'"
    file.write_text(template, encoding="utf-8")
    call_command("add_prompt", str(file), form="arena-hard", name="later")
    assert "neither its text nor its system message says how to answer" in capsys.readouterr().err
    file.write_text(f"{template}\nsystem_prompt: Answer [[A]] or [[B]].", encoding="utf-8")
    call_command("add_prompt", str(file), form="arena-hard", name="first")
    assert capsys.readouterr().err == ""


@pytest.mark.slow
@pytest.mark.django_db
def test_published_prompt_is_stored_in_versions_with_its_system_message(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "judge.jsonl"
    file.write_text(LINES, encoding="utf-8")
    call_command("add_prompt", str(file), "--form", "mt-bench", "--entry", "two", "--name", "mt")
    call_command("add_prompt", str(file), "--form", "mt-bench", "--entry", "two", "--name", "mt")
    assert capsys.readouterr().out.count("prompt mt.v1") == 2
    file.write_text(LINES.replace("weigh", "measure"), encoding="utf-8")
    call_command("add_prompt", str(file), "--form", "mt-bench", "--entry", "two", "--name", "mt")
    assert list(PromptFile.objects.values_list("version", "system_prompt", "form", "parser")) == [
        (1, "You weigh answers.", "mt-bench", "brackets"),
        (2, "You measure answers.", "mt-bench", "brackets"),
    ]
    with pytest.raises(CommandError, match="give its --form"):
        call_command("add_prompt", str(file), "--entry", "two")
    client, study = ScriptedClient(["[[B]]"] * 2), make_study(instances=1)
    judge, _ = add_judge(
        name="mt", method="direct", endpoint=make_endpoint(), order="ab", prompt_file=PromptFile.objects.last()
    )
    judge_with(client, study, judge)
    assert [one["role"] for one in client.bodies[0]["messages"]] == ["system", "user"]
    assert client.bodies[0]["messages"][0]["content"] == "You measure answers."
    assert set(Judgment.objects.values_list("verdict", flat=True)) == {1}
    with pytest.raises(BadSettings, match=r"mt\.v2 has a system prompt of its own"):
        add_judge(
            name="two", method="direct", endpoint=judge.endpoint, prompt_file=judge.prompt_file, system_prompt="Hm."
        )


@pytest.mark.slow
@pytest.mark.django_db
def test_system_prompt_of_a_judge_is_sent_with_every_call_and_part_of_the_version(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "system.txt"
    file.write_text("You are strict.\n", encoding="utf-8")
    make_endpoint()
    call_command("add_judge", "strict", "--method", "prepair", "--endpoint", "stand-in", "--system-prompt", str(file))
    assert ", a system prompt, " in capsys.readouterr().out
    client = ScriptedClient(["*fine", "*fair", "Better: A"])
    judge_with(client, make_study(instances=1, k=1), Judge.objects.get(), in_flight=1)
    assert {body["messages"][0]["content"] for body in client.bodies} == {"You are strict."}
    assert len(client.bodies) == 3
    made = Judgment.objects.get()
    assert made.prompt_version.startswith("critique.v2+prepair.v2+summarization.v1+system-")
    with pytest.raises(BadSettings, match="it takes no prompt file and no system prompt"):
        add_judge(name="control", method="coin", system_prompt="Hm.")


@pytest.mark.django_db
def test_own_prompt_needs_its_fence_and_a_published_one_does_not() -> None:
    text = "$source $first $second [[A]] $reference"
    with pytest.raises(BadPrompt, match=r"missing: \$fence"):
        add_prompt(prompt=PromptText(text), name="own", parser="brackets")
    prompt, _ = add_prompt(prompt=PromptText(text, form="mt-bench"), name="theirs", parser="brackets")
    assert preview(prompt.text, prompt.parser, SHOWN)[0]["content"] == "the $song the wren the heron [[A]] the key"
    fenced, _ = add_prompt(prompt=PromptText(f"$fence {text}", system="Be fair."), name="own", parser="brackets")
    assert "begin]\nthe key\n[" in preview(fenced.text, fenced.parser, SHOWN)[0]["content"]
    assert fenced.system_prompt == "Be fair."
