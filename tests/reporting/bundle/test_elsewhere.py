"""A bundle on another server."""

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from annotation.models import Assignment, Batch, Channel, Display, Event, Hit, Rating, Slot, VoteChange
from judging.models import Completion, Endpoint, Judge
from reporting.bundle.exporting import export_bundle
from reporting.bundle.importing import import_bundle
from reporting.bundle.rows import READABLE
from reporting.exports.rows import flag_rows, history_rows, rating_rows
from tests.reporting.bundle.test_importing import without
from tests.whole_study import build_whole_study

pytestmark = [pytest.mark.django_db, pytest.mark.engine]


def json_rows(bundle: Path, kind: str) -> list[dict[str, Any]]:
    with gzip.open(bundle / f"{kind}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def parquet_rows(path: Path) -> list[dict[str, Any]]:
    table = pq.read_table(path)
    documents = [field.name for field in table.schema if (field.metadata or {}).get(b"tandem") == b"json"]
    return [
        {**row, **{name: json.loads(row[name]) for name in documents if row[name] is not None}}
        for row in table.to_pylist()
    ]


@pytest.mark.slow
def test_everything_comes_back_on_another_server(tmp_path: Path) -> None:
    whole = build_whole_study("acme")
    told = Rating.objects.filter(display__assignment__hit__batch__study=whole.study)
    told.filter(pk=told.earliest("pk").pk).update(translated=True)
    first = export_bundle(whole.study, tmp_path / "first")
    rows = {kind.__name__: without(kind(whole.study)) for kind in (rating_rows, history_rows, flag_rows)}
    for kind in READABLE:
        assert parquet_rows(tmp_path / "first" / f"{kind}.parquet") == json_rows(tmp_path / "first", kind), kind
    whole.study.judge_runs.all().delete()
    for model in (Event, Rating, VoteChange, Slot, Display, Assignment, Hit, Batch):
        manager: Any = model._base_manager
        manager.all().delete()
    whole.study.delete()
    for shared in (Judge, Completion, Endpoint):
        shared._base_manager.all().delete()

    made = import_bundle(tmp_path / "first", slug="acme-study")

    again = export_bundle(made, tmp_path / "again")
    counts = [{name: said.get("rows") for name, said in one["files"].items()} for one in (first, again)]
    counts[0]["records/importrecord.jsonl.gz"] += 1  # of the bundle
    assert counts[0] == counts[1]
    for kind in (rating_rows, history_rows, flag_rows):
        assert without(kind(made)) == rows[kind.__name__] != []
    assert json.loads((tmp_path / "first" / "numbers.json").read_text()) == json.loads(
        (tmp_path / "again" / "numbers.json").read_text()
    )
    assert not Channel.objects.filter(is_open=True).exists()
    assert list(Endpoint.objects.values_list("key_env", "headers")) == [("", {})]
    for name in ("instances", "pairs", "tables", "raters", "completions"):
        pairs = [(tmp_path / folder / f"{name}.jsonl.gz") for folder in ("first", "again")]
        if name in ("instances", "tables", "raters"):
            assert pairs[0].read_bytes() == pairs[1].read_bytes(), name
