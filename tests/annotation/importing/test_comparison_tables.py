"""Comparison tables: read whole or not at all, and turned to the study's A and B."""

from typing import Any

import pytest

from annotation.core.errors import BadFile
from annotation.core.reasons import reason
from annotation.importing.tables import import_tables
from annotation.importing.uploads import read_upload
from annotation.models import ComparisonTable
from tests.factories import json_lines, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.engine]


def table(**changes: Any) -> dict[str, Any]:
    record = {
        "table_id": "t1",
        "instance_id": "news-1",
        "system_a": "alpha",
        "system_b": "beta",
        "pair_index": 1,
        "variant": "c8",
        "rows": [{"aspect": "detail", "only_a": "names", "both": "dates", "only_b": ""}],
    }
    return {key: value for key, value in {**record, **changes}.items() if value is not None}


def load(*records: dict[str, Any]) -> tuple[int, int]:
    return import_tables(data=json_lines(records), name="f.jsonl", slug="study")[1:]


def refused(*records: dict[str, Any]) -> list[str]:
    with pytest.raises(BadFile) as caught:
        load(*records)
    return [str(line) for line in caught.value.lines]


def test_a_table_is_stored_with_its_pair() -> None:
    make_study()

    assert load(table(aspects=["detail", "tone"], made_by={"judge": "x"})) == (1, 0)

    stored = ComparisonTable.objects.get()
    assert (stored.pair.matchup.instance.instance_id, stored.pair.index, stored.variant) == ("news-1", 1, "c8")
    assert stored.rows == [{"aspect": "detail", "only_a": "names", "both": "dates", "only_b": ""}]
    assert (stored.aspects, stored.made_by) == (["detail", "tone"], {"judge": "x"})


def test_the_same_file_again_changes_nothing_and_a_longer_one_adds() -> None:
    study = make_study()
    load(table())
    assert ComparisonTable.objects.get().aspects == ["detail"]

    turned = [{"aspect": "detail", "only_a": "", "both": "dates", "only_b": "names"}]
    assert load(table()) == (0, 1)
    assert load(table(system_a="beta", system_b="alpha", rows=turned)) == (0, 1)
    assert load(table(), table(table_id="t2", pair_index=0)) == (1, 1)
    assert study.imports.count() == 2
    file = {"data": json_lines([table(), table(table_id="t3")]), "name": "f.jsonl", "slug": "study", "dataset": ""}
    added = reason("comparison_tables", number=1)
    assert read_upload(kind="tables", **file)[1] == reason("imported", name="f.jsonl", contents=added)
    assert read_upload(kind="tables", **file)[1] == reason("nothing_new", name="f.jsonl")


@pytest.mark.any_engine
@pytest.mark.parametrize(
    "change",
    [{"variant": "c1"}, {"pair_index": 0}, {"aspects": ["tone"]}, {"system_a": "beta", "system_b": "alpha"}],
    ids=str,
)
def test_a_table_with_other_content_under_the_same_id_is_refused(change: dict[str, Any]) -> None:
    make_study()
    load(table())

    assert refused(table(**change)) == ["line 1: table 't1' is in the study already with other content"]


ROW = {"aspect": "detail", "only_a": "x", "both": "y", "only_b": "z"}


@pytest.mark.any_engine
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"table_id": None}, "table_id is missing"),
        ({"table_id": "x" * 201}, "table_id is 201 characters long; at most 200 are taken"),
        ({"variant": "x" * 41}, "variant is 41 characters long; at most 40 are taken"),
        ({"pair_index": "1"}, "pair_index is '1', not a whole number from 0 on"),
        ({"pair_index": True}, "pair_index is True, not a whole number from 0 on"),
        ({"pair_index": 9}, "the study has no such pair (instance_id, system_a, system_b, pair_index)"),
        ({"system_a": "gamma"}, "the study has no such pair (instance_id, system_a, system_b, pair_index)"),
        ({"rows": []}, "rows is not a list of one or more rows"),
        ({"rows": {"a": 1}}, "rows is not a list of one or more rows"),
        ({"rows": ["x"]}, "row 1 has no aspect"),
        ({"rows": [ROW, {**ROW, "aspect": " "}]}, "row 2 has no aspect"),
        ({"rows": [{"aspect": "a", "only_a": "x", "both": "y"}]}, "row 1: only_b is missing"),
        ({"rows": [{**ROW, "both": 3}]}, "row 1: both is a number, not text"),
        ({"rows": [{**ROW, "both": "\x00"}]}, "row 1: both holds a NUL character"),
        ({"aspects": "detail"}, "aspects is not a list of texts"),
        ({"aspects": ["\ud800"]}, "aspects is not a list of texts"),
        ({"made_by": "me"}, "made_by is not a JSON object"),
        ({"made_by": {"judge": {"name": "\x00"}}}, "a text under 'judge' of made_by holds a NUL character or half"),
    ],
    ids=str,
)  # fmt: skip
def test_a_bad_table_is_listed_and_nothing_is_stored(change: dict[str, Any], reason: str) -> None:
    make_study()

    (problem,) = refused(table(table_id="good"), table(**change))

    assert problem.startswith(f"line 2: {reason}")
    assert ComparisonTable.objects.count() == 0


@pytest.mark.any_engine
def test_a_file_without_tables_or_with_one_id_twice_is_refused() -> None:
    make_study()

    assert refused(table(), table(pair_index=0)) == ["line 2: table_id 't1' is there more than once"]
    assert refused() == ["line 1: the file holds no tables"]
