"""Comparison tables of a study's pairs, made over HTTP: kept in study order, handed on to people, and made once."""

import json
from collections import Counter
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from annotation.core.tasks.stopping import StopFlag
from annotation.models import ComparisonTable, Generation
from annotation.rating.second_stage import turned_rows
from judging.calls.store import publish_tables, table_id_of
from judging.core.errors import BadSettings
from judging.endpoints.client import OpenAIClient
from judging.endpoints.retrying import RetryingClient
from judging.methods.sc2.record import winning_rows
from judging.models import AspectSet, Completion, Endpoint, Judge, JudgeRun, Judgment, TableMaking
from judging.runs.execution import execute
from judging.runs.services import start_run
from tests.fakes import Reply, StandIn
from tests.judging.builders import make_endpoint, make_study, no_sleep, pairs_in
from tests.standin.process import StandInProcess
from tests.standin.tables import table_answer

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture(autouse=True)
def _endpoint(standin: StandInProcess) -> None:
    make_endpoint(standin.base_url, price_prompt=1, price_completion=2)


def make(*options: str, study: str = "tea", endpoint: str = "stand-in") -> str:
    out = StringIO()
    call_command("make_tables", study, "--endpoint", endpoint, *options, stdout=out, stderr=StringIO())
    return out.getvalue()


def made(*options: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(make("--format", "json", *options))
    return told


def grade(rows: list[dict[str, str]]) -> int:
    return int(rows[0]["both"].rsplit("grade ", 1)[1])


def test_table_of_every_pair_is_made_and_people_can_be_shown_it(standin: StandInProcess) -> None:
    study = make_study(instances=2, k=2)
    told = made("--samples", "4")
    assert (told["pairs"], told["tables"], told["marked"], told["coins"], told["variant"]) == (4, 4, 0, 0, "c4")
    assert told["calls"] == {"table": 16, "comparator": 12, "verdict": 4}
    assert standin.stats()["calls"] == told["made_calls"] == 32
    for making in TableMaking.objects.select_related(
        "table", "judgment__pair__generation_a", "judgment__pair__generation_b"
    ):
        table, pair = making.table, making.judgment.pair
        assert table is not None
        assert (table.pair, table.rows, table.variant) == (pair, winning_rows(making.record), "c4")
        # The cells hold words of the texts that they speak of, whichever stood first.
        assert set(table.rows[0]["only_a"].split()) <= set(
            pair.generation_a.text.replace(",", "").replace(".", "").split()
        )
        assert "Wren" in table.rows[0]["only_b"].split()
        assert "Heron" in table.rows[0]["only_a"].split()
        # The tournament leaves the table that the comparator likes best.
        assert grade(table.rows) == max(grade(sample["rows"]) for sample in making.record["samples"])
        assert table.made_by["scheme"] == "tournament"
        assert table.made_by["samples"] == 4
    assert {making.record["asked_first"] for making in TableMaking.objects.all()} <= {"a", "b"}
    assert ComparisonTable.objects.filter(study=study).count() == 4


def test_texts_are_turned_back_whichever_stands_first() -> None:
    make_study(instances=24, k=1)
    make("--samples", "1")
    makings = list(TableMaking.objects.select_related("judgment", "table"))
    assert {(making.judgment.order, making.record["asked_first"]) for making in makings} == {
        (order, first) for order in ("ab", "ba") for first in ("a", "b")
    }
    for making in makings:
        assert making.table is not None
        assert "Heron" in making.table.rows[0]["only_a"]
        left = turned_rows(making.table, a_is_left=False)[0]
        assert ("Wren" in left.left, "Heron" in left.right) == (True, True)


@pytest.mark.parametrize(
    ("options", "variant", "calls"),
    [
        (("--samples", "4"), "c4", {"table": 4, "comparator": 3, "verdict": 1}),
        (("--samples", "4", "--scheme", "exact"), "c4-exact", {"table": 4, "comparator": 12, "verdict": 1}),
        (
            ("--aspects", "online", "--samples", "2"),
            "c2-online",
            {"aspects": 3, "table": 2, "comparator": 1, "verdict": 1},
        ),
        (("--budget", "15"), "b15", {"table": 7, "comparator": 6, "verdict": 1}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_options_are_told_by_the_variant_and_take_their_calls(
    options: tuple[str, ...], variant: str, calls: dict[str, int], standin: StandInProcess
) -> None:
    make_study(instances=1, k=1)
    told = made(*options)
    assert (told["variant"], told["calls"]) == (variant, calls)
    assert standin.stats()["calls"] == Judgment.objects.get().calls == sum(calls.values())
    assert Counter(Judgment.objects.get().completions.values_list("kind", flat=True)) == calls


def test_doing_it_again_asks_nothing_and_changes_nothing(standin: StandInProcess) -> None:
    make_study(instances=2, k=1)
    make("--samples", "3")
    before = list(ComparisonTable.objects.values()), list(TableMaking.objects.values())
    asked = standin.stats()["calls"]
    told = made("--samples", "3")
    assert (told["made_calls"], standin.stats()["calls"]) == (0, asked)
    assert (list(ComparisonTable.objects.values()), list(TableMaking.objects.values())) == before


def test_estimate_says_what_it_takes_and_asks_nothing(standin: StandInProcess) -> None:
    make_study(instances=3, k=1)
    told = json.loads(make("--estimate", "--format", "json", "--samples", "3"))
    assert told["calls"] == 3 * 6
    assert {kind["kind"]: kind["calls"] for kind in told["kinds"]} == {"table": 9, "comparator": 6, "verdict": 3}
    assert told["cost"] > 0
    assert standin.stats()["calls"] == 0
    assert not Judge.objects.exists()
    make("--samples", "3")
    assert standin.stats()["calls"] == told["calls"]
    online = json.loads(
        make("--estimate", "--format", "json", "--aspects", "online", "--scheme", "exact", "--samples", "3")
    )
    assert {kind["kind"]: kind["calls"] for kind in online["kinds"]} == {
        "aspects": 9,
        "table": 9,
        "comparator": 18,
        "verdict": 3,
    }


def test_offline_aspects_are_those_that_hold_for_the_study() -> None:
    study = make_study(instances=1, k=1, task_kind="summarization")
    make("--samples", "1", "--variant", "own")
    AspectSet.objects.create(group=study.group, task="summarization", version=1, aspects=["kindness", "rhythm"])
    make("--samples", "1", "--variant", "distilled")
    make("--samples", "2")  # tables of other aspects are another variant, without being told
    by_variant = {table.variant: table.aspects for table in ComparisonTable.objects.all()}
    assert by_variant["distilled"] == by_variant["c2-v1"] == ["kindness", "rhythm"]
    assert len(by_variant["own"]) == 5


def test_pair_with_too_few_tables_is_marked_and_the_run_continues(standin: StandInProcess) -> None:
    study = make_study(instances=3, k=1)
    spoilt = pairs_in(study)[1]
    Generation.objects.filter(pk=spoilt.generation_a_id).update(text="SPOILT text")
    standin.behave(rules=[[r"SPOILT.*\"only_a\"", "there is nothing to compare"]])
    told = made("--samples", "4")
    assert (told["pairs"], told["tables"], told["marked"]) == (3, 2, 1)
    assert "4 of 4 tables could not be read" in told["why"]
    judgment = Judgment.objects.get(pair=spoilt)
    assert (judgment.status, judgment.verdict, judgment.calls) == ("unparsed", None, 4)
    assert not ComparisonTable.objects.filter(pair=spoilt).exists()


def test_table_that_the_endpoint_rejects_is_a_lost_sample() -> None:
    study = make_study(instances=1, k=1)

    def answer(body: dict[str, Any]) -> str:
        text = body["messages"][0]["content"]
        return table_answer(text, seed=body["seed"]) or "Comparison: x\nPreferred: A"

    judge = Judge.objects.create(
        name="sc", method="sc2", endpoint=Endpoint.objects.get(), params={"samples": 3}, seed=5
    )
    with StandIn([None, Reply(400, "this is not allowed here")], answer=answer) as server:
        Endpoint.objects.update(base_url=server.base_url)
        run = start_run(study=study, judge=judge, in_flight=1)
        execute(run.pk, stop=StopFlag(), make_client=lambda one: RetryingClient(OpenAIClient(one), sleep=no_sleep))
    judgment = Judgment.objects.get()
    assert (judgment.status, judgment.verdict is not None) == ("parsed", True)
    assert sorted("rows" in sample for sample in judgment.making.record["samples"]) == [False, True, True]


def test_pair_with_an_empty_text_gets_its_table(standin: StandInProcess) -> None:
    study = make_study(instances=1, k=1)
    Generation.objects.filter(pk=pairs_in(study)[0].generation_b_id).update(text="")
    told = made()
    assert (told["pairs"], told["tables"], told["marked"], told["variant"]) == (1, 1, 0, "c8")  # by default
    assert ComparisonTable.objects.get().pair == pairs_in(study)[0]


def test_table_is_kept_where_neither_comparison_nor_verdict_can_be_read(standin: StandInProcess) -> None:
    make_study(instances=1, k=1)
    standin.behave(rules=[["Comparison: <", "I would rather not say which."], ["Table 2:", "Both are fine."]])
    told = made("--samples", "2")
    assert (told["tables"], told["marked"], told["coins"]) == (1, 0, 1)
    assert "decisions by a seeded coin: 1" in make("--samples", "2")
    judgment = Judgment.objects.get()
    assert (judgment.status, judgment.verdict) == ("unparsed", None)
    assert judgment.making.table is not None


def test_judge_that_ran_before_hands_its_tables_on_without_a_call(standin: StandInProcess) -> None:
    make_study(instances=2, k=1)
    make("--samples", "2", "--judge", "tabby", "--variant", "mine")
    ComparisonTable.objects.all().delete()
    run = JudgeRun.objects.get()
    assert TableMaking.objects.filter(table=None).count() == 2
    asked = standin.stats()["calls"]
    assert publish_tables(run) == 2
    assert standin.stats()["calls"] == asked
    assert ComparisonTable.objects.filter(variant="mine").count() == 2


def test_variant_of_other_tables_is_refused() -> None:
    study = make_study(instances=1, k=1)
    ComparisonTable.objects.create(
        study=study, table_id="t1", pair=pairs_in(study)[0], variant="c8", rows=[], aspects=[]
    )
    with pytest.raises((BadSettings, CommandError), match=r"variant c8 has tables by another judge"):
        make()
    assert not Completion.objects.exists()
    assert not Judge.objects.exists()
    assert made("--variant", "c8-new")["tables"] == 1


def test_tables_of_a_run_have_one_variant() -> None:
    make_study(instances=1, k=1)
    make("--samples", "2")
    with pytest.raises(CommandError, match="exist as variant c2"):
        make("--samples", "2", "--variant", "another")
    assert set(ComparisonTable.objects.values_list("variant", flat=True)) == {"c2"}


def test_same_study_made_again_gets_the_same_tables_ids() -> None:
    make_study(instances=1, k=1)
    make("--samples", "1")
    [table_id] = ComparisonTable.objects.values_list("table_id", flat=True)
    assert table_id == table_id_of("c1", '["tea", "i0", "heron", "wren", 0]')
    assert "heron" not in table_id


def test_parameters_go_to_the_judge_and_with_each_call(standin: StandInProcess) -> None:
    make_study(instances=1, k=1)
    make("--samples", "2", "--param", "verdicts=3", "--param", "max_tokens=700")
    assert Judge.objects.get().params["verdicts"] == 3
    assert Judgment.objects.get().calls == 2 + 1 + 3
    assert {call["body"]["max_tokens"] for call in standin.requests()} == {700}
    assert not any("verdicts" in call["body"] for call in standin.requests())
    with pytest.raises(CommandError, match="samples can't be given as a parameter as well"):
        make("--param", "samples=3")
