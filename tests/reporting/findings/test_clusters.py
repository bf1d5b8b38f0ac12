"""Clusters: instances that share a source text, or that name one, are one unit of every interval and test."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from annotation.studies.instances import instance_clusters
from reporting.findings.computing import compute_findings
from reporting.findings.data.inputs import ConfigurationData, Filters, StudyData
from tests.factories import add_instances, instance_rows, make_study
from tests.reporting.findings.arrays import configuration_data

INSTANCES = 24
PEOPLE = ("ann", "ben", "cat")
# What knows the number of units beside that of clusters: Clopper and Pearson's intervals, α, the ridge of lengths.
BY_UNITS = re.compile(r"agreement|preferred_first|fully_consistent|accuracy|left_share|alpha|length_adjusted")


def study_of(*configurations: ConfigurationData) -> StudyData:
    return StudyData("made", configurations, None, frozenset(), {}, [])


def configuration(verdicts: list[list[int]], systems: tuple[str, str], copies: int) -> ConfigurationData:
    """One configuration whose instances are there `copies` times, the copies of one in one cluster."""
    every = range(INSTANCES * copies)
    people = [(i, 0, code, verdicts[i // copies][at]) for i in every for at, code in enumerate(PEOPLE)]
    judges = {"judge": [(i, 0, verdicts[i // copies][3]) for i in every]}
    data = configuration_data(people, judges, instances=len(every), systems=systems, prefix="-".join(systems))
    start = {"one": 0, "two": INSTANCES, "three": 2 * INSTANCES}[systems[0]]
    clusters = start + np.arange(len(every)) // copies
    return replace(data, clusters=clusters if copies > 1 else None)


def estimates(value: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each estimate of findings with its path."""
    if isinstance(value, dict):
        if {"value", "low", "high"} <= value.keys():
            yield path, value
        for key, item in value.items():
            yield from estimates(item, f"{path}.{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from estimates(item, f"{path}[{index}]")


@pytest.mark.parametrize("seed", range(3))
def test_copies_of_an_instance_in_one_cluster_change_no_interval(seed: int) -> None:
    verdicts = np.random.default_rng(seed).choice([-1, 0, 1], size=(3 * INSTANCES, 4), p=[0.5, 0.2, 0.3]).tolist()
    pairs = (("one", "two"), ("two", "three"), ("three", "one"))
    parts = [verdicts[at * INSTANCES : (at + 1) * INSTANCES] for at in range(3)]
    alone, doubled = (
        compute_findings(
            study_of(*(configuration(part, pair, copies) for part, pair in zip(parts, pairs, strict=True))),
            Filters(rounds=1),
        )
        for copies in (1, 2)
    )
    assert (alone["clusters"], doubled["clusters"]) == (None, {"instances": 144, "clusters": 72})
    for found in (alone, doubled):
        del found["answer"]
        found["rankings"] = [ranking for ranking in found["rankings"] if "elo" not in ranking["measure"]]
    expected = dict(estimates(alone))
    compared = 0
    for path, estimate in estimates(doubled):
        for end in ("value", "low", "high"):
            want = expected[path][end]
            assert (estimate[end] is None) == (want is None), path
            assert want is None or estimate[end] == pytest.approx(want, abs=0.05 if BY_UNITS.search(path) else 1e-9), (
                path,
                end,
            )
        compared += estimate["low"] is not None
    assert compared > 10


def test_clusters_are_named_or_share_a_source(db: None) -> None:
    rows = [
        replace(row, source=source, metadata=metadata)
        for row, (source, metadata) in zip(
            instance_rows(instances=7),
            [
                ("one two", {}),
                ("one\n  two ", {}),
                ("", {}),
                ("", {}),
                ("other", {"cluster": "x"}),
                ("one two", {"cluster": "x"}),
                ("other", {"cluster": ""}),
            ],
            strict=True,
        )
    ]
    study = add_instances(make_study(instances=0), rows)
    clusters = instance_clusters(study)
    assert clusters is not None
    ids = [row.instance_id for row in rows]
    assert [clusters.by_id[name] for name in ids] == [0, 0, 1, 2, 3, 3, 4]
    keys = dict(study.instances.values_list("instance_id", "pk"))
    assert {name: clusters.by_key[keys[name]] for name in ids} == clusters.by_id
    study.instances.exclude(instance_id__in=ids[2:4]).delete()
    assert instance_clusters(study) is None
