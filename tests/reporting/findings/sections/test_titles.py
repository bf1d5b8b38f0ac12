"""Titles of sections: what they claim follows from tests, and their values are those of the findings."""

from typing import Any

import pytest

from reporting.findings.sections.judges import _title as judges_title
from reporting.findings.sections.people import _agreement_title, _consistency_title, _position_title, position_section
from reporting.findings.sections.rankings import _title as rankings_title
from reporting.findings.sections.titles import Title

PEOPLE = {"ratings": 8, "raters": 2, "kind": "person"}


def estimate(value: float | None, low: float | None = None, high: float | None = None, **more: Any) -> dict[str, Any]:
    return {"value": value, "low": low, "high": high, "n_instances": 12, **more}


LEVEL, OF_JUDGES = estimate(0.5, 0.4, 0.6, rater="people"), ("position_of_judges", None)


def numbers(**more: Any) -> dict[str, Any]:
    return {"configurations": [{"raters": [PEOPLE]}], **more}


@pytest.mark.parametrize(
    ("alpha", "raw", "code"),
    [
        (estimate(0.41, 0.3, 0.52), estimate(0.7), "above_chance"),
        (estimate(0.12, -0.05, 0.3), estimate(0.7), "alpha"),
        (estimate(0.9), estimate(0.7), "alpha"),  # without an interval nothing is claimed
        (estimate(None), estimate(0.7), "agreement"),
        (estimate(None), estimate(None), "agreement_unknown"),
    ],
)
def test_agreement_is_above_chance_where_the_interval_of_alpha_is(alpha: Any, raw: Any, code: str) -> None:
    agreement = {"raw_agreement": raw, "krippendorff_alpha": {"ordinal": alpha}}
    assert _agreement_title(numbers(pooled={"people_agreement": agreement})).code == code


@pytest.mark.parametrize(
    ("outer", "code"),
    [
        (((0.1, 0.3), (0.4, 0.6)), "consistency_rises"),
        (((0.1, 0.45), (0.4, 0.6)), "consistency_by_bin"),
        (((0.1, 0.3), (None, None)), "consistency_of_bin"),
        (((None, None), (None, None)), "consistency"),
        (((0.4, 0.6), (0.1, 0.3)), "consistency_by_bin"),
        ((), "consistency"),
    ],
)
def test_consistency_rises_where_the_outer_intervals_are_apart(outer: Any, code: str) -> None:
    bins = [
        {
            "low": at / 2,
            "high": at / 2 + 0.5,
            "raters": [{"rater": "people", "mean_consistency": estimate(0.5, low, high)}],
        }
        for at, (low, high) in enumerate(outer)
    ]
    pooled = {"mean_consistency_by_bin": bins, "fully_consistent": [estimate(0.3, rater="people")]}
    title = _consistency_title(numbers(pooled=pooled))
    assert title.code == code
    if code in ("consistency_rises", "consistency_by_bin"):
        assert [title.values["least_bin"], title.values["most_bin"]] == ["0.00 to 0.50", "0.50 to 1.00"]
    if not outer:
        shares = [estimate(None, rater="people"), *(estimate(x, rater=f"judge:{x}") for x in (0.3, 0.2))]
        title = _consistency_title(numbers(pooled={**pooled, "fully_consistent": shares}))
        assert (title.code, title.values["lowest"]["value"], title.values["highest"]["value"]) == (
            "consistency_by_judge",
            0.2,
            0.3,
        )


@pytest.mark.parametrize(
    ("shares", "code", "place"),
    [
        ([estimate(0.6, 0.52, 0.7, rater="people")], "position_bias", "first"),
        ([estimate(0.4, 0.3, 0.48, rater="judge:x")], "position_bias", "second"),
        ([estimate(0.5, 0.4, 0.6, rater="people"), estimate(0.9, 0.8, 1.0, rater="judge:x")], "position", None),
        ([estimate(0.9, 0.8, 1.0, rater=f"judge:{name}") for name in "xy"], "position_by_judge", None),
        ([LEVEL, estimate(0.4, 0.3, 0.45, rater="judge:x", biased=True)], "position_of_judge", "second"),
        ([LEVEL, *(estimate(0.9, 0.8, 1.0, rater=f"judge:{name}", biased=True) for name in "xy")], *OF_JUDGES),
        ([LEVEL, *(estimate(x, x - 0.1, x + 0.1, rater=f"judge:{x}", biased=True) for x in (0.2, 0.9))], *OF_JUDGES),
    ],
)
def test_a_bias_is_claimed_of_one_rater_whose_interval_is_beside_one_half(shares: Any, code: str, place: Any) -> None:
    title = _position_title(shares, "people")
    assert (title.code, title.values.get("place")) == (code, place)


def ranked(first: bool | None, *systems: dict[str, Any]) -> dict[str, Any]:
    measure = "win_rate" if len(systems) == 2 else "bradley_terry"
    is_first = {"system": "a", "by_more_than_chance": first}
    rates = {"measure": "win_rate", "systems": systems, "first": is_first, "settled": None if first is None else 1}
    return {"win_rate": rates, measure: rates | {"measure": measure}}


@pytest.mark.parametrize(
    ("rankings", "code"),
    [
        (ranked(True, estimate(0.6, 0.52, 0.7, system="a"), estimate(0.4, system="b")), "preferred"),
        (ranked(True, estimate(0.6, 0.48, 0.7, system="a"), estimate(0.4, system="b")), "win_rate"),
        (ranked(True, *(estimate(0.6, system=name) for name in "abc")), "first"),
        (ranked(None, *(estimate(0.6, system=name) for name in "abc")), "ranking"),
        ({}, "rankings"),
    ],
)
def test_a_system_is_first_by_the_test_of_its_ranking(rankings: dict[str, Any], code: str) -> None:
    assert rankings_title(list(rankings.values()), "people").code == code


@pytest.mark.parametrize(
    ("rules", "code", "may"),
    [
        (["overall", "worse"], "may_replace", 1),
        (["worse", "worse"], "none_can_replace", 0),
        (["worse", "open"], "none_may_replace", 0),
        (["worse", "few"], "none_may_replace", 0),
        (["chance", "few"], "judges", None),
        (["few"], "judges", None),
        ([], "judges_agree", None),
    ],
)
def test_judges_replace_raters_by_their_verdicts(rules: list[str], code: str, may: int | None) -> None:
    found = {
        "replacement": [
            *({"judge": f"judge-{at}", "verdict": {"rule": rule}} for at, rule in enumerate(rules)),
            *[{"judge": "coin", "verdict": {"rule": "open"}}] * bool(rules),
        ],
        "baselines": ["coin"],
        "judge_agreement": {"raw_agreement": estimate(0.6, 0.5, 0.7)},
    }
    title = judges_title(numbers(**found), has_people=bool(rules))
    assert (title.code, title.values.get("may")) == (code, may)
    assert title.values.get("judges", 0) == (len(rules) if may is not None else 0)


def test_a_position_of_unknown_order_has_a_title_alone() -> None:
    share = {**estimate(None), "rater": "people", "why_code": "unknown_order"}
    person = {**PEOPLE, "rater": "people", "preferred_first": share, "shown_first": {"first": 0, "tie": 0, "second": 0}}
    found = numbers(pooled={"preferred_first": [share]})
    found["configurations"] = [{"raters": [person], "dataset": "news", "system_a": "a", "system_b": "b"}]
    section = position_section(found)
    assert (section.keys(), section["title"].code) == ({"title"}, "position_unknown")
    share["why_code"] = "all_ties"
    assert position_section(found)["title"].code == "position_by_rater"


def test_programs_are_no_people_and_names_are_isolated() -> None:
    found = numbers(
        pooled={
            "people_agreement": {"raw_agreement": estimate(None), "krippendorff_alpha": {"ordinal": estimate(None)}}
        }
    )
    found["configurations"][0]["raters"] = [{**PEOPLE, "scripted_raters": 2}]
    assert _agreement_title(found).values == {"people": "scripted raters"}
    rate = estimate(0.525, 0.314, 0.736)
    text = str(Title("win_rate", {"people": "people", "first": "a", "second": "b", "rate": rate}))
    assert "\N{FIRST STRONG ISOLATE}a\N{POP DIRECTIONAL ISOLATE}" in text
    assert text.endswith("52.5% [31.4, 73.6]")
