"""Rankings, win matrices and tests between systems, from arrays; the golden cases through the whole path."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from annotation.core.reasons import Reason
from reporting.core.reasons import TOO_FEW
from reporting.findings.data.inputs import ConfigurationData, Filters
from reporting.findings.data.vote_table import vote_table
from reporting.findings.pooled.pooled import StudyScale
from reporting.findings.rankings.rankings import ranking_findings
from reporting.findings.reasons import (
    ALL_TOO_FEW_TO_TEST,
    NOT_COMPUTED,
    NOT_TESTED,
    SHARED_FIRST,
    TOO_FEW_TO_TEST,
    UNEQUAL,
    not_tested,
)
from reporting.findings.text import as_text
from reporting.leaderboard.leaderboard import by_rater
from tests.reporting.builders import GOLDEN, build_configuration, build_study, findings, rate
from tests.reporting.findings.arrays import configuration_data

Vote = tuple[str, int, str, float]  # instance, pair, rater's code, verdict
MODELS = ("bradley_terry", "elo", "sep_bradley_terry", "sep_elo")
QUICK = Filters(rounds=1)
NO_SCALE = StudyScale(why=NOT_COMPUTED)
CASES = json.loads((GOLDEN / "ranking_cases.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("clusters", "reason"),
    [
        ([10, 13, 12], ALL_TOO_FEW_TO_TEST.with_values(n=13, least=20)),
        ([10, 20, 12], TOO_FEW_TO_TEST.with_values(n=10, least=20)),
        ([20, 30], NOT_TESTED),
    ],
)
def test_the_reason_names_the_most_instances_where_no_system_has_enough(clusters: list[int], reason: Reason) -> None:
    assert not_tested(clusters, 20).text == reason.text


def configuration(a: str, b: str, votes: Sequence[Vote], *, dataset: str = "news") -> ConfigurationData:
    """One configuration that people voted on."""
    instances = tuple(dict.fromkeys(one for one, *_ in votes))
    rows = [(instances.index(one), *rest) for one, *rest in votes]
    made = configuration_data(rows, {}, instances=len(instances), dataset=dataset, systems=(a, b))
    return replace(made, instance_ids=instances)


def counted(a: str, b: str, wins: int, ties: int, losses: int, *, per: int = 15) -> ConfigurationData:
    """Votes in these numbers, mixed over instances of `per` pairs each."""
    verdicts = np.random.default_rng([wins, ties, losses]).permutation(
        np.repeat([-1.0, 0.0, 1.0], [wins, ties, losses])
    )
    return configuration(
        a, b, [(f"{a}-{b}-{n // per}", n % per, "ann", one) for n, one in enumerate(verdicts.tolist())]
    )


def case(name: str) -> list[ConfigurationData]:
    return [counted(row["a"], row["b"], row["a_wins"], row["ties"], row["b_wins"]) for row in CASES[name]["rows"]]


def found(data: Sequence[ConfigurationData], filters: Filters = QUICK, scale: StudyScale = NO_SCALE) -> dict[str, Any]:
    return ranking_findings(data, vote_table(data), scale, filters)


def by_measure(all_found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["measure"]: one for one in all_found["rankings"]}


def column(ranking: dict[str, Any], key: str = "value") -> dict[str, Any]:
    return {row["system"]: row[key] for row in ranking["systems"]}


def scale_of(data: Sequence[ConfigurationData], delta: float = 0.4) -> StudyScale:
    return StudyScale(values=tuple(np.full(len(one.instance_ids), delta) for one in data))


@pytest.mark.parametrize("name", list(CASES))
def test_golden_rankings_are_met(name: str) -> None:
    known = CASES[name]
    rankings = by_measure(found(case(name)))
    assert column(rankings["win_rate"]) == pytest.approx(known["win_rate_ties_half"], abs=1e-9)
    assert column(rankings["bradley_terry"], "strength") == pytest.approx(known["bradley_terry"], abs=1e-8)
    assert column(rankings["bradley_terry"]) == pytest.approx(known["elo_scale"], abs=1e-6)
    for measure in {"sep_bradley_terry", "sep_elo"} & set(rankings):  # without a scale
        assert {row["why_code"] for row in rankings[measure]["systems"]} == {"not_computed"}
        assert set(column(rankings[measure]).values()) == {None}
    davidson = by_measure(found(case(name), replace(QUICK, ties="davidson")))["bradley_terry"]
    assert column(davidson, "strength") == pytest.approx(known["davidson"], abs=1e-5)
    assert davidson["settings"]["tie_parameter"] == pytest.approx(known["davidson_nu"], abs=1e-5)


@pytest.mark.slow
@pytest.mark.django_db
def test_opponents_confound_the_rate_and_no_model_from_the_database() -> None:
    study = build_study()
    known = CASES["confounded_by_opponents"]
    for row in known["rows"]:
        built = build_configuration(
            study, instances=25, pairs=30, dataset="cnn", systems=(row["a"], row["b"]), prefix=row["a"]
        )
        verdicts = np.repeat([-1, 0, 1], [row["a_wins"], row["ties"], row["b_wins"]])
        mixed = np.random.default_rng(row["ties"]).permutation(verdicts).reshape(25, 30).tolist()
        for place, votes in enumerate(mixed):
            rate(built, place, "ann", votes)
    numbers = findings(study, rounds=1)
    rankings = by_measure(numbers)
    assert rankings["win_rate"]["systems"][0]["system"] == "gpt-3.5"
    assert rankings["bradley_terry"]["systems"][0]["system"] == "mistral-7b"
    assert "near their start" in rankings["elo"]["caution"]  # 75 matchups of at most 4 points each
    assert column(rankings["win_rate"]) == pytest.approx(known["win_rate_ties_half"], abs=1e-9)
    assert column(rankings["bradley_terry"], "strength") == pytest.approx(known["bradley_terry"], abs=1e-8)
    assert column(rankings["bradley_terry"], "rank")["weak"] == 4
    assert column(rankings["bradley_terry"], "rank_low")["weak"] == 4
    assert "depends" not in rankings["bradley_terry"].get("caution", "")
    assert "is not a ranking" in rankings["win_rate"]["caution"]
    said = as_text(numbers)
    assert "462 [" in said
    json.dumps(numbers, allow_nan=False)


def test_cycle_is_said_with_the_matrix() -> None:
    [matrix] = found(case("cycle"))["win_matrices"]
    assert matrix["systems"] == ["x", "y", "z"]
    assert matrix["cycles"] == [["x", "y", "z"]]
    assert matrix["wins"][0] == [0.0, 32.0, 18.0]  # of x: 30 + 4/2 against y, 15 + 6/2 against z
    assert matrix["comparisons"][0] == [0, 50, 50]
    assert matrix["ties"][1] == [4, 0, 2]


def test_weight_of_one_leaves_bradley_terry_and_elo_as_they_are() -> None:
    data = case("confounded_by_opponents")
    rankings = by_measure(found(data, scale=scale_of(data)))
    plain, weighted = rankings["bradley_terry"], rankings["sep_bradley_terry"]
    assert column(weighted) == pytest.approx(column(plain), abs=1e-6)
    assert column(weighted, "low") == pytest.approx(column(plain, "low"), abs=1e-6)
    assert column(rankings["sep_elo"]) == pytest.approx(column(rankings["elo"]), abs=1e-9)
    assert weighted["settings"] | {"threshold": 0.4, "alpha": 2.0, "beta": 6.0} == weighted["settings"]
    assert weighted["without_separability"] == {"comparisons": 0, "instances": 0}


def test_weights_count_separable_instances_more() -> None:
    # On separable instances x always beats y but once, on the others they are even.
    votes = [(f"i{n}", 0, "ann", -1.0 if n else 1.0) for n in range(20)]
    votes += [(f"j{n}", 0, "ann", 1.0 if n % 2 else -1.0) for n in range(20)]
    data = [configuration("x", "y", votes), counted("y", "z", 10, 0, 10, per=1)]
    deltas = (np.repeat([0.9, -0.9], 20), np.full(20, np.nan))
    rankings = by_measure(found(data, scale=StudyScale(values=deltas)))
    weighted = rankings["sep_bradley_terry"]
    assert column(weighted, "strength")["x"] > column(rankings["bradley_terry"], "strength")["x"]
    assert weighted["without_separability"] == {"comparisons": 20, "instances": 20}
    assert column(weighted)["z"] is None
    assert column(weighted, "excluded")["x"] == 20
    low, high = (2 / (1 + math.exp(-6 * (delta - 0.4))) for delta in (-0.9, 0.9))
    odds = (19 * high + 10 * low) / (high + 10 * low)
    gap = column(weighted, "strength")["x"] - column(weighted, "strength")["y"]
    assert gap == pytest.approx(math.log(odds), abs=1e-9)


def test_rank_intervals_hold_the_rank_and_say_what_is_sure() -> None:
    result = found(case("confounded_by_opponents"))
    rankings = by_measure(result)
    for measure in ("win_rate", "win_loss_rate", "bradley_terry", "elo"):
        for row in rankings[measure]["systems"]:
            if measure == "bradley_terry":
                assert row["rank_low"] <= row["rank"] <= row["rank_high"]
            assert row["low"] <= row["value"] <= row["high"]
            assert row["n_instances"] in (50, 100)
    strengths = rankings["bradley_terry"]
    assert strengths["first"] == {
        "system": "mistral-7b",
        "by_more_than_chance": strengths["first"]["p_value"] < 0.05,
        "p_value": strengths["first"]["p_value"],
        "against": strengths["first"]["against"],
    }
    doubts = [one for one in result["system_tests"] if "mistral-7b" in (one["system_a"], one["system_b"])]
    most = max(doubts, key=lambda one: one["adjusted"])
    assert strengths["first"]["against"] in (most["system_a"], most["system_b"])
    assert strengths["tests"] == {"adjustment": "Holm", "of": 6, "level": 0.95}


def test_tests_between_systems_are_adjusted_and_in_elo_points() -> None:
    tests = found(case("confounded_by_opponents"))["system_tests"]
    assert [(one["system_a"], one["system_b"]) for one in tests[:2]] == [
        ("gpt-3.5", "mistral-7b"),
        ("gpt-3.5", "vicuna-7b"),
    ]
    scores = CASES["confounded_by_opponents"]["elo_scale"]
    for one in tests:
        difference = one["difference"]
        assert difference["value"] == pytest.approx(scores[one["system_a"]] - scores[one["system_b"]], abs=1e-6)
        assert one["p_value"] <= one["adjusted"] <= 1
        assert one["of"] == 6
        # One half-width of Student's t: significant at 0.05 exactly where the interval leaves out 0.
        assert (one["p_value"] < 0.05) == (difference["low"] > 0 or difference["high"] < 0)


def test_two_systems_are_tested_by_wins_less_losses() -> None:
    votes = [(f"i{n}", pair, "ann", -1.0 if n % 4 else 1.0) for n in range(20) for pair in range(3)]
    turned = [(f"j{n}", pair, "ann", 1.0) for n in range(4) for pair in range(3)]
    result = found([configuration("y", "x", votes), configuration("x", "y", turned, dataset="zz")])
    assert {one["measure"] for one in result["rankings"]} == {"win_rate", "win_loss_rate"}
    [one] = result["system_tests"]
    assert (one["system_a"], one["system_b"], one["measure"]) == ("x", "y", "win_loss_rate")
    # y is preferred on 15 of 20 instances and on 4 of 4: (5 - 15 - 4) / 24.
    assert one["difference"]["value"] == pytest.approx(-14 / 24)
    assert one["difference"]["n_instances"] == 24
    assert one["p_value"] == one["adjusted"] < 0.02  # n* is 20.6 at 95 %
    few = found([configuration("y", "x", votes[:9])])["system_tests"][0]
    assert few["p_value"] is None
    assert few["difference"]["why"] == TOO_FEW.with_values(of="instances", least=5).text


def test_a_test_counts_what_compares_its_two_systems() -> None:
    # x meets y on 20 instances with 3 pairs each, y meets z on 10 others, and u meets v alone.
    votes = [(f"i{n}", pair, "ann", -1.0 if n % 4 else 1.0) for n in range(20) for pair in range(3)]
    others = [(f"j{n}", pair, "ann", -1.0 if n % 3 else 1.0) for n in range(10) for pair in range(3)]
    data = [configuration("x", "y", votes), configuration("y", "z", others), configuration("u", "v", votes[:9])]
    tests = {(one["system_a"], one["system_b"]): one for one in found(data)["system_tests"]}
    assert tests["x", "y"]["met"] == {"verdicts": 60, "instances": 20}
    assert tests["y", "z"]["met"] == {"verdicts": 30, "instances": 10}
    assert tests["x", "z"]["met"] == {"verdicts": 0, "instances": 0}
    assert {pair: one["difference"]["n"] for pair, one in tests.items()} == {
        ("u", "v"): 9,
        ("x", "y"): 90,
        ("x", "z"): 90,
        ("y", "z"): 90,
    }


votes_of_two = st.lists(st.tuples(st.integers(0, 9), st.sampled_from("abc"), st.sampled_from([-1.0, 0.0, 1.0])))


@pytest.mark.slow
@given(votes_of_two, st.booleans())
@examples(max_examples=25)
def test_two_systems_have_one_test_and_its_interval_everywhere(
    drawn: list[tuple[int, str, float]], two_way: bool
) -> None:
    # Rating sets of unequal sizes, over instances alone or over raters too.
    votes = [(f"i{instance}", number, who, verdict) for number, (instance, who, verdict) in enumerate(drawn)]
    result = found([configuration("x", "y", votes)], replace(QUICK, two_way=two_way))
    [test], rankings = result["system_tests"], by_measure(result)
    [of_x] = [row for row in rankings["win_loss_rate"]["systems"] if row["system"] == "x"]
    assert test["difference"].items() <= of_x.items()
    for ranking in rankings.values():
        first, best = ranking["first"], ranking["systems"][0]
        assert first.get("p_value") == test["p_value"] == test["adjusted"]
        assert ranking["tests"]["of"] == test["of"]
        if test["p_value"] is None:
            assert first["by_more_than_chance"] is None
            assert best["low"] is None
        else:
            level = 0.5 if ranking["measure"] == "win_rate" else 0.0
            assert first["by_more_than_chance"] == (best["low"] > level)
            assert best["rank_high"] == (1 if first["by_more_than_chance"] else 2)


def test_equal_instances_have_the_p_value_of_the_sign_test() -> None:
    data = [configuration("x", "y", [(f"i{n}", 0, "ann", -1.0) for n in range(8)])]
    [one] = found(data)["system_tests"]
    assert one["p_value"] == pytest.approx(2 * 0.5**8)
    even = [configuration("x", "y", [(f"i{n}", 0, "ann", 0.0) for n in range(8)])]
    assert found(even)["system_tests"][0]["p_value"] == 1.0


def test_groups_are_ranked_within_themselves() -> None:
    data = [counted("a", "b", 30, 5, 10, per=1), counted("c", "d", 20, 5, 21, per=1)]
    rankings = by_measure(found(data))
    for measure in ("win_rate", "bradley_terry", "elo"):
        ranking = rankings[measure]
        assert ranking["groups"] == [["a", "b"], ["c", "d"]]
        assert "never compared" in ranking["note"]
        assert column(ranking, "rank") == {"a": 1, "b": 2, "c": 2, "d": 1}
        assert column(ranking, "group") == {"a": 0, "b": 0, "c": 1, "d": 1}
        assert [row["system"] for row in ranking["systems"]] == ["a", "b", "d", "c"]
        assert ranking["first"]["system"] is None
    assert len(found(data)["system_tests"]) == 2


def test_system_never_compared_is_undefined_for_a_reason() -> None:
    data = [counted("a", "b", 30, 5, 10, per=1), configuration("b", "lone", [("q", 0, "ann", math.nan)])]
    for measure in ("win_rate", "bradley_terry", "elo"):
        ranking = by_measure(found(data))[measure]
        [row] = [one for one in ranking["systems"] if one["system"] == "lone"]
        assert row["value"] is row["rank"] is None
        assert row["why_code"] == "never_compared"
        assert ranking["systems"][-1] is row
        assert row["excluded"] == 1
        assert ranking["first"]["by_more_than_chance"] is True


def test_separation_is_finite_by_a_prior_that_is_said() -> None:
    data = [counted("a", "b", 40, 0, 0, per=1), counted("b", "c", 20, 0, 20, per=1)]
    result = found(data)
    ranking = by_measure(result)["bradley_terry"]
    assert "won nothing" in ranking["note"]
    assert ranking["settings"]["prior"] == 1.0
    for row in ranking["systems"]:
        assert math.isfinite(row["value"])
        assert row["low"] is None
        assert row["why_code"] == "by_prior"
        assert row["prior"] is True
    # That a wins is sure all the same, by how much is not.
    assert ranking["first"] | {"system": "a", "by_more_than_chance": True} == ranking["first"]
    assert all(one["difference"]["low"] is None for one in result["system_tests"])


def test_all_ties_are_equal_and_valid_json() -> None:
    data = [counted("a", "b", 0, 30, 0, per=1), counted("b", "c", 0, 30, 0, per=1)]
    for ties in ("half", "davidson"):
        result = found(data, Filters(rounds=1, ties=ties), scale_of(data))  # type: ignore[arg-type]
        json.dumps(result, allow_nan=False)
        for measure in ("win_rate", *MODELS):
            ranking = by_measure(result)[measure]
            assert set(column(ranking, "rank").values()) == {1}
            depends = measure in ("win_rate", "elo", "sep_elo")  # a and c never met
            assert set(column(ranking, "rank_high").values()) == {None if depends else 3}
            assert ranking["first"]["by_more_than_chance"] is (None if depends else False)
            assert (ranking["first"]["system"], ranking["first"]["why_code"]) == (
                None,
                (UNEQUAL if depends else SHARED_FIRST).code,
            )
    assert by_measure(result)["bradley_terry"]["settings"]["tie_parameter"] is None


@pytest.mark.slow
def test_rates_and_elo_claim_no_order_where_opponents_differ() -> None:
    """Of the golden case the best win rate is that of the system with the weak opponent."""
    data = case("confounded_by_opponents")
    rankings = by_measure(found(data, scale=scale_of(data)))
    for measure in ("win_rate", "win_loss_rate", "elo", "sep_elo"):
        assert rankings[measure]["first"] == {"system": None, "by_more_than_chance": None, **UNEQUAL.as_json()}
        assert {(row["rank_low"], row["rank_high"]) for row in rankings[measure]["systems"]} == {(None, None)}
    for measure in ("bradley_terry", "sep_bradley_terry"):
        assert rankings[measure]["first"]["system"] == "mistral-7b"
    board = by_rater(found(data, scale=scale_of(data)))[0]
    assert board["measure"] == "bradley_terry"
    assert {row["elo"]["rank"] for row in board["systems"]} == {None}
    assert {row["bradley_terry"]["rank"] for row in board["systems"]} == {1, 2, 3, 4}


def test_rates_and_elo_of_systems_that_met_equally_often_have_a_first() -> None:
    data = [counted("a", "b", 45, 0, 5, per=1), counted("b", "c", 45, 0, 5, per=1), counted("a", "c", 48, 0, 2, per=1)]
    rankings = by_measure(found(data))
    for measure in ("win_rate", "win_loss_rate", "elo"):
        assert rankings[measure]["first"] | {"system": "a", "by_more_than_chance": True} == rankings[measure]["first"]
    of_two = by_measure(found(data[:1]))["win_rate"]
    assert of_two["first"]["system"] == "a"


def test_few_instances_have_ranks_and_no_intervals() -> None:
    data = [counted("a", "b", 30, 5, 10), counted("b", "c", 20, 5, 20)]  # three instances each
    rankings = by_measure(found(data))
    for measure, least in (("bradley_terry", 20), ("elo", 30)):
        for row in rankings[measure]["systems"]:
            assert row["low"] is None
            assert row["why"] == TOO_FEW.with_values(of="instances", least=least).text
            assert (row["rank_low"], row["rank_high"]) == ((1, 3) if measure == "bradley_terry" else (None, None))
        assert rankings[measure]["first"]["by_more_than_chance"] is None
        assert rankings[measure]["first"]["system"] == ("a" if measure == "bradley_terry" else None)


def test_instance_that_alone_connects_systems_leaves_no_interval() -> None:
    data = [
        counted("a", "b", 30, 5, 10, per=1),
        configuration("b", "c", [("q", n, "ann", [-1.0, 1.0][n]) for n in (0, 1)]),
    ]
    ranking = by_measure(found(data))["bradley_terry"]
    assert column(ranking, "why_code")["a"] == "alone"
    tests = {(one["system_a"], one["system_b"]): one for one in found(data)["system_tests"]}
    assert tests["a", "b"]["p_value"] < 0.05  # whatever c does
    assert tests["b", "c"]["p_value"] is None


@pytest.mark.parametrize("filters", [QUICK, replace(QUICK, ties="davidson")])
def test_nothing_to_rank_is_no_error(filters: Filters) -> None:
    for data in ([], [configuration("a", "b", [])], [configuration("a", "b", []), configuration("b", "c", [])]):
        result = found(data, filters, scale_of(data))
        json.dumps(result, allow_nan=False)
        for ranking in result["rankings"]:
            assert all(row["value"] is None and row["why_code"] for row in ranking["systems"])
            assert ranking["first"]["system"] is None


def test_draws_do_not_depend_on_the_order_of_rows() -> None:
    votes = [(f"i{n}", pair, code, float(n * pair % 3 - 1)) for n in range(31) for pair in range(2) for code in "ab"]
    more = [(f"i{n}", pair, "a", float((n + pair) % 3 - 1)) for n in range(40) for pair in range(2)]
    one = found([configuration("x", "y", votes), configuration("y", "z", more)], Filters(rounds=100))
    other = found([configuration("x", "y", votes[::-1]), configuration("y", "z", more[::-1])], Filters(rounds=100))
    assert one == other


names = st.permutations(["a", "b", "c", "d"])
votes_of_three = st.lists(
    st.tuples(st.sampled_from([(0, 1), (1, 2), (0, 2), (2, 3)]), st.sampled_from([-1.0, 0.0, 1.0])),
    min_size=1,
    max_size=60,
)


def pieces(rows: Sequence[tuple[tuple[int, int], float]], systems: Sequence[str], *, turned: bool = False) -> list[Any]:
    """A configuration for each pair of systems, an instance for each vote."""
    data = []
    for one, other in sorted({pair for pair, _ in rows}):
        votes = [
            (f"i{n:02}", 0, "ann", -vote if turned else vote)
            for n, (pair, vote) in enumerate(rows)
            if pair == (one, other)
        ]
        a, b = (systems[other], systems[one]) if turned else (systems[one], systems[other])
        data.append(configuration(a, b, votes))
    return data


def without_names(ranking: dict[str, Any], renamed: dict[str, str]) -> dict[str, tuple[Any, ...]]:
    keys = ("value", "low", "high", "rank", "rank_low", "rank_high", "n")
    return {renamed[row["system"]]: tuple(row[key] for key in keys) for row in ranking["systems"]}


@pytest.mark.slow
@given(votes_of_three)
@examples(max_examples=12)
def test_swapping_a_and_b_changes_nothing(rows: list[tuple[tuple[int, int], float]]) -> None:
    # Everything is in terms of systems: turned sides with turned votes are the same study.
    straight, turned = (found(pieces(rows, "abcd", turned=one)) for one in (False, True))
    for one, other in zip(straight["rankings"], turned["rankings"], strict=True):
        for row, same in zip(one["systems"], other["systems"], strict=True):
            assert row["system"] == same["system"]
            assert row["value"] == pytest.approx(same["value"], abs=1e-7)
            assert row["rank"] == same["rank"]
    assert straight["win_matrices"] == turned["win_matrices"]


@pytest.mark.slow
@given(votes_of_three, names)
@examples(max_examples=12)
def test_renaming_systems_renames_the_ranking(rows: list[tuple[tuple[int, int], float]], order: list[str]) -> None:
    plain, renamed = (by_measure(found(pieces(rows, systems))) for systems in ("abcd", order))
    back = dict(zip(order, "abcd", strict=True))
    for measure in plain.keys() & {"win_rate", "win_loss_rate", "bradley_terry", "elo"}:
        one = without_names(plain[measure], {name: name for name in "abcd"})
        other = without_names(renamed[measure], back)
        assert one.keys() == other.keys()
        for name, numbers in one.items():
            assert numbers == pytest.approx(other[name], abs=1e-6)
