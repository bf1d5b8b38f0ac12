"""Judges beside people, judges beside one another, their own family and lengths: from arrays to the findings' JSON."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.agreement.confusion import cohen_kappa, majority_agreement, votes_agreement
from analysis.agreement.leave_one_out import leave_one_out_agreement
from analysis.bias.length_adjusted import LengthVerdicts, length_adjusted_win_rate, length_adjusted_win_rates
from analysis.intervals.analytic import ratio_spread
from analysis.intervals.jackknife import student_tail
from analysis.intervals.multiple_testing import holm
from reporting.core.reasons import TOO_FEW
from reporting.findings.data.inputs import ConfigurationData, Filters
from reporting.findings.data.separability_bins import bins_of
from reporting.findings.data.vote_table import vote_table
from reporting.findings.judges.biases import length_adjusted, self_preference
from reporting.findings.judges.judges_against_people import agreement_by_bin, judge_tests, judges_against_people
from reporting.findings.pooled.pooled import people_agreement
from tests.reporting.findings.arrays import Row, configuration_data

FILTERS = Filters()
A, TIE, B = -1.0, 0.0, 1.0


def rows_of(table: np.ndarray) -> list[Row]:
    """Rows of a table of units (an instance of one pair each) by people."""
    return [(unit, 0, f"p{h}", v) for unit, row in enumerate(table.tolist()) for h, v in enumerate(row) if v == v]


def one_judge(table: np.ndarray, judge: np.ndarray) -> ConfigurationData:
    judged = [(unit, 0, verdict) for unit, verdict in enumerate(judge.tolist()) if verdict == verdict]
    return configuration_data(rows_of(table), {"j": judged}, instances=len(table))


def beside(table: np.ndarray, judge: np.ndarray) -> dict[str, Any]:
    (found,) = judges_against_people(vote_table([one_judge(table, judge)], None), None, FILTERS)
    json.dumps(found, allow_nan=False)
    overall: dict[str, Any] = found["overall"]
    return overall


def random_study(seed: int, n: int = 30, people: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    table = rng.choice([A, TIE, B, np.nan], (n, people), p=[0.3, 0.2, 0.3, 0.2])
    return table, rng.choice([A, TIE, B, np.nan], n, p=[0.4, 0.1, 0.4, 0.1])


@pytest.mark.parametrize("two_voters", [False, True])
def test_agreement_of_people_is_raw_agreement_where_pairs_have_equally_many_votes(two_voters: bool) -> None:
    table = np.random.default_rng(7).choice([A, TIE, B], (30, 4), p=[0.6, 0.1, 0.3])
    if two_voters:  # on some pairs: these count for less among the pairs of votes
        table[:15, 2:] = np.nan
    data = one_judge(table, np.full(30, A))
    (found,) = judges_against_people(vote_table([data], None), None, FILTERS)
    of_votes = found["overall"]["people_agreement"]
    of_pairs = people_agreement(vote_table([data]), FILTERS.intervals)["raw_agreement"]
    same = [of_votes[key] == pytest.approx(of_pairs[key], rel=1e-12) for key in ("value", "low", "high")]
    assert same == [not two_voters] * 3


def test_table_by_hand() -> None:
    # Judge A, votes A A B: 2 of 3; others 1/2 1/2 0. Judge B, votes tie B: 1 of 2; others 0 0. A single vote stands apart.
    found = beside(np.array([[A, A, B], [TIE, B, np.nan], [A, np.nan, np.nan]]), np.array([A, B, A]))
    assert (found["agreement"]["value"], found["agreement"]["n"]) == (pytest.approx(3 / 5), 5)
    assert found["people_agreement"]["value"] == pytest.approx(1 / 5)
    assert found["agreement"]["excluded"] == 1
    # The second pair has no majority; the single vote of the third is one.
    assert (found["accuracy"]["value"], found["accuracy"]["n"], found["accuracy"]["excluded"]) == (1.0, 2, 1)
    assert found["agreement"]["low"] is None
    assert found["agreement"]["why"] == TOO_FEW.with_values(of="instances", least=5).text


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32))
def test_numbers_are_those_of_the_measures(seed: int) -> None:
    table, judge = random_study(seed)
    found = beside(table, judge)
    together = ~np.isnan(judge) & ((~np.isnan(table)).sum(axis=1) > 1)
    assert found["agreement"]["value"] == pytest.approx(votes_agreement(judge[together], table[together]).value)
    assert found["people_agreement"]["value"] == pytest.approx(leave_one_out_agreement(table[together]).value)
    majority = majority_agreement(judge, table)
    assert (found["accuracy"]["value"], found["accuracy"]["n"]) == (pytest.approx(majority.value), majority.n)
    judge_by_vote = [(judge[u], v) for u in np.flatnonzero(together) for v in table[u] if v == v]
    assert found["kappa"]["value"] == pytest.approx(cohen_kappa(*zip(*judge_by_vote, strict=True)))
    gap = found["kappa"]["value"] - found["people_kappa"]["value"]
    assert found["kappa_difference"]["value"] == pytest.approx(gap)
    turned = beside(-table, -judge)
    for name, one in found.items():
        assert (turned[name]["value"], turned[name]["high"]) == pytest.approx((one["value"], one["high"]))


def test_kappa_of_people_is_cohens_where_two_rate_with_equal_margins() -> None:
    table = np.array([[A, A], [B, B], [A, B], [B, A], [A, A], [B, B]] * 5)
    found = beside(table, np.full(30, A))
    assert (
        found["people_kappa"]["value"] == pytest.approx(cohen_kappa(table[:, 0], table[:, 1])) == pytest.approx(1 / 3)
    )
    assert found["people_kappa"]["low"] < 1 / 3 < found["people_kappa"]["high"]
    assert found["kappa"]["value"] == pytest.approx(0)


@pytest.mark.parametrize("n", [19, 20])
def test_kappa_has_an_interval_from_twenty_instances(n: int) -> None:
    table, judge = random_study(3, n=80)
    whole = ~np.isnan(judge) & (~np.isnan(table)).all(axis=1)
    found = beside(table[whole][:n], judge[whole][:n])
    assert (found["kappa"]["low"] is None) == (n < 20)
    assert found["agreement"]["low"] is not None


def test_bins_part_the_pairs_and_empty_ones_say_why() -> None:
    table, judge = random_study(7)
    data, bins = one_judge(table, judge), bins_of(np.array([0.0] * 10 + [1.0] * 20), 5)
    votes = vote_table([data], bins)
    (found,) = judges_against_people(votes, bins, FILTERS)
    assert [one["instances"] for one in found["bins"]] == [10, 0, 0, 0, 20]
    assert sum(one["agreement"]["n"] for one in found["bins"]) == found["overall"]["agreement"]["n"]
    assert found["bins"][0]["agreement"]["value"] == beside(table[:10], judge[:10])["agreement"]["value"]
    assert found["bins"][2]["agreement"]["why_code"] == "no_shared_votes"
    listed = agreement_by_bin(votes, [found], bins, FILTERS)
    assert listed is not None
    assert [one["rater"] for one in listed[4]["raters"]] == ["people", "judge:j"]
    assert listed[4]["raters"][0]["agreement"]["value"] == pytest.approx(leave_one_out_agreement(table[10:]).value)
    assert listed[4]["raters"][1]["kappa"]["value"] == found["bins"][4]["kappa"]["value"]
    assert agreement_by_bin(votes, [found], None, FILTERS) is None


@pytest.mark.parametrize("verdict", [A, TIE])
def test_one_verdict_throughout_has_agreement_and_no_kappa(verdict: float) -> None:
    found = beside(np.full((30, 3), verdict), np.full(30, verdict))
    assert (found["agreement"]["value"], found["agreement"]["high"]) == (1.0, 1.0)
    assert found["agreement"]["low"] < 1
    assert (found["kappa"]["value"], found["people_agreement"]["value"]) == (None, 1.0)
    assert found["kappa"]["why_code"] == "no_shared_votes"


def test_judges_are_compared_on_the_votes_that_both_judged() -> None:
    table, first = random_study(11, n=60)
    second = np.where(np.arange(60) % 3, np.nanmax(np.where(np.isnan(table), -9, table), axis=1), first)
    second[second == -9] = np.nan
    second[:5] = np.nan
    judged = {
        name: [(u, 0, v) for u, v in enumerate(one.tolist()) if v == v] for name, one in (("x", first), ("y", second))
    }
    data = configuration_data(rows_of(table), judged, instances=60)
    (found,) = judge_tests(vote_table([data], None), FILTERS)
    rows = [
        (u, float(v == first[u]) - float(v == second[u]))
        for u in range(60)
        for v in table[u]
        if v == v and first[u] == first[u] and second[u] == second[u]
    ]
    spread = ratio_spread([(gap, 1) for _, gap in rows], [u for u, _ in rows])
    assert found["difference"]["value"] == pytest.approx(spread.value)
    assert found["p_value"] == pytest.approx(2 * student_tail(abs(spread.value) / spread.error, spread.effective - 1))
    assert (found["judge_a"], found["judge_b"], found["of"]) == ("x", "y", 1)
    assert found["adjusted"] == found["p_value"]


def test_several_tests_are_adjusted_and_untested_ones_do_not_count() -> None:
    table, judge = random_study(13, n=60)
    judged = {
        "a": [(u, 0, A) for u in range(60)],
        "b": [(u, 0, B) for u in range(60)],
        "c": [(u, 0, v) for u, v in enumerate(judge.tolist()) if v == v],
        "few": [(u, 0, A) for u in range(3)],
    }
    data = configuration_data(rows_of(table), judged, instances=60)
    found = judge_tests(vote_table([data], None), FILTERS)
    assert len(found) == 6
    tested = [one for one in found if one["p_value"] is not None]
    assert {one["of"] for one in found} == {3} == {len(tested)}
    assert all(one["adjusted"] >= one["p_value"] for one in tested)
    assert max(one["adjusted"] / one["p_value"] for one in tested) == pytest.approx(3)
    untested = next(one for one in found if "few" in (one["judge_a"], one["judge_b"]))
    assert untested["difference"]["low"] is None
    assert judge_tests(vote_table([one_judge(table, judge)], None), FILTERS) == []


def prefers(own: float, people: float, n: int = 20) -> ConfigurationData:
    """B is of the judge's family; shares of B's wins with the judge and with two people."""
    judged = [(u, 0, B if u < own * n else A) for u in range(n)]
    rows = [(u, 0, code, B if u < people * n else A) for u in range(n) for code in ("p", "q")]
    families = {"one": "Mistral", "two": " gpt", "j": "GPT"}
    return configuration_data(rows, {"j": judged}, instances=n, families=families)


def family_of(*everything: ConfigurationData) -> dict[str, Any]:
    (found,) = self_preference(everything, vote_table(everything, None), FILTERS)
    json.dumps(found, allow_nan=False)
    return found


def test_own_family_is_preferred_by_what_people_do_not() -> None:
    found = family_of(prefers(0.9, 0.6))
    values = [found[name]["value"] for name in ("with_judge", "with_people", "difference")]
    assert values == pytest.approx([0.9, 0.6, 0.3])
    assert found["difference"]["low"] > 0
    assert (found["family"], found["configurations"], found["difference"]["n"]) == ("GPT", 1, 20)


def test_family_counts_on_either_side_and_once_only() -> None:
    mirrored = prefers(0.1, 0.4)
    names = {"one": "gpt", "two": "Mistral", "j": "gpt"}
    judged = [(u, 0, v) for u, v in enumerate(mirrored.judges[0].rated.outcomes.verdict.tolist())]
    people = mirrored.people.rated
    rows = [
        (int(u), 0, people.raters[r], v)
        for u, r, v in zip(
            people.outcomes.instance, people.outcomes.rater, people.outcomes.verdict.tolist(), strict=True
        )
    ]
    other = configuration_data(rows, {"j": judged}, instances=20, families=names, dataset="other")
    assert family_of(other)["difference"]["value"] == pytest.approx(0.3)
    own = configuration_data(rows, {"j": judged}, instances=20, families=dict.fromkeys(names, "gpt"))
    assert family_of(own)["why_code"] == "no_pair_of_family"
    assert family_of(other, own)["difference"]["n"] == 20


@pytest.mark.parametrize(
    ("families", "verdict", "why"),
    [
        ({"one": "gpt"}, A, "no_family"),
        ({"j": "gpt"}, A, "no_system_family"),
        ({"j": "gpt", "one": "llama"}, A, "no_pair_of_family"),
        ({"j": "gpt", "one": "gpt"}, None, "no_common_pair"),
    ],
)
def test_missing_families_and_verdicts_are_said(families: dict[str, str], verdict: float | None, why: str) -> None:
    data = configuration_data([(0, 0, "p", A)], {"j": [(0, 0, verdict)]}, instances=1, families=families)
    found = family_of(data)
    assert (found["why_code"], found["difference"]["value"], found["with_people"]["why_code"]) == (why, None, why)


def test_lengths_are_adjusted_for_people_and_judges() -> None:
    rng = np.random.default_rng(1)
    lengths = {(u, 0): (100.0, 100.0 + 60 * rng.normal()) for u in range(80)}
    gap = np.array([b - a for a, b in lengths.values()])
    verdict = np.where(rng.random(80) < 1 / (1 + np.exp(-0.5 - gap / 40)), B, A)
    rows = [(u, 0, "p", v) for u, v in enumerate(verdict.tolist())] + [(0, 1, "p", B)]
    data = configuration_data(rows, {"j": [(u, 0, TIE) for u in range(80)]}, instances=80, lengths=lengths)
    people, judge = length_adjusted([data], vote_table([data]), FILTERS)
    expected = length_adjusted_win_rate(np.append(-verdict, -1), np.append(-gap, 0), np.append(np.arange(80), 0))
    (found,) = people["configurations"]
    assert found["win_rate_a"]["value"] == pytest.approx(expected.win_rate)
    assert (found["win_rate_a"]["low"], found["win_rate_a"]["high"]) == pytest.approx((expected.low, expected.high))
    assert found["plain"]["value"] == pytest.approx(expected.plain)
    effect = expected.length_effect, expected.effect_low, expected.effect_high
    assert tuple(found[f"length_effect{end}"] for end in ("", "_low", "_high")) == pytest.approx(effect)
    assert (judge["rater"], judge["configurations"][0]["win_rate_a"]["value"]) == ("judge:j", pytest.approx(0.5))
    assert (people["ridge"], found["mean_length_a"]) == (0.01, 100.0)


def test_rates_at_equal_lengths_are_not_shown_where_lengths_hardly_overlap() -> None:
    """B's texts are longer by two standard deviations of the differences: 3 % of the pairs are near equal lengths."""
    rng = np.random.default_rng(2)
    lengths = {(u, 0): (1000.0, 1400.0 + 200 * rng.normal()) for u in range(200)}
    rows = [(u, 0, "p", B if u % 5 else A) for u in range(200)]
    data = configuration_data(rows, {}, instances=200, lengths=lengths)
    [people, *_] = length_adjusted([data], vote_table([data]), FILTERS)
    (found,) = people["configurations"]
    assert found["near_equal"] < 0.1
    assert found["plain"]["value"] == 0.2
    assert [found["win_rate_a"][key] for key in ("value", "low", "why_code")] == [None, None, "no_overlap"]
    assert {found[key] for key in ("length_effect", "length_effect_low", "length_effect_adjusted", "matters")} == {None}


def test_length_matters_by_holm_over_configurations_and_the_paired_change() -> None:
    """One configuration in which the longer text wins and B's is longer, beside three where length plays no part."""
    rng = np.random.default_rng(4)
    datas = []
    for number in range(4):
        gap = rng.normal(size=200) + (0.8 if number == 0 else 0)
        odds = 3 * np.tanh(gap) if number == 0 else np.zeros(200)
        verdict = np.where(rng.random(200) < 1 / (1 + np.exp(-odds)), B, A)
        lengths = {(u, 0): (1000.0, 1000 + 100 * one) for u, one in enumerate(gap.tolist())}
        rows = [(u, 0, "p", one) for u, one in enumerate(verdict.tolist())]
        datas.append(configuration_data(rows, {}, instances=200, lengths=lengths, dataset=f"data {number}"))
    [people] = length_adjusted(datas, vote_table(datas), FILTERS)
    found = people["configurations"]
    assert [one["matters"] for one in found] == [True, False, False, False]
    raw = [one["length_effect_p_value"] for one in found]
    assert [one["length_effect_adjusted"] for one in found] == pytest.approx(holm(raw).tolist())
    change = found[0]["change"]
    assert change["value"] == pytest.approx(found[0]["win_rate_a"]["value"] - found[0]["plain"]["value"])
    # Paired: far narrower than an interval of two independent rates.
    apart = [found[0][key]["high"] - found[0][key]["low"] for key in ("plain", "win_rate_a")]
    assert 0 < change["high"] - change["low"] < np.hypot(*apart)


def test_configurations_of_a_data_set_with_three_systems_are_fitted_together() -> None:
    """Instances are told apart by their ids; configurations of another data set stay alone."""
    rng = np.random.default_rng(6)
    datas, compared = [], []
    for dataset, systems in (("news", ("one", "two")), ("news", ("three", "one")), ("chat", ("one", "two"))):
        gap, verdict = rng.normal(size=60).round(3) * 100, rng.choice([A, B], 60)
        lengths = {(u, 0): (1000.0, 1000 + one) for u, one in enumerate(gap.tolist())}
        rows = [(u, 0, "p", one) for u, one in enumerate(verdict.tolist())]
        datas.append(
            configuration_data(
                rows, {}, instances=60, lengths=lengths, dataset=dataset, systems=systems, prefix=dataset
            )
        )
        compared.append(LengthVerdicts(-verdict, -gap, np.arange(60), systems[::-1]))
    [people] = length_adjusted(datas, vote_table(datas), FILTERS)
    expected = [*length_adjusted_win_rates(compared[:2]), *length_adjusted_win_rates(compared[2:])]
    found = people["configurations"]
    assert [one["win_rate_a"]["value"] for one in found] == pytest.approx([one.win_rate for one in expected])
    assert [one["change"]["low"] for one in found] == pytest.approx([one.change_low for one in expected])
    assert [one.get("together", {}).get("ridge") for one in found] == [expected[0].ridge, expected[1].ridge, None]
    assert found[1]["together"]["length_effect"] == pytest.approx(expected[0].common_effect)


def test_lengths_without_verdicts_or_variation_say_why() -> None:
    same = {(u, 0): (100.0, 150.0) for u in range(30)}
    rows = [(u, 0, "p", A) for u in range(30)]
    data = configuration_data(rows, {"j": []}, instances=30, lengths=same)
    (people, judge) = length_adjusted([data], vote_table([data]), FILTERS)
    assert people["configurations"][0]["win_rate_a"]["why_code"] == "one_difference"
    assert people["configurations"][0]["plain"]["value"] == 1.0
    assert judge["configurations"][0]["win_rate_a"]["why_code"] == "no_verdict"
    assert judge["configurations"][0]["mean_length_a"] is None


@pytest.mark.parametrize(("decided", "why"), [(20, "follows_length"), (19, "few_decided"), (3, "few_decided")])
def test_rates_at_equal_lengths_are_not_shown_where_verdicts_follow_length_alone(decided: int, why: str) -> None:
    gap = np.random.default_rng(3).normal(size=100)
    lengths = {(u, 0): (1000.0, 1000.0 + 100 * gap[u]) for u in range(100)}
    rows = [(u, 0, "p", 0.0 if u >= decided else B if gap[u] > 0 else A) for u in range(100)]
    data = configuration_data(rows, {}, instances=100, lengths=lengths)
    [people, *_] = length_adjusted([data], vote_table([data]), FILTERS)
    (found,) = people["configurations"]
    assert [found["win_rate_a"][key] for key in ("value", "low", "why_code")] == [None, None, why]
    assert (found["win_rate_a"]["why"] == f"too few decided verdicts: {decided}") == (why == "few_decided")
    assert {found[key] for key in ("length_effect", "length_effect_low", "length_effect_adjusted", "matters")} == {None}
