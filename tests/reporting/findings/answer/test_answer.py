"""The answer: which sentence follows from which numbers."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.intervals.jackknife import student_quantile
from analysis.intervals.multiple_testing import level_of_look
from annotation.core.counting import rounded_up
from reporting.findings.answer.answer import answer
from reporting.findings.answer.answer_text import on_page

HOSTILE = "<script>alert(1)</script>"
Found = dict[str, Any]


def estimate(value: float | None, low: float | None = None, high: float | None = None, **more: Any) -> Found:
    return {"value": value, "low": low, "high": high, "n": 100, "level": 0.95, "n_instances": 20, **more}


def people(**changed: Any) -> Found:
    return {
        "rater": "people",
        "kind": "person",
        "ratings": 100,
        "scripted": False,
        "counts": {"a": 60, "tie": 10, "b": 30},
        **changed,
    }


def agreement(**changed: Any) -> Found:
    return {
        "raw_agreement": estimate(0.6, 0.5, 0.7),
        "krippendorff_alpha": {"ordinal": estimate(0.3, 0.1, 0.5)},
        **changed,
    }


def judge(name: str) -> Found:
    return {"rater": f"judge:{name}", "kind": "judge", "ratings": 100}


def win_rates(rate: float, low: float | None, high: float | None, names: tuple[str, str], **more: Any) -> Found:
    """Make the ranking of two systems, whose rates mirror each other; `rate` is that of the first name."""
    mirrored = (None if high is None else 1 - high, None if low is None else 1 - low)
    rows = [
        {"system": names[0], **estimate(rate, low, high, **more)},
        {"system": names[1], **estimate(1 - rate, *mirrored, **more)},
    ]
    rows.sort(key=lambda row: (-row["value"], row["system"]))
    return {"rater": "people", "measure": "win_rate", "systems": rows}


def study(
    *,
    rankings: list[Found] | None = None,
    raters: list[Found] | None = None,
    raters_found: list[Found] | None = None,
    **changed: Any,
) -> Found:
    """Make findings; `raters` are those of the configuration, `raters_found` the people one by one."""
    default = [win_rates(0.7, 0.6, 0.8, ("heron", "magpie"))]
    configuration = {
        "pairs": 40,
        "instances": 20,
        "separability": {"similarity": "rouge1"},
        "raters": [people(), judge("direct")] if raters is None else raters,
    }
    found: Found = {
        "configurations": [configuration],
        "pooled": {
            "mean_consistency_by_bin": None,
            "people_agreement": agreement(),
            "fully_consistent": [{"rater": "people", **estimate(0.65, 0.4, 0.9, n=20, excluded=0)}],
        },
        "rankings": default if rankings is None else rankings,
        "raters": raters_found or [],
    }
    return {**found, **changed}


def strengths(by_more: bool | None, **changed: Any) -> list[Found]:
    """Make the rankings of three systems by win rate and by Bradley and Terry's model."""
    rows = [{"system": name, **estimate(0.5, 0.4, 0.6), "rank": 1, "rank_low": 1, "rank_high": 2} for name in "abc"]
    rates = {"rater": "people", "measure": "win_rate", "systems": rows}
    rates["first"] = {"system": None, "why_code": "unequal"}
    models = {"measure": "bradley_terry", "first": {"system": "a", "by_more_than_chance": by_more}, "settled": 1}
    return [rates, {**rates, **models, **changed}]


def rules(found: Found) -> list[str]:
    return [one["rule"] for one in answer(found)]


@pytest.mark.parametrize(
    ("rate", "low", "high", "instances", "rule"),
    [
        pytest.param(0.7, 0.6, 0.8, 20, "preferred", id="above"),
        pytest.param(0.3, 0.2, 0.4, 20, "preferred", id="the other one"),
        pytest.param(0.7, 0.5 + 1e-9, 0.8, 20, "preferred", id="barely above"),
        pytest.param(0.7, 0.5, 0.8, 20, "no_preference", id="one half at the edge"),
        pytest.param(0.3, 0.2, 0.5, 20, "no_preference", id="one half at the other edge"),
        pytest.param(0.5, 0.5, 0.5, 20, "no_preference", id="level, all ties"),
        pytest.param(0.7, 0.6, 0.8, 5, "preferred", id="enough"),
        pytest.param(1.0, 0.9, 1.0, 4, "too_few", id="too few"),
        pytest.param(1.0, None, None, 20, "too_few", id="no interval"),
    ],
)
def test_preference_between_two(rate: float, low: float | None, high: float | None, instances: int, rule: str) -> None:
    ranking = win_rates(rate, low, high, ("heron", "magpie"), n_instances=instances)
    found = answer(study(rankings=[ranking]))
    assert found[0]["rule"] == rule
    assert found[0]["evidence"] == ["rankings.people.win_rate"]
    if rule == "preferred":
        assert found[0]["values"]["first"] == ("heron" if rate > 0.5 else "magpie")


def test_all_ties_are_said_to_be_ties() -> None:
    tied = {"raters": [people(counts={"a": 0, "tie": 100, "b": 0})], "pairs": 40, "instances": 20, "separability": None}
    for rankings in ([win_rates(0.5, 0.35, 0.65, ("heron", "magpie"))], strengths(None)):
        found = study(rankings=rankings)
        found["configurations"] = [tied, tied]
        said = answer(found)
        assert (said[0]["rule"], said[0]["values"]) == ("all_ties", {"ratings": 200})
        # The second configuration has a verdict for one side.
        found["configurations"] = [tied, {**tied, "raters": [people(counts={"a": 1, "tie": 99, "b": 0})]}]
        assert answer(found)[0]["rule"] != "all_ties"


def test_an_interval_of_few_large_instances_is_explained() -> None:
    even, uneven = (
        answer(study(rankings=[win_rates(0.967, 0.114, 1.0, ("heron", "magpie"), **more)]))[0]
        for more in ({}, {"effective_n": 2.7})
    )
    assert (even["rule"], uneven["rule"]) == ("no_preference", "no_preference")
    assert uneven["values"]["effective_n"] == 2.7
    assert "2.7" in on_page(uneven["rule"], uneven["values"])


shares = st.floats(0, 1)


@pytest.mark.slow
@given(st.tuples(shares, shares, shares), st.integers(1, 60))
def test_swapping_the_systems_swaps_the_sentence(drawn: tuple[float, float, float], instances: int) -> None:
    low, rate, high = sorted(drawn)
    found, swapped = (
        answer(study(rankings=[win_rates(rate, low, high, names, n_instances=instances)]))
        for names in (("heron", "magpie"), ("magpie", "heron"))
    )
    exchanged = found[0]["text"].replace("heron", "?").replace("magpie", "heron").replace("?", "magpie")
    if rate != 0.5:  # of two that are level, either may come first
        assert swapped[0]["text"] == exchanged
    assert swapped[0]["rule"] == found[0]["rule"]
    holds_half = low <= 0.5 <= high
    assert not (holds_half and found[0]["rule"] == "preferred")


@pytest.mark.parametrize(
    ("rankings", "rule"),
    [
        (strengths(True), "first"),
        (strengths(False), "leads"),
        (strengths(None), "untested"),
        (strengths(None, first={"system": None, "by_more_than_chance": None}), "unranked"),
        (strengths(None, first={"system": None, "by_more_than_chance": False}), "unranked"),
        (strengths(None, groups=[["a"], ["b", "c"]]), "disconnected"),
        (strengths(True)[:1], "unranked"),
    ],
)
def test_first_of_many(rankings: list[Found], rule: str) -> None:
    found = answer(study(rankings=rankings))[0]
    assert found["rule"] == rule


def test_the_first_of_many_has_its_test_or_the_reason_why_there_is_none() -> None:
    tested = {"system": "a", "by_more_than_chance": False, "p_value": 0.434, "against": "b"}
    values = answer(study(rankings=strengths(False, first=tested)))[0]["values"]
    assert (values["p_value"], values["against"], "why" in values) == (0.434, "b", False)
    assert (values["first"], values["second"], values["systems"]) == ("a", "b", 3)
    assert (values["rate"]["value"], values["second_rank"]["high"]) == (0.5, 2)
    assert (values["settled"], values["opponents"]) == ({"places": 1, "of": 3}, 2)
    untested = {"system": "a", "by_more_than_chance": None, "why": "a system has 13 instances"}
    rankings = strengths(None, first=untested)
    rankings[0]["systems"][0]["effective_n"] = 2.6
    values = answer(study(rankings=rankings))[0]["values"]
    assert (values["why"], values["effective_n"], "against" in values) == (untested["why"], 2.6, False)


def test_each_system_has_its_own_sample_and_rank_range() -> None:
    rankings = strengths(False)
    for row, n in zip(rankings[1]["systems"], (421, 392, 400), strict=True):
        row |= {"n_instances": n, "n_clusters": n // 3}
    headline = answer(study(rankings=rankings))[0]
    assert headline["values"]["sample"] == {"instances": 421, "clusters": 140}
    assert headline["values"]["second_sample"] == {"instances": 392, "clusters": 130}
    assert headline["text"].count("rank 1–2; 4") == 1
    assert "rank 1–2; 392 instances in 130 clusters" in headline["text"]
    (two,) = [row for row in win_rates(0.7, 0.6, 0.8, ("a", "b"), n_clusters=7)["systems"] if row["system"] == "a"]
    rankings = [{"rater": "people", "measure": "win_rate", "systems": [two, two]}]
    assert answer(study(rankings=rankings))[0]["values"]["sample"] == {"instances": 20, "clusters": 7}


@pytest.mark.parametrize(
    ("met", "unequal"),
    [
        ({"ab": 10, "ac": 15, "bc": 12}, False),
        ({"ab": 10, "ac": 16, "bc": 12}, True),
        ({"ab": 10, "bc": 10}, True),
    ],
)
def test_opponents_are_named_different_where_some_met_much_more_often(met: dict[str, int], unequal: bool) -> None:
    rankings = strengths(False)
    for row in rankings[1]["systems"]:
        own = row["system"]
        row["opponents"] = {pair.replace(own, ""): n for pair, n in met.items() if own in pair}
    assert ("unequal" in answer(study(rankings=rankings))[0]["values"]) == unequal


def test_systems_that_the_first_never_met_are_named() -> None:
    rankings = strengths(True)
    for row in rankings[1]["systems"]:
        row["opponents"] = {"c": 9} if row["system"] != "c" else {"a": 9, "b": 9}
    [*_, last] = answer(study(rankings=rankings))
    assert (last["rule"], last["values"]["first"], last["values"]["unmet"]) == ("unmet", "a", "b")
    others = [{**rankings[1]["systems"][0], "system": f"s{n}"} for n in range(9)]
    rankings[1]["systems"] += others
    [*_, last] = answer(study(rankings=rankings))
    assert (last["rule"], last["values"]["number"]) == ("unmet_many", 10)
    for row in rankings[1]["systems"]:
        row["opponents"] = dict.fromkeys({one["system"] for one in rankings[1]["systems"]} - {row["system"]}, 9)
    assert not {"unmet", "unmet_many"} & set(rules(study(rankings=rankings)))


@pytest.mark.parametrize(
    ("number", "rounded"),
    [(6, 6), (99, 99), (100, 100), (101, 110), (995, 1000), (5992, 6000), (50_000_001, 51_000_000)],
)
def test_planned_numbers_are_rounded_up_to_two_digits(number: int, rounded: int) -> None:
    assert rounded_up(number) == rounded


def test_being_first_takes_the_planned_number_of_ratings() -> None:
    place = {"place": 1, "system": "a", "more": 3914, "comparisons": 1500, "chance": 0.8}
    planned = answer(study(rankings=strengths(False, next_place=place)))[-1]
    assert {"more": 3914, "chance": 0.8}.items() <= planned["values"].items()
    assert "4,000" in planned["text"]
    assert rules(study(rankings=strengths(False, next_place=place | {"more": None})))[-1] == "more_for_first"
    assert rules(study(rankings=strengths(False, next_place=place | {"place": 2})))[-1] == "more_for_first"


def test_first_of_many_on_few_instances_is_not_claimed() -> None:
    rankings = strengths(True)
    for row in rankings[1]["systems"]:
        row["n_instances"] = 4
    told = answer(study(rankings=rankings))[0]
    assert (told["rule"], told["values"]["instances"]) == ("too_few", 4)


def test_settling_takes_the_planned_number_of_instances() -> None:
    # The standard error is .1 / 2.093 (Student's t, 19), at .05 from one half: 20 (.0478 (1.960 + 0.842) / .05)^2.
    last = answer(study(rankings=[win_rates(0.55, 0.45, 0.65, ("a", "b"))]))[-1]
    assert (last["rule"], last["values"]["needed"], last["values"]["instances"]) == ("more_instances", 144, 20)
    far = answer(study(rankings=[win_rates(0.51, 0.41, 0.61, ("a", "b"))]))[-1]
    assert (far["rule"], far["values"]["rate"], far["values"]["needed"]) == ("out_of_reach", 0.51, 3584)
    assert rules(study(rankings=[win_rates(0.5, 0.4, 0.6, ("a", "b"))]))[-1] == "level"
    # The part of an interval towards one half is the longer one: 20 (.17 / 2.093 * 2.802 / .16)^2, although half of its width is .15.
    uneven = answer(study(rankings=[win_rates(0.66, 0.49, 0.79, ("a", "b"))]))[-1]
    assert (uneven["rule"], uneven["values"]["needed"]) == ("more_instances", 41)
    touching = answer(study(rankings=[win_rates(0.66, 0.5, 0.79, ("a", "b"))]))[-1]
    assert touching["values"]["needed"] == 36
    # Ten instances of standard deviation .375: ((1.960 + 0.842) .375 / .0333)^2, whatever Student's t of nine is.
    reach = 2.2622 * 0.375 / 10**0.5
    small = win_rates(8 / 15, 8 / 15 - reach, 8 / 15 + reach, ("a", "b"), n_instances=10)
    assert answer(study(rankings=[small]))[-1]["values"]["needed"] == 994
    # While votes come in the interval is wider, and the plan is not.
    wide = (
        2.2622
        * 0.375
        / 10**0.5
        * student_quantile((1 + level_of_look(10, horizon=20)) / 2, 9)
        / student_quantile(0.975, 9)
    )
    small = win_rates(8 / 15, 8 / 15 - wide, 8 / 15 + wide, ("a", "b"), n_instances=10)
    assert answer(study(rankings=[small], horizon=20))[-1]["values"]["needed"] == 994


@pytest.mark.parametrize(
    ("changed", "rule"),
    [
        ({}, "agreement_above_chance"),
        ({"krippendorff_alpha": {"ordinal": estimate(0.1, 0.0, 0.2)}}, "agreement_by_chance"),
        ({"krippendorff_alpha": {"ordinal": estimate(0.1)}}, "agreement_alpha"),
        ({"krippendorff_alpha": {"ordinal": estimate(None)}}, "agreement"),
        ({"raw_agreement": estimate(0.6)}, "agreement_above_chance"),
        ({"raw_agreement": estimate(None)}, "agreement_unknown"),
    ],
)
def test_agreement(changed: Found, rule: str) -> None:
    found = study()
    found["pooled"]["people_agreement"] |= changed
    (told,) = [one for one in answer(found) if one["rule"].startswith("agreement")]
    assert told["rule"] == rule


def test_agreement_without_an_interval_has_the_verdict_of_the_test_beside_judges() -> None:
    found = study(replacement=[verdict("contrary", "chance", -0.2)])
    found["pooled"]["people_agreement"] |= {"krippendorff_alpha": {"ordinal": estimate(0.47)}}
    (told,) = [one for one in answer(found) if one["rule"].startswith("agreement")]
    assert (told["rule"], told["values"]["by_chance"]) == ("agreement_not_shown", 0.33)
    assert "by chance on 33%" in told["text"]


def test_numbers_are_rounded_and_not_cut_off() -> None:
    values = {"rate": estimate(0.53266, 0.4, 1.0), "instances": 1, "alpha": estimate(0.2876, -0.001, 0.999)}
    text = on_page("agreement_above_chance", values)
    assert "53.3% [40.0, 100.0]" in text
    assert "1 instance;" in text
    assert "ordinal α 0.288 [−0.001, 0.999];" in text
    without = {**estimate(0.86), "why_code": "too_few"}
    assert "ordinal α 0.86, too few instances" in on_page("agreement_alpha", values | {"alpha": without})


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [(-0.94, 0.12, "94 less to 12 more"), (-0.65, -0.12, "65 less to 12 less"), (-0.0025, 0.2, "0.2 less to 20 more")],
)
def test_both_ends_of_a_difference_are_more_or_less(low: float, high: float, text: str) -> None:
    values = {"judge": "direct", "difference": estimate(-0.41, low, high), "epsilon": 0.1}
    assert f"(from {text})" in on_page("judge_open", values)


def test_a_narrow_judge_has_the_p_value_that_would_pass() -> None:
    judge = verdict("close", "narrow", -0.01)
    judge["verdict"]["values"] |= {"p_value": 0.00351, "limit": 0.0025, "part": 0.005, "sharing": 5, "judges": 5}
    told = of_judges(judge)
    assert "p ≤ 0.0025" in told["values"]["correction"]
    assert told["values"]["correction"] in told["text"]


@pytest.mark.parametrize("until", [None, 76])
def test_instances_that_would_settle_a_judge_are_named(until: int | None) -> None:
    judge = verdict("open", "open", -0.02)
    judge["verdict"] |= {"until": until} if until else {}
    values = of_judges(POOR, judge)["values"]
    expected = {"until": 76, "instances": 20, "chance": 0.8} if until else {}
    assert {key: values[key] for key in ("until", "instances", "chance") if key in values} == expected


@pytest.mark.parametrize(("low", "skewed"), [(-0.57, True), (-0.24, False)])
def test_a_lower_end_of_the_test_is_explained(low: float, skewed: bool) -> None:
    judged = verdict("open", "open", -0.12)
    judged["verdict"]["values"] |= {"low": low, "high": 0.0}
    assert ("skewed" in of_judges(judged)["values"]) == skewed


def test_a_biased_judge_is_named_where_there_is_room() -> None:
    found = study()
    found["pooled"]["preferred_first"] = [
        {"rater": f"judge:{name}", **estimate(value, value - 0.03, value + 0.03), "biased": biased}
        for name, value, biased in (("direct", 0.455, True), ("level", 0.5, False), ("coin", 0.4, True))
    ]
    found["baselines"] = ["coin"]
    [told] = [one for one in answer(found) if one["rule"] == "position_bias"]
    assert (told["values"]["judge"], told["values"]["biased"], told["values"]["tested"]) == ("direct", 1, 2)
    assert (told["values"]["first"], told["values"]["second"]) == (0, 1)
    found["pooled"]["preferred_first"][0]["biased"] = False
    assert "position_bias" not in rules(found)


def test_full_consistency_has_its_share_among_independent_votes() -> None:
    found = study()
    own = found["configurations"][0]["raters"][0]
    own["consistency_distribution"] = {"0.0": 10, "1.0": 10}
    # Two pairs an instance: .6 of the votes for one system and .3 for the other.
    found["configurations"].append({**found["configurations"][0], "pairs": 60})
    (told,) = [one for one in answer(found) if one["rule"] == "consistency"]
    assert told["values"]["independent"] == pytest.approx((0.6**2 + 0.3**2 + 0.6**3 + 0.3**3) / 2)
    assert "below" in told["values"]
    found["pooled"]["fully_consistent"][0] |= {"low": 0.2}
    assert "within" in next(one["values"] for one in answer(found) if one["rule"] == "consistency")
    found["configurations"][1]["pairs"] = 50
    (told,) = [one for one in answer(found) if one["rule"] == "consistency"]
    assert "independent" not in told["values"]


def test_consistency_is_the_share_of_fully_consistent_sets() -> None:
    found = study()
    (told,) = [one for one in answer(found) if one["rule"] == "consistency"]
    assert (told["values"]["share"]["value"], told["values"]["sets"], told["values"]["instances"]) == (0.65, 20, 20)
    assert "left_out" not in told["values"]
    found["pooled"]["fully_consistent"][0]["excluded"] = 3
    (told,) = [one for one in answer(found) if one["rule"] == "consistency"]
    assert told["values"]["left_out"] == 3
    (told,) = [one for one in answer({**found, "filters": {"with_incomplete": True}}) if one["rule"] == "consistency"]
    assert "with_incomplete" in told["values"]
    found["pooled"]["fully_consistent"][0]["value"] = None
    assert "all_incomplete" in rules(found)
    found = study()
    found["configurations"][0]["pairs"] = 20  # one an instance
    assert "consistency" not in rules(found)


@pytest.mark.parametrize(("most", "said"), [(0.4, True), (0.3, False), (None, False)])
def test_consistency_rises_only_where_intervals_part(most: float | None, said: bool) -> None:
    bins = [
        {"low": 0.0, "high": 0.5, "raters": [{"rater": "people", "mean_consistency": estimate(0.2, 0.1, 0.3)}]},
        {"low": 0.5, "high": 1.0, "raters": [{"rater": "people", "mean_consistency": estimate(0.6, most, 0.8)}]},
    ]
    found = study()
    found["pooled"]["mean_consistency_by_bin"] = bins
    assert ("rises" in rules(found)) == said
    found["configurations"][0]["pairs"] = 20
    assert "rises" not in rules(found)


Rate = tuple[float, float | None, float | None]


def at_equal_lengths(*rates: Rate, n_instances: int = 20, matters: bool = True) -> list[Found]:
    """Make people's win rates of heron as they are and at equal lengths, in a configuration for each two; tested with an interval."""
    configurations = [
        {
            "dataset": f"news-{at}",
            "system_a": "heron",
            "system_b": "magpie",
            "plain": estimate(*plain, n_instances=n_instances),
            "win_rate_a": estimate(*equal, n_instances=n_instances),
            "change": estimate(None if equal[0] is None or plain[0] is None else equal[0] - plain[0]),
            "length_effect_adjusted": 0.012,
            "matters": None if equal[1] is None else matters,
        }
        for at, (plain, equal) in enumerate(zip(rates[::2], rates[1::2], strict=True))
    ]
    return [{"rater": "judge:direct", "configurations": []}, {"rater": "people", "configurations": configurations}]


@pytest.mark.parametrize(
    ("plain", "equal", "rule", "first", "rate"),
    [
        pytest.param((0.52, 0.3, 0.74), (0.7, 0.55, 0.85), "length_newly", "heron", 0.7, id="newly"),
        pytest.param((0.52, 0.3, 0.74), (0.3, 0.15, 0.45), "length_newly", "magpie", 0.7, id="other"),
        pytest.param((0.7, 0.55, 0.85), (0.6, 0.45, 0.75), "length_no_longer", "heron", 0.6, id="no longer"),
        pytest.param((0.7, 0.55, 0.85), (0.3, 0.15, 0.45), "length_turned", "magpie", 0.7, id="turned"),
        pytest.param((0.3, 0.15, 0.45), (0.7, 0.55, 0.85), "length_turned", "heron", 0.7, id="back"),
        pytest.param((0.7, 0.6, 0.8), (0.85, 0.7, 1.0), "length_moves", "heron", 0.85, id="moves much"),
        pytest.param((0.54, 0.48, 0.6), (0.49, 0.43, 0.55), "length_moves", "heron", 0.49, id="the headline's"),
    ],
)
def test_length_is_said_where_it_changes_the_win_rate(
    plain: Rate, equal: Rate, rule: str, first: str, rate: float
) -> None:
    (told,) = [one for one in answer(study(length_adjusted=at_equal_lengths(plain, equal))) if "length" in one["rule"]]
    assert (told["rule"], told["values"]["first"], told["evidence"]) == (rule, first, ["length_adjusted"])
    assert told["values"]["rate"]["value"] == pytest.approx(rate)
    assert told["values"]["change"]["value"] == pytest.approx(rate - told["values"]["plain"])


def of_reason(why: str) -> list[Found]:
    """Make rates that are not adjusted for a reason."""
    lengths = at_equal_lengths((0.9, 0.8, 1.0), (None, None, None))
    lengths[1]["configurations"][0]["win_rate_a"]["why_code"] = why
    return lengths


@pytest.mark.parametrize(
    ("lengths", "rule"),
    [
        pytest.param(of_reason("follows_length"), "length_alone", id="ratings follow length"),
        pytest.param(of_reason("no_overlap"), "length_apart", id="lengths hardly overlap"),
        pytest.param(at_equal_lengths((0.6, 0.4, 0.8), (0.69, None, None)), "", id="untested"),
        pytest.param(at_equal_lengths((1.0, 0.9, 1.0), (0.999, 0.9985, 0.9995)), "", id="hardly changed"),
        pytest.param(at_equal_lengths((0.7, 0.6, 0.8), (0.3, 0.2, 0.4), matters=False), "", id="by chance"),
        pytest.param(at_equal_lengths((0.2, None, None), (0.8, None, None), n_instances=4), "", id="few instances"),
        pytest.param(
            [{"rater": "people", "configurations": [{"plain": estimate(None), "win_rate_a": estimate(None)}]}],
            "",
            id="no rates",
        ),
        pytest.param([], "", id="no people"),
    ],
)
def test_length_is_said_where_something_is_known_of_it(lengths: list[Found], rule: str) -> None:
    assert [one for one in rules(study(length_adjusted=lengths)) if "length" in one] == [rule] * bool(rule)


def test_length_of_several_configurations_names_the_one_that_changes_most() -> None:
    quiet, moved, turned = (0.6, 0.4, 0.8), (0.8, 0.4, 1.0), (0.75, 0.55, 0.9)
    lengths = at_equal_lengths(quiet, (0.99, None, None), quiet, moved, quiet, turned, quiet, quiet)
    (told,) = [one for one in answer(study(length_adjusted=lengths)) if "length" in one["rule"]]
    assert told["values"]["rate"]["value"] == 0.75
    counted = {name: told["values"][name] for name in ("changed", "known", "dataset", "first", "plain", "p_value")}
    assert counted == {
        "changed": 2,
        "known": 3,
        "dataset": "news-2",
        "first": "heron",
        "plain": 0.6,
        "p_value": 0.012,
    }


def verdict(name: str, rule: str, difference: float | None) -> Found:
    values = {
        "epsilon": 0.1,
        "from": 0.4,
        "difference": difference,
        "low": -0.4,
        "high": -0.2,
        "above_chance": {"value": 0.02, "low": -0.1, "high": 0.14},
        "by_chance": 0.33,
        "instances": 20,
        "alternative": {"rule": ""},
    }
    return {"judge": name, "verdict": {"rule": rule, "values": values}}


POOR, GOOD, BETTER = verdict("poor", "worse", -0.3), verdict("good", "from", 0.0), verdict("better", "everywhere", 0.1)
OPEN, CHANCE = verdict("open", "open", -0.1), verdict("chance", "chance", -0.2)
FEW = verdict("few", "few", None)


def of_judges(*judges: Found, tests: list[Found] | None = None) -> Found:
    """Return the statement on judges."""
    found = {**study(replacement=list(judges)), "judge_tests": tests or []}
    (told,) = [one for one in answer(found) if "replacement" in one["evidence"]]
    return told


@pytest.mark.parametrize(
    ("judges", "rule", "named"),
    [
        ((BETTER,), "judge_may", "better"),
        ((POOR, GOOD, BETTER), "judge_may", "better"),
        ((POOR, GOOD), "judge_may_from", "good"),
        ((verdict("some", "overall_only", 0.0),), "judge_may", "some"),
        ((POOR,), "judge_worse", "poor"),
        ((OPEN,), "judge_open", "open"),
        ((POOR, verdict("poorer", "worse", -0.4)), "judges_worse", "poor"),
        ((POOR, OPEN), "judges_open", "open"),
        ((POOR, FEW), "judges_open", "poor"),
        ((CHANCE, FEW), "judges_chance", None),
        ((FEW, FEW), "judges_untested", None),
    ],
)
def test_the_best_judge_is_named(judges: tuple[Found, ...], rule: str, named: str | None) -> None:
    told = of_judges(*judges)
    assert (told["rule"], told["values"].get("judge")) == (rule, named)
    if "may" in rule and len(judges) > 1:
        assert told["values"]["also"] == len(judges) - 1


def test_a_judge_that_can_replace_has_said_what_does_not_show_it() -> None:
    judge = verdict("some", "overall_only", 0.0)
    top = {"status": "open", "low": 0.6, "high": 0.8, "instances": 8}
    top |= {
        "difference": {"value": -0.04, "low": -0.2, "high": 0.12},
        "above_chance": {"value": 0.1, "low": 0, "high": 1},
    }
    raters = {"rule": "none", "won": 0, "tested": 5, "people": 8, "min_instances": 30, "min_people": 3}
    judge["verdict"]["values"] |= {"next_bin": top, "needed": 70, "alternative": raters}
    told = of_judges(judge)
    assert "8 instances, 4 points less, from 20 less to 12 more" in told["values"]["next_bin"]
    assert "any of 5 raters (30 instances or more; 3 of 8 have fewer)" in told["values"]["alternative"]
    assert told["text"].endswith(f"{told['values']['next_bin']} {told['values']['alternative']}")
    judge["verdict"]["values"]["alternative"] = {**raters, "rule": "few", "won": None}
    assert "alternative" not in of_judges(judge)["values"]


def test_the_base_of_judges_is_without_baselines() -> None:
    coin = verdict("coin", "everywhere", 0.2)
    found = {**study(replacement=[GOOD, POOR, coin]), "baselines": ["coin"]}
    (told,) = [one for one in answer(found) if "replacement" in one["evidence"]]
    values = told["values"]
    assert (values["judge"], values["also"], values["judges"], values["models_alone"]) == ("good", 1, 2, True)
    alone = {**study(replacement=[coin]), "baselines": ["coin"]}
    (told,) = [one for one in answer(alone) if "replacement" in one["evidence"]]
    assert (told["values"]["judge"], "models_alone" in told["values"]) == ("coin", False)


@pytest.mark.parametrize(
    ("tested", "alike"),
    [
        pytest.param([], 2, id="no test"),
        pytest.param([("open", "poor", 0.1, 0.2)], 2, id="by chance"),
        pytest.param([("open", "poor", 0.1, None)], 2, id="cannot be tested"),
        pytest.param([("poor", "open", 0.1, 0.001)], 2, id="the other agrees more"),
        pytest.param([("open", "poor", 0.1, 0.001)], 1, id="tested"),
        pytest.param([("open", "poor", 0.1, 0.001), ("few", "open", -0.1, 0.001)], None, id="both tested"),
    ],
)
def test_a_judge_that_is_nearest_by_chance_has_that_said(
    tested: list[tuple[str, str, float, float | None]], alike: int | None
) -> None:
    told = of_judges(POOR, OPEN, FEW, tests=beside(*tested))
    assert (told["values"]["judge"], told["values"].get("alike")) == ("open", alike)
    assert ("judge_tests" in told["evidence"]) == (alike is not None)
    assert ("One other may" in told["text"]) == (alike == 1)


def beside(*found: tuple[str, str, float, float | None]) -> list[dict[str, Any]]:
    """Tests between judges: the two, the difference of their agreement with people, and the adjusted p-value."""
    return [
        {"judge_a": one, "judge_b": other, "difference": {"value": value, "level": 0.95}, "adjusted": adjusted}
        for one, other, value, adjusted in found
    ]


def test_what_is_missing_is_said() -> None:
    assert rules(study(raters=[people(ratings=0)], rankings=[])) == ["no_ratings"]
    assert rules({**study(), "configurations": []}) == ["no_data"]
    found = study()
    found["configurations"][0]["separability"] = None
    assert rules(found)[-1] == "no_separability"
    found["configurations"][0]["why_code"] = "one_text"
    assert "no_separability" not in rules(found)


@pytest.mark.parametrize(
    ("scripted", "rule"), [([True, True], "all_scripted"), ([True, False, False], "scripted"), ([False], "consistency")]
)
def test_programs_among_the_raters_are_counted(scripted: list[bool], rule: str) -> None:
    headline, second, *_ = answer(study(raters_found=[{"scripted": one} for one in scripted]))
    assert second["rule"] == rule
    assert ("by_programs" in headline["values"]) == ("scripted raters" in headline["text"]) == (rule == "all_scripted")
    assert rule == "consistency" or second["values"] == {"scripted": sum(scripted), "raters": len(scripted)}


def test_no_more_than_five_statements() -> None:
    found = study(
        rankings=[win_rates(0.55, 0.45, 0.65, ("a", "b"))],
        replacement=[OPEN],
        raters_found=[{"scripted": True}],
        length_adjusted=at_equal_lengths((0.55, 0.45, 0.65), (0.75, 0.6, 0.85)),
    )
    five = ["all_scripted", "consistency", "agreement_above_chance", "judge_open", "length_newly"]
    assert rules(found) == ["no_preference", *five]
    unknown = at_equal_lengths((0.9, 0.8, 1.0), (None, None, None))
    unknown[1]["configurations"][0]["win_rate_a"]["why_code"] = "no_overlap"
    # An unknown effect of length is the last to be said.
    assert rules({**found, "length_adjusted": unknown}) == ["no_preference", *five[:4], "more_instances"]


def test_the_win_rate_at_equal_lengths_is_said_where_length_changes_nothing() -> None:
    headline = answer(study(length_adjusted=at_equal_lengths((0.3, 0.2, 0.4), (0.31, 0.2, 0.42), matters=False)))[0]
    assert headline["values"]["equal"]["value"] == 0.31
    turned = win_rates(0.3, 0.2, 0.4, ("heron", "magpie"))
    lengths = at_equal_lengths((0.3, 0.2, 0.4), (0.31, 0.2, 0.42), matters=False)
    headline = answer(study(rankings=[turned], length_adjusted=lengths))[0]
    assert (headline["values"]["first"], headline["values"]["equal"]["low"]) == ("magpie", pytest.approx(0.58))
    same = (0.7, 0.6, 0.8)
    headline = answer(study(length_adjusted=at_equal_lengths(*[same] * 6, matters=False)))[0]
    assert (headline["values"]["unchanged"], "equal" in headline["values"]) == (3, False)
    changed = answer(study(length_adjusted=at_equal_lengths(same, (0.9, 0.8, 1.0))))[0]["values"]
    assert not {"equal", "unchanged"} & set(changed)


def test_hostile_names_are_escaped_and_cannot_format() -> None:
    names = (HOSTILE, "{level} %(low)s \x1b[31m")
    told = answer(study(rankings=[win_rates(0.7, 0.6, 0.8, names)]))[0]
    shown = on_page(told["rule"], told["values"])
    assert HOSTILE not in shown
    assert "<bdi>&lt;script&gt;" in shown
    assert "<bdi>{level} %(low)s" in shown
    assert "\x1b" not in told["text"]
    assert HOSTILE in told["text"]
