"""Tables checked by an entailment judge: what is asked, how answers are read, and where the figures stand."""

import json
from contextlib import nullcontext
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from annotation.core.errors import Interrupted
from annotation.jobs import work
from annotation.models import Study
from judging.core.errors import BadSettings, CapReached, UnparsedVerdict
from judging.endpoints.retrying import RetryingClient
from judging.methods import Reply
from judging.models import Completion, Endpoint, TableCheck
from judging.tables import checking
from judging.tables.checking import EntailmentProgress, check_entailment
from judging.tables.entailment_calls import estimate_entailment, read_lines
from reporting.downloads.jobs import queue_file
from tests.fakes import Body, ScriptedClient, stopped_flag
from tests.judging.builders import make_endpoint, make_study, make_user, no_sleep, pairs_in
from tests.judging.tables.table_builders import make_table, row

pytestmark = pytest.mark.django_db


class Judge(ScriptedClient):
    """Scores notes that hold a word 0.8, others 0; every sentence but the first 1."""

    def __init__(self, word: str = "heron", odd: str = "") -> None:
        super().__init__()
        self.word = word
        self.odd = odd  # the answer about coverage

    async def complete(self, body: Body) -> Any:
        prompt = body["messages"][0]["content"]
        listed = prompt.rsplit(" begin]\n", 1)[1].rsplit("\n[", 1)[0].splitlines()
        is_coverage = "Sentences:" in prompt
        says = [number > 0 if is_coverage else 0.8 * (self.word in line) for number, line in enumerate(listed)]
        answer = "\n".join(f"{number}: {float(one)}" for number, one in enumerate(says, 1))
        self.script = [self.odd if is_coverage and self.odd else answer]
        return await super().complete(body)


def store() -> Study:
    return make_study()


@pytest.fixture
def endpoint() -> Endpoint:
    return make_endpoint("https://1.1.1.1/v1")


def check(study: Study, endpoint: Endpoint, client: Judge, **settings: Any) -> EntailmentProgress:
    return check_entailment(
        study, endpoint=endpoint, make_client=lambda _endpoint: RetryingClient(client, sleep=no_sleep), **settings
    )


@pytest.mark.slow
def test_cells_and_sentences_are_asked_about_once(study: Study, endpoint: Endpoint, client: Client) -> None:
    pairs = pairs_in(study)
    make_table(pairs[0], [row(only_a="the heron", both="talk", only_b=""), row("Tone", "a heron", "n/a", "dry")])
    make_table(pairs[2], [row(only_a="", both="–", only_b="none")])
    first = Judge()
    done = check(study, endpoint, first)
    # The second table says nothing: only its coverage is asked for.
    assert (done.made, done.kept, done.unread, done.usage.calls, len(first.bodies)) == (2, 0, 0, 3, 3)
    one, other = (found for found in TableCheck.objects.order_by("table").values_list("found", flat=True))
    assert one["cells"] == [{"only_a": 0.8, "both": 0.0, "only_b": None}, {"only_a": 0.8, "both": None, "only_b": 0.0}]
    assert (one["n"], one["missing"], one["supported"], one["support"]) == (4, 2, 0.5, 0.4)
    assert one["coverage"] == (one["sentences"] - 1) / one["sentences"]
    assert (other["n"], other["missing"], other["supported"]) == (0, 3, None)
    asked = next(body["messages"][0]["content"] for body in first.bodies if "Notes:" in body["messages"][0]["content"])
    assert "1: (text A) the heron\n2: (both texts) talk\n3: (text A) a heron\n4: (text B) dry" in asked
    assert pairs[0].generation_b.text in asked
    again = check(study, endpoint, Judge("nothing"))
    assert (again.made, again.kept, again.usage.calls) == (0, 2, 0)
    user = make_user("rea", "researcher", study)
    client.force_login(user, backend="annotation.members.signed_in.AccountBackend")
    page = client.get(reverse("judging:tables", args=["tea"])).content.decode()
    assert f"{endpoint.model} (entailment)" in page
    assert '<small class="nowrap">entailment</small>' in page
    assert "coverage of sentences" in page
    shown = " ".join(
        client.get(reverse("judging:table", args=["tea", study.tables.earliest("pk").pk])).content.decode().split()
    )
    assert "<strong>0.40</strong> <small>entailment, the mean score of 4 cells; coverage of" in shown


def test_table_whose_answer_cannot_be_read_has_no_check(study: Study, endpoint: Endpoint) -> None:
    make_table(pairs_in(study)[0])
    done = check(study, endpoint, Judge(odd="All of them."))
    assert (done.made, done.unread, TableCheck.objects.count()) == (0, 1, 0)
    again = check(study, endpoint, Judge())
    assert (again.unread, again.usage.calls) == (1, 0)  # the answers are there, and say as little as before


def test_other_endpoint_and_estimate(study: Study, endpoint: Endpoint) -> None:
    make_table(pairs_in(study)[0])
    found = estimate_entailment(study, endpoint=endpoint)
    assert (found.calls, {kind.kind for kind in found.kinds}) == (2, {"table-entailment", "table-coverage"})
    assert Completion.objects.count() == 0
    check(study, endpoint, Judge())
    assert estimate_entailment(study, endpoint=endpoint).calls == 0
    other = make_endpoint("https://1.0.0.1/v1", name="other")
    with pytest.raises(BadSettings, match="at endpoint stand-in; at other it may be another model"):
        check(study, other, Judge())


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("1: 0.75\n2: 0", [0.75, 0], id="plain"),
        pytest.param("<think>1: 0</think>\n**1.** 1.0, all of it\n- 2) .5", [1, 0.5], id="marked"),
        pytest.param("2: no\n1: yes\n1: yes", [1, 0], id="in another order, one twice, in words"),
        pytest.param("1 - 0.5\n2 – 1.", [0.5, 1], id="dashes"),
        pytest.param("1: 0.5", None, id="one is missing"),
        pytest.param("1: 1\n2: 0\n3: 0", None, id="one too many"),
        pytest.param("1: 1\n2: 0\n2: 1", None, id="a contradiction"),
        pytest.param("1: 0.5\n2: 1.5", None, id="more than 1"),
        pytest.param("1: 0.5\n2: 10", None, id="another scale"),
        pytest.param("1: 0.5\n2: 1/5", None, id="a fraction"),
        pytest.param("1: 0.5\n2: 1 %", None, id="a percentage"),
        pytest.param("1: 0.5\n2: -0.5", None, id="less than 0"),
        pytest.param("1: maybe\n2: 0", None, id="another word"),
        pytest.param("", None, id="empty"),
    ],
)
def test_answer_is_one_score_for_each_line(text: str, value: list[float] | None) -> None:
    with pytest.raises(UnparsedVerdict) if value is None else nullcontext():
        assert read_lines(Reply(text), lines=2) == value


def test_command_prints_an_estimate_and_the_figures_by_variant(study: Study, endpoint: Endpoint) -> None:
    make_table(pairs_in(study)[0], [row(only_a="the heron", both="", only_b="wren")])
    arguments = ("check_tables", "tea", "--endpoint", "stand-in", "--format", "json")
    out = StringIO()
    call_command(*arguments, "--estimate", stdout=out)
    assert json.loads(out.getvalue())["calls"] == 2
    check(study, endpoint, Judge())
    out = StringIO()
    call_command(*arguments, stdout=out)
    told = json.loads(out.getvalue())
    assert (told["made"], told["kept"], told["model"]) == (0, 1, f"{endpoint.model} (entailment)")
    figures = told["variants"]["c8"]
    assert (figures["entailment"]["value"], figures["entailment"]["n"]) == (0.4, 1)
    assert (figures["coverage"]["n"], figures["coverage"]["low"]) == (1, None)  # of one instance there is no interval


@pytest.mark.parametrize(
    ("ended", "status", "told", "file"),
    [
        pytest.param(Interrupted(), 130, "the same command resumes without repeating a call", "queued", id="stopped"),
        pytest.param(CapReached("the cap of 1 USD is reached"), 3, "the cap of 1 USD is reached", "stopped", id="cap"),
    ],
)
def test_command_and_task_that_are_stopped_end_as_the_others_do(
    study: Study,
    endpoint: Endpoint,
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
    tmp_path: Path,
    ended: Exception,
    status: int,
    told: str,
    file: str,
) -> None:
    def stopped(*args: Any, **kwargs: Any) -> None:
        raise ended

    make_table(pairs_in(study)[0], [row(only_a="the heron", both="", only_b="wren")])
    monkeypatch.setattr(checking, "check_entailment", stopped)
    err = StringIO()
    with pytest.raises((SystemExit, CommandError)) as exit_:
        call_command("check_tables", "tea", "--endpoint", "stand-in", stderr=err)
    assert getattr(exit_.value, "code", getattr(exit_.value, "returncode", None)) == status
    assert told in err.getvalue() + str(exit_.value)

    settings.DATA_DIR = tmp_path
    asked = {"endpoint": "stand-in", "variant": "", "params": {}}
    made, _ = queue_file(study, "table-checks", {**asked, "max_cost": "1", "in_flight": None})
    if file == "queued":
        monkeypatch.setattr(work, "WORKER_STOP", stopped_flag())
    with pytest.raises(SystemExit) if file == "queued" else nullcontext():  # the task stays, for the next worker
        work.do_job.func("reporting.MadeFile", made.pk)
    made.refresh_from_db()
    assert (made.status, made.message.text) == (file, "" if file == "queued" else told)
