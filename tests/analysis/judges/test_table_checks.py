"""Checks of comparison tables: by hand, in other scripts, degenerate, and what holds for any table."""

from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.errors import UnknownValue
from analysis.judges.table_checks import CELLS, LONG, Row, check_table, sentences, summarize_scores
from analysis.similarity.content_words import content_words, is_blank, length_in_words

TEXT_A = "The ferry was cancelled. Olek bought two tickets!"
TEXT_B = "The ferry is late; nobody bought a ticket."


def row(only_a: str = "", both: str = "", only_b: str = "", aspect: str = "x") -> dict[str, str]:
    return {"aspect": aspect, "only_a": only_a, "both": both, "only_b": only_b}


def cell(name: Any, text: str, **more: str) -> Any:
    return check_table([row(**{name: text, **more})], TEXT_A, TEXT_B).rows[0][name]


def test_a_table_by_hand() -> None:
    rows = [
        row("Cancelled ferries", "the ferry, tickets bought", "nobody bought tickets"),
        row("Olek sings", "", "n/a"),
    ]
    check = check_table(rows, TEXT_A, TEXT_B, "Olek sings on Sundays.")
    first, second = check.rows
    # cancelled and ferry, both in A; of B ferry alone; `both` has ferry, ticket, bought.
    assert asdict(first["only_a"]) == {
        "missing": False,
        "words": 2,
        "support": 1.0,
        "other": 0.5,
        "overlap": 0.5,
        "from_source": 0.0,
        "wrong_side": False,
        "copied": False,
        "names_side": False,
    }
    assert (first["both"].support, first["both"].other, first["both"].overlap) == (1.0, None, None)
    # nobody, bought, ticket: all in B, two of them in A and in `both`.
    assert (first["only_b"].support, first["only_b"].other, first["only_b"].overlap) == pytest.approx((1, 2 / 3, 2 / 3))
    # Olek is in A, sings in the source alone; there is no `both` cell to overlap with.
    assert (second["only_a"].support, second["only_a"].from_source, second["only_a"].overlap) == (0.5, 0.5, None)
    assert (second["both"].missing, second["only_b"].missing, second["only_b"].support) == (True, True, None)
    told = check.summary
    assert (told.cells, told.n, told.supported, told.support) == (6, 4, 1.0, pytest.approx(3.5 / 4))
    assert (told.overlaps, told.overlap_mean, told.overlap_max) == (2, pytest.approx(7 / 12), pytest.approx(2 / 3))
    # A: ferry cancel olek bought two ticket (all but two in the table); B: ferry late nobody bought ticket (all but late).
    assert (told.coverage_a, told.coverage_b, told.coverage) == pytest.approx((5 / 6, 4 / 5, 6 / 8))


def test_threshold_decides_what_is_supported() -> None:
    rows = [row("Olek sings"), row("ferry")]
    shares = [check_table(rows, TEXT_A, TEXT_B, threshold=one).summary.supported for one in (0.5, 0.51)]
    assert shares == [1.0, 0.5]
    with pytest.raises(UnknownValue):
        check_table(rows, TEXT_A, TEXT_B, threshold=1.5)


def test_a_cell_on_the_wrong_side_is_found_and_what_both_say_needs_both_texts() -> None:
    assert cell("only_a", "nobody is late").wrong_side
    assert not cell("only_b", "nobody is late").wrong_side
    assert not cell("only_a", "the ferry").wrong_side  # both have it: no better there
    assert cell("both", "cancelled ferry").support == 0.5  # both words are in A, ferry alone in B
    assert cell("both", "Olek").support == 0.0


def test_copies_are_of_cells_and_not_of_texts() -> None:
    check = check_table(
        [row("Cancelled ferry!", TEXT_A, "cancelled FERRY"), row("ferry cancelled", "–", "–")], TEXT_A, ""
    )
    assert [[found[name].copied for name in CELLS] for found in check.rows] == [
        [True, False, True],
        [False, False, False],
    ]
    assert check.summary.copied == 2


@pytest.mark.parametrize(
    ("text", "names_side"),
    [
        ("Text A names the ferry", True),
        ("only in response 2", True),
        ("summary “B” is longer", True),
        ("A: the ferry", True),
        ("the first one is short", True),
        ("the former is better", True),
        ("left answer is longer", True),
        ("Answer two says so", True),
        ("the response a user gets", False),
        ("a text about ferries", False),
        ("A ferry is late", False),
        ("first of May", False),
        ("vitamins A and B", False),
    ],
)
def test_a_cell_that_names_a_side_is_found(text: str, names_side: bool) -> None:
    assert cell("only_a", text).names_side == names_side


def test_length_is_that_of_a_note() -> None:
    assert not cell("only_a", "ferry " * LONG).long
    assert cell("only_a", "ferry " * (LONG + 1)).long
    assert (length_in_words("船" * 80), length_in_words("船" * 81), length_in_words("a-b c")) == (40, 41, 3)


@pytest.mark.parametrize(
    "text", ["", "  ", "–", "—", "...", "None", "none.", "(none)", "N/A", "n.a.", "无", "keine", "null"]
)
def test_words_for_nothing_say_nothing(text: str) -> None:
    assert is_blank(text)
    found = cell("both", text)
    assert (found.missing, found.support, found.words, found.odd) == (True, None, 0, False)


@pytest.mark.parametrize("text", ["no", "nothing new", "0", "🙂", "不", "None of them"])
def test_what_says_little_says_something(text: str) -> None:
    assert not is_blank(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("The Ferries were running", {"ferri", "run"}, id="English stems without function words"),
        pytest.param("It is not", {"it", "is", "not"}, id="nothing but function words"),
        pytest.param("取消渡轮", {"取消", "消渡", "渡轮"}, id="Chinese pairs"),
        pytest.param("船 abc", {"船", "abc"}, id="a single character"),
        pytest.param("हिन्दी में", {"हिन्दी", "में"}, id="marks stay on their letters"),
        pytest.param("Fähren été", {"fähren", "été"}, id="other languages whole"),
        pytest.param("👍🏽 ok", {"👍", "ok"}, id="emoji without its tone"),
        pytest.param("ＡＢＣ ﬁsh", {"abc", "fish"}, id="compatible forms"),
        pytest.param("?!", set(), id="punctuation"),
    ],
)
def test_content_words(text: str, found: set[str]) -> None:
    assert content_words(text) == found


@pytest.mark.parametrize("rows", [[], [row()], [row("–", "n/a", "")]], ids=["no rows", "empty cells", "nothing"])
def test_a_table_that_says_nothing_has_no_shares(rows: list[dict[str, str]]) -> None:
    told = check_table(rows, TEXT_A, TEXT_B).summary
    assert (told.n, told.cells, told.supported, told.support) == (0, 3 * len(rows), None, None)
    assert (told.overlap_mean, told.overlap_max, told.overlaps) == (None, None, 0)
    assert (told.coverage, told.odd) == (0.0, 0)
    of_nothing = check_table([row("ferry", "ferry", "")], "", "").summary
    assert (of_nothing.supported, of_nothing.coverage, of_nothing.coverage_a) == (0.0, None, None)


def test_sentences_end_at_marks_and_lines() -> None:
    assert sentences("One. Two!\nThree? 3.5 four。五！ … -") == ["One.", "Two!", "Three?", "3.5 four。", "五！"]


def test_scores_of_cells_by_hand() -> None:
    rows = [{"only_a": 0.6, "both": 1.0, "only_b": 0.0}, {"only_a": None, "both": None, "only_b": 1.0}]
    found = summarize_scores(rows, threshold=0.6)
    assert (found.n, found.cells, found.supported, found.support) == (4, 6, 0.75, pytest.approx(2.6 / 4))
    empty = summarize_scores([dict.fromkeys(CELLS)], threshold=0.5)
    assert (empty.n, empty.cells, empty.supported, empty.support) == (0, 3, None, None)


text = st.one_of(
    st.sampled_from(["", "none", "ferry", "the ferry is late", "票 渡轮", "🙂", "Text A"]), st.text(max_size=30)
)
tables = st.lists(st.builds(row, text, text, text), max_size=4)


@given(tables, text, text, text)
def test_every_share_is_a_share_and_missing_has_none(rows: list[Row], a: str, b: str, source: str) -> None:
    check = check_table(rows, a, b, source)
    told = check.summary
    shares = [told.supported, told.support, told.overlap_mean, told.overlap_max, told.coverage, told.coverage_a]
    for one in (found for each in check.rows for found in each.values()):
        shares += [one.support, one.other, one.overlap, one.from_source]
        assert one.missing == (one.support is None)
    assert all(0 <= share <= 1 for share in shares if share is not None)
    assert told.n <= told.cells == 3 * len(rows)
    assert (told.supported is None) == (told.n == 0)
    assert told.odd <= told.n


@pytest.mark.slow
@given(tables, text, text, text)
def test_turned_rows_and_texts_have_the_turned_findings(rows: list[Row], a: str, b: str, source: str) -> None:
    turned = [{**one, "only_a": one["only_b"], "only_b": one["only_a"]} for one in reversed(rows)]
    check, other = check_table(rows, a, b, source), check_table(turned, b, a, source)
    for one, two in zip(reversed(check.rows), other.rows, strict=True):
        assert (one["only_a"], one["both"], one["only_b"]) == (two["only_b"], two["both"], two["only_a"])
    swapped = {"coverage_a": check.summary.coverage_b, "coverage_b": check.summary.coverage_a}
    assert asdict(other.summary) == asdict(check.summary) | swapped
