"""Imports by real processes: while one is half-way, others write and see nothing of it; killed, it leaves nothing."""

import json
import signal
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from tests import migrated
from tests.judging.runs.test_processes import Installation

pytestmark = pytest.mark.slow

INSTANCES, PAIRS, RATERS = 100, 5, 4
# Stops half-way through the rows of a table, and says so.
STOPPING = """
import time
from itertools import chain, islice
from django.core.management import call_command
from annotation.importing.staging import Target
create = Target.create
def half(self, rows):
    rows = iter(rows)
    first = list(islice(rows, {rows}))
    keys = create(self, first)
    if first and type(first[0]).__name__ == {table!r}:
        print("half-way", flush=True)
        time.sleep(600)
    return keys + create(self, rows)
Target.create = half
call_command(*{command!r})
"""
# Stops when some rows have moved to the study.
STOPPING_AT_A_MOVE = """
import time
from django.core.management import call_command
from annotation.importing import staging
staging.FEW, staging.PART, execute, moves = 0, 100, staging._execute, []
def third(sql):
    execute(sql)
    moves.append(sql)
    if len(moves) == 3:
        print("half-way", flush=True)
        time.sleep(600)
staging._execute = third
call_command(*{command!r})
"""
LOOK_AFTER = "from reporting.worker import requeue_and_release; requeue_and_release()"
OF_STUDY = {
    "ratings": "annotation_rating r JOIN annotation_display d ON d.id = r.display_id JOIN annotation_assignment a "
    "ON a.id = d.assignment_id JOIN annotation_hit h ON h.id = a.hit_id JOIN annotation_batch b ON b.id = h.batch_id",
    "instances": "annotation_instance b",
    "tables": "annotation_comparisontable b",
    "judgments": "judging_judgment j JOIN judging_judgerun b ON b.id = j.run_id",
}
TABLES = [
    *("rating", "display", "assignment", "slot", "hit", "batch", "annotator"),
    *("instance", "generation", "pair", "comparisontable"),
]


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    """A study, and files that add to it more rows than one transaction takes."""
    migrated.copy_file(tmp_path / "tandem.sqlite3")
    for name, start in (("study", 0), ("further", INSTANCES)):
        lines = [
            {"instance_id": f"i{n}", "dataset": "talk", "source": f"Talk {n}.", "generations": texts(n)}
            for n in range(start, start + INSTANCES)
        ]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    places = [(n, pair) for n in range(INSTANCES) for pair in range(PAIRS)]
    (tmp_path / "judgments.csv").write_text(
        "instance,pair,judge,order,verdict\n"
        + "".join(f"i{n},{pair},j{r},ab,a\n" for n, pair in places for r in range(RATERS))
    )
    for name, start in (("ratings", 0), ("more", RATERS)):
        (tmp_path / f"{name}.csv").write_text(
            "instance_id,pair_index,system_a,system_b,rater,rating\n"
            + "".join(
                f"i{n},{pair},heron,wren,r{start + r},{(n + r) % 3 - 1}\n" for n, pair in places for r in range(RATERS)
            )
        )
    pairs = [{"instance_id": f"i{n}", "pair_index": k, "system_a": "heron", "system_b": "wren"} for n, k in places]
    row = {"aspect": "length", "only_a": "long", "both": "", "only_b": "short"}
    tables = [
        {"table_id": f"t{r}-{n}", "variant": f"v{r}", "rows": [row], **pair}
        for r in range(RATERS)
        for n, pair in enumerate(pairs)
    ]
    battles = [
        {
            "question_id": f"q{n}-{k}",
            "model_a": "heron",
            "model_b": "wren",
            "winner": "tie",
            "judge": f"r{r}",
            **{f"conversation_{side}": talk(f"{n} {k} {side}") for side in "ab"},
        }
        for n, k in places
        for r in range(RATERS)
    ]
    for name, lines in (("tables", tables), ("battles", battles)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    made = Installation(tmp_path)
    made.run("import_study", str(tmp_path / "study.jsonl"), "--study", "tea")
    return made


def texts(n: int) -> dict[str, list[str]]:
    return {system: [f"{system} {n} {k}" for k in range(PAIRS)] for system in ("heron", "wren")}


def talk(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": text}]


def counts(made: Installation) -> dict[str, int]:
    """Count the rows of each table."""
    tables = (f"annotation_{name}" for name in TABLES)
    return {
        table: int(str(made.rows(f"SELECT count(*) FROM {table}")[0][0]))
        for table in (*tables, "annotation_study", "judging_judgerun", "judging_judgment", "judging_judge")
    }


def of_study(made: Installation, what: str) -> int:
    """Count the rows that lead to the study."""
    query = f"SELECT count(*) FROM {OF_STUDY[what]} JOIN annotation_study s ON s.id = b.study_id WHERE s.slug = 'tea'"
    return int(str(made.rows(query)[0][0]))


def stopped_halfway(made: Installation, table: str, *command: str) -> "subprocess.Popen[str]":
    return stopped(made, STOPPING.format(rows=600, table=table, command=command))


def stopped(made: Installation, script: str) -> "subprocess.Popen[str]":
    process = made.start("shell", "-c", script)
    assert process.stdout is not None
    for line in process.stdout:
        if "half-way" in line:
            return process
    raise AssertionError(process.communicate()[1])


def write(made: Installation) -> None:
    """Take the lock that writers take."""
    with closing(sqlite3.connect(made.folder / "tandem.sqlite3", timeout=0, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("ROLLBACK")


def kill(process: "subprocess.Popen[str]") -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


@pytest.mark.parametrize(
    ("command", "file", "table", "what", "rows"),
    [
        ("import_ratings", "ratings.csv", "Rating", "ratings", INSTANCES * PAIRS * RATERS),
        ("import_judgments", "judgments.csv", "Judgment", "judgments", INSTANCES * PAIRS * RATERS),
        # Their ways apart from processes are in test_staging.py.
        pytest.param("import_study", "further.jsonl", "Generation", "instances", INSTANCES, marks=pytest.mark.weekly),
        *(
            pytest.param(command, file, table, what, INSTANCES * PAIRS * RATERS, marks=pytest.mark.weekly)
            for command, file, table, what in (
                ("import_battles", "battles.jsonl", "Rating", "ratings"),
                ("import_tables", "tables.jsonl", "ComparisonTable", "tables"),
            )
        ),
    ],
)
def test_an_import_lets_others_write_shows_nothing_and_leaves_nothing_when_it_is_killed(
    installation: Installation, command: str, file: str, table: str, what: str, rows: int
) -> None:
    made, asked = installation, (command, str(installation.folder / file), "--study", "tea")
    before, seen = counts(made), of_study(made, what)

    process = stopped_halfway(made, table, *asked)
    write(made)
    assert of_study(made, what) == seen
    assert counts(made) != before
    made.run("shell", "-c", LOOK_AFTER)  # removes nothing of a process that is alive
    assert counts(made) != before

    kill(process)
    assert of_study(made, what) == seen
    made.run("shell", "-c", LOOK_AFTER)
    assert counts(made) == before

    kill(stopped_halfway(made, table, *asked))
    made.run(*asked)  # removes what is left before it begins
    assert of_study(made, what) == seen + rows
    assert counts(made)["annotation_study"] == before["annotation_study"]


@pytest.mark.parametrize(
    "after",
    [pytest.param(LOOK_AFTER, id="by the worker"), pytest.param("", id="by the next import", marks=pytest.mark.weekly)],
)
def test_an_import_that_is_killed_while_its_rows_move_is_completed(installation: Installation, after: str) -> None:
    made = installation
    asked = [(command, str(made.folder / f"{name}.csv"), "--study", "tea") for command, name in
             (("import_ratings", "ratings"), ("import_ratings", "more"), ("import_judgments", "judgments"))]  # fmt: skip
    rows = INSTANCES * PAIRS * RATERS
    made.run(*asked[0])

    process = stopped(made, STOPPING_AT_A_MOVE.format(command=asked[1]))
    write(made)
    assert made.rows("SELECT merging FROM annotation_study WHERE slug = 'tea'") == [(1,)]
    kill(process)
    if after:
        made.run("shell", "-c", after)
    else:
        made.run(*asked[2])

    assert of_study(made, "ratings") == counts(made)["annotation_rating"] == 2 * rows
    assert counts(made)["annotation_hit"] == INSTANCES
    assert made.rows("SELECT slug, importer, merging FROM annotation_study") == [("tea", "", 0)]
