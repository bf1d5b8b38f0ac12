"""History, flags and raters as they are exported: read whole or not at all, and nothing that was collected here is changed."""

from typing import Any

import pytest

from annotation.core.errors import BadFile
from annotation.importing.flags import import_flags
from annotation.importing.raters import import_raters
from annotation.importing.rating_files import import_ratings
from annotation.importing.vote_history import import_history
from annotation.models import Annotator, Assignment, Batch, Flag, Hit, VoteChange
from tests.factories import json_lines, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.engine]
READERS: dict[str, Any] = {"history": import_history, "flags": import_flags, "raters": import_raters}
PLACE = {
    "batch": "b", "hit": "h", "instance_id": "news-1", "pair_index": 0, "system_a": "alpha", "system_b": "beta", "rater": "ann"
}  # fmt: skip
RATING = {**PLACE, "rating": 1, "shown_first": "a"}
NOON, LATER = "2026-03-01T12:00:00+00:00", "2026-03-01T13:00:00+00:00"
USUAL: dict[str, dict[str, Any]] = {
    "history": {**RATING, "stage": "first", "received_at": NOON},
    "flags": {**PLACE, "kind": "empty", "reported_at": NOON},
    "raters": {"rater": "ann", "kind": "account", "joined_at": NOON},
}


def load(kind: str, *rows: dict[str, Any]) -> tuple[int, int]:
    data = json_lines([{**USUAL[kind], **row} for row in rows])
    return READERS[kind](data=data, name="f.jsonl", slug="study")[1:]


def refused(kind: str, *rows: dict[str, Any]) -> list[str]:
    with pytest.raises(BadFile) as caught:
        load(kind, *rows)
    return [str(line) for line in caught.value.lines]


@pytest.fixture(scope="module", autouse=True)
def rated(module_rows: None, django_db_blocker: Any) -> None:
    """Make a study with one imported rating."""
    with django_db_blocker.unblock():
        make_study()
        import_ratings(data=json_lines([RATING]), name="r.jsonl", slug="study")


@pytest.mark.any_engine
@pytest.mark.parametrize(
    ("kind", "rows", "reason"),
    [
        ("history", [{"pair_index": 1}], "line 1: the study has no rating of this pair by ann on this HIT: read the ratings first"),
        ("history", [{"shown_first": "b"}], "line 1: rater ann was shown the other text first"),
        ("history", [{}, {"rating": 0}], "line 2: the last change of a vote has the answer of its rating, and this one hasn't"),
        ("history", [{"stage": "revised", "table_id": "t"}], "line 1: the study has no comparison table 't'"),
        ("history", [{"received_at": None}], "line 1: received_at is missing"),
        ("history", [{"page": "x" * 33}], "line 1: page is 33 characters long; at most 32 are taken"),
        ("history", [{"source_opened": "perhaps"}], "line 1: source_opened is 'perhaps'; it must be true or false"),
        ("flags", [{"pair_index": 1}], "line 1: rater ann did not rate this pair on this HIT: shown_first is needed"),
        ("flags", [{"pair_index": None}], "line 1: neither pair_index nor both generation indexes are given"),
        ("flags", [{}, {"comment": "x"}], "line 2: the study or a line before has the same flag with another comment or time"),
        ("flags", [{"kind": "unsupported-row"}], "line 1: row is there with kind unsupported-row, and only there"),
        (
            "flags",
            [{"kind": "unsupported-row", "row": 2, "table_id": "t"}],
            "line 1: the study has no comparison table 't' with a row 2",
        ),
        ("flags", [{"kind": "returned"}], "line 1: rater ann submitted this HIT"),
        ("flags", [{"reason": "odd"}], "line 1: reason is 'odd'; it must be empty"),
        ("flags", [{"rater_kind": "judge"}], "line 1: rater_kind is 'judge'; only people's ratings come in here"),
        ("raters", [{}, {}], "line 2: rater ann is on line 1 already"),
        ("raters", [{"joined_at": "noon"}], "line 1: joined_at is 'noon', not an ISO time with its zone"),
        ("raters", [{"rater": "x" * 201}], "line 1: rater is 201 characters long; at most 200 are taken"),
        (
            "raters",
            [{"kind": "robot"}],
            "line 1: kind is 'robot'; it must be account, imported, scripted, invited, anonymous, prolific or mturk",
        ),
    ],
    ids=lambda value: value[8:40] if isinstance(value, str) and value.startswith("line") else None,
)  # fmt: skip
def test_a_bad_line_is_named_and_nothing_is_stored(kind: str, rows: list[dict[str, Any]], reason: str) -> None:
    assert refused(kind, *rows) == [reason]
    assert not VoteChange.objects.of_every_question().exists()
    assert not Flag.objects.exists()
    assert Annotator.objects.get().kind == "imported"


def test_a_history_that_grew_is_added_to_and_another_is_refused() -> None:
    assert load("history", {}) == (1, 0)
    assert load("history", {}, {"received_at": LATER}) == (1, 1)
    assert refused("history", {"received_at": LATER}) == ["line 1: the study has another history of this pair"]


def test_a_change_of_b_and_a_is_turned_round() -> None:
    load("history", {"system_a": "beta", "system_b": "alpha", "rating": -1, "shown_first": "b"})
    assert VoteChange.objects.of_every_question().get().verdict == 1


def test_nothing_is_added_to_what_was_collected_here() -> None:
    Batch.objects.update(origin="collected")

    assert refused("history", {}) == ["line 1: batch 'b' collects ratings here, with their history"]
    assert refused("flags", {}) == ["line 1: batch 'b' collects ratings here, with their flags"]
    returned = {"kind": "returned", "rater": "bob", "hit": "other"}
    assert refused("flags", returned) == ["line 1: batch 'b' collects ratings here; give imported ones another batch"]


def test_a_hit_that_nobody_rated_comes_in_with_who_returned_it() -> None:
    returned = {"kind": "returned", "reason": "unclear", "rater": "bob", "hit": "other", "pair_index": None}

    assert load("flags", returned, {}) == (2, 0)
    assert load("flags", returned) == (0, 1)

    [bob] = Assignment.objects.filter(annotator__code="bob")
    assert (bob.state, bob.return_reason, bob.hit.batch.name, bob.hit.slots.count()) == ("returned", "unclear", "b", 0)
    assert [hit.hit_pairs.count() for hit in Hit.objects.order_by("pk")] == [1, 0]
    again = {**returned, "reason": "other"}
    assert refused("flags", again) == [
        "line 1: the study or a line before has this returned HIT with another reason or time"
    ]


def test_raters_are_completed_once_and_then_stay_as_they_are() -> None:
    assert load("raters", {"excluded": True, "exclusion_reason": "too fast"}, {"rater": "bob"}) == (2, 0)
    assert load("raters", {"excluded": True, "exclusion_reason": "too fast"}) == (0, 1)
    assert Annotator.objects.get(code="ann").excluded
    assert refused("raters", {"excluded": False}) == [
        "line 1: rater ann is in the study already, with another excluded"
    ]
    import_ratings(data=json_lines([{**RATING, "pair_index": 1}]), name="r.jsonl", slug="study")  # of a longer file
