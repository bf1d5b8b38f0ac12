"""The script that prints the tables of the paper on REPAIR, against the stand-in."""

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from annotation.importing.formats.study_file import InstanceRow
from tests.factories import add_instances, make_study
from tests.judging.builders import make_endpoint
from tests.standin.process import running

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "papers" / "aligning_with_logic.py"
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.any_engine, pytest.mark.slow]


def test_it_prints_the_tables_and_writes_the_training_data(
    settings: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.ENDPOINT_ALLOWLIST = ["127.0.0.1"]
    lengths = {"w": 1, "x": 2, "y": 3, "z": 4}
    texts = {name: {system: [f"{name}{' more' * n}."] for system, n in lengths.items()} for name in ("i1", "i2", "i3")}
    rows = [
        InstanceRow(1, name, "news", f"Source of {name}.", systems, gold={"scores": lengths})
        for name, systems in texts.items()
    ]
    add_instances(make_study("side", instances=0), rows)
    main = runpy.run_path(str(SCRIPT))["main"]
    options = ["--repeats=1", "--rater=judge:paper-direct-here-audit1", "--flip", "20", "0", "--draws=20"]
    with running() as standin:
        standin.behave(answer="longer")
        make_endpoint(standin.base_url, name="here")
        main(["side", "--endpoint=here", *options, f"--out={tmp_path}"])
        asked, told = standin.stats(), capsys.readouterr().out
        main(["side", "--endpoint=here", *options])
        assert standin.stats() == asked  # the same again asks nothing
        assert capsys.readouterr().out == told

    lines = [line.split("\t") for line in told.splitlines()]
    audits, stages, curve = lines[1:3], {name: row for name, *row in lines[4:8]}, lines[9:]
    # The judge takes the longer text, which gold has above the shorter one, whatever is asked; no instance has five texts.
    assert audits == [
        [f"judge:paper-{method}-here-audit1", "news", "100.0", "–", "100.0", "0.0"] for method in ("direct", "cot")
    ]
    # Three instances of six pairs in both orders; a ranking of four texts implies six.
    assert stages["raw"] == ["–", "100.0", "36", "12.0"]
    assert float(stages["perturbed"][1]) < 100
    assert stages["repaired"][1] == "100.0"
    assert 0 < int(stages["repaired"][2]) <= 18
    assert int(stages["repaired-negated"][2]) == 2 * int(stages["repaired"][2])
    written = {
        name: list(map(json.loads, (tmp_path / f"{name}.jsonl").read_text("utf-8").splitlines())) for name in stages
    }
    assert {name: str(len(rows)) for name, rows in written.items()} == {name: row[2] for name, row in stages.items()}
    assert all(len(row["chosen"]) > len(row["rejected"]) for row in written["raw"])
    assert not all(len(row["chosen"]) > len(row["rejected"]) for row in written["perturbed"])
    noisy, unchanged = curve
    before, after, _ = (float(cell.split(" ")[0]) for cell in noisy[1:])
    assert before == pytest.approx(80, abs=5)
    assert after > before
    assert unchanged == ["0%", *["100.0 [100.0, 100.0]"] * 3]
