"""The command that asks pinned pairs again, by hand or by a schedule, and the warning on runs after a change."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from annotation.models import Study
from judging.models import JudgeAudit, JudgeRun
from tests.fakes import Body, StandIn
from tests.judging.audits.readers import study_of_facts
from tests.judging.builders import make_endpoint, make_judge
from tests.reporting.builders import build_user

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.any_engine, pytest.mark.slow]


@pytest.fixture
def study() -> Study:
    return study_of_facts(8)


@pytest.fixture
def server(settings: Any, study: Study) -> Iterator[StandIn]:
    settings.ENDPOINT_ALLOWLIST = ["127.0.0.1"]
    with StandIn() as server:
        make_judge(endpoint=make_endpoint(server.base_url))
        yield server


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def call(*arguments: str) -> str:
        call_command(*arguments)
        return capsys.readouterr().out

    return call


def changes_in(status: str) -> list[str]:
    """Return the warnings of changed judges; the stand-in counts too few tokens, of which there is one too."""
    return [warning for warning in json.loads(status)["warnings"] if "had changed" in warning]


def prefer_second(body: Body) -> str:
    return "Comparison: the other one.\nPreferred: B"


def test_pairs_are_pinned_asked_again_by_a_schedule_and_runs_after_a_change_are_warned_of(
    study: Study, server: StandIn, run: Callable[..., str], client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(CommandError, match="no judge has pinned pairs in study facts"):
        run("check_drift", "facts", "--run")
    with pytest.raises(CommandError, match="--sample: name the --judge whose pairs are to be pinned"):
        run("check_drift", "facts", "--run", "--sample", "3")
    pin = ("check_drift", "facts", "--judge", "judy", "--sample", "10")
    assert "presentations: 20, of which 20 are to be asked" in run(*pin, "--estimate")
    assert "judy, check 0" in run(*pin, "--run")
    assert server.calls == 20
    run("run_judge", "facts", "--judge", "judy")
    before = JudgeRun.objects.get()

    text = run("check_drift", "facts", "--run")
    assert "changed since  0.000 [0.000, " in text
    assert "no change is shown" in text
    server.answer = prefer_second
    text = run("check_drift", "facts", "--run")
    assert "changed since  1.000 [" in text
    assert "the judge has changed" in text
    found = json.loads(run("check_drift", "facts", "--format", "json"))
    assert [(one["check"], one["calls"]) for one in found["checks"]] == [(0, 20), (1, 10), (2, 10)]
    assert found["checks"][2]["found"]["drifted"] is True
    assert server.calls == 40 + 16

    client.force_login(build_user("reader", "researcher"), backend="django.contrib.auth.backends.ModelBackend")
    assert "had changed" not in client.get(f"/studies/facts/judges/runs/{before.pk}/").content.decode()
    assert changes_in(run("run_status", "facts", "--judge", "judy", "--format", "json")) == []
    study_of_facts(2, slug="later")
    call_command("run_judge", "later", "--judge", "judy")
    assert "warning: judge judy had changed when it was checked on" in capsys.readouterr().err
    later = JudgeRun.objects.get(study__slug="later")
    page = " ".join(client.get(f"/studies/later/judges/runs/{later.pk}/").content.decode().split())
    assert "100.0% of its verdicts on pinned pairs, 0.0% by chance" in page
    assert changes_in(run("run_status", "later", "--judge", "judy", "--format", "json")) == [
        f"judge judy had changed when it was checked on {JudgeAudit.objects.latest('pk').created_at:%Y-%m-%d}: 100% of its "
        "verdicts on pinned pairs, 0% by chance; don't compare its verdicts from before and after"
    ]
