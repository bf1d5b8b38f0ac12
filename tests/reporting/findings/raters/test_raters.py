"""The people of a study one by one, their flags and influence, and Dawid and Skene's verdicts, from arrays."""

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.agreement.confusion import majority
from analysis.agreement.dawid_skene import dawid_skene
from analysis.agreement.leave_one_out import leave_one_out_agreement
from analysis.ranking.bradley_terry import bradley_terry, rating
from reporting.findings.computing import compute_findings
from reporting.findings.data.inputs import Checks, Filters, StudyData
from reporting.findings.data.vote_table import vote_table
from reporting.findings.raters.aggregated_verdicts import aggregated_verdicts
from reporting.findings.raters.raters_table import influences, raters_table
from reporting.findings.reasons import NOBODY_ELSE
from reporting.findings.text import as_text
from tests.reporting.findings.raters.people_arrays import Vote, configuration_of, study_of

NAN = math.nan
verdicts = st.sampled_from([-1.0, 0.0, 1.0, NAN])


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def table(data: StudyData) -> list:
    rows = raters_table(data, vote_table(data.configurations), Filters())
    json.dumps(rows, allow_nan=False)
    return rows


def votes_of(person: str, sides: list[float], *, seconds: float = 30.0, start: int = 0) -> list[Vote]:
    """One vote an instance; the left text is A's on every other pair."""
    return [(start + n, 0, person, side if n % 2 == 0 else -side, n % 2 == 0, seconds) for n, side in enumerate(sides)]


def flags(data: StudyData, code: str = "ann") -> dict[str, dict]:
    row = next(row for row in table(data) if row["rater"] == code)
    return {flag["flag"]: flag["evidence"] for flag in row["flags"]}


def test_one_person_by_hand() -> None:
    # Ann: A, A on instance 0 and B, tie on instance 1; Bob gave A, B and B on three of the same pairs.
    one = configuration_of(
        [
            (0, 0, "ann", -1, True, 10),
            (0, 1, "ann", -1, False, 20),
            (1, 0, "ann", 1, True, 60),
            (1, 1, "ann", 0, True, NAN),
            (0, 0, "bob", -1, True, 5),
            (0, 1, "bob", 1, True, 5),
            (1, 0, "bob", 1, False, 5),
        ]
    )
    found = table(study_of(one, scripted=["bob"], checks={"ann": Checks(4, 3, 0, 0)}))
    ann, bob = found
    assert (ann["rater"], ann["scripted"], bob["scripted"]) == ("ann", False, True)
    assert (ann["ratings"], ann["rating_sets"], bob["ratings"]) == (4, 2, 3)
    assert ann["consistency"]["value"] == 0.75  # 1 and 1/2
    assert (ann["agreement"]["value"], ann["agreement"]["n"], ann["agreement"]["excluded"]) == (
        pytest.approx(2 / 3),
        3,
        1,
    )
    assert ann["agreement"]["by_chance"] == pytest.approx(2 / 3 * 1 / 3 + 1 / 3 * 2 / 3)
    assert ann["sides"] == {"left": 1, "tie": 1, "right": 2}
    assert (ann["left_share"]["value"], ann["left_share"]["n"]) == (pytest.approx(1 / 3), 3)
    assert (ann["seconds_median"], ann["timed"]) == (20, 3)
    assert ann["words_per_minute"] == pytest.approx(3 * 100 / 1.5)  # 600 characters are 100 words; 90 s
    assert (ann["gold"]["share"], ann["gold"]["repeat_share"]) == (0.75, None)
    assert bob["gold"]["share"] is None
    assert ann["flags"] == []
    # A's points: Ann 2.5 of 4, Bob 1 of 3.
    assert ann["influence"]["win_rate"] == {"change": pytest.approx(1 / 3 - 3.5 / 7), "system": "one"}
    assert ann["influence"]["rank"]["change"] == 1  # level with her, second without


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.integers(0, 6), st.integers(0, 2), st.sampled_from("abc"), verdicts, st.booleans()),
        max_size=40,
        unique_by=lambda row: row[:3],
    )
)
def test_agreement_is_that_of_the_analysis(rows: list) -> None:
    votes = [(*row, 1.0) for row in rows]
    found = table(study_of(configuration_of(votes)))
    dense = np.full((7 * 3, 3), np.nan)
    for instance, pair, person, verdict, _, _ in votes:
        dense[instance * 3 + pair, "abc".index(person)] = verdict
    whole = leave_one_out_agreement(dense)
    sums = [
        (row["agreement"]["value"] * row["agreement"]["n"], row["agreement"]["n"])
        for row in found
        if row["agreement"]["n"]
    ]
    assert sum(n for _, n in sums) == whole.n
    if whole.n:
        assert sum(agreed for agreed, _ in sums) / whole.n == pytest.approx(whole.value)
    assert sum(row["ratings"] for row in found) == int((~np.isnan(dense)).sum())


def test_no_vote_and_one_person_have_reasons() -> None:
    for empty in (
        study_of(),
        study_of(configuration_of([])),
        study_of(configuration_of([(0, 0, "ann", NAN, True, 1)])),
    ):
        assert table(empty) == []
        assert aggregated_verdicts(empty.configurations, vote_table(empty.configurations))["people"] is None
    alone = table(study_of(configuration_of(votes_of("ann", [-1, 1, 0], seconds=NAN))))[0]
    assert (alone["agreement"]["value"], alone["agreement"]["why_code"]) == (None, "nobody_beside")
    assert alone["influence"]["win_rate"] == {"change": None, "system": None, **NOBODY_ELSE.as_json()}
    assert (alone["seconds_median"], alone["words_per_minute"]) == (None, None)
    assert alone["consistency"]["value"] is not None


@pytest.mark.parametrize(
    ("sides", "flag"),
    [
        ([-1.0] * 10, "always_left"),
        ([1.0] * 9 + [0.0, 1.0], "always_right"),
        ([-1.0, 1.0] * 5, "alternating"),
        ([0.0] * 10, "all_ties"),
    ],
)
def test_patterns_are_flagged(sides: list[float], flag: str) -> None:
    assert list(flags(study_of(configuration_of(votes_of("ann", sides))))) == [flag]


@pytest.mark.parametrize(
    "sides",
    [[-1.0] * 9, [-1.0] * 10 + [1.0], [-1.0, 1.0] * 4, [-1.0, 1.0] * 5 + [1.0], [-1.0, 1.0] * 5 + [0.0], [0.0] * 9],
)
def test_what_is_no_pattern_is_not_flagged(sides: list[float]) -> None:
    assert flags(study_of(configuration_of(votes_of("ann", sides)))) == {}


def test_a_system_that_is_always_preferred_on_its_only_side_is_no_constant_side() -> None:
    votes = [(n, 0, "ann", -1.0, True, 30.0) for n in range(20)]
    assert flags(study_of(configuration_of(votes))) == {}


def test_speed_is_judged_by_the_pairs_and_by_the_texts() -> None:
    mixed = [-1.0, 1.0, 1.0, -1.0, -1.0, 1.0, -1.0, 1.0, 1.0, 1.0]
    assert list(flags(study_of(configuration_of(votes_of("ann", mixed, seconds=1.9), characters=60)))) == [
        "quick_pairs"
    ]
    reading = flags(study_of(configuration_of(votes_of("ann", mixed, seconds=3.9), characters=600)))
    assert reading == {
        "quick_reading": {"words": pytest.approx(100 / 3.9 * 60), "limit": 1500, "timed": 10, "at_least": 10}
    }
    assert flags(study_of(configuration_of(votes_of("ann", mixed, seconds=4.1), characters=600))) == {}
    assert flags(study_of(configuration_of(votes_of("ann", mixed[:9], seconds=0.1)))) == {}
    still = table(study_of(configuration_of(votes_of("ann", mixed, seconds=0.0))))[0]  # no speed of no time
    assert (still["words_per_minute"], [flag["flag"] for flag in still["flags"]]) == (None, ["quick_pairs"])


def test_one_who_guesses_among_people_who_agree_is_flagged(rng: np.random.Generator) -> None:
    truth = rng.choice([-1.0, 1.0], 60)
    careful = [v for code in ("bob", "cat", "dan") for v in votes_of(code, truth.tolist())]
    guessed = flags(study_of(configuration_of(careful + votes_of("ann", (-truth).tolist()))))
    assert guessed["agreement"]["agreement"] <= guessed["agreement"]["chance"]
    # Where all guess there is nothing that one of them does worse than the others.
    crowd = [v for code in "abcd" for v in votes_of(code, rng.choice([-1.0, 1.0], 60).tolist())]
    assert all("agreement" not in flags(study_of(configuration_of(crowd)), code) for code in "abcd")


def three_systems(rng: np.random.Generator, people: str = "abcd") -> StudyData:
    return study_of(
        *(
            configuration_of(
                [
                    (n, 0, code, float(rng.choice([-1, 0, 1], p=[0.5, 0.2, 0.3])), True, 5.0)
                    for n, code in itertools.product(range(12), people)
                ],
                systems=systems,
            )
            for systems in itertools.combinations(("one", "two", "zoo"), 2)
        )
    )


def test_influence_is_what_leaving_someone_out_changes(rng: np.random.Generator) -> None:
    data = three_systems(rng)
    votes = vote_table(data.configurations)
    scores = (1 - votes.verdict) / 2
    of_vote = votes.configuration[votes.unit]
    a, b = votes.system_a[of_vote], votes.system_b[of_vote]
    whole = rating(bradley_terry(a, b, scores, n_systems=3).strengths)
    for person, found in enumerate(influences(votes)):
        kept = votes.person != person
        without = rating(bradley_terry(a[kept], b[kept], scores[kept], n_systems=3).strengths)
        moved = without - whole
        assert abs(found["bradley_terry"]["change"]) == pytest.approx(np.abs(moved).max(), abs=1e-6)
        place = votes.systems.index(found["bradley_terry"]["system"])
        assert found["bradley_terry"]["change"] == pytest.approx(moved[place], abs=1e-6)
        ranks = [1 + (values[:, None] < values).sum(axis=1) for values in (without, whole)]
        assert abs(found["rank"]["change"]) == np.abs(ranks[0] - ranks[1]).max()


def test_one_who_alone_connects_a_system_has_no_influence_but_a_reason() -> None:
    data = study_of(
        configuration_of(votes_of("ann", [1, -1, 0]) + votes_of("bob", [1, 1, -1]), systems=("one", "two")),
        configuration_of(votes_of("ann", [1, -1, 0]), systems=("two", "zoo")),
    )
    ann, bob = influences(vote_table(data.configurations))
    assert ann["bradley_terry"]["why_code"] == "not_connected"
    assert ann["win_rate"]["why_code"] == "nobody_else"
    assert bob["bradley_terry"]["change"] is not None


def test_swapping_the_systems_mirrors_influence(rng: np.random.Generator) -> None:
    rows = [(n, 0, code, float(rng.choice([-1, 0, 1])), True, 5.0) for n in range(9) for code in "abc"]
    swapped = [(n, p, code, -verdict, not left, seconds) for n, p, code, verdict, left, seconds in rows]
    one = influences(vote_table([configuration_of(rows)]))
    other = influences(vote_table([configuration_of(swapped, systems=("two", "one"))]))
    for mine, theirs in zip(one, other, strict=True):
        assert mine["win_rate"]["change"] == pytest.approx(theirs["win_rate"]["change"])
        assert mine["rank"] == theirs["rank"]


def test_dawid_skene_stands_beside_the_majority(rng: np.random.Generator) -> None:
    truth = rng.choice([-1.0, 1.0], 80)
    votes = [
        vote
        for code, skill in (("ann", 0.95), ("bob", 0.95), ("cat", 0.55), ("dan", 0.55), ("eve", 0.55))
        for vote in votes_of(code, np.where(rng.random(80) < skill, truth, -truth).tolist())
    ]
    data = [configuration_of(votes)]
    pooled = vote_table(data)
    found = aggregated_verdicts(data, pooled)
    json.dumps(found, allow_nan=False)
    dense = np.full((80, 5), np.nan)
    dense[pooled.unit, pooled.person] = pooled.verdict
    expected = dawid_skene(dense)
    by_most = majority(dense)
    one = found["configurations"][0]
    assert (one["differs"], one["differs_of"]) == (int((expected.verdict != by_most).sum()), 80)
    assert one["differs"] > 0
    assert sum(one["majority"].values()) == sum(one["verdicts"].values()) == found["pairs"] == 80
    assert found["converged"]
    for person, row in enumerate(found["people"]):
        np.testing.assert_allclose(
            [row["confusion"][0], row["confusion"][2]], expected.confusion[person, [0, 2]], atol=1e-5
        )
        assert row["confusion"][1] is None  # no pair is truly a tie
    assert found["people"][0]["right"] > 0.85 > found["people"][4]["right"]


def test_dawid_skene_knows_nothing_of_configurations_that_nobody_rated() -> None:
    rated = [vote for code in ("ann", "bob", "cat") for vote in votes_of(code, [1, -1, 0])]
    data = [configuration_of(rated), configuration_of([], systems=("two", "lone"))]
    one, other = aggregated_verdicts(data, vote_table(data))["configurations"]
    assert (one["pairs"], sum(one["verdicts"].values())) == (3, 3)
    assert (other["pairs"], other["prevalence"]) == (0, {"a": None, "tie": None, "b": None})


def test_dawid_skene_needs_three_people_on_a_pair() -> None:
    data = [configuration_of(votes_of("ann", [1, -1]) + votes_of("bob", [1, 1]))]
    found = aggregated_verdicts(data, vote_table(data))
    assert (found["people"], found["why_code"], found["pairs_with_three_votes"]) == (None, "few_people", 0)


def test_the_text_names_those_to_look_at_and_drives_no_terminal() -> None:
    votes = votes_of("\x1b[2Jann", [-1.0] * 10) + votes_of("bob", [1.0, -1.0, -1.0])
    said = as_text(compute_findings(study_of(configuration_of(votes), scripted=["\x1b[2Jann"]), Filters()))
    assert "�[2Jann (a program): All 10 preferences are for the text on the left" in said
    assert "bob:" not in said
