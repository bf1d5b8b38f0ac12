"""Answers in the forms of open models and their servers: verdicts, or none where there is a doubt.

Each line of `answers_of_models.jsonl` has a kind, a form (whose it is, or what about it), a text, the reason why it ended,
the letters on offer, the parser, and the letter that is right; `-` is unparsed.
"""

import json
from pathlib import Path

import pytest

from judging.calls.requests import LONGEST_ANSWER, read_reply
from judging.core.errors import UnparsedVerdict
from judging.generation import store
from judging.methods import Call, Reply
from judging.methods.parsing.answers import is_refusal
from judging.methods.parsing.parsers import find_parser
from judging.methods.prompted import offer_for
from tests.judging.methods.readers import READERS

ANSWERS = [
    json.loads(line) for line in Path(__file__).with_name("answers_of_models.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.slow
@pytest.mark.parametrize("answer", [pytest.param(one, id=f"{one['kind']}: {one['form']}") for one in ANSWERS])
def test_answer_of_a_model_is_right_or_unparsed(answer: dict[str, str]) -> None:
    offer = offer_for("summarization", False, "C" in answer["offered"])
    try:
        letter = find_parser(answer["parser"])(Reply(answer["text"], answer["finish_reason"]), offer).letter
    except UnparsedVerdict:
        letter = "-"
    assert letter == answer["expected"]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(READERS))
@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("<think>\n{draft}\n</think>\n", "", id="thoughts"),
        pytest.param("[THINK]{draft}[/THINK]", "</s>", id="thoughts in brackets"),
        pytest.param("Sure.\n<reasoning>\n{draft}\n</reasoning>\n", "<|im_end|>", id="thoughts behind a preamble"),
        pytest.param(
            "<|channel|>analysis<|message|>{draft}<|end|><|start|>assistant<|channel|>final<|message|>",
            "",
            id="channels",
        ),
        pytest.param("", "<|im_end|>\n<|im_start|>user\nAnd?<|im_end|>\n<|im_start|>assistant\n{draft}", id="runs on"),
    ],
)
def test_every_reader_reads_the_answer_alone(name: str, before: str, after: str) -> None:
    reader = READERS[name]
    plain = reader.read(Reply(reader.answer))
    parts = (before.replace("{draft}", reader.draft), reader.answer, after.replace("{draft}", reader.draft))
    if before.startswith("Sure."):
        parts = (parts[0].removeprefix("Sure.\n"), *parts[1:]) if reader.starts else parts
    found = reader.read(Reply("".join(parts)))
    assert found == plain
    assert found != reader.read(Reply(reader.draft))


@pytest.mark.parametrize("name", sorted(READERS))
@pytest.mark.parametrize(
    "opening", ["<think>\n", "[THINK]", "◁think▷", "<|channel|>analysis<|message|>", "<|begin_of_thought|>\n"]
)
def test_every_reader_leaves_thoughts_that_do_not_end(name: str, opening: str) -> None:
    with pytest.raises(UnparsedVerdict):
        READERS[name].read(Reply(f"{opening}{READERS[name].draft}\n", "length"))


def test_refusal_behind_thoughts_of_any_kind_is_one() -> None:
    assert is_refusal("[THINK]Preferred: A?[/THINK]I'm sorry, but I can't compare these.")
    assert not is_refusal("[THINK]I'm sorry, but I can't compare these.[/THINK]Preferred: A")


@pytest.mark.parametrize(
    ("text", "sampled"),
    [
        pytest.param("[THINK]Well.[/THINK]It rained.</s>", "It rained.", id="thoughts at the start"),
        pytest.param("It <s>snowed</s> rained.", "It <s>snowed</s> rained.", id="struck out"),
        pytest.param("It rained.<|im_end|>\n<|im_start|>user\nMore", "It rained.", id="runs on"),
        pytest.param(
            "It has <think>marks</think> in it.", "It has <think>marks</think> in it.", id="marks in the text"
        ),
        pytest.param(
            "<i>It</i> rained\u200d in $\\textbf{May}$.", "<i>It</i> rained\u200d in $\\textbf{May}$.", id="markup"
        ),
    ],
)
def test_text_of_a_system_loses_thoughts_at_its_start_and_what_is_beyond_its_turn(text: str, sampled: str) -> None:
    assert store.read_text(Reply(text)).text == sampled


def test_answer_that_is_too_long_is_not_read() -> None:
    call = Call("verdict", [], lambda reply: find_parser("verdict-line")(reply, offer_for("chat", False, False)))
    for length, is_read in ((LONGEST_ANSWER, True), (LONGEST_ANSWER + 1, False)):
        text = f"{'x' * (length - 13)}\nPreferred: A"
        assert len(text) == length
        if is_read:
            assert read_reply(call, Reply(text)).letter == "A"
        else:
            with pytest.raises(UnparsedVerdict, match="200,001"):
                read_reply(call, Reply(text))
