"""The sections of the findings page: tables, sentences and words, on one study of three systems and in units."""

import json
import re
from dataclasses import replace
from html import unescape
from typing import Any

import pytest
from django.template.loader import render_to_string

from annotation.core.tables import MOST_ROWS, PERCENT, POINTS, DataTable, table_text
from annotation.models import System
from annotation.templatetags.tables import cell, table_rows
from judging.models import Judge
from reporting.findings.sections.configurations import _degrees
from reporting.findings.sections.data_table import by_bin, p_text
from reporting.findings.sections.lengths import lengths_section
from reporting.findings.sections.people import _kappa_note, separability_section
from reporting.findings.sections.rankings import (
    MOST_IN_MATRIX,
    _matrix,
    _rater,
    first_text,
    rankings_section,
)
from reporting.findings.sections.raters import SORTS, _columns
from tests.factories import make_user, signed_in
from tests.reporting.builders import GOLDEN, build_golden, build_study, judge, labels, separate

HOSTILE = "<b>eve</b>"


@pytest.fixture(scope="module")
def page(module_rows: None) -> str:
    """The page of both published configurations with two judges."""
    study = build_study("shown")
    for key in ("gpt35_vicuna_cnndm", "vicuna_mistral_samsum"):
        built = build_golden(study, key)
        known = json.loads((GOLDEN / "alignments_rouge1.json").read_text(encoding="utf-8"))[key]
        columns = zip(known["self_A"], known["self_B"], known["cross_paper"], strict=True)
        separate(built, list(columns), known["norm_sep_paper"])
        judge(built, "left", [(place, pair, "ab", -1) for place in range(50) for pair in range(2)])
        judge(built, "right", [(place, pair, "ab", 1 if pair else 0) for place in range(50) for pair in range(2)])
    Judge.objects.filter(name="left").update(family="gpt")
    System.objects.filter(name="gpt-3.5-turbo-instruct").update(family="GPT")
    client = signed_in(make_user("reader", "researcher", study=study))
    return client.get("/studies/shown/findings/").content.decode()


def rows_of(page: str, name: str) -> list[list[str]]:
    """Return the texts of a table's cells, row by row, with the headings first."""
    table = page[page.index(f'id="table-{name}"') :].split("</table>", maxsplit=1)[0]
    return [
        [
            " ".join(unescape(re.sub(r"<[^>]+>", " ", one)).split())
            for one in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)
        ]
        for row in re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)
    ]


@pytest.mark.slow
def test_each_measure_has_its_place_on_the_page(page: str) -> None:
    assert rows_of(page, "ranking-0")[1][0] == "mistral-7b"
    others, mistral, *_ = rows_of(page, "other-rankings-0")
    tested = {name.split(" (")[0]: "not tested" not in cell for name, cell in zip(others[1:], mistral[1:], strict=True)}
    assert tested == {"SEP-Bradley–Terry": True, "Elo": False, "SEP-Elo": False, "Wins less losses": False}
    assert "<bdi>1\N{NO-BREAK SPACE}(1\N{WORD JOINER}–\N{WORD JOINER}3)</bdi>" in page  # stays in one line
    assert "0 of 3 places are settled" in page
    assert len(rows_of(page, "tests-0")) == 1 + 3
    matrix = page[page.index('<table class="matrix">') :].split("</table>", maxsplit=1)[0]
    assert re.findall(r"n = (\d+)", matrix) == ["750"] * 4  # two of the three systems never met
    assert len(rows_of(page, "lengths")) == 1 + 2 * 3
    of_people = ["people", "30.0% [23.7, 36.9] n = 300 rating sets; 100 instances", "90", "61", "149", "300"]
    assert rows_of(page, "consistent")[1] == of_people
    assert [row[0] for row in rows_of(page, "judges-overall")] == ["Judge", "left", "right"]
    assert rows_of(page, "judge-tests")[1][:2] == ["left", "right"]
    own = {row[0]: row for row in rows_of(page, "self-preference")[1:]}
    assert own["left"][1] == "gpt"
    assert own["left"][-1].startswith("\N{MINUS SIGN}")  # it always takes A, and GPT is B
    assert own["right"][2] == "— the family of the judge's model is not given"
    assert 'id="table-alternative"' not in page  # a table of dashes
    assert 'id="table-powered"' not in page  # the judges rated no other instances than people
    totals = rows_of(page, "position-totals")
    assert len(totals) == 1 + 3
    # 290 and 332 of people's ratings are for the text shown first, 336 and 332 for the second.
    assert totals[1][1:4] == ["622", "210", "668"]
    assert totals[1][4].startswith("48.2% [")
    assert totals[1][4].endswith("] n = 1,290 verdicts that are no ties; 100 instances")
    assert rows_of(page, "data-table")[1][1:4] == ["50", "250", "750"]
    people = [row[0] for row in rows_of(page, "confusions")[1:]]
    assert people == sorted(people, key=lambda name: (name.rpartition("-")[0], int(name.rpartition("-")[2])))


@pytest.mark.slow
def test_negative_numbers_have_the_minus_sign_of_pictures(page: str) -> None:
    shown = " ".join(re.sub(r"<[^>]*>", " ", page).split())
    assert re.search(r"\u2212\d[.,]\d", shown)
    assert re.findall(r".{20}(?<![\w.,-])-\d+[.,]\d.{10}", shown) == []


@pytest.mark.slow
def test_numbers_say_what_they_favour_and_scales_what_they_are(page: str) -> None:
    strength = rows_of(page, "raters-1")[0].index("Mean preference strength")
    assert rows_of(page, "raters-1")[1][strength] == "0.072 [−0.031, 0.175] toward vicuna-7b"
    assert rows_of(page, "strengths-1")[1][1].startswith("vicuna-7b 1.00: ")
    assert "normalised" not in page
    assert page.count("from −1 to 1") == 1 + 2  # over all configurations, and in each of two
    assert "All 500 pairs have ratings of three raters or more." in page
    assert "is uncertain on the others" not in page


CHANGE = {"value": -0.044, "low": -0.078, "high": -0.01, "n": 8, "of": "verdicts", "level": 0.95}
ESTIMATE = {"value": 0.5, "low": 0.25, "high": 0.75, "n": 8, "of": "ratings", "n_instances": 5, "level": 0.95}


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        pytest.param(None, "—", id="missing"),
        pytest.param(0, "0", id="count"),
        pytest.param(-0.0001, "0.000", id="number"),
        pytest.param(HOSTILE, "<bdi>&lt;b&gt;eve&lt;/b&gt;</bdi>", id="hostile"),
        pytest.param(
            ESTIMATE,
            '<span class="nowrap">0.500 <small>[0.250, 0.750]</small></span> <small>n = 8 ratings; 5 instances</small>',
            id="estimate",
        ),
        pytest.param(
            {**ESTIMATE, "low": None, "why": HOSTILE},
            "0.500 <small>n = 8 ratings; 5 instances; &lt;b&gt;eve&lt;/b&gt;</small>",
            id="without an interval",
        ),
        pytest.param({**ESTIMATE, "value": None, "why": "none"}, "— <small>none</small>", id="undefined"),
    ],
)
def test_a_cell_shows_what_it_holds(value: Any, shown: str) -> None:
    assert cell(value) == shown


def test_a_table_shows_its_first_rows_and_counts_the_others() -> None:
    table = DataTable("name", "caption", ["one"], [((number,), [number]) for number in range(MOST_ROWS + 3)])
    assert (len(table.shown), table.more) == (MOST_ROWS, 3)
    assert replace(table, rows=table.shown, beyond=4).more == 4


def test_a_number_that_heads_a_row_stands_below_its_heading() -> None:
    table = DataTable("name", "caption", ["Bin", "Matchups", "Rate"], [(("low", 4), [0.5])])
    low, four = re.findall(r"<th[^>]*>", table_rows(table))
    assert ('class="num"' in low, 'class="num"' in four) == (False, True)


def test_rows_of_a_table_escape_what_they_hold() -> None:
    table = DataTable("name", "caption", ["one", "two"], [(("<b>",), [0.25])], digits=1)
    assert (
        table_rows(table)
        == '<tr><th scope="row"><bdi>&lt;b&gt;</bdi></th><td class="num" data-value="0.25">0.2</td></tr>'
    )


def test_bins_are_rows_and_raters_columns() -> None:
    bins = [
        {
            "low": 0.0,
            "high": 0.5,
            "instances": 3,
            "raters": [{"rater": "people", "mean": 1}, {"rater": "judge:x", "mean": 2}],
        },
        {"low": 0.5, "high": 1.0, "instances": 0, "raters": [{"rater": "people", "mean": 3}]},
    ]
    table = by_bin("name", "caption", bins, "mean")
    assert table is not None
    assert labels(table) == ["Separability", "Instances", "people", "x"]
    assert table.rows == [(("0.00 to 0.50", 3), [1, 2]), (("0.50 to 1.00", 0), [3, None])]
    assert by_bin("name", "caption", None, "mean") is None
    bins[0]["raters"][0]["mean"] = {"value": None}
    silent = by_bin("name", "caption", bins[:1], "mean")
    assert silent is not None
    assert labels(silent)[2:] == ["x"]  # a rater without any value has no column


@pytest.mark.parametrize(
    ("first", "text"),
    [
        (
            {"system": "x", "by_more_than_chance": True, "p_value": 0.0001, "against": "c"},
            "x is first (p < 0.001, adjusted by Holm’s method, against c).",
        ),
        (
            {"system": "x", "by_more_than_chance": False, "p_value": 0.4},
            "x leads, which may be chance (p = 0.400, adjusted by Holm’s method).",
        ),
        ({"system": "x", "by_more_than_chance": None, "why": "few"}, "x leads; it cannot be tested: few."),
        ({"system": None, "by_more_than_chance": None, "why": "groups"}, "No clear winner: groups."),
    ],
)
def test_the_first_is_said_with_its_test(first: dict[str, Any], text: str) -> None:
    assert first_text({"first": first, "tests": {"of": 3}}) == text
    assert "Holm" not in first_text({"first": first, "tests": {"of": 1}})


def three_ranked(**test: Any) -> dict[str, Any]:
    """Return the section on three systems of which b is better than a; `test` is more of the test between them."""
    estimate = {**ESTIMATE, "value": -0.2, "low": -0.5, "high": 0.1}
    row = {"rank": 1, "rank_low": 1, "rank_high": 2, **ESTIMATE}
    ranking = {
        "rater": "people",
        "kind": "person",
        "measure": "win_rate",
        "systems": [{"system": "b", **row}, {"system": "a", **row}],
        "first": {"system": "b", "by_more_than_chance": False, "p_value": 0.3},
        "tests": {"of": 1},
    }
    tested = {
        "rater": "people",
        "measure": "bradley_terry",
        "system_a": "a",
        "system_b": "b",
        "difference": estimate,
        "p_value": 0.3,
        "adjusted": 0.3,
        "of": 1,
    }
    matrix = {
        "rater": "people",
        "systems": ["a", "b"],
        "wins": [[0, 1], [2, 0]],
        "comparisons": [[0, 3], [3, 0]],
        "cycles": [],
    }
    found = rankings_section(
        {"rankings": [ranking], "system_tests": [tested | test], "win_matrices": [matrix], "configurations": []}
    )
    (people,) = found["raters"]
    return people


def test_a_test_is_turned_towards_the_better_placed_system() -> None:
    people = three_ranked()
    assert people["matrix"] is None  # of two systems it says what the win rate does
    ((heads, cells),) = people["tests"].rows
    assert heads == ("b", "a")
    assert (cells[0]["value"], cells[0]["low"], cells[0]["high"]) == (0.2, -0.1, 0.5)
    assert p_text(None) == "—"


@pytest.mark.parametrize(
    ("met", "said"),
    [
        ({"verdicts": 750, "instances": 50}, "n = 750 verdicts; 50 instances"),
        ({"verdicts": 0, "instances": 0}, "never compared directly: inferred through other systems"),
    ],
)
def test_a_test_says_on_what_the_two_systems_were_compared(met: dict[str, int], said: str) -> None:
    ((_heads, cells),) = three_ranked(met=met)["tests"].rows
    assert f"<small>{said}</small>" in cell(cells[0])


def ranking_of(measure: str, order: str, **changed: Any) -> dict[str, Any]:
    """Make a ranking of systems in an order."""
    rows = [{"system": name, **ESTIMATE, "rank": 1, "rank_low": 1, "rank_high": 3} for name in order]
    first = {"system": order[0], "by_more_than_chance": False, "p_value": 0.3}
    measured = {"rater": "people", "kind": "person", "measure": measure, "systems": rows, "first": first}
    return {**measured, "tests": {"of": 3}, "settled": 1, **changed}


def test_other_rankings_give_the_reason_where_their_order_is_another() -> None:
    rankings = [
        ranking_of("win_rate", "bac", caution="opponents differ"),
        ranking_of("bradley_terry", "abc"),
        ranking_of("sep_bradley_terry", "acb"),
        ranking_of("elo", "abc", caution="few matchups"),
        ranking_of("sep_elo", "abc", why="no separability"),
    ]
    people = _rater(
        0, rankings, {"systems": list("abc"), "wins": [[0] * 3] * 3, "comparisons": [[0] * 3] * 3, "cycles": []}, [], ""
    )
    assert labels(people["table"]) == ["System", "Rank", "Win rate", "Bradley–Terry", "Verdicts", "Instances"]
    assert people["settled"].startswith("1 of 3 places is settled")
    assert people["others"]["notes"] == [
        "SEP-Bradley–Terry places 2 of 3 systems differently: it weights instances by separability.",
        "SEP-Elo: no separability.",
        "Win rate places 2 of 3 systems differently: opponents differ.",
    ]
    assert [cells[0]["digits"] for _, cells in people["others"]["table"].rows] == [0, 0, 0]


def test_who_beats_whom_is_a_table_with_shades_above_one_half() -> None:
    wins, played = [[0, 3.5, 1], [0.5, 0, 0], [0, 0, 0]], [[0, 4, 1], [4, 0, 0], [1, 0, 0]]
    table = _matrix(0, {"systems": ["a", "b", "c"], "wins": wins, "comparisons": played}, ["b", "a", "c"])
    assert labels(table) == ["System", "b", "a", "c"]
    shown = [
        [cell and (cell.value["value"], cell.value["about"], dict(cell.attributes)) for cell in cells]
        for _, cells in table.rows
    ]
    assert shown == [
        [None, (0.125, "n = 4", {}), None],  # b and c never met
        [(0.875, "n = 4", {"class": "shade-4"}), None, (1.0, "n = 1", {"class": "shade-5"})],
        [None, (0.0, "n = 1", {}), None],
    ]


@pytest.mark.parametrize(
    ("more", "text"), [(1, "1 more row and 1 more column are"), (5, "5 more rows and 5 more columns are")]
)
def test_a_cut_table_of_who_beats_whom_counts_its_rows_and_columns(more: int, text: str) -> None:
    names = [f"s{number}" for number in range(MOST_IN_MATRIX + more)]
    zeros = [[0] * len(names)] * len(names)
    table = _matrix(0, {"systems": names, "wins": zeros, "comparisons": zeros}, names)
    page = render_to_string("annotation/core/_table.html", {"table": table})
    assert text in page
    assert text.removesuffix(" are") in table_text(table).splitlines()[-1]


def test_degrees_are_a_table_of_what_was_asked() -> None:
    much = {"much": 1, "slightly": 0, "unknown": 2}
    kinds = {"good": 3, "bad": 4, "unknown": 5}
    cases = [
        ({"degrees": {"a": much, "b": much}, "counts": {"tie": 7}}, [1, 0, 2, 7, 0, 1, 2]),
        ({"degrees": {"a": much, "tie": kinds, "b": much}, "counts": {"tie": 12}}, [1, 0, 2, 3, 4, 5, 0, 1, 2]),
    ]
    for people, counts in cases:
        table = _degrees(people, 1)
        assert table is not None
        assert [cells for _, cells in table.rows] == [counts]
    assert _degrees({"counts": {"tie": 7}}, 1) is None


@pytest.mark.parametrize(("low", "shown"), [(0.500321, "50.03"), (0.49998, "49.998"), (0.5, "50.0"), (0.43, "43.0")])
def test_win_rates_at_equal_lengths_show_on_which_side_of_one_half_they_end(low: float, shown: str) -> None:
    rate = {**ESTIMATE, "value": 0.5626, "low": low, "high": 0.623}
    named = {"dataset": "news", "system_a": "a", "system_b": "b"}
    effect = {"length_effect": 0.1, "length_effect_low": -0.25, "length_effect_high": 0.45}
    lengths = {"mean_length_a": 3.0, "mean_length_b": 4.0}
    one = {**named, **effect, **lengths, "plain": ESTIMATE, "win_rate_a": rate, "change": CHANGE, "matters": False}
    lengths = {"rater": "people", "kind": "person", "configurations": [one]}
    ((_heads, cells),) = lengths_section([lengths])["table"].rows
    assert f"[{shown}, " in cell(cells[1], unit=PERCENT)
    assert "−4.4 points <small>[−7.8, −1.0]</small>" in cell(cells[2], unit=POINTS)
    assert "[−0.250, 0.450]" in cell(cells[4])
    title = lengths_section([lengths], "b")["title"]
    assert (title.code, title.values["first"], title.values["rate"]["value"]) == (
        "length_equal",
        "b",
        pytest.approx(1 - 0.5626),
    )
    judges = [
        {**lengths, "kind": "judge", "configurations": [{**one, "win_rate_a": {**rate, "value": x}}]}
        for x in (0.6, 0.4)
    ]
    title = lengths_section(judges, "a")["title"]
    assert (title.code, title.values["lowest"]["value"], title.values["highest"]["value"]) == (
        "length_by_judge",
        0.4,
        0.6,
    )
    two = lengths_section([{**lengths, "configurations": [one, one]}])["title"]
    assert (two.code, two.values) == ("lengths", {"configurations": 2})
    turned = lengths_section([lengths], "b")["table"]
    ((_heads, cells),) = turned.rows
    assert (cells[0]["value"], cells[1]["value"]) == pytest.approx((1 - ESTIMATE["value"], 1 - 0.5626))
    assert (cells[1]["low"], cells[1]["high"]) == pytest.approx((1 - 0.623, 1 - low))
    assert "4.4 points <small>[1.0, 7.8]</small>" in cell(cells[2], unit=POINTS)
    assert labels(turned)[2] == "Win rate of b"
    unadjusted = lengths_section([{**lengths, "configurations": [{**one, "win_rate_a": {**rate, "value": None}}]}])
    assert (unadjusted["title"].code, unadjusted["table"]) == ("lengths_unadjusted", None)


def test_the_common_effect_of_length_stands_beside_rates_that_are_fitted_together() -> None:
    effect = {"length_effect": None, "length_effect_low": None, "length_effect_high": None}
    one = {
        **effect,
        "mean_length_a": 3.0,
        "mean_length_b": 4.0,
        "plain": ESTIMATE,
        "win_rate_a": ESTIMATE,
        "change": CHANGE,
        "matters": None,
    }
    names = {"dataset": "news", "system_a": "a"}
    together = {"ridge": 1000.0, "length_effect": -1.60312, "difficulty_effect": 0.9}
    configurations = [{**names, "system_b": "b", **one, "together": together}, {**names, "system_b": "c", **one}]
    lengths = {"rater": "people", "kind": "person", "configurations": configurations}
    table = lengths_section([lengths])["table"]
    assert [cells[-1] for _, cells in table.rows] == ["−1.603 (1000)", ""]


@pytest.mark.parametrize(
    ("raw", "kappa", "said"), [(0.64, 0.05, True), (0.44, 0.07, False), (1.0, 1.0, False), (None, None, False)]
)
def test_low_kappa_beside_high_agreement_is_explained(raw: float | None, kappa: float | None, said: bool) -> None:
    rater = {"rater": "people", "agreement": {"value": raw}, "kappa": {"value": kappa}}
    note = _kappa_note([{"low": 0.64, "high": 0.82, "raters": [rater]}])
    # (0.64 - 0.05) / (1 - 0.05) = 0.62
    assert ("At a separability of 0.64 to 0.82" in note and "agree on 62% of ratings" in note) == said
    assert bool(note) == said


def test_columns_of_raters_that_nobody_has_are_left_out() -> None:
    nothing = {"seconds_median": None, "gold": {"share": None, "repeat_share": None}}
    some = {"seconds_median": 9.0, "gold": {"share": None, "repeat_share": 0.0}}
    assert SORTS.keys() - _columns([nothing]).keys() == {"seconds", "gold"}
    assert _columns([nothing, some]) == SORTS
    assert SORTS.keys() - _columns([some], one_pair=True).keys() == {"consistency"}


def test_one_pair_an_instance_is_not_shown_as_consistency() -> None:
    found = {"configurations": [{"pairs": 20, "instances": 20}], "pooled": {}}
    shown = separability_section(found)
    assert (shown["tables"], shown["title"].code) == ([], "one_pair")
    assert "a rating set is one rating" in shown["why"]


@pytest.mark.parametrize(("strength", "names"), [(0.5, ["consistency"]), (0.4, ["consistency", "strength"])])
def test_strengths_that_equal_consistency_are_one_table(strength: float, names: list[str]) -> None:
    def bins(measure: str, value: float) -> list[dict[str, Any]]:
        rater = {"rater": "people", measure: {"value": value, "low": None, "high": None, "n": 4, "of": measure}}
        return [{"low": 0.0, "high": 0.5, "instances": 3, "raters": [rater]}]

    distribution = {
        "rater": "people",
        "ratings": 4,
        "raters": 2,
        "consistency_distribution": {"1.0": 1, "0.0": 1},
        "kind": "person",
    }
    pooled = {
        "fully_consistent": [{"rater": "people", "value": 0.5, "low": None, "high": None, "n_instances": 2}],
        "mean_consistency_by_bin": bins("mean_consistency", 0.5),
        "strength_by_bin": bins("mean_absolute_strength", strength),
    }
    found = {"configurations": [{"pairs": 4, "instances": 2, "raters": [distribution]}], "pooled": pooled, "raters": []}
    assert [table.name for table in separability_section(found)["tables"]] == ["consistent", *names]


def test_only_several_tests_are_adjusted_and_two_systems_have_none_beside_the_ranking() -> None:
    single, several = three_ranked(), three_ranked(of=3)
    assert single["tests"].columns[-1] == "p"
    assert len(single["tests"].rows[0][1]) == 2
    assert several["tests"].columns[-1] == "p, adjusted by Holm’s method over 3 tests"
    assert several["tests"].rows[0][1][1:] == ["0.300", "0.300"]
    assert three_ranked(measure="win_loss_rate")["tests"] is None
