"""Pictures of findings: what they draw equals the findings, in a form that prints, and nothing in them can run."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from analysis.types import Refusal
from reporting.core import charts
from reporting.core.charts import WIDTHS, short_names, widened
from reporting.core.reasons import ALL_TIES
from reporting.core.text import rater_name
from reporting.findings.charts import rankings
from reporting.findings.charts.dots import dot_rows, point
from reporting.findings.computing import compute_findings
from reporting.findings.data.inputs import ConfigurationData, Filters, StudyAlignments, StudyData
from reporting.findings.data.separability_bins import SeparabilityMeasure, separability_of
from reporting.findings.judges.replacement import of_refusal
from reporting.findings.measures import agreement
from reporting.findings.pictures import KINDS, OF_CONFIGURATION, OF_STUDY, draw, figure
from reporting.findings.reasons import NO_VERDICT, TOO_MANY_INSTANCES
from tests.reporting.findings.arrays import configuration_data

pytestmark = pytest.mark.slow

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>alert(1)</script>"
MEASURED = SeparabilityMeasure("rouge1")
A, TIE, B = -1.0, 0.0, 1.0
Found = dict[str, Any]


def configuration(
    systems: tuple[str, str],
    votes: list[list[float]],
    judges: dict[str, list[float]],
    values: list[float],
    dataset: str = "news",
    **more: Any,
) -> ConfigurationData:
    """One pair of votes by each person on each instance: rows are instances, columns people; a judge has one verdict each."""
    people = [(i, p, f"r{who}", v) for i, row in enumerate(votes) for who, v in enumerate(row) for p in range(2)]
    given = {name: [(i, p, v) for i, v in enumerate(verdicts) for p in range(2)] for name, verdicts in judges.items()}
    made = configuration_data(people, given, instances=len(values), systems=systems, dataset=dataset, **more)
    return replace(made, separability=separability_of(np.array(values), MEASURED, not_computed=0, bins=4))


def study(*configurations: ConfigurationData, scripted: frozenset[str] = frozenset(), **filters: Any) -> Found:
    rows, start = [], 0
    for one in configurations:
        rows.append(np.arange(start, start + len(one.separability.values)))
        start += len(one.separability.values)
    values = np.concatenate([np.empty(0), *(one.separability.values for one in configurations)])
    raw = np.stack([np.full(len(values), 1.0), np.full(len(values), 1.0), 1 - values], axis=1)
    alignments = StudyAlignments(MEASURED, raw, tuple(rows)) if configurations else None
    return compute_findings(StudyData("tried", configurations, alignments, scripted, {}, []), Filters(**filters))


@pytest.fixture(scope="module")
def found() -> Found:
    """Three systems in two configurations; six instances each; three people, two judges, one of a system's family."""
    votes = [[A, B, A], [A, A, A], [B, B, A], [B, TIE, B], [B, B, B], [A, A, B]]
    judges = {"direct": [A, A, B, B, B, B], "other": [B, A, TIE, B, A, A]}
    values = [0.0, 0.1, 0.4, 0.45, 0.9, 1.0]
    lengths = {(i, p): (100 + 20 * i, 90 + 31 * p) for i in range(6) for p in range(2)}
    families = {"one": "gpt", "direct": "gpt"}
    found = study(
        configuration(("one", "two"), votes, judges, values, lengths=lengths, families=families),
        configuration(("two", "three"), votes[::-1], judges, values, "talks", lengths=lengths, families=families),
        scripted=frozenset({"r1"}),
    )
    for rater in found["length_adjusted"]:  # six instances are too few to adjust
        for one in rater["configurations"]:
            one["win_rate_a"] = one["plain"]
    return found


@pytest.fixture(scope="module")
def empty() -> Found:
    """A study with a configuration, but no rating, no judge and no separability."""
    return compute_findings(
        StudyData("tried", (configuration_data([], {}, instances=2),), None, frozenset(), {}, []), Filters()
    )


@pytest.fixture(scope="module")
def hostile() -> Found:
    """A study whose every name is to run as a script or as a formula."""
    systems = (HOSTILE, "=cmd()\x01\"&'")
    return study(configuration(systems, [[A, B]] * 3, {HOSTILE: [A, B, A]}, [0.1, 0.5, 0.9], HOSTILE))


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.sets])
def test_one_pair_an_instance_is_no_consistency_in_pictures(name: str, found: Found) -> None:
    single = {**found, "configurations": [{**one, "pairs": one["instances"]} for one in found["configurations"]]}
    assert charts.why_empty(spec_of(name, found)) == ""
    assert "a rating set is one rating" in charts.why_empty(spec_of(name, single))


def spec_of(name: str, found: Found, theme: str = "light", **more: Any) -> charts.Spec:
    one = found["configurations"][0] if name in OF_CONFIGURATION else None
    return draw(name, found, theme, configuration=one, **more)


def rows_of(spec: charts.Spec) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = spec["data"]["values"]
    return rows


def estimates(rows: Iterator[Found] | list[Found]) -> list[tuple[Any, ...]]:
    keys = ("value", "low", "high", "n", "n_instances")
    return sorted((tuple(row[key] for key in keys) for row in rows if row["value"] is not None), key=repr)


def in_bins(bins: list[Found], name: str) -> Iterator[Found]:
    return (rater[name] for bin_ in bins for rater in bin_["raters"])


SOURCES: dict[str, Callable[[Found], Iterator[Found]]] = {
    "preferences": lambda f: (row for one in f["rankings"] if one["measure"] == "win_rate" for row in one["systems"]),
    "judges-against-people": lambda f: (
        one["overall"][key] for one in f["judges_against_people"] for key in ("agreement", "people_agreement")
    ),
    "ratings": lambda f: (
        row
        for one in f["rankings"]
        if one["rater"] == "people" and one["measure"] in ("bradley_terry", "sep_bradley_terry", "elo", "sep_elo")
        for row in one["systems"]
    ),
    "length-adjusted": lambda f: (
        one[key] for rater in f["length_adjusted"] for one in rater["configurations"] for key in ("plain", "win_rate_a")
    ),
    "non-inferiority": lambda f: (
        one["difference"]
        for judge in f["replacement"]
        for one in (judge["non_inferiority"]["overall"], *judge["non_inferiority"]["bins"])
    ),
    "self-preference": lambda f: (one[key] for one in f["self_preference"] for key in ("with_judge", "with_people")),
    "agreement-by-bin": lambda f: in_bins(f["pooled"]["agreement_by_bin"], "agreement"),
    "pooled-consistency": lambda f: in_bins(f["pooled"]["mean_consistency_by_bin"], "mean_consistency"),
    "pooled-strength": lambda f: in_bins(f["pooled"]["strength_by_bin"], "mean_absolute_strength"),
    "fully-consistent": lambda f: iter(f["pooled"]["fully_consistent"]),
    "agreement": lambda f: (
        estimate
        for one in (f["pooled"]["people_agreement"], *(one["raters"][0] for one in f["configurations"]))
        for estimate in (one["raw_agreement"], one["krippendorff_alpha"]["ordinal"])
    ),
    "position": lambda f: iter(f["pooled"]["preferred_first"]),
    "mean-consistency": lambda f: (
        bin_["mean_consistency"] for rater in f["configurations"][0]["raters"] for bin_ in rater["bins"]
    ),
}


@pytest.mark.parametrize("name", SOURCES)
def test_points_and_intervals_are_those_of_the_findings(found: Found, name: str) -> None:
    spec = spec_of(name, found)

    assert estimates(SOURCES[name](found))
    assert estimates(rows_of(spec)) == estimates(SOURCES[name](found))
    kinds = [layer["mark"]["type"] for layer in spec.get("spec", spec)["layer"]]
    assert {"rule", "point"} <= set(kinds)
    said = " ".join(spec["title"]["subtitle"])
    for expected in ("95% intervals over instances", "instances", "scripted"):
        assert expected in said


@pytest.mark.parametrize("measure", ["consistency", "preference_strength"])
def test_stacks_are_the_distributions(found: Found, measure: str) -> None:
    one = found["configurations"][0]
    spec = spec_of({"consistency": "consistency-by-bin", "preference_strength": "strength-by-bin"}[measure], found)

    drawn = [(row["rater"], row[measure], row["rating_sets"], row["n"], row["share"]) for row in rows_of(spec)]
    expected = [
        (
            rater_name(rater["rater"]),
            float(value),
            count,
            bin_["rating_sets"],
            count / bin_["rating_sets"] if count else 0.0,
        )
        for rater in one["raters"]
        for bin_ in rater["bins"]
        for value, count in (bin_[f"{measure}_distribution"] or {"0.0": 0}).items()
    ]
    assert drawn == expected
    assert {row["n"] for row in rows_of(spec) if row["bin"].startswith("0.500")} == {0}


def test_histogram_holds_every_bin(found: Found) -> None:
    bins = found["configurations"][0]["separability"]["bins"]
    rows = rows_of(spec_of("separability", found))
    assert [(row["bin_low"], row["bin_high"], row["instances"]) for row in rows] == [
        (one["low"], one["high"], one["instances"]) for one in bins
    ]


def test_win_matrix_has_a_cell_for_systems_that_met_and_none_for_others(found: Found) -> None:
    rows = rows_of(spec_of("win-matrix", found))
    people = {(row["system"], row["against"]): (row["share"], row["n"]) for row in rows if row["panel"] == "people"}
    # One/two: of 36 votes 18 are for each but for 2 ties; two/three likewise, with the instances in reverse.
    assert people == {
        ("one", "two"): (17 / 36, 36),
        ("two", "one"): (19 / 36, 36),
        ("two", "three"): (17 / 36, 36),
        ("three", "two"): (19 / 36, 36),
    }
    assert {row["panel"] for row in rows} == {"people", "direct", "other"}


def test_confusion_has_counts_and_shares_of_every_rater(found: Found) -> None:
    raters = found["configurations"][0]["raters"]
    rows = rows_of(spec_of("confusion", found))
    assert {(row["rater"], row["majority"], row["verdict"]): row["count"] for row in rows} == {
        (rater_name(rater["rater"]), given, verdict): count
        for rater in raters
        for given, row in rater["confusion"]["by_majority"].items()
        for verdict, count in row.items()
        if sum(row.values())
    }
    # The majority is A on instances 0, 1 and 5, B on the others; each has two pairs, and the judge says A, A, B, B, B, B.
    judge = {
        (row["majority"], row["verdict"]): (row["count"], row["share"]) for row in rows if row["rater"] == "direct"
    }
    assert judge == {
        ("a", "a"): (4, 4 / 6),
        ("a", "tie"): (0, 0.0),
        ("a", "b"): (2, 2 / 6),
        ("b", "a"): (0, 0.0),
        ("b", "tie"): (0, 0.0),
        ("b", "b"): (6, 1.0),
    }


def test_confusion_counts_what_it_leaves_out() -> None:
    # Two people: A/B has no majority; A alone has one for the judge, and none of others for the person.
    one = configuration(("x", "y"), [[A, B], [A], [B, B]], {"j": [A, A, TIE]}, [0.1, 0.2, 0.9])
    people, judge = study(one)["configurations"][0]["raters"]
    assert judge["confusion"]["by_majority"]["b"] == {"a": 0, "tie": 2, "b": 0}
    assert {key: judge["confusion"][key] for key in ("n", "excluded", "no_majority", "no_vote")} == {
        "n": 4,
        "excluded": 2,
        "no_majority": 2,
        "no_vote": 0,
    }
    assert people["confusion"]["by_majority"] == {
        "a": {"a": 0, "tie": 0, "b": 2},
        "tie": {"a": 0, "tie": 0, "b": 0},
        "b": {"a": 2, "tie": 0, "b": 4},
    }
    assert people["confusion"]["excluded"] == people["confusion"]["no_vote"] == 2


def test_peoples_confusion_is_the_models(found: Found) -> None:
    rows = rows_of(spec_of("people-confusion", found))
    assert {(row["rater"], row["true"], row["vote"]): row["share"] for row in rows} == {
        (one["rater"], true, vote): share
        for one in found["dawid_skene"]["people"]
        for true, row in zip(("a", "tie", "b"), one["confusion"], strict=True)
        for vote, share in zip(("a", "tie", "b"), row or (), strict=False)
    }


def test_matchups_are_points_of_separability_and_mean_consistency(found: Found) -> None:
    rows = rows_of(spec_of("matchups", found))
    people = {
        row["instance"]: (row["separability"], row["consistency"], row["n"]) for row in rows if row["rater"] == "people"
    }
    # Each person gives both pairs one verdict: a preference has consistency 1, a tie 0; instance 3 has a tie of three.
    assert people == {
        f"news-{n}": (value, pytest.approx(2 / 3 if n == 3 else 1.0), 3)
        for n, value in enumerate([0.0, 0.1, 0.4, 0.45, 0.9, 1.0])
    }
    assert len(rows) == 3 * 6


def test_matchups_of_a_large_study_are_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agreement, "MOST_INSTANCES", 1)
    spec = spec_of("matchups", study(configuration(("x", "y"), [[A], [B]], {}, [0.1, 0.9])))
    assert spec["usermeta"]["why"] == TOO_MANY_INSTANCES.with_values(most=1).text


def test_winning_rates_are_the_curves_of_the_tests(found: Found) -> None:
    tested = {
        "winning_rate": 0.5,
        "tested": 4,
        "epsilon": 0.1,
        "curve": [{"epsilon": 0.0, "winning_rate": 0.25}, {"epsilon": 0.1, "winning_rate": 0.5}],
    }
    one = {**found["replacement"][0], "alternative_annotator": tested}
    spec = draw("winning-rates", {**found, "replacement": [one]})
    assert [(row["judge"], row["epsilon"], row["winning_rate"]) for row in rows_of(spec)] == [
        ("direct", 0.0, 0.25),
        ("direct", 0.1, 0.5),
    ]
    assert (
        draw("winning-rates", found)["usermeta"]["why"] == of_refusal(Refusal("tested", 0, 3)).text
    )  # six instances are too few


@pytest.mark.parametrize("name", KINDS)
def test_nothing_to_draw_is_a_picture_that_says_why(empty: Found, name: str) -> None:
    spec = spec_of(name, empty, "dark")
    assert rows_of(spec) == [{"text": charts.NO_DATA}]
    assert spec["usermeta"]["why"]
    assert " ".join(spec["title"]["subtitle"]) == spec["usermeta"]["why"]


def test_a_study_without_configurations_and_one_point_are_no_pictures(found: Found) -> None:
    nothing = study()
    assert [name for name in OF_STUDY if not draw(name, nothing)["usermeta"]["why"]] == []
    consistent = [one for one in found["pooled"]["fully_consistent"] if one["rater"] == "people"]
    alone = {**found, "pooled": {**found["pooled"], "fully_consistent": consistent}}
    assert charts.why_empty(draw("fully-consistent", alone, "light"))


def test_ties_are_the_reason_only_where_there_are_some(empty: Found) -> None:
    assert draw("position", empty)["usermeta"]["why"] == NO_VERDICT.text
    ties = {"value": None, **ALL_TIES.as_json()}
    tied = {**empty, "pooled": {**empty["pooled"], "preferred_first": [{"rater": "people", **ties}]}}
    assert draw("position", tied)["usermeta"]["why"] == ALL_TIES.text


def test_judges_with_a_bias_are_drawn_first_and_in_the_order_of_their_shares(empty: Found) -> None:
    values = [0.5] * 30 + [0.7, 0.3]
    shares = [
        {"rater": f"judge:{n:02}", "value": value, "low": 0.2, "high": 0.8, "n": 9, "n_instances": 9}
        | {"biased": value != 0.5}
        for n, value in enumerate(values)
    ]
    spec = draw("position", {**empty, "pooled": {**empty["pooled"], "preferred_first": shares}})
    drawn = [(row["name"], row["value"]) for row in rows_of(spec)]
    assert (len(drawn), drawn[0], drawn[-1]) == (17, ("30", 0.7), ("31", 0.3))
    assert "17 of 32" in " ".join(spec["title"]["subtitle"])


@pytest.mark.parametrize("name", KINDS)
def test_names_enter_a_specification_as_values_only(hostile: Found, name: str) -> None:
    def keys(node: Any) -> set[str]:
        if isinstance(node, dict):
            return set(node) | {key for value in node.values() for key in keys(value)}
        return {key for value in node for key in keys(value)} if isinstance(node, list) else set()

    spec = spec_of(name, hostile)
    assert not any(HOSTILE in key for key in keys(spec))
    assert not keys(spec) & {"expr", "signal", "labelExpr", "href", "url", "calculate", "test"}
    json.dumps(spec, allow_nan=False)


@pytest.mark.parametrize("name", ["position", "pooled-consistency", "strength-by-bin", "confusion"])
def test_hostile_names_are_drawn_as_text(hostile: Found, name: str) -> None:
    svg = charts.to_svg(spec_of(name, hostile))
    root = ElementTree.fromstring(svg)
    text = " ".join(part for element in root.iter(f"{SVG}text") for part in element.itertext())
    assert "<scr" in text
    assert "<script" not in svg
    tags = {element.tag for element in root.iter()}
    assert not tags & {f"{SVG}{name}" for name in ("script", "a", "image", "foreignObject", "use", "animate")}
    attributes = {name.lower() for element in root.iter() for name in element.attrib}
    assert not any("href" in name or name.startswith("on") for name in attributes)


def test_pictures_are_as_wide_as_a_column_and_as_a_page(found: Found) -> None:
    column = spec_of("mean-consistency", found)
    box = re.search(rb"/MediaBox ?\[0 0 ([\d.]+)", charts.to_pdf(column))
    assert box
    assert float(box[1]) == pytest.approx(3.3 * 72, abs=1)
    assert widened(column, WIDTHS["page"])["width"] * charts.COLUMN_INCHES / charts.COLUMN_WIDTH == pytest.approx(
        7, abs=0.01
    )
    assert charts.to_png(column).startswith(b"\x89PNG\r\n")


@pytest.mark.parametrize("name", KINDS)
def test_a_page_keeps_the_place_of_a_picture_of_one_panel(name: str, found: Found) -> None:
    spec = spec_of(name, found)
    if "layer" not in spec:
        assert charts.size_of(spec) is None
    else:
        drawn = re.search(r'<svg [^>]*width="([\d.]+)" height="([\d.]+)"', charts.to_svg(spec))
        assert drawn
        assert charts.size_of(spec) == (pytest.approx(float(drawn[1]), abs=1), pytest.approx(float(drawn[2]), abs=48))


@pytest.mark.parametrize("name", KINDS)
def test_a_wide_picture_shows_the_same(found: Found, name: str) -> None:
    column = spec_of(name, found)
    page = widened(column, WIDTHS["page"])
    assert rows_of(page) == rows_of(column)
    assert "judge:" not in json.dumps(rows_of(column))
    fixed = "text" in rows_of(column)[0] or name in ("win-matrix", "people-confusion")  # cells don't grow
    assert fixed or {**page, "title": 0} != {**column, "title": 0}


def test_pictures_say_what_their_numbers_are_about(found: Found) -> None:
    row = {"batch": "first", "kind": "top", "spec": "top:30", "pool": 100, "measure": "rouge1"}
    chosen = [{**one, "chosen": [row]} for one in found["configurations"]]
    many = study(configuration(("x", "y"), [[A], [B]], {f"j{n}": [A, B] for n in range(24)}, [0.1, 0.9]))
    notes = spec_of("position", {**found, "configurations": chosen})["title"]["subtitle"]
    series = {row["rater"] for row in rows_of(spec_of("mean-consistency", many))}
    assert "top:30 of 100 by separability (rouge1)" in " ".join(notes)
    assert series == {"people", "the judge"}


@pytest.mark.parametrize("judges", [1, 5, 12])
def test_points_of_a_bin_stay_inside_it_however_many_raters_there_are(judges: int) -> None:
    found = study(configuration(("x", "y"), [[A], [B]], {f"j{n}": [A, B] for n in range(judges)}, [0.1, 0.9]))
    for name in ("mean-consistency", "pooled-consistency"):
        spec = spec_of(name, found)
        layer = spec.get("spec", spec)["layer"][0]
        edges = layer["encoding"]["x"]["axis"]["values"]
        places = [row["_x"] for row in rows_of(spec) if row["value"] is not None]
        assert len(places) >= 2 * (judges + 1)
        assert all(edges[0] < x < edges[1] or edges[-2] < x < edges[-1] for x in places)
        if "layer" in spec:
            looks = {(row["_colour"], row["_shape"]) for row in rows_of(spec)}
            assert len(looks) == len({row["rater"] for row in rows_of(spec)})
            assert {row["_name"] for row in rows_of(spec) if "_at" in row} == {row["rater"] for row in rows_of(spec)}
        else:
            assert {row["rater"] for row in rows_of(spec)} == {"people", charts.JUDGE_SERIES}
            assert len({row["panel"] for row in rows_of(spec)}) == len(rows_of(spec)) / 2 / len(edges[1:])


def test_equal_edges_and_long_names_do_not_hide_one_another() -> None:
    names = ["x" * 100 + end for end in "ab"]
    found = study(configuration((names[0], names[1]), [[A], [B]], {one: [A, B] for one in names}, [0.3, 0.3]))
    assert len({row["bin"] for row in rows_of(spec_of("separability", found))}) == 4
    assert len({row["_label"] for row in rows_of(spec_of("fully-consistent", found))}) == 3
    assert short_names(["ab", "x" * 9], 5) == {"ab": "ab", "x" * 9: "xx…xx"}
    assert short_names(["aaXbb", "aaYbb"], 4) == {"aaXbb": "1: a…bb", "aaYbb": "2: a…bb"}


def test_data_runs_no_formula_has_every_column_and_nothing_that_serves_drawing() -> None:
    rows = [{"name": "=cmd()", "value": 0.5, "_x": 1}, {"name": "plain", "n": 3}]
    assert charts.to_csv({"data": {"values": rows}}) == "name,value,n\r\n'=cmd(),0.5,\r\nplain,,3\r\n"


def test_a_rater_without_rating_sets_is_not_drawn(found: Found) -> None:
    one = found["configurations"][0]
    shown = {**one, "raters": [one["raters"][0], {**one["raters"][1], "rating_sets": 0}]}
    for name in ("consistency-by-bin", "mean-consistency"):
        assert {row["rater"].split()[0] for row in rows_of(draw(name, found, configuration=shown))} == {"people"}


def test_rates_at_equal_lengths_are_of_the_widest_changes_and_agreement_of_all_first(found: Found) -> None:
    [people] = [rater for rater in found["length_adjusted"] if rater["rater"] == "people"]
    estimate = people["configurations"][0]["plain"]
    moved = [
        {
            **people["configurations"][0],
            "dataset": f"set-{n}",
            "plain": {**estimate, "value": 0.5},
            "win_rate_a": {**estimate, "value": 0.5 + 0.01 * (n % 5) * (-1) ** n},
        }
        for n in range(10)
    ]
    many = [{**found["configurations"][0], "dataset": f"set-{n}"} for n in range(10)]
    wide = {**found, "configurations": many, "length_adjusted": [{**people, "configurations": moved}]}
    names = [row["name"].split(", ")[1] for row in rows_of(spec_of("length-adjusted", wide))[::2]]
    assert names == [f"set-{n}" for n in (4, 9, 3, 8, 2, 7, 1, 6)]
    rows = rows_of(spec_of("agreement", wide))[::2]
    assert [row["name"] for row in rows] == ["all together"]  # ten data sets have a table
    assert rows[0]["value"] == found["pooled"]["people_agreement"]["raw_agreement"]["value"]


def test_raters_without_a_rate_are_not_counted_among_those_at_equal_lengths(
    found: Found, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rankings, "MAX_RATERS", 1)
    people, *judges = found["length_adjusted"]
    unrated = [{**row, "plain": {**row["plain"], "value": None}} for row in people["configurations"]]
    spec = spec_of("length-adjusted", {**found, "length_adjusted": [{**people, "configurations": unrated}, *judges]})
    assert "1 of 2; the others are under Details" in " ".join(spec["title"]["subtitle"])
    assert {row["panel"] for row in rows_of(spec)} == {"direct"}


def test_programs_are_not_called_people_and_clusters_not_instances(found: Found) -> None:
    one = found["configurations"][0]
    programs = {**one, "raters": [{**one["raters"][0], "scripted_raters": 3}, *one["raters"][1:]]}
    scripted = {**found, "configurations": [programs, programs], "clusters": {"instances": 6, "clusters": 4}}
    assert {row["name"] for row in rows_of(spec_of("position", scripted))} == {"scripted raters", "direct", "other"}
    assert {row["series"] for row in rows_of(spec_of("judges-against-people", scripted))} == {
        "judge",
        "scripted raters",
    }
    spec = spec_of("mean-consistency", scripted)
    assert "95% intervals over clusters" in " ".join(spec["title"]["subtitle"])
    caption = str(figure("agreement", scripted, spec, [programs], lambda *_form, **_query: "/")["caption"])
    assert caption.startswith("Scripted raters: n = 36 ratings")


def test_judges_alone_are_in_the_order_of_their_rates_and_those_that_prefer_a_system_are_drawn(empty: Found) -> None:
    rates = {f"judge:{n:02}": 0.5 for n in range(30)} | {"judge:x": 0.3, "judge:y": 0.9, "judge:z": 0.6}
    rankings = [
        {"rater": name, "kind": "judge", "measure": "win_rate", "first": {"system": "x"}}
        | {"systems": [{"system": name, "value": v, "n_instances": 9} for name, v in (("x", rate), ("y", 1 - rate))]}
        for name, rate in rates.items()
    ]
    drawn = [row["name"] for row in rows_of(draw("preferences", {**empty, "rankings": rankings}))]
    assert (len(drawn), drawn[:2], drawn[-1]) == (17, ["y", "z"], "x")


def test_captions_count_an_instance_once() -> None:
    votes, values = [[A, B, A]] * 6, [0.0, 0.1, 0.4, 0.45, 0.9, 1.0]
    found = study(*(configuration(systems, votes, {}, values) for systems in (("one", "two"), ("two", "three"))))

    def caption(name: str, configurations: list[Found]) -> str:
        one = configurations[0] if name in OF_CONFIGURATION else None
        spec = draw(name, found, configuration=one)
        return str(figure(name, found, spec, configurations, lambda *_form, **_query: "/")["caption"])

    assert "n = 72 ratings on 6 instances" in caption("preferences", found["configurations"])
    assert "n = 36 ratings on 6 instances" in caption("consistency-by-bin", found["configurations"][:1])
    assert "Left out" not in caption("preferences", found["configurations"])
    found["configurations"][0]["raters"][0]["exclusions"] = {"manual": 1}
    assert caption("preferences", found["configurations"]).endswith("Left out: 1 rating.")
    found = study(configuration(("one", "two"), votes, {"direct": [A] * 6, "coin": [B] * 6}, values))
    assert "Judges: n = 24 verdicts" in caption("preferences", found["configurations"])
    found["baselines"] = ["coin"]
    assert "Judges with baselines: n = 24 verdicts" in caption("preferences", found["configurations"])


def test_names_of_series_do_not_lie_over_a_mark() -> None:
    rows = [
        point("people", series, {"value": 0.75, "low": 0.71, "high": 0.84, "n_instances": 9}, ("#000000", "circle"))
        for series in ("as it is", "at equal lengths")
    ]
    spec, _notes = dot_rows(rows, [row["series"] for row in rows], "Win rate", "light", share=True, marks=[(0.5, True)])
    assert {row["_side"] for row in rows_of(spec)} == {"right"}
    assert spec["layer"][0]["encoding"]["x"]["datum"] == 0.5


def test_ratings_that_only_the_prior_makes_finite_are_left_out() -> None:
    votes, values = [[A]] * 24, [0.1, 0.9] * 12
    found = study(*(configuration(pair, votes, {}, values) for pair in (("one", "two"), ("two", "three"))))
    assert {row["value"] for row in rows_of(spec_of("preferences", found))} == {0.0, 0.5, 1.0}
    assert {row["series"] for row in rows_of(spec_of("ratings", found))} == {"Elo", "SEP-Elo"}


def test_a_judge_called_people_stays_apart_from_them() -> None:
    votes, values = [[A, B, A]] * 6, [0.0, 0.1, 0.4, 0.45, 0.9, 1.0]
    first, second = (
        configuration(pair, votes, {"people": [A] * 6}, values) for pair in (("one", "two"), ("two", "three"))
    )
    assert draw("win-matrix", study(first))["usermeta"]["why"]  # of two systems the win rate says it all
    found = study(first, second)
    assert {row["panel"] for row in rows_of(draw("win-matrix", found))} == {"1: people", "2: people"}


def test_every_picture_is_in_the_documentation() -> None:
    page = (Path(__file__).parents[4] / "docs/howto/use_pictures.md").read_text(encoding="utf-8")
    assert [name for name in KINDS if f"`{name}`" not in page] == []


def test_reliability_with_more_raters_is_drawn_where_instances_vary(found: Found) -> None:
    curve = [
        {"raters": n, "relative": relative, "standard_error": {"100": 0.1 / n}}
        for n, relative in enumerate([found["pooled"]["people_agreement"]["raw_agreement"]] * 2, start=1)
    ]
    for instance, drawn in ((0.2, [0.1, 0.05]), (0.0, [])):
        pooled = {**found["pooled"], "generalizability": {"components": {"instance": instance}, "curve": curve}}
        spec = spec_of("with-more-raters", {**found, "pooled": pooled})
        rows = rows_of(spec) if drawn else []
        assert [row["value"] for row in rows if row["rater"] != "Eρ²"] == drawn
        assert bool(charts.why_empty(spec)) != bool(drawn)
