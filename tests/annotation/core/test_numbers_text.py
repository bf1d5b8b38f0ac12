"""JSON documents of numbers, as a terminal shows them."""

from annotation.core.tables import numbers_text

ESTIMATE = {"value": 0.5, "low": 0.25, "high": 0.75, "n": 8, "of": "pairs", "n_instances": 8, "why": None}


def test_entries_are_a_table_or_blocks_headed_by_their_names_and_what_is_empty_is_left_out() -> None:
    document = {
        "study": "tea\x1b[31m",
        "cap": None,
        "why_code": "none",
        "left_out": {"checks": 2, "late": 0, "more": []},
        "runs": [{"run": 1, "asked": 60, "cost": None}, {"run": 2, "asked": 9, "cost": 0.25}],
        "raters": [{"rater": "judge:coin", "kept": ESTIMATE, "sides": {"first": {"a": 1}}}],
    }
    assert [line.split() for line in numbers_text(document).splitlines()] == [
        ["study:", "tea�[31m"],
        ["left", "out:", "checks", "2,", "late", "0"],
        ["runs"],
        ["run", "1", "2"],
        ["asked", "60", "9"],
        ["cost", "—", "0.25"],
        ["raters"],
        ["judge:coin"],
        ["kept:", "0.500", "[0.250,", "0.750],", "n", "=", "8", "pairs,", "8", "instances"],
        ["sides"],
        ["first:", "a", "1"],
    ]
