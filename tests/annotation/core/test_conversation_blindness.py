"""A text beside a conversation is shown in its form, so that no form tells which system wrote what."""

import re

import pytest

from annotation.core.conversations import Transcript, content_problem
from annotation.core.markdown import shown_texts

CHAT = Transcript([{"role": "assistant", "content": "other"}])


def skeleton(html: str) -> str:
    return re.sub(r"text|other", "", html)


@pytest.mark.parametrize("options", [{}, {"rendered": True, "math": True}])
def test_both_texts_of_a_pair_have_one_form(options: dict[str, bool]) -> None:
    left, right = shown_texts(("text", CHAT), **options)
    assert skeleton(left) == skeleton(right)
    assert left.startswith('<ol class="chat"')
    assert shown_texts(("text", "other"))[0] == "text"


def test_fences_of_many_messages_are_bounded_together() -> None:
    messages = [{"role": "user", "content": "|a|b|\n|-|-|\n" + "|\n" * 400} for _ in range(30)]
    (html, _) = shown_texts((Transcript(messages), CHAT), rendered=True)
    assert html.count("<td") < 2000 * 2


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": "x", "\ud800k": 1},
        {"role": "user", "content": [{"type": "text", "text": "x", "\ud800k": 1}]},
    ],
)
def test_keys_that_no_database_stores_are_refused(message: dict[str, object]) -> None:
    assert content_problem([message], "source") is not None
