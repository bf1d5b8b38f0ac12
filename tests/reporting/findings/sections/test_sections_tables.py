"""Tables of the findings page on raters, without rows and columns that say nothing."""

from typing import Any

from annotation.core.tables import DataTable
from reporting.findings.sections.people import _generalizability
from reporting.findings.sections.rankings import _main_table, _other_rankings
from reporting.findings.sections.raters import _confusions, _natural, _severity, _severity_notes
from tests.reporting.builders import labels

BATCH = "@news"


def estimate(value: float | None, why: str = "") -> dict[str, Any]:
    return {"value": value, "low": None, "high": None, "n": 2, "of": "raters", "n_instances": 9, "why": why}


def test_severity_lists_raters_with_values_in_natural_order_and_says_how_far_they_differ() -> None:
    raters = [(f"10{BATCH}", 0.1), (f"2{BATCH}", -0.1), (f"3{BATCH}", None)]
    found = {
        "toward": None,
        "raters": [{"rater": name, "ties": estimate(value)} for name, value in raters],
        "between": {"ties": {"spread": estimate(0.05), "p_value": 0.2}},
    }
    table = _severity(found)
    assert table is not None
    assert [head for head, _cells in table.rows] == [("2",), ("10",)]
    spread, left_out = _severity_notes(found)
    assert "5.0 points (n = 2 raters)" in spread
    assert "1 of 3" in left_out


def test_codes_keep_their_batch_where_there_are_two_and_few_ratings_have_no_shares() -> None:
    def person(name: str, ratings: int) -> dict[str, Any]:
        return {"rater": name, "ratings": ratings, "right": 0.5, "confusion": [None] * 3}

    people = [person("10@a", 20), person("2@b", 30), person("3@a", 19)]
    assert [head for head, _cells in _confusions({"people": people}).rows] == [("2@b",), ("10@a",)]
    assert sorted(["b10", "3", "b2"], key=_natural) == ["b2", "b10", "3"]


def test_coefficients_that_are_zero_throughout_have_no_column() -> None:
    row = {"raters": 1, "relative": estimate(0), "absolute": estimate(0), "standard_error": {"25": 0.1}}
    for instance, columns in ((0.0, 2), (0.2, 4)):
        table = _generalizability({"components": {"instance": instance}, "curve": [row]})
        assert table is not None
        assert len(table.columns) == columns == sum(map(len, table.rows[0]))


def test_a_ranking_without_values_is_a_note_and_no_column() -> None:
    def ranking(measure: str, value: float | None) -> dict[str, Any]:
        systems = [{"system": name, **estimate(value, "no scale"), "rank": None} for name in ("heron", "ibis")]
        return {"measure": measure, "systems": systems, "first": {}}

    found = _other_rankings(0, ranking("bradley_terry", 1), [ranking("elo", 2), ranking("sep_elo", None)])
    assert labels(found["table"]) == ["System", "Elo"]
    assert found["notes"] == ["SEP-Elo: no scale."]


def test_judges_alone_stand_beside_each_other() -> None:
    rates = {"judge:coin": (0.5, 0.4, 0.3), "judge:mini": (0.2, 0.8, 0.1)}
    systems = ("heron", "ibis", "owl")
    by_rater = {
        name: [
            {"measure": "win_rate", "systems": [{"system": s, "value": v} for s, v in zip(systems, own, strict=True)]}
        ]
        for name, own in rates.items()
    }
    ranking = DataTable("r", "", [], [((name,), [str(rank)]) for rank, name in enumerate(("ibis", "heron", "owl"), 1)])
    raters = [{"rater": name, "table": ranking, "is_people": False} for name in rates]
    table = _main_table(by_rater, raters, "people", None)
    assert labels(table) == ["System", "coin", "mini"]
    assert [[cell["value"] for cell in cells] for _head, cells in table.rows] == [[0.4, 0.8], [0.5, 0.2], [0.3, 0.1]]
