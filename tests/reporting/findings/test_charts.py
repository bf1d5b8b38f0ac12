"""Pictures as they are really drawn."""

import json
import re
from typing import Any
from xml.etree import ElementTree

import pytest

from reporting.core import charts
from reporting.core.scripted import SCRIPTED
from reporting.core.themes import VIRIDIS, viridis
from reporting.findings.charts import consistency, separability
from reporting.findings.study_findings import findings
from tests.reporting.builders import build_configuration, build_study, judge, rate, separate

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def found(db: None) -> dict[str, Any]:
    """Four instances in four bins, the second without a rating; a judge; a scripted rater; hostile names."""
    built = build_configuration(
        build_study(), instances=4, pairs=2, systems=(HOSTILE, "=cmd()\x01\"&'"), dataset="{expr: 1}"
    )
    separate(built, [(0.5, 0.5, 0.1 * n) for n in range(4)], [0.1, 0.4, 0.7, 1.0])
    for place, votes in ((0, [1, -1]), (2, [0, 1]), (3, [1, 1])):
        rate(built, place, "robot", votes, kind="scripted")
        judge(built, "direct", [(place, 0, "ab", 1), (place, 1, "ab", 1)])
    return findings(built.study, rounds=20)


def drawn(spec: charts.Spec) -> tuple[ElementTree.Element, str]:
    """The picture as XML, which must be well-formed, and the text in it."""
    root = ElementTree.fromstring(charts.to_svg(spec))
    assert root.tag == f"{SVG}svg"
    return root, " ".join(part for element in root.iter(f"{SVG}text") for part in element.itertext())


def marks(root: ElementTree.Element, kind: str) -> list[str]:
    """Labels of the marks that stand for data."""
    return [
        element.attrib["aria-label"]
        for element in root.iter()
        if element.attrib.get("aria-roledescription") == kind and "aria-label" in element.attrib
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_bars_show_every_share_and_count(found: dict[str, Any], theme: str) -> None:
    root, text = drawn(consistency.consistency_by_bin(found["configurations"][0], theme))
    bars = marks(root, "bar")
    whole = [label for label in bars if re.search(r"Share of rating sets: 100%", label)]
    # In each of three bins all sets of people, and all of the judge's, have one value.
    assert len(whole) == 6
    assert sum("Consistency: 0.5" in label for label in whole) == 1
    for expected in ("people", "judge:direct", "n = 0", "n = 1", "0.100 – 0.325", SCRIPTED):
        assert expected in text


def test_curve_has_a_point_for_each_mean_and_none_for_an_empty_bin(found: dict[str, Any]) -> None:
    root, text = drawn(consistency.mean_consistency(found["configurations"][0], "light"))
    points = marks(root, "point")
    assert len(points) == 6
    assert sum("Mean consistency: 0.5" in label for label in points) == 1
    assert SCRIPTED in text


def many(judges: int) -> dict[str, Any]:
    """Two instances in two of four bins, rated by people and by so many judges."""
    built = build_configuration(build_study(), instances=2, pairs=2)
    separate(built, [(0.5, 0.5, 0.1), (0.5, 0.5, 0.2)], [0.0, 1.0])
    for place in (0, 1):
        rate(built, place, "ann", [1, 1])
        for number in range(judges):
            judge(built, f"j{number}", [(place, 0, "ab", 1), (place, 1, "ab", 1)])
    return findings(built.study, rounds=20)


def spec_edges(spec: charts.Spec) -> list[float]:
    edges: list[float] = spec.get("spec", spec)["layer"][0]["encoding"]["x"]["axis"]["values"]
    return edges


def rows_of(spec: charts.Spec) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = spec["data"]["values"]
    return rows


@pytest.mark.parametrize("judges", [1, 7, 24])
def test_points_of_a_bin_stay_inside_it_however_many_raters_there_are(judges: int) -> None:
    found = many(judges)

    for spec in (
        consistency.mean_consistency(found["configurations"][0], "light"),
        consistency.pooled_consistency(found["pooled"], "light"),
    ):
        edges = spec_edges(spec)
        places = [row["x"] for row in rows_of(spec) if row["mean"] is not None]
        assert len(places) >= 2 * (judges + 1)
        assert all(edges[0] < x < edges[1] or edges[-2] < x < edges[-1] for x in places)


def test_up_to_eight_raters_have_a_colour_and_a_shape_each() -> None:
    spec = consistency.mean_consistency(many(7)["configurations"][0], "light")

    points = spec["layer"][-1]["encoding"]
    assert len(points["color"]["scale"]["domain"]) == 8
    assert len(set(points["color"]["scale"]["range"])) == len(set(points["shape"]["scale"]["range"])) == 8


def test_more_raters_get_a_panel_each_beside_people() -> None:
    root, text = drawn(consistency.mean_consistency(many(9)["configurations"][0], "dark"))

    assert all(f"judge:j{number}" in text for number in range(9))
    assert len(marks(root, "point")) == 9 * 2 * 2  # panels × two bins with ratings × people and the judge


@pytest.mark.parametrize(
    "draw",
    [
        pytest.param(lambda found: consistency.mean_consistency(found["configurations"][0], "light"), id="curve"),
        pytest.param(lambda found: consistency.pooled_consistency(found["pooled"], "light"), id="pooled curve"),
    ],
)
def test_every_panel_has_its_axis_below_with_a_title_no_wider_than_the_panel(draw: Any) -> None:
    spec = draw(many(9))
    root, _ = drawn(spec)

    axes = [label for label in marks(root, "axis") if label.startswith("X-axis")]
    titles = [re.search(r"titled '([^']*)'", label) for label in axes]
    assert len(axes) >= 9
    assert all(title and 8 * len(title[1]) < spec["spec"]["width"] for title in titles)


def test_pooled_curve_has_no_colour_for_a_rater_without_means() -> None:
    built = build_configuration(build_study(), instances=2, pairs=2)
    separate(built, [(0.5, 0.5, 0.1 * n) for n in range(2)], [0.1, 0.9])
    judge(built, "direct", [(place, pair, "ab", 1) for place in range(2) for pair in range(2)])
    found = findings(built.study, rounds=20)

    spec = consistency.pooled_consistency(found["pooled"], "light")

    assert {row["rater"] for row in rows_of(spec)} == {"judge:direct"}
    assert spec["layer"][-1]["encoding"]["color"]["scale"]["domain"] == ["judge:direct"]


def test_pooled_curve_is_drawn(found: dict[str, Any]) -> None:
    root, text = drawn(consistency.pooled_consistency(found["pooled"], "light"))
    assert "All configurations" in text
    assert SCRIPTED in text
    assert marks(root, "point")


def test_histogram_shows_each_count(found: dict[str, Any]) -> None:
    root, _ = drawn(separability.separability_histogram(found["configurations"][0], "dark"))
    assert len(marks(root, "bar")) == 4


@pytest.mark.parametrize(
    "draw", [consistency.consistency_by_bin, consistency.mean_consistency, separability.separability_histogram]
)
def test_hostile_names_are_text_and_nothing_else(found: dict[str, Any], draw: Any) -> None:
    svg = charts.to_svg(draw(found["configurations"][0], "light"))
    root, text = drawn(draw(found["configurations"][0], "light"))
    assert HOSTILE in text
    assert "{expr: 1}" in text
    assert "<script" not in svg
    tags = {element.tag for element in root.iter()}
    assert not tags & {f"{SVG}{name}" for name in ("script", "a", "image", "foreignObject", "use", "animate")}
    attributes = {name.lower() for element in root.iter() for name in element.attrib}
    assert not any("href" in name or name.startswith("on") for name in attributes)


def test_names_enter_a_specification_as_values_only(found: dict[str, Any]) -> None:
    def keys(node: Any) -> set[str]:
        if isinstance(node, dict):
            return set(node) | {key for value in node.values() for key in keys(value)}
        return {key for value in node for key in keys(value)} if isinstance(node, list) else set()

    spec = consistency.consistency_by_bin(found["configurations"][0], "light")
    assert not any(HOSTILE in key for key in keys(spec))
    assert not keys(spec) & {"expr", "signal", "labelExpr", "href", "url", "calculate"}
    json.dumps(spec, allow_nan=False)


def test_long_name_is_cut() -> None:
    built = build_configuration(build_study(), instances=1, pairs=1, systems=("x" * 200, "y"))
    one = findings(built.study, rounds=1)["configurations"][0]
    _, text = drawn(consistency.mean_consistency(one, "light"))
    assert "x" * 59 + "…" in text


def test_nothing_to_draw_is_a_picture_that_says_why() -> None:
    built = build_configuration(build_study(), instances=1, pairs=1)
    found = findings(built.study, rounds=1)
    one = found["configurations"][0]
    for draw in (consistency.consistency_by_bin, consistency.mean_consistency, separability.separability_histogram):
        _, text = drawn(draw(one, "light"))
        assert charts.NO_DATA in text
        assert "separability has not been computed" in text
    _, text = drawn(consistency.pooled_consistency(found["pooled"], "light"))
    assert charts.NO_DATA in text


def test_bins_with_equal_edges_do_not_hide_one_another() -> None:
    built = build_configuration(build_study(), instances=2, pairs=1)
    separate(built, [(0.5, 0.5, 0.5)] * 2, [0.3, 0.3])
    rate(built, 0, "ann", [1])
    root, _ = drawn(separability.separability_histogram(findings(built.study, rounds=1)["configurations"][0], "light"))
    assert len(marks(root, "bar")) == 4
    drawn(consistency.mean_consistency(findings(built.study, rounds=1)["configurations"][0], "light"))


def test_png_is_a_png(found: dict[str, Any]) -> None:
    assert charts.to_png(consistency.mean_consistency(found["configurations"][0], "dark")).startswith(b"\x89PNG\r\n")


def test_data_runs_no_formula_and_every_row_has_every_column() -> None:
    rows = [{"name": "=cmd()", "value": 0.5}, {"name": "plain", "n": 3}]
    assert charts.to_csv({"data": {"values": rows}}) == "name,value,n\r\n'=cmd(),0.5,\r\nplain,,3\r\n"


def test_colours_run_from_dark_to_bright() -> None:
    assert (viridis(0), viridis(1)) == (VIRIDIS[0], VIRIDIS[-1])
    assert viridis(-1) == VIRIDIS[0]
    brightness = [sum(int(viridis(n / 20)[place : place + 2], 16) for place in (1, 3, 5)) for n in range(21)]
    assert brightness[0] < brightness[10] < brightness[20]


def test_a_rater_without_rating_sets_is_not_drawn(found: dict[str, Any]) -> None:
    configuration = found["configurations"][0]
    configuration["raters"][1]["rating_sets"] = 0
    for draw in (consistency.consistency_by_bin, consistency.mean_consistency):
        _, text = drawn(draw(configuration, "light"))
        assert "people" in text
        assert "judge:direct" not in text
