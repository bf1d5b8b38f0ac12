"""The answer, sections and text of a study that only judges rated, and of judges without people beside them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from reporting.findings.answer.statements import leading_system
from reporting.findings.computing import compute_findings
from reporting.findings.data.inputs import ConfigurationData, Filters, JuryMembers, StudyData
from reporting.findings.sections import page_sections
from reporting.findings.sections.judges import judges_section
from reporting.findings.sections.rankings import rankings_section
from reporting.findings.text import as_text
from tests.reporting.findings.arrays import configuration_data

pytestmark = pytest.mark.slow

A, TIE, B = -1.0, 0.0, 1.0
INSTANCES, PAIRS = 12, 2
CELLS = [(instance, pair) for instance in range(INSTANCES) for pair in range(PAIRS)]
Found = dict[str, Any]
Verdicts = list[float | None]


def judge(*verdicts: float | None) -> Verdicts:
    """Repeat some verdicts over all pairs."""
    return [verdicts[place % len(verdicts)] for place in range(len(CELLS))]


def configuration(
    judges: Mapping[str, Verdicts],
    people: list[tuple[int, int, str, float | None]] | None = None,
    systems: tuple[str, str] = ("heron", "magpie"),
) -> ConfigurationData:
    rows = {
        name: [(*cell, verdict) for cell, verdict in zip(CELLS, verdicts, strict=False)]
        for name, verdicts in judges.items()
    }
    return configuration_data(people or [], rows, instances=INSTANCES, systems=systems)


def found_in(*configurations: ConfigurationData, baselines: tuple[str, ...] = ()) -> Found:
    data = StudyData("made", configurations, None, frozenset(), {}, [], baselines=frozenset(baselines))
    return compute_findings(data, Filters())


def rules(found: Found) -> list[str]:
    return [sentence["rule"] for sentence in found["answer"]]


def results(found: Found) -> list[tuple[str, list[str]]]:
    return [(row["result"], row["judges"]) for row in found["answer"][0]["values"]["results"]]


def test_each_judge_is_told_of_by_name_with_interval_and_number() -> None:
    found = found_in(configuration({"direct": judge(A), "strict": judge(A, B)}))
    assert rules(found) == ["judges", "judges_agree_alpha", "position_bias", "rate_differing_pairs"]
    headline, agreement, position, next_step = (sentence["values"] for sentence in found["answer"])
    assert results(found) == [("prefers", ["direct"]), ("open", ["strict"])]
    assert headline["instances"] == INSTANCES
    direct, strict = headline["rates"]
    assert (direct["judge"], direct["system"], direct["value"]) == ("direct", "heron", 1.0)
    assert direct["low"] > 0.5
    assert (strict["judge"], strict["value"]) == ("strict", 0.5)
    assert strict["low"] < 0.5 < strict["high"]
    # A is shown first throughout: one judge always takes the first text, the other half of the time.
    assert (position["judge"], position["share"]["value"], position["biased"], position["tested"]) == (
        "direct",
        1,
        1,
        2,
    )
    assert (agreement["rate"]["value"], agreement["instances"]) == (0.5, INSTANCES)
    assert next_step == {"different": len(CELLS) // 2, "pairs": len(CELLS), "different_on": INSTANCES}
    assert not any("eople prefer" in sentence["text"] for sentence in found["answer"])


def test_preferences_of_judges_are_adjusted_over_the_judges() -> None:
    # Ten of twelve instances are won and one is level: p is .030, and ten judges more make it .33.
    some: Verdicts = [A] * 21 + [B] * 3
    alone = found_in(configuration({"some": some}))
    assert results(alone) == [("prefers", ["some"])]
    many = found_in(configuration({"some": some, **{f"level-{n}": judge(A, A, B, B) for n in range(10)}}))
    assert [result for result, _ in results(many)] == ["open"]
    values = many["answer"][0]["values"]
    assert (values["unadjusted"], values["tests"]) == (1, 11)
    firsts = {
        name: [rater["first"] for rater in rankings_section(of)["raters"]]
        for name, of in (("one", alone), ("many", many))
    }
    assert [sum("before correction for 11 judges" in first for first in own) for own in firsts.values()] == [0, 1]
    assert "unadjusted" not in alone["answer"][0]["values"]


def test_all_rates_are_of_the_system_that_most_judges_prefer() -> None:
    found = found_in(
        configuration(
            {"contrary": judge(B), "direct": judge(A), "longer": judge(B), "third": judge(B), "strict": judge(A)}
        ),
        baselines=("longer", "third"),
    )
    assert results(found) == [("prefers", ["direct", "strict"]), ("prefers", ["contrary"])]
    rates = [(row["judge"], row["system"], row["value"]) for row in found["answer"][0]["values"]["rates"]]
    assert rates == [("contrary", "heron", 0.0), ("direct", "heron", 1.0), ("strict", "heron", 1.0)]
    table, title = (rankings_section(found)[name] for name in ("table", "title"))
    assert (title.code, title.values["first"]) == ("rates_by_judge", "heron")
    assert (title.values["lowest"]["value"], title.values["highest"]["value"]) == (0.0, 1.0)
    assert {head[0]: cells[0]["value"] for head, cells in table.rows}["contrary"] == 0.0
    people = [(instance, pair, "ann", B) for instance, pair in CELLS]
    assert leading_system(found_in(configuration({"direct": judge(A)}, people))) == "magpie"


def test_json_has_the_agreement_of_every_two_judges_and_juries_are_left_out() -> None:
    judges = {"direct": judge(A), "strict": judge(A, A, B, None), "board": judge(A)}
    data = configuration(judges)
    study = StudyData("made", (data,), None, frozenset(), {}, [])
    [pair] = compute_findings(
        replace(study, juries=(JuryMembers("board", ("direct", "strict"), "majority"),)), Filters()
    )["judge_agreement"]["judges"]
    assert (pair["judge_a"], pair["judge_b"]) == ("direct", "strict")
    # Of 24 pairs 18 have both verdicts, 12 of them the same.
    agreement = pair["agreement"]
    assert (agreement["value"], agreement["n"], agreement["excluded"]) == (pytest.approx(2 / 3), 18, 6)
    assert agreement["low"] < 2 / 3 < agreement["high"]
    everything = compute_findings(study, Filters())["judge_agreement"]
    assert len(everything["judges"]) == 3
    # Of three verdicts on a pair three pairs of verdicts agree, or one of three; with two of them the only one agrees.
    assert everything["raw_agreement"]["value"] == pytest.approx((12 * 3 + 6 * 1 + 6 * 1) / (18 * 3 + 6))
    assert (everything["pairs"], everything["different"]) == (24, 6)


def test_agreement_is_of_models_where_there_are_any() -> None:
    judges = {"direct": judge(A), "strict": judge(A), "coin": judge(B), "longer": judge(B)}
    found = found_in(configuration(judges), baselines=("coin", "longer"))
    agreement = found["judge_agreement"]
    assert (agreement["together"], agreement["raw_agreement"]["value"]) == (["direct", "strict"], 1.0)
    assert (len(agreement["judges"]), agreement["different"]) == (6, 0)
    assert found["answer"][0]["values"]["models_alone"]
    alone = found_in(configuration({"direct": judge(A), "coin": judge(B)}), baselines=("coin",))
    assert rules(alone) == ["judge_alone", "position_bias", "rate_pairs"]
    assert alone["judge_agreement"]["raw_agreement"]["value"] is None


def test_judges_of_several_configurations_agree_on_their_own_pairs() -> None:
    first = configuration({"direct": judge(A), "strict": judge(A)})
    second = configuration({"direct": judge(A), "strict": judge(B)}, systems=("heron", "wren"))
    agreement = found_in(first, second)["judge_agreement"]
    assert (agreement["raw_agreement"]["value"], agreement["raw_agreement"]["n_instances"]) == (0.5, INSTANCES)


@pytest.mark.parametrize(
    ("judges", "baselines", "expected"),
    [
        ({"direct": judge(A)}, (), [("prefers", ["direct"])]),
        ({"direct": judge(None)}, (), [("silent", ["direct"])]),
        ({"direct": judge(TIE)}, (), [("ties", ["direct"])]),
        ({"direct": []}, (), [("silent", ["direct"])]),
        ({"direct": [A, B, A, B]}, (), [("few", ["direct"])]),
        ({"direct": judge(A), "strict": judge(B)}, (), [("prefers", ["direct"]), ("prefers", ["strict"])]),
        ({"longer": judge(A), "direct": judge(A)}, ("longer",), [("prefers", ["direct"])]),
        ({"longer": judge(A), "coin": judge(A)}, ("coin", "longer"), [("prefers", ["longer", "coin"])]),
    ],
)
def test_each_state_of_judges_has_its_result(
    judges: dict[str, Verdicts], baselines: tuple[str, ...], expected: list[tuple[str, list[str]]]
) -> None:
    found = found_in(configuration(judges), baselines=baselines)
    assert results(found) == expected
    assert found["baselines"] == sorted(baselines)
    assert ("baselines" in found["answer"][0]["values"]) == (set(baselines) == set(judges))
    assert ("let_model_judge" in rules(found)) == (set(baselines) == set(judges))
    assert all("{" not in sentence["text"] for sentence in found["answer"])
    assert as_text(found)
    assert judges_section(found)["has_people"] is False


def test_the_two_judges_that_agree_least_are_named() -> None:
    judges = {"direct": judge(A, B), "strict": judge(A, B, A, A), "contrary": judge(B, A), "coin": judge(B, A)}
    values = found_in(configuration(judges), baselines=("coin",))["answer"][1]["values"]
    assert (values["judge_a"], values["judge_b"], values["least_alike"]["value"]) == ("direct", "contrary", 0.0)
    values = found_in(configuration({"direct": judge(A, B), "strict": judge(A)}))["answer"][1]["values"]
    assert "least_alike" not in values


def test_a_judge_that_prefers_another_system_than_people_is_named() -> None:
    people = [(instance, pair, code, A) for instance, pair in CELLS for code in ("ann", "bob")]
    judges = {"direct": judge(A), "contrary": judge(B), "level": judge(A, B), "longer": judge(B)}
    found = found_in(configuration(judges, people), baselines=("longer",))
    (told,) = [one for one in found["answer"] if one["rule"] == "judges_differ"]
    assert [(row["system"], row["judges"]) for row in told["values"]["results"]] == [("magpie", ["contrary"])]
    assert [(row["judge"], row["system"], row["value"]) for row in told["values"]["rates"]] == [
        ("contrary", "heron", 0.0)
    ]
    level = [(*cell, code, (A, B)[at % 2]) for at, cell in enumerate(CELLS) for code in ("ann", "bob")]
    assert "judges_differ" not in rules(found_in(configuration(judges, level)))


def test_agreement_below_chance_is_shown_and_claims_nothing() -> None:
    rows = {
        name: [(place, 0, verdict) for place, verdict in enumerate(verdicts)]
        for name, verdicts in (("direct", [*[A, B] * 10, A]), ("strict", [*[B, A] * 10, A]))
    }
    found = found_in(configuration_data([], rows, instances=21))
    assert found["judge_agreement"]["krippendorff_alpha"]["ordinal"]["high"] < 0
    assert "judges_agree_alpha" in rules(found)


def test_judges_without_a_common_pair_have_no_agreement() -> None:
    assert "judges_apart" in rules(found_in(configuration({"direct": judge(A, None), "strict": judge(None, B)})))


def test_several_systems_are_ranked_by_judge() -> None:
    rng = np.random.default_rng(5)
    meetings = [("heron", "magpie"), ("heron", "wren"), ("magpie", "wren")]
    chances = {meeting: rng.random(len(CELLS)) for meeting in meetings}
    configurations = [
        configuration(
            {"direct": [A if drawn < 0.9 else B for drawn in chances[meeting]], "coin": judge(A, B)}, None, meeting
        )
        for meeting in meetings
    ]
    # Of 12 instances each system's strength has no test; of 24 in two data sets it has.
    more = [replace(one, configuration=replace(one.configuration, dataset="more")) for one in configurations]
    found = found_in(*configurations, *more)
    assert results(found) == [("first", ["direct"]), ("open", ["coin"])]
    direct = found["answer"][0]["values"]["results"][0]
    assert (direct["system"], direct["systems"]) == ("heron", 3)
    rankings = page_sections(found, {})["rankings"]
    assert [(one["rater"], one["is_people"]) for one in rankings["raters"]] == [
        ("judge:direct", False),
        ("judge:coin", False),
    ]
    assert (rankings["title"].code, rankings["title"].values) == ("ranking", {"people": "2 judges", "systems": 3})


def test_a_ranking_of_people_without_comparisons_stands_only_where_nobody_rated() -> None:
    alone = page_sections(found_in(configuration({"direct": judge(A)})), {})["rankings"]
    assert [one["rater"] for one in alone["raters"]] == ["judge:direct"]
    assert (alone["title"].code, alone["title"].values["rate"]["value"]) == ("win_rate", 1.0)
    nobody = rankings_section(found_in(configuration({"direct": judge(None)})))
    assert [one["is_people"] for one in nobody["raters"]] == [True, False]


def test_no_judge_is_named_nearest_where_none_has_two_people_beside_it() -> None:
    # Each person rated pairs of their own.
    people = [(instance, pair, ("ann", "bob")[pair], A) for instance, pair in CELLS]
    found = found_in(configuration({"direct": judge(A), "strict": judge(B)}, people))
    [sentence] = [one for one in found["answer"] if one["evidence"] == ["replacement"]]
    assert (sentence["rule"], sentence["values"]) == ("judges_untested", {"instances": 0, "needed": 5})
    assert page_sections(found, {})["judges"]["title"].code == "judges"
    # Four instances with votes of two people are too few as well; of five a judge is tested.
    for shared, rule in ((4, "judges_untested"), (5, "judges_chance")):
        both = [*people, *((instance, 0, "bob", A) for instance in range(shared))]
        assert rule in rules(found_in(configuration({"direct": judge(A), "strict": judge(B)}, both)))
