"""Ablations: which configurations there are, which judges stand for them, what they take and what is asked."""

import random
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annotation.models import Study
from judging.ablation.judge_configurations import (
    LONGEST_NAME,
    PAPER,
    PARTS,
    Axes,
    JudgeConfiguration,
    configuration_of,
    configurations,
    configurations_by_part,
    parts_of,
    sc2,
    sort_key,
)
from judging.ablation.judges import ablation_judges, judge_of, settings_of
from judging.ablation.reading import judged_rounds, made_tables
from judging.ablation.round_arrays import people_table
from judging.ablation.services import Ablation, estimate_ablation, queue_ablation, rows_of, start_row
from judging.core.errors import BadSettings
from judging.jobs.stopping import StopFlag
from judging.methods.task_files import task_of
from judging.models import AspectSet, Completion, Endpoint, Judge, JudgeRun, Judgment, TableMaking
from judging.runs.estimates import estimate
from judging.runs.execution import execute
from judging.runs.pair_filters import PairFilter
from judging.runs.services import start_run
from tests.factories import ask_more
from tests.fakes import Body, StandIn
from tests.judging.builders import make_endpoint, make_judge, make_study
from tests.standin.tables import table_answer

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
PRICES = {"price_prompt": Decimal(1000), "price_completion": Decimal(10_000)}


def answer(body: Body) -> str:
    """Make tables and compare them by their grades; else take the first text in two of three cases."""
    question = body["messages"][-1]["content"]
    made = table_answer(question, seed=body["seed"], how="grade")
    if made is not None:
        return made
    letter = random.Random(f"{question} {body['seed']}").choice("AAB")
    return f"Comparison: one is better.\nPreferred: {letter}"


@pytest.fixture
def study() -> Study:
    return make_study(instances=2, k=1)


@pytest.fixture
def stand_in(settings: Any) -> Iterator[StandIn]:
    settings.ENDPOINT_ALLOWLIST = ["127.0.0.1"]
    with StandIn(answer=answer) as stand_in:
        yield stand_in


@pytest.fixture
def endpoint(stand_in: StandIn) -> Endpoint:
    return make_endpoint(stand_in.base_url, **PRICES)


def ask(ablation: Ablation) -> None:
    """Work on all runs, one after another."""
    rows = rows_of(ablation)
    for row in rows:
        run = start_row(row, ablation, among=rows)
        assert execute(run.pk, stop=StopFlag()).status == "done"


def test_paper_tables_are_the_default_each_configuration_once() -> None:
    found = configurations(PAPER, Axes())
    assert len(found) == len(set(found)) == 29
    assert [one.label for one in configurations(["samples"], Axes())] == [
        "sc2-c1-tournament-offline", "sc2-c4-tournament-offline", "sc2-c8-tournament-offline",
    ]  # fmt: skip
    assert {one.label for one in configurations(["methods"], Axes())} == {
        "direct", "direct-aspects-offline", "cot", "cot-1shot-offline", "self-consistency-n8",
        "sc2-c8-tournament-offline",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("one", "tables", "compared", "calls"),
    [
        pytest.param(JudgeConfiguration("direct"), None, None, 1, id="direct"),
        pytest.param(JudgeConfiguration("direct-aspects", aspects="online"), None, None, 2, id="asked-for-aspects"),
        pytest.param(JudgeConfiguration("self-consistency", 24), None, None, 24, id="self-consistency"),
        pytest.param(sc2(1), 1, 0, 2, id="one-table"),
        pytest.param(sc2(8), 8, 7, 16, id="tournament"),
        pytest.param(sc2(8, scheme="exact"), 8, 56, 65, id="exact"),
        pytest.param(sc2(8, scheme="random"), 8, 0, 9, id="random"),
        pytest.param(sc2(8, aspects="online"), 8, 7, 19, id="online"),
        pytest.param(sc2(budget=8), 4, 3, 8, id="budget-8"),
        pytest.param(sc2(budget=15), 7, 6, 14, id="budget-15"),  # one call is left over: a table takes two
        pytest.param(sc2(budget=24), 12, 11, 24, id="budget-24"),
    ],
)
def test_calls_of_a_verdict_by_hand(
    one: JudgeConfiguration, tables: int | None, compared: int | None, calls: int
) -> None:
    assert (one.tables, one.comparator_calls, one.calls) == (tables, compared, calls)


def test_every_configuration_is_a_row_of_the_part_that_it_was_made_for() -> None:
    by_part = configurations_by_part(Axes(samples=(1, 2, 4, 8, 16)))
    assert tuple(by_part) == PARTS
    for part, rows in by_part.items():
        for one in rows:
            assert part in parts_of(one)
            sort_key(one, part)


def test_rows_of_numbers_of_calls_go_by_calls_then_method() -> None:
    rows = sorted(configurations(["budgets"], Axes()), key=lambda one: sort_key(one, "budgets"))
    assert [(one.allowed, one.method) for one in rows] == [
        (budget, method) for budget in (8, 15, 24) for method in ("self-consistency", "sc2")
    ]


@pytest.mark.parametrize(
    "axes",
    [
        Axes(samples=(0,)),
        Axes(samples=(101,)),
        Axes(schemes=("best",)),
        Axes(aspects=("none",)),
        Axes(budgets=(1,)),
        Axes(shots=(6,)),
    ],
)
def test_axis_that_no_judge_takes_is_refused(axes: Axes) -> None:
    with pytest.raises(BadSettings, match="of an ablation is"):
        configurations(PAPER, axes)


def test_unknown_part_is_refused() -> None:
    with pytest.raises(BadSettings, match="part of an ablation"):
        configurations(["figure"], Axes())


@pytest.mark.parametrize("aspects", [None, ["Whether it is right", "How long it is"]])
def test_judge_tells_its_configuration_and_other_settings_are_another_judge(aspects: list[str] | None) -> None:
    endpoint = Endpoint(name="a" * 80, model="m")
    names = set()
    for one in configurations(PARTS, Axes()):
        judge = judge_of(one, endpoint=endpoint, rounds=5, seed=1, aspects=aspects)
        assert configuration_of(settings_of(judge)) == one
        assert len(judge.name) <= LONGEST_NAME
        names.add(judge.name)
        for changed in ({"rounds": 4}, {"seed": 2}, {"aspects": ["Another one"]}):
            other = judge_of(one, **{"endpoint": endpoint, "rounds": 5, "seed": 1, "aspects": aspects, **changed})
            same_params = other.params == judge.params
            assert (other.name == judge.name) == ("aspects" in changed and same_params)
    assert len(names) == len(configurations(PARTS, Axes()))


@pytest.mark.django_db
def test_rows_leave_out_what_the_endpoint_rejects_under_the_same_name(study: Study) -> None:
    endpoint = make_endpoint("https://1.1.1.1/v1")
    asked = Ablation(study, endpoint, parts=("samples",), axes=Axes(samples=(1,)))
    [before] = rows_of(asked)
    endpoint.supports = {"rejects": ["temperature"], "schema_lengths": True}
    [row] = rows_of(asked)
    assert row.judge.params == {**before.judge.params, "temperature": None, "longest_cell": 400}
    assert row.judge.name == before.judge.name
    assert configuration_of(settings_of(row.judge)) == before.configuration
    start_row(row, asked, among=[row])
    endpoint.supports = {}
    assert rows_of(asked)[0].judge == Judge.objects.get()


def test_few_shot_rows_of_sc2_show_tables_to_verdict_and_comparator() -> None:
    rows = configurations(["shots"], Axes(budgets=(15,), shots=(3,)))
    assert [one.label for one in rows] == ["sc2-b15-tournament-offline-s3-tables", "self-consistency-n15-s3"]
    few = judge_of(rows[0], endpoint=Endpoint(name="e"), rounds=5, seed=1, aspects=None)
    shown = {name: few.params[name] for name in ("shots", "example_tables", "comparator_shots")}
    assert shown == {"shots": 3, "example_tables": True, "comparator_shots": 3}
    without = sc2(budget=15, shots=3)  # as these rows were before: still a row of the part, and another judge
    judge = judge_of(without, endpoint=Endpoint(name="e"), rounds=5, seed=1, aspects=None)
    assert configuration_of(settings_of(judge)) == without
    assert parts_of(without) == ["shots"]


def test_judge_that_is_only_named_alike_is_no_judge_of_an_ablation() -> None:
    judge = judge_of(sc2(), endpoint=Endpoint(name="e"), rounds=5, seed=1, aspects=None)
    judge.params = {**judge.params, "temperature": 1}
    assert configuration_of(settings_of(judge)) is None
    assert configuration_of(settings_of(Judge(name="ab-mine", method="direct", endpoint=Endpoint(name="e")))) is None


def test_stored_judges_ask_single_answers_at_0_in_every_round(study: Study, endpoint: Endpoint) -> None:
    ablation = Ablation(study, endpoint, parts=("methods",), rounds=3)
    rows = rows_of(ablation)
    start_row(rows[0], ablation, among=rows)
    judge = Judge.objects.get()
    assert (judge.method, judge.repeats, judge.order, judge.params, judge.seed) == ("direct", 3, "random", {}, 1)
    assert judge.runs.get().judgments.count() == 2 * 3


def test_a_run_of_a_further_question_is_no_part_of_an_ablation(study: Study, endpoint: Endpoint) -> None:
    ask_more(study, "coherence")
    ablation = Ablation(study, endpoint, parts=("samples",), axes=Axes(samples=(1,)), rounds=1)
    rows = rows_of(ablation)
    run = start_row(rows[0], ablation, among=rows)
    start_run(study=study, judge=run.judge, questions=[1])
    start_row(rows[0], ablation, among=rows)
    assert [one.questions for one in run.judge.runs.order_by("pk")] == [[0], [1]]
    assert len(ablation_judges(study)) == 1
    run.judgments.delete()
    run.delete()
    assert ablation_judges(study) == []


def test_aspects_of_a_researcher_make_judges_of_their_own(study: Study, endpoint: Endpoint) -> None:
    before = rows_of(Ablation(study, endpoint, parts=("samples",)))
    AspectSet.objects.create(group=study.group, task=task_of(study.task_kind), version=1, aspects=["One", "Two"])
    after = rows_of(Ablation(study, endpoint, parts=("samples",)))
    assert [row.judge.params["aspects"] for row in after] == [["One", "Two"]] * 3
    assert {row.judge.name for row in before}.isdisjoint(row.judge.name for row in after)
    assert [row.configuration for row in before] == [row.configuration for row in after]


def test_estimate_says_the_calls_that_are_made_and_none_is_made_again(
    study: Study, endpoint: Endpoint, stand_in: StandIn
) -> None:
    axes = Axes(samples=(1, 4), schemes=("exact",), aspects=("offline",))
    ablation = Ablation(study, endpoint, parts=("samples", "grid"), axes=axes, rounds=2)
    expected = estimate_ablation(ablation)
    assert not Judge.objects.exists()
    # Two pairs in two rounds: 4 tables, which 1 is among; comparisons of 4, and of all with all; a verdict each of four
    # configurations. Where the same table wins twice, its verdict is asked once.
    most = 4 * (4 + 3 + 12 + 4)
    assert expected.total.is_exact
    assert most == expected.total.calls
    ask(ablation)
    assert most - 4 * 4 < stand_in.calls <= most
    assert Completion.objects.count() == stand_in.calls
    made = stand_in.calls
    ask(ablation)
    again = estimate_ablation(ablation)
    assert (stand_in.calls, again.total.calls, again.total.pending) == (made, 0, 0)


@pytest.mark.weekly
def test_ablation_of_methods_that_was_interrupted_makes_the_calls_of_its_estimate_with_a_seed_for_each_round(
    study: Study, endpoint: Endpoint, stand_in: StandIn
) -> None:
    ablation = Ablation(study, endpoint, parts=("methods",), rounds=2)
    expected = estimate_ablation(ablation)
    # direct, with aspects, cot, one-shot: 1 each; 8 draws; 8 tables, 7 comparisons, a verdict
    assert expected.total.calls == 4 * (4 + 8 + 16)
    assert expected.total.cost is not None
    assert expected.total.cost == sum(found.cost or 0 for _, found in expected.rows)
    rows = rows_of(ablation)
    run = start_row(rows[0], ablation, among=rows)
    execute(run.pk, stop=StopFlag(), limit=3)
    assert stand_in.calls == 3
    ask(ablation)
    assert stand_in.calls == expected.total.calls

    direct = [body for body in stand_in.bodies if body["temperature"] == 0]
    by_question: dict[str, set[int]] = {}
    for body in direct:
        by_question.setdefault(body["messages"][-1]["content"], set()).add(body["seed"])
    assert any(len(seeds) == 2 for seeds in by_question.values())


def test_estimate_of_one_judge_counts_every_comparison(study: Study, endpoint: Endpoint) -> None:
    judge = make_judge("sc2", endpoint=endpoint, params={"samples": 4, "scheme": "exact"})
    found = {kind.kind: kind.calls for kind in estimate(study=study, judge=judge).kinds}
    assert found == {"table": 8, "comparator": 24, "verdict": 2}


def test_cap_is_for_all_runs_together(study: Study, endpoint: Endpoint, stand_in: StandIn) -> None:
    ablation = Ablation(study, endpoint, parts=("methods",), rounds=1)
    rows = rows_of(ablation)
    a_call = Decimal(11 * 1000 + 7 * 10_000) / 1_000_000  # as the stand-in counts
    cap = a_call * 5
    spent = Decimal(0)
    for row in rows:
        run = start_row(row, ablation, among=rows, in_flight=1, max_cost=cap)
        ended = execute(run.pk, stop=StopFlag(), when_stopped=JudgeRun.Status.PAUSED)
        spent += ended.progress.cost or 0
        if ended.status != "done":
            break
    assert ended.status == "paused"
    assert "cap" in ended.message
    assert a_call * 2 <= spent <= cap  # a first call, of which nothing is known yet, may not fit into the rest


def test_queued_runs_share_a_cap_that_covers_what_each_is_expected_to_cost(study: Study, endpoint: Endpoint) -> None:
    ablation = Ablation(study, endpoint, parts=("methods",), rounds=1)
    expected = estimate_ablation(ablation)
    assert expected.total.cost is not None
    cap = (expected.total.cost * 2).quantize(Decimal("0.01"))
    runs = queue_ablation(ablation, max_cost=cap)
    assert [run.status for run in runs] == ["queued"] * 6
    caps = {run.judge.name: run.max_cost for run in runs}
    assert cap - Decimal("0.00001") <= sum(caps.values()) <= cap
    assert all(caps[row.judge.name] > found.cost for row, found in expected.rows)


def test_queued_runs_are_refused_a_cap_that_is_not_enough_or_can_not_be_kept(study: Study, endpoint: Endpoint) -> None:
    ablation = Ablation(study, endpoint, parts=("methods",), rounds=1)
    with pytest.raises(BadSettings, match=r"are expected, more than 0\.01"):
        queue_ablation(ablation, max_cost=Decimal("0.01"))
    Endpoint.objects.update(price_prompt=None)
    endpoint.refresh_from_db()
    with pytest.raises(BadSettings, match="prices of endpoint stand-in are unknown"):
        queue_ablation(Ablation(study, endpoint, parts=("methods",), rounds=1), max_cost=Decimal(1))
    assert not JudgeRun.objects.exists()
    assert not Judge.objects.exists()


def test_more_than_can_be_set_up_at_once_is_refused(
    study: Study, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("judging.ablation.services.MOST_QUEUED", 20)
    with pytest.raises(BadSettings, match="60 presentations are too many to be set up at once"):
        queue_ablation(Ablation(study, endpoint, parts=("methods",)))


@pytest.mark.parametrize("rounds", [0, 101])
def test_rounds_that_no_judge_can_have_are_refused(study: Study, endpoint: Endpoint, rounds: int) -> None:
    with pytest.raises(BadSettings, match="rounds must be"):
        rows_of(Ablation(study, endpoint, rounds=rounds))


def test_nothing_to_ask_is_said(study: Study, endpoint: Endpoint) -> None:
    with pytest.raises(BadSettings, match="nothing is to be asked"):
        rows_of(Ablation(study, endpoint, parts=("samples",), axes=Axes(samples=())))


def test_only_a_part_of_the_pairs_is_asked(study: Study, endpoint: Endpoint, stand_in: StandIn) -> None:
    one_table = Axes(samples=(1,))
    ask(Ablation(study, endpoint, parts=("samples",), axes=one_table, rounds=1, only=PairFilter(instances=("i1",))))
    assert set(Judgment.objects.values_list("pair__matchup__instance__instance_id", flat=True)) == {"i1"}


def test_rounds_are_read_with_what_they_took(study: Study, endpoint: Endpoint, stand_in: StandIn) -> None:
    ask(Ablation(study, endpoint, parts=("grid",), axes=Axes(samples=(4,), aspects=("offline",)), rounds=2))
    judges = ablation_judges(study)
    found = {one.configuration.scheme: one for one in judged_rounds(study, judges)}
    assert set(found) == {"random", "tournament", "exact"}
    for scheme, compared in (("random", 0), ("tournament", 3), ("exact", 12)):
        one = found[scheme]
        assert one.verdict.shape == (2, 2)
        assert one.answered.all()
        assert one.counts["asked"] == one.counts["a"] + one.counts["b"] == 4
        assert one.spent.calls["table"].tolist() == [8, 8]  # two rounds
        assert one.spent.calls["verdict"].tolist() == [2, 2]
        assert one.spent.calls.get("comparator", [0, 0])[0] == 2 * compared
        assert one.spent.total.tolist() == [2 * (4 + compared + 1)] * 2
        assert one.spent.prompt_tokens[0] == 11 * 2 * (4 + compared + 1)
    assert sum(one.spent.made.sum() for one in found.values()) == stand_in.calls


def test_missing_usage_is_unknown(study: Study, endpoint: Endpoint) -> None:
    judge = judge_of(sc2(4), endpoint=endpoint, rounds=1, seed=1, aspects=None)
    judge.save()
    run = JudgeRun.objects.create(study=study, judge=judge)
    pair = study.instances.get(instance_id="i0").matchups.get().pairs.get()
    cell = Judgment.objects.create(run=run, pair=pair, order="ab", status="parsed", verdict=-1, calls=8, cached=2)
    kinds = ["table"] * 4 + ["comparator"] * 3 + ["verdict"]
    cell.completions.set(
        Completion.objects.create(cache_key=str(n), request={}, kind=kind, prompt_tokens=3, completion_tokens=None)
        for n, kind in enumerate(kinds)
    )
    [one] = judged_rounds(study, ablation_judges(study))
    assert {kind: values.tolist() for kind, values in one.spent.calls.items()} == {
        "comparator": [3.0], "table": [4.0], "verdict": [1.0],
    }  # fmt: skip
    assert (one.spent.total.tolist(), one.spent.made.tolist()) == ([8.0], [6.0])
    assert one.spent.prompt_tokens.tolist() == [24.0]
    assert np.isnan([one.spent.completion_tokens[0], one.spent.cost[0]]).all()


def test_judge_with_more_rounds_stands_for_its_configuration(study: Study, endpoint: Endpoint) -> None:
    for rounds in (3, 1):
        ablation = Ablation(study, endpoint, parts=("samples",), axes=Axes(samples=(1,)), rounds=rounds)
        start_row(rows_of(ablation)[0], ablation, among=())
    assert [judge.repeats for judge, _ in ablation_judges(study)] == [3]
    assert ablation_judges(study, endpoint="elsewhere") == []


ONE_TABLE = {"parts": ("samples", "methods"), "axes": Axes(samples=(1,))}


def set_up(study: Study, endpoint: Endpoint, rounds: int, aspects: list[str] | None = None) -> dict[str, Judge]:
    """Store the judges of an ablation under a new version of the aspects, if one is named; return them by method."""
    if aspects:
        versions = AspectSet.objects.filter(group=study.group)
        task = task_of(study.task_kind)
        AspectSet.objects.create(group=study.group, task=task, version=versions.count() + 1, aspects=aspects)
    ablation = Ablation(study, endpoint, rounds=rounds, **ONE_TABLE)
    rows = rows_of(ablation)
    wanted = [row for row in rows if row.configuration.samples in (None, 1)]
    for row in wanted:
        start_row(row, ablation, among=rows)
    return {row.judge.method: row.judge for row in wanted}


def standing(study: Study, method: str) -> tuple[int, Any]:
    [judge] = [judge for judge, one in ablation_judges(study) if one.method == method and one.samples in (None, 1)]
    return judge.repeats, judge.params.get("aspects")


def test_judge_with_the_aspects_that_hold_stands_for_its_configuration(study: Study, endpoint: Endpoint) -> None:
    set_up(study, endpoint, 3)
    set_up(study, endpoint, 1, ["One", "Two"])
    assert standing(study, "sc2") == (1, ["One", "Two"])
    assert standing(study, "direct-aspects") == (1, ["One", "Two"])
    assert standing(study, "direct") == (3, None)  # which has no aspects
    set_up(study, endpoint, 2, ["Two"])
    AspectSet.objects.create(group=study.group, task=task_of(study.task_kind), version=3, aspects=["One", "Two"])
    assert standing(study, "sc2") == (1, ["One", "Two"])


def test_latest_judge_stands_where_none_has_the_aspects_that_hold(study: Study, endpoint: Endpoint) -> None:
    set_up(study, endpoint, 3)
    set_up(study, endpoint, 2, ["One", "Two"])
    AspectSet.objects.create(group=study.group, task=task_of(study.task_kind), version=2, aspects=["Three"])
    assert standing(study, "sc2") == (2, ["One", "Two"])
    assert standing(study, "direct") == (3, None)


def test_aspects_are_called_by_the_version_that_has_them(study: Study, endpoint: Endpoint) -> None:
    set_up(study, endpoint, 1)
    names = {one.configuration.method: one.aspects for one in judged_rounds(study, ablation_judges(study))}
    assert names["sc2"] is not None
    assert names["sc2"].name == "summarization (built in)"
    assert (names["direct"], names["cot"]) == (None, None)
    set_up(study, endpoint, 1, ["One", "Two"])
    named = {one.configuration.method: one.aspects for one in judged_rounds(study, ablation_judges(study))}
    assert named["sc2"] is not None
    assert (named["sc2"].name, named["sc2"].texts) == ("summarization.v1", ("One", "Two"))
    assert named["sc2"].key != names["sc2"].key
    AspectSet.objects.all().delete()
    nameless = [one.aspects for one in judged_rounds(study, [(judge, one) for judge, one in judges_of_version(study)])]
    assert {aspects.name for aspects in nameless if aspects} == {f"list {named['sc2'].key}"}


def judges_of_version(study: Study) -> list[tuple[Judge, JudgeConfiguration]]:
    """Return the judges that have a list of aspects, whichever of them stand for their configurations."""
    found = [(judge, configuration_of(settings_of(judge))) for judge in Judge.objects.filter(runs__study=study)]
    return [(judge, one) for judge, one in found if one and isinstance(judge.params.get("aspects"), list)]


@pytest.mark.parametrize(
    "written",
    [
        pytest.param('"offline", "online"', id="where-aspects-come-from"),
        pytest.param('("aspects", "table", "comparator", "verdict")', id="kinds-of-calls"),
    ],
)
def test_names_that_several_modules_share_are_written_once(written: str) -> None:
    folder = Path(__file__).resolve().parent.parent.parent.parent
    files = [path for package in ("judging", "reporting") for path in (folder / package).rglob("*.py")]
    assert sum(written in path.read_text(encoding="utf-8") for path in files) == 1


def test_tables_that_won_are_drawn_in_study_order(
    study: Study, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("judging.ablation.round_arrays.MAX_CHECKED_TABLES", 3)
    ask(Ablation(study, endpoint, parts=("samples",), axes=Axes(samples=(4,)), rounds=2))
    judge = Judge.objects.get()
    tables, made = made_tables(study, judge.name)
    assert (len(tables), made) == (3, TableMaking.objects.count())
    assert made == 4
    assert len({table.instance for table in tables}) == 2  # one of every pair before a second one of any
    for table in tables:
        assert "Heron" in table.text_a
        assert "Heron" in table.rows[0]["only_a"]
        assert "Wren" in table.rows[0]["only_b"]


def test_votes_are_put_in_columns_pair_by_pair() -> None:
    table = people_table({1: [-1, 1], 3: [0]}, [3, 2, 1])
    assert table.shape == (3, 2)
    assert [[None if vote != vote else vote for vote in row] for row in table.tolist()] == [
        [0, None], [None, None], [-1, 1],
    ]  # fmt: skip
