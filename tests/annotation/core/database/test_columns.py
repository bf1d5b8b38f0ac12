"""Columns of numbers: what the database sends is what it stores, in every form in which it is read."""

import numpy as np
import pytest
from django.db.models import F, FloatField, Q, QuerySet, SmallIntegerField, Value

from annotation.core.database.columns import code_of, number_columns, packed, places, unpacked
from annotation.models import Study, System
from tests.factories import make_study

pytestmark = [pytest.mark.django_db, pytest.mark.engine]
Rows = QuerySet[System]
LARGEST = (1 << 53) - 1  # up to which a float holds every whole number


def store() -> Study:
    """A study with three systems more, whose primary keys are far apart."""
    study = make_study("columns")
    for place, pk in enumerate((1 << 20, (1 << 31) + 7, LARGEST), start=50):
        System.objects.create(pk=pk, study=study, name=f"far-{place}", position=place)
    return study


@pytest.fixture
def far(study: Study) -> Rows:
    return System.objects.filter(study=study, position__gte=50).order_by("pk")


def test_whole_numbers_nulls_and_codes_are_exact(far: Rows) -> None:
    small = Value(-32768, SmallIntegerField())
    found = number_columns(far, "pk", "position", code_of({3: Q(position=50)}), small, Value(None, SmallIntegerField()))
    expected = [[1 << 20, (1 << 31) + 7, LARGEST], [50, 51, 52], [3, 0, 0], [-32768] * 3, [np.nan] * 3]
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == np.float64
    assert number_columns(far, "pk").flags.c_contiguous


@pytest.mark.parametrize("beyond", [-1, -(1 << 45), -LARGEST, LARGEST])
def test_negative_and_huge_numbers_are_exact_too(far: Rows, beyond: int) -> None:
    value = F("position") * 0 + Value(beyond)
    np.testing.assert_array_equal(number_columns(far, value, "position"), [[beyond] * 3, [50, 51, 52]])


def test_fractions_and_missing_ones_are_exact(far: Rows) -> None:
    third = F("position") / Value(3.0, FloatField())
    found = number_columns(far, third, "pk", Value(None, FloatField()))
    np.testing.assert_array_equal(found[:2], [[50 / 3, 51 / 3, 52 / 3], [1 << 20, (1 << 31) + 7, LARGEST]])
    assert np.isnan(found[2]).all()


def test_a_key_and_its_codes_come_out_of_one_column_as_they_went_in(far: Rows) -> None:
    known = far.filter(pk__lt=LARGEST)
    codes = (F("position") - 50, 4), (code_of({2: Q(position=50), 1: Q(position=51)}), 3)
    [column] = number_columns(known, packed("pk", *codes))
    assert [one.tolist() for one in unpacked(column, 4, 3)] == [[1 << 20, (1 << 31) + 7], [0, 1], [2, 1]]


def test_the_order_of_the_rows_is_kept_and_none_are_no_row(far: Rows) -> None:
    np.testing.assert_array_equal(number_columns(far.order_by("-position"), "position"), [[52, 51, 50]])
    assert number_columns(far.filter(position=7), "pk", "position").shape == (2, 0)
    assert number_columns(far.filter(position=7), "pk", F("position") / Value(2.0)).shape == (2, 0)
    assert number_columns(far.none(), "pk", "position").shape == (2, 0)


@pytest.mark.parametrize("far", [0, 1 << 40], ids=["close", "far apart"])
def test_keys_are_found_at_their_first_place_and_unknown_ones_nowhere(far: int) -> None:
    known = np.array([5, 7, 7, 9, 12 + far])
    found = places(known, np.array([7, 5, 12 + far, 8, 4, 13 + far, -3, -(1 << 62)]))
    np.testing.assert_array_equal(found, [1, 0, 4, -1, -1, -1, -1, -1])
    np.testing.assert_array_equal(places(known[:0], known), [-1] * 5)
