"""The page on Mechanical Turk, walked through: its commands are taken from the page itself."""

import csv
import io
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from annotation.models import Assignment
from annotation.recruitment.mturk.offline_results import ImportCounts
from tests.annotation.recruitment.mturk.server import MturkServer
from tests.annotation.recruitment.mturk.setup import do_work, make_mturk, mturk
from tests.factories import csv_file, make_batch, make_study

ROOT = Path(__file__).resolve().parent.parent.parent.parent.parent
PAGE = (ROOT / "docs" / "howto" / "recruit_mturk.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(?:sh)?\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = [line for block in BLOCKS for line in block.strip().splitlines()]

pytestmark = pytest.mark.django_db
__all__ = ["mturk"]


def walk(command: str) -> None:
    program, *arguments = shlex.split(command)
    assert program == "./manage.py"
    call_command(*arguments)


def test_the_page_sends_new_requesters_elsewhere_first() -> None:
    first, second, *_ = PAGE.split("\n\n")[1:]

    assert "no new requesters since July 2026" in first
    assert "(recruit.md)" in first
    assert (ROOT / "docs" / "howto" / "recruit.md").exists()
    assert "two ways" in second


@pytest.mark.slow
def test_the_way_by_file_goes_there_and_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    written = COMMANDS.index("./manage.py mturk_export talks --batch main --to mturk")
    for command in COMMANDS[: written + 1]:
        walk(command)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "mturk" / "hits.csv").read_bytes().decode(), newline="")))
    answered = [
        {
            "WorkerId": f"AW{worker}",
            "AssignmentId": f"3{worker}X{place}",
            "AssignmentStatus": "Approved",
            **{f"Input.{name}": value for name, value in row.items()},
            **{f"Answer.pref{pair}": "1" for pair in range(1, 6)},
            "Answer.consent": "yes",
        }
        for worker in range(3)
        for place, row in enumerate(rows)
    ]
    (tmp_path / "Batch_results.csv").write_bytes(csv_file(answered))
    capsys.readouterr()

    walk(COMMANDS[written + 1])

    told = json.loads(capsys.readouterr().out)
    assert (told["added"], told["surplus"]) == (3 * len(rows), 0)
    assert Assignment.objects.counted().count() == 3 * len(rows)


def test_every_count_that_is_printed_has_its_line() -> None:
    listed = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))

    assert listed == set(vars(ImportCounts())) - {"added"}


@pytest.mark.slow
def test_every_deed_of_the_command_is_shown_and_runs_in_the_order_of_the_page(mturk: MturkServer) -> None:
    study = make_study("talks")
    make_batch(study)
    channel = make_mturk(mturk, study=study)
    publish, *others = [line for line in COMMANDS if line.startswith("./manage.py mturk ")]
    named = re.findall(r"--assignment (\w+)", " ".join(others))
    walk(publish)
    done = [do_work(mturk, channel, hit, f"AWORKER{hit}") for hit in list(mturk.hits)[:2]]
    for line in others:
        walk(re.sub("|".join(named), lambda found: done[named.index(found[0])], line))

    shown = {line.split()[2] for line in [publish, *others]}
    assert shown == {"publish", "sync", "approve", "reject", "bonus", "qualify", "expire"}
    assert [mturk.assignments[one]["AssignmentStatus"] for one in done] == ["Rejected", "Approved"]
