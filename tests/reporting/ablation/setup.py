"""What the tests of ablations share: a study with gold, judgments of two ways of judging, a stand-in."""

import random
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from annotation.importing.formats.study_file import InstanceRow
from annotation.models import Pair, Study
from judging.ablation.judge_configurations import JudgeConfiguration, sc2
from judging.ablation.judges import judge_of
from judging.models import Completion, Endpoint, Judge, JudgeRun, Judgment
from tests.factories import add_instances, make_study, make_user
from tests.fakes import Body, StandIn
from tests.standin.tables import table_answer

GOLD = {"i1": "alpha", "i2": "alpha", "i3": "beta", "i4": "tie", "i5": None}
PRICES = {"price_prompt": Decimal(1), "price_completion": Decimal(1)}


@pytest.fixture
def study() -> Study:
    """Gold: A, A, B, a tie, nothing known."""
    study = make_study("side", instances=0)
    rows = [
        InstanceRow(
            1,
            name,
            "news",
            f"Source of {name}.",
            {"alpha": [f"One fact on {name} and a second one."], "beta": [f"A single fact on {name}."]},
            gold={"better": better} if better else None,
        )
        for name, better in GOLD.items()
    ]
    return add_instances(study, rows)


@pytest.fixture
def endpoint() -> Endpoint:
    return Endpoint.objects.create(name="here", base_url="https://models.example/v1", model="small", **PRICES)


def pair(study: Study, name: str) -> Pair:
    return Pair.objects.get(matchup__instance__study=study, matchup__instance__instance_id=name)


def fill(
    study: Study,
    endpoint: Endpoint,
    one: JudgeConfiguration,
    said: dict[str, list[int | str]],
    *,
    kinds: dict[str, int] | None = None,
    aspects: list[str] | None = None,
) -> JudgeRun:
    """Let the judge of a configuration have said this of each instance, round by round; `kinds` of calls for each."""
    rounds = max(map(len, said.values()))
    judge = judge_of(one, endpoint=endpoint, rounds=rounds, seed=1, aspects=aspects)
    Judge.objects.filter(name=judge.name).exists() or judge.save()
    run = JudgeRun.objects.create(study=study, judge=Judge.objects.get(name=judge.name), status="done")
    for name, answers in said.items():
        for repeat, answer in enumerate(answers):
            cell = Judgment.objects.create(
                run=run,
                pair=pair(study, name),
                order="ab",
                repeat=repeat,
                status=answer if isinstance(answer, str) else "parsed",
                verdict=None if isinstance(answer, str) else answer,
                calls=0 if answer in ("pending", "error") else sum((kinds or {}).values()),
            )
            if cell.calls:
                cell.completions.set(completions(kinds or {}, f"{run.pk} {cell.pk}"))
    return run


def completions(kinds: dict[str, int], name: str) -> list[Completion]:
    return [
        Completion.objects.create(
            cache_key=f"{name} {kind} {n}",
            request={},
            kind=kind,
            prompt_tokens=100,
            completion_tokens=10,
            cost=Decimal("0.001"),
        )
        for kind, number in kinds.items()
        for n in range(number)
    ]


DIRECT = {"i1": [-1, -1], "i2": [1, -1], "i3": [-1, "unparsed"], "i4": [1, 0], "i5": [1, 1]}
TABLES = {"i1": [-1, -1], "i2": [-1, -1], "i3": [1, 1], "i4": [-1, 1]}


@pytest.fixture
def asked(study: Study, endpoint: Endpoint) -> Study:
    """Direct and SC² with four tables, two rounds each."""
    fill(study, endpoint, JudgeConfiguration("direct"), DIRECT, kinds={"verdict": 1})
    fill(study, endpoint, sc2(4), TABLES, kinds={"table": 4, "comparator": 3, "verdict": 1})
    return study


def answer(body: Body) -> str:
    question = body["messages"][-1]["content"]
    made = table_answer(question, seed=body["seed"], how="grade")
    letter = random.Random(f"{question} {body['seed']}").choice("AAB")
    return made if made is not None else f"Comparison: one is better.\nPreferred: {letter}"


@pytest.fixture
def stand_in(settings: Any, study: Study) -> Iterator[StandIn]:
    settings.ENDPOINT_ALLOWLIST = ["127.0.0.1"]
    with StandIn(answer=answer) as stand_in:
        Endpoint.objects.create(name="near", base_url=stand_in.base_url, model="small", **PRICES)
        yield stand_in


@pytest.fixture
def reader(study: Study) -> Client:
    client = Client()
    client.force_login(make_user("reader", "researcher", study=study))
    return client


def row_of(found: dict[str, Any], part: str, method: str, **wanted: Any) -> dict[str, Any]:
    wanted = {"method": method, **wanted}
    [row] = [row for row in found["parts"][part] if all(row[name] == value for name, value in wanted.items())]
    return dict(row)
