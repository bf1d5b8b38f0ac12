"""A task's aspects: drawn, distilled at an endpoint, kept in versions, changed by hand, and found for a study."""

import io
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from annotation.members.groups import create_group
from annotation.models import Generation, Pair, Study
from judging.aspects.aspect_sets import (
    clean_aspects,
    current_aspects,
    edit_aspects,
    estimate_distilling,
    latest_aspects,
    sample_of,
    versions_of,
)
from judging.aspects.distillation import distil
from judging.calls.adhoc import ProcedureUsage
from judging.core.errors import BadSettings
from judging.endpoints.retrying import RetryingClient
from judging.methods.sc2.distilling import prompt_versions
from judging.models import AspectSet, Completion, Endpoint
from tests.factories import output_of
from tests.fakes import Body, ScriptedClient, StandIn
from tests.judging.builders import make_endpoint, make_study, no_sleep

pytestmark = [pytest.mark.django_db, pytest.mark.engine]
FIVE = ["accuracy", "coverage", "order", "brevity", "clear wording"]
PRICES = {"price_prompt": Decimal("1"), "price_completion": Decimal("2")}


def answer(body: Body) -> str:
    question = body["messages"][-1]["content"]
    if "with the number of times in brackets" in question:
        return "\n".join(f"- {aspect}" for aspect in FIVE)
    [name] = re.findall(r"(Heron|Wren) \d on", question)
    return f"- {name} alone\n- Accuracy"


class Answering(ScriptedClient):
    """Answers every question as it should be, in place of a list."""

    async def complete(self, body: Body) -> Any:
        self.then = answer(body)
        return await super().complete(body)


@pytest.fixture
def study() -> Study:
    return make_study(instances=5)


@pytest.fixture
def endpoint() -> Endpoint:
    return make_endpoint(**PRICES)


def made(
    study: Study, endpoint: Endpoint, client: ScriptedClient, **settings: Any
) -> tuple[AspectSet, bool, ProcedureUsage]:
    settings = {"pairs": 4, "by": "rea", **settings}
    return distil(
        study, endpoint=endpoint, make_client=lambda _endpoint: RetryingClient(client, sleep=no_sleep), **settings
    )


@pytest.mark.any_engine
def test_origin_says_all_that_it_came_of(study: Study, endpoint: Endpoint) -> None:
    client = Answering()
    version, is_new, _ = made(study, endpoint, client, seed=3, params={"max_tokens": 300})
    assert (str(version), version.aspects, is_new) == ("summarization.v1", FIVE, True)
    assert {(body["max_tokens"], body["temperature"]) for body in client.bodies} == {(300, 0)}
    assert sorted(Completion.objects.values_list("kind", flat=True)) == ["aspects-extract"] * 8 + ["aspects-merge"]
    assert version.made_by == {
        "how": "distilled",
        "study": "tea",
        "endpoint": "stand-in",
        "model": "small",
        "params": {"max_tokens": 300},
        "prompts": prompt_versions("summarization"),
        "pairs": 4,
        "pairs_hash": sample_of(study, pairs=4, seed=3).identities,
        "seed": 3,
        "empty": 0,
        "texts": 8,
        "lost": 0,
        "found": 3,
        "merges": 1,
        "unmerged": 0,
        "filled": 0,
        "calls": 9,
        "cached": 0,
        "failed": 0,
        "prompt_tokens": 99,
        "completion_tokens": 63,
        "cost": "0.00022500",
        "currency": "USD",
        "by": "rea",
    }
    told = "distilled by small at stand-in from 4 pairs of tea (seed 3; 8 texts)"
    assert told in output_of("make_aspects", "tea", "--show")


def test_same_again_asks_nothing_and_is_the_same_version(study: Study, endpoint: Endpoint) -> None:
    first, *_ = made(study, endpoint, Answering())
    client = ScriptedClient()
    again, is_new, usage = made(study, endpoint, client)
    assert (again.pk, is_new, usage.calls, usage.cached, client.bodies) == (first.pk, False, 0, 9, [])
    edit_aspects(study, aspects=["tone"], by="rea")
    version, is_new, usage = made(study, endpoint, ScriptedClient())
    assert (str(version), version.aspects, is_new, usage.calls) == ("summarization.v3", FIVE, True, 0)


def test_sample_is_drawn_from_the_seed_and_grows(study: Study) -> None:
    some, more, other = (sample_of(study, pairs=n, seed=seed) for n, seed in ((3, 0), (5, 0), (3, 1)))
    assert more.materials[: len(some.materials)] == some.materials
    assert some == sample_of(study, pairs=3, seed=0)
    assert some.identities != other.identities
    assert sample_of(study, pairs=50, seed=0).pairs == 10
    assert len(set(sample_of(study, pairs=50, seed=0).materials)) == 20
    with pytest.raises(BadSettings, match="no pairs to distil"):
        sample_of(make_study("empty", instances=0), pairs=4, seed=0)


@pytest.mark.any_engine
def test_text_in_several_pairs_is_asked_about_once(study: Study) -> None:
    pair = Pair.objects.filter(index=0).earliest("pk")
    pair.matchup.pairs.filter(index=1).update(generation_a=pair.generation_a)
    assert len(sample_of(study, pairs=10, seed=0).materials) == 19


@pytest.mark.any_engine
def test_empty_texts_are_left_out_and_counted(study: Study) -> None:
    Generation.objects.filter(index=0, system__name="wren").update(text="  ")
    sample = sample_of(study, pairs=10, seed=0)
    assert (len(sample.materials), sample.empty) == (15, 5)


@pytest.mark.any_engine
def test_forecast_counts_exactly_and_knows_what_is_there(study: Study, endpoint: Endpoint) -> None:
    before = estimate_distilling(study, endpoint=endpoint, pairs=4)
    assert {kind.kind: kind.calls for kind in before.kinds} == {"aspects-extract": 8, "aspects-merge": 1}
    assert before.cost is not None
    assert before.cost > 0
    assert not Completion.objects.exists()
    made(study, endpoint, Answering())
    after = estimate_distilling(study, endpoint=endpoint, pairs=4)
    assert (after.calls, after.cached, after.cost) == (0, 9, 0)


@pytest.mark.any_engine
def test_versions_are_those_of_the_group_and_the_kind_of_texts(study: Study) -> None:
    edit_aspects(study, aspects=["tone"], by="rea")
    assert current_aspects(make_study("second"))[1] == "summarization.v1"
    assert current_aspects(make_study("chat", task_kind="chat"))[1] == "chat (built in)"
    other = make_study("other")
    other.group = create_group(slug="others", name="Others")
    other.save()
    assert current_aspects(other)[1] == "summarization (built in)"
    assert not versions_of(other).exists()
    assert latest_aspects(group=study.group, task="summarization") is not None


def test_edit_is_the_next_version_and_leaves_the_old_one(study: Study, endpoint: Endpoint) -> None:
    first, *_ = made(study, endpoint, Answering())
    edited, is_new = edit_aspects(study, aspects=[" tone ", "", "order\tof  things"], by="rea", seen=1)
    assert (str(edited), edited.aspects, is_new) == ("summarization.v2", ["tone", "order of things"], True)
    assert edited.made_by == {"how": "edited", "from": "summarization.v1", "by": "rea"}
    first.refresh_from_db()
    assert first.aspects == FIVE
    assert edit_aspects(study, aspects=["tone", "order of things"], by="sam") == (edited, False)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        pytest.param([], "these are 0", id="none"),
        pytest.param([" ", "\n"], "these are 0", id="blank"),
        pytest.param([f"aspect {number}" for number in range(21)], "these are 21", id="too many"),
        pytest.param(["x" * 201], "at most 200 characters; this one has 201", id="too long"),
        pytest.param(["Tone", "tone "], "given twice: tone", id="twice"),
    ],
)
@pytest.mark.any_engine
def test_list_that_makes_no_sense_is_refused(given: list[str], told: str) -> None:
    with pytest.raises(BadSettings, match=told):
        clean_aspects(given)


def test_what_no_database_takes_is_left_out_of_a_list() -> None:
    assert clean_aspects(["to\x00ne", "\x07"]) == ["to ne"]


@pytest.mark.slow
@pytest.mark.any_engine
@pytest.mark.django_db(transaction=True)
def test_command_distils_over_http_and_asks_nothing_twice(settings: Any, capsys: pytest.CaptureFixture[str]) -> None:
    settings.ENDPOINT_ALLOWLIST = ["127.0.0.1"]
    make_study(instances=5)
    with StandIn(answer=answer) as server:
        make_endpoint(server.base_url, **PRICES)
        call_command("make_aspects", "tea", endpoint="stand-in", pairs=4)
        out = capsys.readouterr().out.splitlines()
        assert out == [
            "summarization.v1 added; cached 0, calls 9, cost 0.00022 USD",
            *(f"- {aspect}" for aspect in FIVE),
        ]
        call_command("make_aspects", "tea", endpoint="stand-in", pairs=4)
        assert capsys.readouterr().out.splitlines()[0] == "summarization.v1 unchanged; cached 9, calls 0"
        assert server.calls == 9


@pytest.mark.any_engine
def test_command_estimates_without_asking(study: Study, endpoint: Endpoint, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("make_aspects", "tea", "--param", "max_tokens=300", endpoint="stand-in", pairs=4, estimate=True)
    lines = capsys.readouterr().out.splitlines()
    assert {"calls: 9", "cached: 0"} <= set(lines)
    assert lines[-1].startswith("cost: about 0.00")
    call_command("make_aspects", "tea", endpoint="stand-in", pairs=4, estimate=True, format="json")
    assert json.loads(capsys.readouterr().out)["calls"] == 9
    assert not AspectSet.objects.exists()


@pytest.mark.any_engine
def test_command_sets_and_shows(
    study: Study, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call_command("make_aspects", "tea", show=True)
    assert capsys.readouterr().out.startswith("summarization (built in)\n- coverage of the main points\n")
    file = tmp_path / "aspects.txt"
    file.write_text("- tone\n\n order \n", encoding="utf-8")
    call_command("make_aspects", "tea", set=str(file))
    assert capsys.readouterr().out == "summarization.v1 added\n- tone\n- order\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("Maß".encode())))
    call_command("make_aspects", "tea", set="-", format="json")
    assert json.loads(capsys.readouterr().out)["aspects"] == ["Maß"]
    call_command("make_aspects", "tea", show=True)
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith("summarization.v2: edited from summarization.v1 by command line, ")
    assert shown[1:3] == ["- Maß", shown[2]]
    call_command("make_aspects", "tea", show=True, format="json")
    told = json.loads(capsys.readouterr().out)
    assert (told["holds"], [one["version"] for one in told["versions"]]) == ("summarization.v2", [2, 1])
