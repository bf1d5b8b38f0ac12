"""How far raters are apart on a pair, from arrays."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.errors import UnknownName
from reporting.disagreements.choosing import PageFilters, chosen, sizes
from reporting.disagreements.pair_table import (
    PairTable,
    before_and_after,
    between_people,
    from_majority,
    of_person,
    pair_table,
)
from reporting.findings.data.inputs import Filters
from tests.reporting.findings.arrays import configuration_data

votes = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 1), st.sampled_from("abcd"), st.sampled_from([-1.0, 0.0, 1.0, np.nan])),
    unique_by=lambda row: row[:3],
    max_size=24,
)
judged = st.dictionaries(
    st.tuples(st.integers(0, 2), st.integers(0, 1)), st.sampled_from([-1.0, 0.0, 1.0, np.nan]), max_size=6
)


def table_of(people: list, judges: dict | None = None) -> PairTable:
    return pair_table([configuration_data(people, judges or {}, instances=3)])


def by_pair(people: list) -> dict[tuple[int, int], list[tuple[str, float]]]:
    found: dict[tuple[int, int], list[tuple[str, float]]] = {}
    for instance, pair, code, verdict in people:
        if verdict == verdict:
            found.setdefault((instance, pair), []).append((code, verdict))
    return found


def mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


@pytest.mark.slow
@given(votes, judged)
def test_sizes_equal_a_plain_count(people: list, judge: dict) -> None:
    table = table_of(people, {"gpt": [(*key, verdict) for key, verdict in judge.items()]})
    given_ = by_pair(people)
    apart, against, own = between_people(table), from_majority(table, table.judges), of_person(table, "a")
    for row in range(len(table)):
        key = int(table.instance[row]), int(table.index[row])
        cast = given_.get(key, [])
        values = [verdict for _, verdict in cast]
        assert table.counts[row].tolist() == [values.count(one) for one in (-1, 0, 1)]
        assert apart[row] == pytest.approx(mean([abs(x - y) / 2 for x, y in itertools.combinations(values, 2)]))
        most = sorted((values.count(one), one) for one in (-1.0, 0.0, 1.0))
        majority = most[-1][1] if most[-1][0] > most[-2][0] else None
        verdict = judge.get(key, np.nan)
        expected = 0.0
        if majority is not None and verdict == verdict and verdict != majority:
            expected = mean([abs(verdict - one) / 2 for one in values])
            assert expected > 0
        assert against[row] == pytest.approx(expected)
        mine = dict(cast).get("a")
        if mine is None:
            assert np.isnan(own[row])
        else:
            assert own[row] == pytest.approx(mean([abs(mine - one) / 2 for code, one in cast if code != "a"]))


def test_votes_before_and_after_are_the_same_persons() -> None:
    first = configuration_data([(0, 0, "a", -1), (0, 0, "b", 1), (1, 0, "a", 0), (2, 0, "b", 1)], {}, instances=3)
    later = configuration_data([(0, 0, "a", 1), (1, 0, "a", 0), (2, 0, "a", -1)], {}, instances=3)
    table = pair_table([first], [later])
    assert before_and_after(table).tolist() == [1, 0, 0]
    assert before_and_after(pair_table([first])).tolist() == [0, 0, 0]


def test_the_largest_come_first_then_the_order_of_the_study() -> None:
    people = [
        *[(0, 0, code, verdict) for code, verdict in zip("abc", (-1, -1, 0), strict=True)],
        *[(1, 0, code, verdict) for code, verdict in zip("abc", (-1, -1, -1), strict=True)],
        *[(1, 1, code, verdict) for code, verdict in zip("abc", (-1, 1, 1), strict=True)],
        *[(2, 0, code, verdict) for code, verdict in zip("abc", (1, -1, 1), strict=True)],
    ]
    one = configuration_data(people, {"gpt": [(1, 0, 1), (2, 0, 1)], "old": [(1, 0, -1)]}, instances=3)
    other = configuration_data(people, {}, instances=3, dataset="mail", systems=("two", "zoo"))
    table = pair_table([one, other])

    def rows(**asked: object) -> list[tuple[str, int, int]]:
        wanted = PageFilters(Filters(), **asked)  # type: ignore[arg-type]
        return [
            (table.configurations[table.configuration[row]].dataset, int(table.instance[row]), int(table.index[row]))
            for row in chosen(table, wanted, sizes(table, wanted))
        ]

    assert rows()[:3] == [("news", 1, 0), ("news", 1, 1), ("news", 2, 0)]  # the judge against all; two against one
    assert rows(kind="people", datasets=("mail",)) == [("mail", 1, 1), ("mail", 2, 0), ("mail", 0, 0)]
    assert rows(kind="judge") == [("news", 1, 0)]
    assert rows(kind="revised") == []
    assert {one[0] for one in rows(systems=("zoo",))} == {"mail"}
    assert rows(systems=("one", "zoo")) == []
    assert rows(datasets=("none such",)) == rows(raters=("nobody",)) == []
    with pytest.raises(UnknownName, match="no separability bin 2; there are 0"):
        rows(bin=2)
    assert rows(kind="people", raters=("c",), datasets=("news",)) == [("news", 0, 0), ("news", 1, 1), ("news", 2, 0)]
    assert rows(kind="people", raters=("b",), datasets=("news",))[0] == ("news", 2, 0)
    assert rows(raters=("nobody", "c")) == rows(raters=("c",))
    wanted = PageFilters(replace(Filters(), judges=("old",)), kind="judge")
    assert not len(chosen(table, wanted, sizes(table, wanted)))


@pytest.mark.parametrize(
    "configurations", [[], [configuration_data([], {}, instances=0)], [configuration_data([], {}, instances=2)]]
)
def test_nothing_is_no_disagreement(configurations: list) -> None:
    table = pair_table(configurations)
    assert not len(chosen(table, PageFilters(Filters()), sizes(table, PageFilters(Filters()))))
