"""Readers of model text take time in proportion to its length."""

import json

import pytest

from judging.core.errors import JudgingError
from judging.endpoints.chat_answers import read_answer
from judging.generation import store
from judging.methods import Reply
from judging.methods.parsing.answers import is_refusal
from judging.methods.parsing.parsers import find_parser
from judging.methods.parsing.scores import read_score
from tests.judging.methods.readers import OFFER, READERS
from tests.linear_time import seconds, slow_texts

pytestmark = pytest.mark.slow

BEGINNINGS = {
    "score": ("", "Score: 4\n"),
    "aspects": ("", "- date\n- "),
    "aspects of sc2": ("", "Aspects:\n- date\n"),
    "distilled aspects": ("", '["date", "'),
    "table": ("", '{"rows": [', "| aspect | only A | both | only B |\n"),
    "choice": ("", "Choice: 1\nReason: ", "table 1 "),
    "entailment": ("", "1: 0.5\n2: "),
    "parser verdict-line": ("", "Preferred: A\n"),
    "schema": ('{"verdict": "A", "comparison": "',),
    "together": ("Question 1: A\n",),
}
OTHERS = {
    "refusal": is_refusal,
    "cut off": lambda text: find_parser("verdict-line")(Reply(text, "length"), OFFER),
    "text of a system": lambda text: store.read_text(Reply(text)),
    "chat answer": lambda text: read_answer(json.dumps({"choices": [{"message": {"content": text}}]})),
    "chat body": read_answer,
    "error of an endpoint": lambda text: read_answer(json.dumps({"error": {"message": text}})),
}


@pytest.mark.parametrize("name", sorted(READERS))
def test_reader_takes_linear_time(name: str) -> None:
    reader = READERS[name]
    assert slow_texts(lambda text: reader.read(Reply(text)), BEGINNINGS.get(name, ("",)), (JudgingError,)) == []


@pytest.mark.parametrize("name", sorted(OTHERS))
def test_reading_around_verdicts_takes_linear_time(name: str) -> None:
    assert slow_texts(OTHERS[name], ("",), (JudgingError,)) == []


def test_quotation_marks_that_do_not_close_are_read_at_once() -> None:
    for mark in "“„«\"'":
        assert seconds(read_score, "Preferred: A" + mark * 100_000, (JudgingError,)) < 2
