"""Who answered, and how long a prompt should be: read from a response and a request."""

from typing import Any

import pytest

from judging.calls.store import expected_prompt_tokens, origin_of


@pytest.mark.parametrize(
    ("response", "origin"),
    [
        pytest.param({"model": "m", "system_fingerprint": "f", "provider": "p"}, ["m", "f", "p"], id="all"),
        pytest.param({"model": " m ", "system_fingerprint": None}, ["m", "", ""], id="some"),
        pytest.param({"model": ["m"], "provider": 5}, ["", "", ""], id="no texts"),
        pytest.param({"model": "m" * 300}, ["m" * 200, "", ""], id="long"),
        pytest.param({}, ["", "", ""], id="nothing"),
    ],
)
def test_origin_is_read_from_a_response(response: dict[str, Any], origin: list[str]) -> None:
    assert origin_of(response) == origin


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        pytest.param("", 0, id="nothing"),  # 1 / 4: the `x` of the second message
        pytest.param("Which one?\n\n  The first.", 6, id="spaces"),  # 23 / 4
        pytest.param("Которая из двух?", 4, id="Cyrillic"),  # 18 / 4
        pytest.param("どちらが良いですか。", 6, id="Japanese"),  # 10 / 2 + 2 / 4
        pytest.param("混ぜた mixed текст \U00020000", 6, id="mixed"),  # 4 / 2 + 15 / 4
    ],
)
def test_tokens_of_a_prompt_are_estimated_from_its_messages(text: str, tokens: int) -> None:
    messages = [{"role": "system", "content": text}, {"role": "user", "content": "x"}]
    assert expected_prompt_tokens({"messages": messages}) == tokens
