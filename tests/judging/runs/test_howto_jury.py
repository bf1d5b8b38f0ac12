"""The page on juries, walked through: its commands are taken from the page itself."""

import re
import shlex
from pathlib import Path

import pytest
from django.core.management import call_command

from judging.outcomes.judgments import verdicts_by_pair
from tests.judging.builders import make_study

PAGE = Path(__file__).resolve().parents[3] / "docs" / "howto" / "make_a_jury.md"

pytestmark = pytest.mark.django_db


def test_the_page_can_be_walked_through(capsys: pytest.CaptureFixture[str]) -> None:
    study = make_study("tea")
    commands = re.findall(r"(?m)^    manage\.py (.*)$", PAGE.read_text("utf-8"))
    assert len(commands) == 9
    for command in commands:
        name, *arguments = shlex.split(command)
        call_command(name, *arguments)
    said = capsys.readouterr().out
    assert "juries: independent votes that they are worth" in said
    for run in study.judge_runs.filter(judge__method="jury"):
        assert len(verdicts_by_pair(study, run.judge)) == 6
