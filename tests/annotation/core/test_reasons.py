"""Reasons: their values are stored, and their text is made of them."""

import json
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from annotation.core.reasons import Reason, reason, restored


@pytest.mark.parametrize(
    ("why", "text"),
    [
        (reason("ratings", number=1), "1 rating"),
        (reason("ratings", number=2000), "2,000 ratings"),
        (reason("ratings_on_instances", number=0, instances=1), "0 ratings on 1 new instance"),
        (reason("judgments_by", number=3, judges=["direct", "sc2"]), "3 judgments by direct, sc2"),
        (
            reason("added", contents=[reason("instances", number=1), reason("ratings", number=1200)]),
            "1 instance, 1,200 ratings added",
        ),
        (reason("no_such_part", study="s", part="x", parts=["a", "b {c}"]), "study s has no x; it has a; b {c}"),
        (
            reason("numbers_not_of_rows", number=1200, differing=[reason("and_more", number=1199), "x: y"]),
            "1,200 of numbers.json differ from what follows from the rows:\n  and 1,199 more\n  x: y",
        ),
        (reason("bad_lines", name="f {x}.csv", number=2000), "f {x}.csv: 2,000 bad lines; nothing was stored"),
    ],
)
def test_values_are_stored_and_words_are_made_when_they_are_shown(why: Reason, text: str) -> None:
    assert why.text == text
    stored = json.loads(json.dumps(why.stored()))
    assert restored(stored) == why


@pytest.mark.parametrize(
    "stored",
    [
        {"code": "no such code", "values": {}},
        {"code": "ratings", "values": {}},
        {"code": "ratings", "values": {"number": "three"}},
        {"code": "ratings", "values": {"number": None}},
        {"code": "ratings", "values": []},
        {"code": "added", "values": {"contents": [{"code": "ratings"}]}},
        ["ratings"],
        3,
        {"code": "text", "values": {"text": json.loads("[" * 900 + "]" * 900)}},
    ],
)
def test_what_is_no_reason_is_refused(stored: Any) -> None:
    with pytest.raises(ValidationError):
        restored(stored)
