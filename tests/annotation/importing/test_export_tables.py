"""The file of comparison tables: what goes out can be read in again and changes nothing."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.importing import tables
from annotation.importing.tables import import_tables, table_lines
from annotation.models import ComparisonTable, Pair, Study
from judging.methods.sc2.record import shown_record
from judging.models import JudgeRun
from tests.annotation.importing.test_comparison_tables import load, table
from tests.factories import make_study, output_of
from tests.judging.builders import fill, make_judge
from tests.judging.tables.table_builders import make_making

pytestmark = pytest.mark.django_db
ROWS = [{"aspect": "Détail", "only_a": "名前 🙂", "both": "“dates”\u2028", "only_b": ""}]


def line(number: int = 1, **changes: Any) -> dict[str, Any]:
    made_by = {"judge": "sc", "scheme": "tournament"}
    record = {"table_id": f"t{number}", "pair_index": 0, "aspects": ["Détail"], "rows": ROWS, "made_by": made_by}
    return table(**{**record, **changes})


def exported(study: Study, **more: Any) -> list[dict[str, Any]]:
    return [json.loads(one) for one in table_lines(study=study, **more)]


def run(*arguments: str) -> str:
    return output_of("export_tables", *arguments)


def test_what_was_read_goes_out_as_it_was_and_in_changes_nothing() -> None:
    study = make_study()
    given = [line(2, pair_index=1), line(1, variant="c1"), line(3, instance_id="news-3")]
    load(*given)
    found = exported(study)
    assert found == [given[1], given[0], given[2]]  # by pair
    before = list(ComparisonTable.objects.values())
    assert import_tables(data="".join(table_lines(study=study)).encode(), name="again", slug="study")[1:] == (0, 3)
    assert list(ComparisonTable.objects.values()) == before


def test_a_table_of_b_and_a_goes_out_in_the_studys_order() -> None:
    study = make_study()
    load(line(system_a="beta", system_b="alpha"))
    [found] = exported(study)
    assert (found["system_a"], found["system_b"]) == ("alpha", "beta")
    assert found["rows"] == [{"aspect": "Détail", "only_a": "", "both": "“dates”\u2028", "only_b": "名前 🙂"}]
    assert load(found) == (0, 1)


def test_queries_do_not_grow_with_what_is_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study()
    monkeypatch.setattr(tables, "AT_ONCE", 4)
    load(*(line(number) for number in range(9)))
    asked: list[int] = []

    def more(tables: Any) -> dict[int, dict[str, Any]]:
        asked.append(len(tables))
        return {tables[0]: {"making": asked[-1]}}

    with CaptureQueriesContext(connection) as queries:
        found = exported(study, more=more)
    assert len(queries) == 1
    assert (asked, len(found), [one.get("making") for one in found].count(None)) == ([4, 4, 1], 9, 6)


def test_command_writes_to_the_terminal_or_a_file(tmp_path: Path) -> None:
    study = make_study()
    load(line(1), line(2, variant="c1"))
    assert run("study") == "".join(table_lines(study=study))
    path = tmp_path / "tables.jsonl"
    assert run("study", "--variant", "c1", "--output", str(path)) == f"{path}: 1 table of study study\n"
    assert json.loads(path.read_text(encoding="utf-8"))["table_id"] == "t2"
    assert [one.name for one in tmp_path.iterdir()] == ["tables.jsonl"]


def test_command_adds_how_tables_were_made() -> None:
    study = make_study()
    load(line(1), line(2, pair_index=1))
    stored = ComparisonTable.objects.get(table_id="t1")
    made_by = JudgeRun.objects.create(study=study, judge=make_judge("coin"))
    making = make_making(fill(made_by, Pair.objects.get(pk=stored.pair_id), "ab", verdict=1), stored)
    first, second = map(json.loads, run("study", "--with-makings").rstrip("\n").split("\n"))
    assert (first["making"], "making" in second) == (shown_record(making.record), False)
    assert load(first, second) == (0, 2)


def test_command_says_what_is_wrong(tmp_path: Path) -> None:
    make_study()
    load(line())
    with pytest.raises(CommandError, match="no tables of variant c9; there are: c8"):
        run("study", "--variant", "c9")
    with pytest.raises(CommandError, match="can't write to"):
        run("study", "--output", str(tmp_path / "no" / "tables.jsonl"))
