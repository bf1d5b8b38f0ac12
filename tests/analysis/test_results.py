"""What all results share: they can't be changed, and comparing two of them never compares their arrays."""

import importlib
import pkgutil
from dataclasses import fields, is_dataclass

import pytest

import analysis

# An encoder's weights are no result.
MODULES = [one.name for one in pkgutil.walk_packages(analysis.__path__, "analysis.") if ".encoders" not in one.name]


def test_results_are_frozen_and_those_with_arrays_are_equal_to_themselves_only() -> None:
    for name in MODULES:
        for one in vars(importlib.import_module(name)).values():
            if not (isinstance(one, type) and is_dataclass(one) and one.__module__ == name) or one.__name__[0] == "_":
                continue  # a step of a computation may change
            parameters = one.__dataclass_params__  # type: ignore[attr-defined]
            assert parameters.frozen, one
            if any("array" in str(field.type).lower() for field in fields(one)):
                assert not parameters.eq, one  # `==` of arrays is an array


def test_functions_and_classes_of_rooms_are_importable_from_analysis() -> None:
    from analysis import cluster_interval, krippendorff_alpha, similarity
    from analysis.agreement import coefficients

    assert krippendorff_alpha is coefficients.krippendorff_alpha
    assert similarity.__name__ == "analysis.similarity"
    assert cluster_interval.__module__ == "analysis.intervals.bootstrap"
    with pytest.raises(ImportError):
        from analysis import no_such_measure  # noqa: F401
