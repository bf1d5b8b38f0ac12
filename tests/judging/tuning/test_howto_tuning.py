"""The page on tuning, walked through against a real server: its commands are taken from the page itself."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from judging.models import Judge, Judgment
from tests.fakes import StandIn
from tests.judging.tuning.test_tuning import make_voted_study

PAGE = Path(__file__).resolve().parents[3] / "docs" / "howto" / "tune_a_judge.md"

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def test_the_page_can_be_walked_through(capsys: pytest.CaptureFixture[str], settings: Any) -> None:
    study = make_voted_study(30)
    settings.ENDPOINT_ALLOWLIST = ["127.0.0.1", "localhost"]
    commands = re.findall(r"(?m)^    manage\.py (.*)$", PAGE.read_text("utf-8"))
    assert len(commands) == 6
    with StandIn() as server:
        for command in commands:
            name, *arguments = shlex.split(command.replace("BASE_URL", server.base_url).replace(" --max-cost 5", ""))
            call_command(name, *arguments)
        calls = server.calls
        name, *arguments = shlex.split(commands[3].replace(" --max-cost 5", ""))
        call_command(name, *arguments)  # the same again asks nothing
        assert server.calls == calls
        with pytest.raises(CommandError, match="--max-cost"):
            call_command(name, *arguments, "--max-cost", "a lot")
    said = capsys.readouterr().out
    assert "15 held-out instances" in said
    assert "judges tuned on people's votes" in said
    tuned = Judge.objects.get(name="plain-tuned")
    assert len(tuned.tuned["instances"]) == 15
    assert Judgment.objects.of_every_question().filter(run__judge=tuned, run__study=study).count() == 30
