"""SC² judges whose tables are made at another endpoint than their verdicts, or are stored ones that they are shown."""

from collections import Counter
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import call_command

from annotation.core.reasons import reason
from annotation.core.tasks.stopping import StopFlag
from annotation.models import ComparisonTable, Study
from judging.core.errors import BadSettings
from judging.endpoints.retrying import RetryingClient
from judging.jobs import leases
from judging.models import Completion, Endpoint, Judge, JudgeRun, Judgment, TableMaking
from judging.review.replaying import replay
from judging.runs.estimates import estimate
from judging.runs.execution import execute
from judging.runs.judges import add_judge
from judging.runs.services import start_run
from tests.fakes import Body, ScriptedClient
from tests.judging.builders import judge_with, make_endpoint, make_study, no_sleep, pairs_in
from tests.standin.tables import table_answer

pytestmark = pytest.mark.django_db
MAKER = "https://tables.example/v1"
CALLS = {"table": 2, "comparator": 1, "verdict": 1}


def answer(body: Body) -> str:
    made = table_answer(body["messages"][-1]["content"], seed=body["seed"])
    return made or "Preferred: A"


def maker(**settings: Any) -> Endpoint:
    about = {"name": "maker", "base_url": MAKER, "model": "big", "price_prompt": 4000, "price_completion": 8000}
    return make_endpoint(**{**about, **settings})


def added(*, tables: Endpoint | None = None, **settings: Any) -> Judge:
    """Add a judge that draws two tables at the dearer endpoint."""
    own = settings.pop("endpoint", None) or make_endpoint(price_prompt=1000, price_completion=2000)
    wanted = {"name": "two", "method": "sc2", "order": "ab", "params": {"samples": 2}, "seed": 3}
    return add_judge(**{**wanted, "endpoint": own, "table_endpoint": tables or maker(), **settings})[0]


def store() -> Study:
    return make_study(instances=1, k=1)


def carry_out(study: Study, judge: Judge, **settings: Any) -> tuple[JudgeRun, dict[str, ScriptedClient]]:
    """Run a judge; returns the clients by the base URL that they were made for."""
    clients: dict[str, ScriptedClient] = {}

    def make_client(endpoint: Endpoint) -> RetryingClient:
        clients[endpoint.base_url] = ScriptedClient(then=answer)
        return RetryingClient(clients[endpoint.base_url], sleep=no_sleep)

    run = start_run(study=study, judge=judge, **settings)
    execute(run.pk, stop=StopFlag(), make_client=make_client)
    run.refresh_from_db()
    return run, clients


@pytest.mark.slow
def test_tables_are_made_at_one_endpoint_and_judged_at_the_other(study: Study) -> None:
    judge = added()
    expected = estimate(study=study, judge=judge)
    run, clients = carry_out(study, judge, tables_as="c2")
    assert run.status == "done"
    [verdict] = clients["https://models.example/v1"].bodies
    assert verdict["model"] == "small"
    assert [body["model"] for body in clients[MAKER].bodies] == ["big"] * 3
    assert Counter(Completion.objects.values_list("kind", "base_url")) == {
        **{(kind, MAKER): CALLS[kind] for kind in ("table", "comparator")},
        ("verdict", "https://models.example/v1"): 1,
    }
    [made] = Judgment.objects.all()
    paid = {kind: Decimal(0) for kind in CALLS}
    for one in Completion.objects.all():
        dear = 4 if one.base_url == MAKER else 1
        assert one.cost == dear * (Decimal(one.prompt_tokens) + 2 * Decimal(one.completion_tokens)) / 1000
        paid[one.kind] += one.cost
    assert made.cost == sum(paid.values())
    assert ComparisonTable.objects.get().made_by["model"] == "big"
    assert {kind.kind: kind.calls for kind in expected.kinds} == CALLS
    by_kind = {kind.kind: kind for kind in expected.kinds}
    assert expected.cost == sum(
        (4 if kind != "verdict" else 1) * Decimal(one.prompt_tokens + 2 * one.completion_tokens) / 1000
        for kind, one in by_kind.items()
    )
    assert {step.status for step in replay(made).steps} == {"read"}
    # Once more, nothing is asked; a judge of the same tables at a third endpoint makes none.
    assert estimate(study=study, judge=judge).calls == 0
    third = added(name="third", endpoint=make_endpoint(name="third", model="tiny"), tables=judge.table_endpoint)
    _, clients = carry_out(study, third)
    assert [(client.bodies and client.bodies[0]["model"]) or "" for client in clients.values()] == ["tiny", ""]


def test_cap_holds_at_both_prices(study: Study) -> None:
    unpriced = maker(name="free", price_prompt=None)
    with pytest.raises(BadSettings, match="prices of endpoint free are unknown"):
        start_run(study=study, judge=added(tables=unpriced), max_cost=Decimal(5))


def test_limits_are_those_of_the_tighter_endpoint(study: Study) -> None:
    own = make_endpoint(requests_per_minute=60, tokens_per_minute=900)
    judge = added(endpoint=own, tables=maker(requests_per_minute=30))
    worker = leases.join(start_run(study=study, judge=judge).pk)[1]
    assert worker is not None
    assert leases.send_heartbeat(worker).limits == (30, 900)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        pytest.param({"method": "direct", "params": {}}, "method direct shows no comparison table", id="no tables"),
        pytest.param({"table_variant": "big", "params": {}}, "leave out the table", id="stored"),
        pytest.param({"tables": "own"}, "stand-in is the judge's own endpoint", id="the same endpoint"),
        pytest.param({"tables": "EUR"}, "in USD, maker in EUR", id="another currency"),
    ],
)
def test_endpoint_for_tables_that_makes_none_is_refused(settings: dict[str, Any], reason: str) -> None:
    own = make_endpoint()
    tables = {"own": own, "EUR": None}.get(settings.pop("tables", "")) or maker(
        currency="EUR" if "EUR" in reason else "USD"
    )
    with pytest.raises(BadSettings, match=reason):
        added(endpoint=own, tables=tables, **settings)


def test_batches_of_a_provider_are_refused(study: Study) -> None:
    with pytest.raises(BadSettings, match="asks two endpoints"):
        start_run(study=study, judge=added(), way=JudgeRun.Way.BATCH)


def test_command_names_the_endpoint(capsys: pytest.CaptureFixture[str]) -> None:
    make_endpoint()
    maker()
    call_command("add_judge", "two", "--method=sc2", "--endpoint=stand-in", "--table-endpoint=maker")
    assert ", tables made at maker, " in capsys.readouterr().out
    assert str(Judge.objects.get().table_endpoint) == "maker"


ROW = {"aspect": "tone", "only_a": "the heron is loud", "both": "both are birds", "only_b": "the wren is shy"}


@pytest.fixture
def tables_study() -> Study:
    """Make a study of two pairs, of which the first has tables of two variants."""
    made = make_study("tables", instances=2, k=1)
    pair = pairs_in(made)[0]
    for table_id, variant, row in (("t2", "big", {**ROW, "both": "no"}), ("t1", "big", ROW), ("t0", "other", {})):
        ComparisonTable.objects.create(study=made, table_id=table_id, pair=pair, variant=variant, rows=[row])
    return made


def shown_judge(**settings: Any) -> Judge:
    wanted = {"name": "shown", "method": "sc2", "endpoint": make_endpoint(), "order": "both", "table_variant": "big"}
    return add_judge(**{**wanted, **settings})[0]


@pytest.mark.slow
def test_verdict_is_asked_with_the_stored_table_and_nothing_else_is(tables_study: Study) -> None:
    client, judge = ScriptedClient(["Preferred: A"] * 2), shown_judge()
    judge_with(client, tables_study, judge)
    first, second = (body["messages"][0]["content"] for body in client.bodies)
    assert "only A: the heron is loud\n  both: both are birds\n  only B: the wren is shy" in first
    assert "only A: the wren is shy\n  both: both are birds\n  only B: the heron is loud" in second  # B was shown first
    made = Judgment.objects.order_by("pair", "order")
    assert [(one.verdict, one.status, one.calls) for one in made] == [
        *((-1, "parsed", 1), (1, "parsed", 1)),
        *((None, "unparsed", 0), (None, "unparsed", 0)),
    ]
    assert made[2].failure == reason("no_table_of_variant", variant="big")
    assert made[0].prompt_version == "tables-big+sc2.v2+summarization.v1"
    assert [step.status for step in replay(made[1]).steps] == ["read"]
    assert not TableMaking.objects.exists()
    assert estimate(study=tables_study, judge=judge, questions=[0]).pending == 0


def test_estimate_counts_the_verdicts_alone(tables_study: Study) -> None:
    assert [(kind.kind, kind.calls) for kind in estimate(study=tables_study, judge=shown_judge()).kinds] == [
        ("verdict", 2)
    ]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        pytest.param({"params": {"samples": 4}}, "leave out samples", id="samples"),
        pytest.param({"method": "direct"}, "method direct shows no comparison table", id="another method"),
    ],
)
def test_settings_that_contradict_stored_tables_are_refused(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadSettings, match=reason):
        shown_judge(**settings)


def test_study_without_such_tables_is_refused() -> None:
    with pytest.raises(BadSettings, match="has no tables of variant big"):
        start_run(study=make_study("bare"), judge=shown_judge())
