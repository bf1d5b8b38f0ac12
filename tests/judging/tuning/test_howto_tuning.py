"""The page on tuning, walked through against a real server: its commands are taken from the page itself."""

from typing import Any

import pytest
from django.core.management import CommandError, call_command

from judging.models import Judge, Judgment
from tests.fakes import StandIn
from tests.howto import commands, walk
from tests.judging.tuning.test_tuning import make_voted_study

PAGE = "docs/howto/improve_a_judge.md#tune-a-judge-on-peoples-votes"

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.any_engine, pytest.mark.slow]


@pytest.mark.weekly
def test_the_page_can_be_walked_through(capsys: pytest.CaptureFixture[str], settings: Any) -> None:
    study = make_voted_study(30)
    settings.ENDPOINT_ALLOWLIST = ["127.0.0.1", "localhost"]
    with StandIn() as server:
        walked = walk(PAGE, {"https://api.example.com/v1": server.base_url})
        assert len(walked) == 6
        calls = server.calls
        name, *arguments = commands(PAGE)[3]
        call_command(name, *arguments)  # the same again asks nothing
        assert server.calls == calls
        with pytest.raises(CommandError, match="--max-cost"):
            call_command(name, *arguments[:-1], "a lot")
    said = capsys.readouterr().out
    assert "held out: 15" in said
    assert "judges tuned on people's ratings" in said
    tuned = Judge.objects.get(name="plain-tuned")
    assert len(tuned.tuned["instances"]) == 15
    assert Judgment.objects.filter(run__judge=tuned, run__study=study).count() == 30
