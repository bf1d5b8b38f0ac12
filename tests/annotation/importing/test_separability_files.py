"""Separability that was computed elsewhere: read whole or not at all, checked against its alignments, turned to the study's A and B."""

from typing import Any

import pytest

from annotation.core.errors import BadFile
from annotation.importing.separability import import_separability
from annotation.models import Alignment, SeparabilityRun
from annotation.separability.services import compute_separability
from tests.factories import json_lines, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.engine]


def row(**changes: Any) -> dict[str, Any]:
    usual = {
        "instance_id": "news-1",
        "system_a": "alpha",
        "system_b": "beta",
        "similarity": "rouge1",
        "group": "configuration",
        "low": 0.25,
        "high": 0.75,
        "self_a": 0.5,
        "self_b": 0.75,
        "cross": 0.25,
        "separability": 1.0,
    }
    return {**usual, **changes}


def load(*rows: dict[str, Any]) -> tuple[int, int]:
    return import_separability(data=json_lines(rows), name="f.jsonl", slug="study")[1:]


def refused(*rows: dict[str, Any]) -> list[str]:
    with pytest.raises(BadFile) as caught:
        load(*rows)
    return [str(line) for line in caught.value.lines]


def stored() -> list[tuple[Any, ...]]:
    return list(Alignment.objects.order_by("pk").values_list("self_a", "self_b", "cross", "separability"))


def test_a_row_is_stored_with_its_run_and_the_same_again_changes_nothing() -> None:
    study = make_study()

    assert load(row(computed_at="2026-03-01T12:00:00+00:00", software_version="0.1.0")) == (1, 0)

    run = SeparabilityRun.objects.get()
    assert (run.dataset, run.system_a.name, run.label, run.group, run.low) == ("news", "alpha", "rouge1", "configuration", 0.25)  # fmt: skip
    assert (run.computed_at.isoformat(), run.software_version) == ("2026-03-01T12:00:00+00:00", "0.1.0")
    assert stored() == [(0.5, 0.75, 0.25, 1.0)]
    assert load(row()) == (0, 1)
    assert study.imports.filter(kind="separability").count() == 1


def test_a_row_of_b_and_a_is_turned_round() -> None:
    make_study()

    load(row(system_a="beta", system_b="alpha"))

    assert SeparabilityRun.objects.get().system_a.name == "alpha"
    assert stored() == [(0.75, 0.5, 0.25, 1.0)]
    assert load(row(self_a=0.75, self_b=0.5)) == (0, 1)


def test_what_was_read_is_computed_again_where_it_is_asked_for() -> None:
    study = make_study()
    load(row())

    compute_separability(study=study, similarity="rouge1", group="0,1")

    assert SeparabilityRun.objects.count() == 1
    assert (0.5, 0.75, 0.25, 1.0) not in stored()


@pytest.mark.any_engine
@pytest.mark.parametrize(
    ("rows", "reasons"),
    [
        ([row(instance_id="x")], ["line 1: the study does not compare these systems on this instance"]),
        ([row(), row()], ["line 2: the same matchup by the same measure is on line 1 already"]),
        (
            [row(separability=0.9)],
            ["line 1: separability is 0.9, and 1 by self_a, self_b, cross, low and high"],
        ),
        ([row(separability=None)], ["line 1: separability is there where self_a and self_b are, and only there"]),
        ([row(self_a=None)], ["line 1: separability is there where self_a and self_b are, and only there"]),
        ([row(high=0.25)], ["line 1: low is not below high"]),
        ([row(cross="NaN")], ["line 1: cross is 'NaN', not a finite number"]),
        ([row(cross=None)], ["line 1: cross is missing"]),
        ([row(similarity=" ")], ["line 1: similarity is empty"]),
        ([row(samples=1.5)], ["line 1: samples is '1.5', not a whole number from 0 to 2,147,483,647"]),
        ([row(computed_at="noon")], ["line 1: computed_at is 'noon', not an ISO time with its zone"]),
        (
            [row(), row(instance_id="news-2", low=0.0, separability=2 / 3)],
            ["line 2: group, scale or time differ from those of the same measure on a line before"],
        ),
        ([], ["line 1: the file holds no separability"]),
    ],
    ids=lambda value: value[0][8:40] if value and isinstance(value[0], str) else None,
)
def test_a_bad_line_is_named_and_nothing_is_stored(rows: list[dict[str, Any]], reasons: list[str]) -> None:
    make_study()

    assert refused(*rows) == reasons
    assert not SeparabilityRun.objects.exists()


@pytest.mark.any_engine
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"self_a": 0.25}, "the study has other alignments of this matchup by this measure"),
        ({"low": 0.0, "separability": 2 / 3}, "rouge1 is in the study already with another group or scale"),
    ],
    ids=["values", "scale"],
)
def test_other_values_than_those_of_the_study_are_refused(change: dict[str, Any], reason: str) -> None:
    make_study()
    load(row())

    assert refused(row(**change)) == [f"line 1: {reason}"]
    assert stored() == [(0.5, 0.75, 0.25, 1.0)]


@pytest.mark.any_engine
def test_a_csv_without_a_column_says_which() -> None:
    make_study()
    with pytest.raises(BadFile) as caught:
        import_separability(data=b"instance_id,system_a\n", name="f.csv", slug="study")
    assert "column cross is missing" in str(caught.value)
