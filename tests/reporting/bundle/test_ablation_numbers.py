"""Ways of judging side by side follow from a bundle's rows, whatever else the group has, and are those of the page."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from annotation.models import Study
from reporting.ablation.study_ablation import ablation
from reporting.bundle.layout import BadBundle
from reporting.bundle.numbers import OF_PAGES
from reporting.bundle.opening import open_bundle
from reporting.bundle.study_data import BundledStudy
from reporting.bundle.verifying import verify_bundle
from tests.reporting.bundle.test_verifying import in_every_row, rewrite, stated

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def side_by_side(source: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(OF_PAGES["ablation"](source)))
    return found


def test_the_numbers_are_those_of_the_page(varied: Study, bundle: Path) -> None:
    numbers, shown = stated(bundle)["ablation"], json.loads(json.dumps(ablation(varied)))
    for row in (row for rows in shown["parts"].values() for row in rows):
        assert row.pop("aspects_name") == ("summarization (built in)" if row["method"] == "sc2" else None)
        assert row["status"].pop("runs")
        assert row.pop("pairs_hash")

    assert numbers == shown

    [direct], [tables] = numbers["parts"]["methods"], numbers["parts"]["samples"]
    for row in (direct, tables):
        assert 0 < row["accuracy"]["value"] < 1
        assert row["agreement_with_majority"]["low"] is not None
        assert min(row["status"].values()) > 0
        assert row["cost_per_verdict"]["value"] > 0
        assert row["calls_per_verdict"]["total"]["value"] > 1
    assert tables["difference_to_direct"]["n"] > 5
    assert list(tables["calls_per_verdict"]) == ["total", "table", "verdict"]
    assert [row["tokens_per_verdict"]["completion"]["value"] is None for row in (direct, tables)] == [True, True]
    assert tables["support"]["n"] > 20
    assert 0 < tables["support"]["value"] < 1


def in_rounds(**change: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Change what was said in the second round."""
    return lambda row: {**row, **change} if row["judge"].startswith("ab-") and row["repeat"] else row


def test_a_call_of_a_later_round_is_not_changed_unnoticed(copy: Path) -> None:
    rewrite(copy, "judgments.jsonl.gz", in_every_row(in_rounds(calls=7)))
    with pytest.raises(BadBundle) as caught:
        verify_bundle(copy)
    first, *told = str(caught.value).splitlines()
    assert first.endswith("of numbers.json differ from what follows from the rows:")
    assert told
    assert all(one.startswith("  ablation.parts.") for one in told)


def test_all_rows_that_ways_of_judging_rest_on_are_read(copy: Path) -> None:
    changes: list[tuple[str, Callable[[dict[str, Any]], dict[str, Any]]]] = [
        ("judgments", in_rounds(status="parsed", verdict=1)),
        ("records/judgment", lambda row: {**row, "cached": 0}),
        ("records/judgerun", lambda row: {**row, "created_at": "2020"} if row["filter_key"] == "again" else row),
        ("records/endpoint", lambda row: {**row, "currency": "EUR"}),
        ("completions", lambda row: {**row, "cost": "0.5"}),
        ("completions", lambda row: {**row, "prompt_tokens": 8}),
        ("completions", lambda row: {**row, "kind": "comparator"}),
        (
            "records/tablemaking",
            lambda row: {**row, "record": {**row["record"], "winner": 0, "samples": [{"rows": []}]}},
        ),
    ]
    found = [stated(copy)["ablation"]]
    for name, change in changes:
        rewrite(copy, f"{name}.jsonl.gz", in_every_row(change))
        found.append(side_by_side(BundledStudy(open_bundle(copy))))
        assert found[-1] not in found[:-1], name

    rewrite(copy, "judgments.jsonl.gz", in_every_row(in_rounds(verdict=None)))
    with pytest.raises(BadBundle, match="status is parsed: a verdict is there when"):
        side_by_side(BundledStudy(open_bundle(copy)))
