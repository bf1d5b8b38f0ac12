"""The page on Mechanical Turk, walked through: its commands are taken from the page itself."""

import json
import re
import shlex

import pytest
from django.core.management import call_command

from tests.annotation.recruitment.mturk.server import MturkServer
from tests.annotation.recruitment.mturk.setup import do_work, make_mturk
from tests.factories import make_batch, make_study
from tests.howto import text_of

PAGE = text_of("docs/howto/recruit.md#amazon-mechanical-turk")
BLOCKS = re.findall(r"```(?:sh)?\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = [line for block in BLOCKS for line in block.strip().splitlines()]

pytestmark = pytest.mark.django_db


def walk(command: str) -> None:
    program, *arguments = shlex.split(command)
    assert program == "./manage.py"
    call_command(*arguments)


@pytest.mark.slow
def test_every_deed_of_the_command_is_shown_and_runs_in_the_order_of_the_page(
    mturk: MturkServer, capsys: pytest.CaptureFixture[str]
) -> None:
    study = make_study("talks")
    make_batch(study)
    channel = make_mturk(mturk, study=study)
    publish, *others = [line for line in COMMANDS if line.startswith("./manage.py mturk ")]
    named = re.findall(r"--assignment (\w+)", " ".join(others))
    walk(publish)
    assert len(json.loads(capsys.readouterr().out)["done"]) == 3
    done = [do_work(mturk, channel, hit, f"AWORKER{hit}") for hit in list(mturk.hits)[:2]]
    for line in others:
        walk(re.sub("|".join(named), lambda found: done[named.index(found[0])], line))

    shown = {line.split()[2] for line in [publish, *others]}
    assert shown == {"publish", "sync", "approve", "reject", "bonus", "qualify", "expire"}
    assert [mturk.assignments[one]["AssignmentStatus"] for one in done] == ["Rejected", "Approved"]
    assert "AWORKER" not in capsys.readouterr().out
