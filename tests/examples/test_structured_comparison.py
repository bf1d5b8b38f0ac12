"""The script that prints the tables of the paper on SC², against the stand-in."""

import runpy
from pathlib import Path
from typing import Any

import pytest

from annotation.importing.formats.study_file import InstanceRow
from judging.models import Judge, Judgment
from tests.factories import add_instances, make_study
from tests.judging.builders import make_endpoint
from tests.standin.process import running

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "papers" / "structured_comparison.py"
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.any_engine, pytest.mark.slow]
ROWS = [6, 3, 4, 6, 12]  # of each table
CALLS = {  # of a verdict, by the paper's rules: a tournament of 8 takes 7 comparisons, all pairs both ways 56
    1: {"direct": 1, "direct, with aspects": 1, "chain of thought": 1, "self-consistency": 8, "SC²": 16},
    2: {"random": 9, "tournament": 16, "exact": 65},
    3: {"direct, aspects online": 2, "SC², aspects online": 19, "SC², aspects offline": 16},
}


@pytest.mark.parametrize("tables", [3, pytest.param(5, marks=pytest.mark.weekly)])
def test_it_prints_a_row_for_each_way_of_judging(
    settings: Any, capsys: pytest.CaptureFixture[str], tables: int
) -> None:
    settings.ENDPOINT_ALLOWLIST = ["127.0.0.1"]
    texts = {"alpha": ["Text one."], "beta": ["Text two."]}
    add_instances(
        make_study("side", instances=0), [InstanceRow(1, "i1", "news", "A source.", texts, gold={"better": "alpha"})]
    )
    main = runpy.run_path(str(SCRIPT))["main"]
    with running() as standin:
        make_endpoint(standin.base_url, name="here")
        main(["side", "--endpoint", "here", "--rounds", "2", "--table", *map(str, range(1, tables + 1))])
        asked = standin.stats()
        told = capsys.readouterr().out
        main(["side", "--endpoint", "here", "--rounds", "2", "--table", "2"])
        assert standin.stats() == asked  # the same again asks nothing

    printed = told.split("Table ")[1:]
    assert [len(table.splitlines()) - 1 for table in printed] == ROWS[:tables]
    found = [dict(line.split("\t", 1) for line in table.splitlines()[1:]) for table in printed]
    for table, rows_of_it in CALLS.items():
        for label, calls in rows_of_it.items():
            assert found[table - 1][label].split("\t")[1] == f"{calls:.3f} ± 0.000", label
    assert Judge.objects.count() == Judgment.objects.values("run__judge").distinct().count() == 2 * sum(ROWS[:tables])
    assert set(Judgment.objects.values_list("status", flat=True)) == {"parsed"}
