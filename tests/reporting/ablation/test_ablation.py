"""Ways of judging side by side: every number by hand, the command over a stand-in, the page."""

import csv
import io
import json
import random
from collections.abc import Iterator
from decimal import Decimal
from math import sqrt
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django_tasks_db.models import DBTaskResult

from annotation.importing.formats.study_file import InstanceRow
from annotation.models import Pair, Study
from judging.ablation.judge_configurations import JudgeConfiguration, judge_of, sc2
from judging.jobs.stopping import StopFlag
from judging.models import AspectSet, Completion, Endpoint, Judge, JudgeRun, Judgment, TableMaking
from judging.runs.execution import execute
from reporting.ablation.charts import by_calls, by_samples
from reporting.ablation.comparison import ablation
from reporting.ablation.files import COLUMNS, csv_rows, row_name, text
from tests.factories import add_instances, make_study, make_user
from tests.fakes import Body, Reply, StandIn
from tests.howto import walk
from tests.reporting.builders import build_configuration, build_study, rate
from tests.standin.tables import table_answer

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
PAGE, START = "reporting:ablation", "reporting:start-ablation"
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


def row_of(found: dict[str, Any], part: str, method: str, **wanted: Any) -> dict[str, Any]:
    wanted = {"method": method, **wanted}
    [row] = [row for row in found["parts"][part] if all(row[name] == value for name, value in wanted.items())]
    return dict(row)


def test_every_number_by_hand(asked: Study) -> None:
    found = ablation(asked)
    assert found["gold"] == {"pairs": 4, "instances": 4, "a": 2, "tie": 1, "b": 1}
    assert (found["rounds"], found["reference"]) == (2, "direct")
    direct = row_of(found, "methods", "direct")
    # Round 1: i1 right, i2, i3, i4 wrong. Round 2: i1, i2, i4 right, no verdict on i3 is wrong.
    assert [one["value"] for one in direct["by_round"]] == [1 / 4, 3 / 4]
    assert direct["accuracy"]["value"] == 1 / 2
    assert (direct["accuracy"]["low"], direct["accuracy"]["n_instances"]) == (None, 4)
    assert direct["accuracy"]["sd_over_rounds"] == pytest.approx(sqrt(2 * 0.25**2))
    assert (direct["accuracy"]["n"], direct["accuracy"]["excluded"]) == (8, 0)
    assert "tie" in direct["accuracy"]["tie_rule"]
    assert direct["accuracy_of_verdicts"]["value"] == pytest.approx((1 / 4 + 3 / 3) / 2)
    assert (direct["accuracy_of_verdicts"]["n"], direct["accuracy_of_verdicts"]["excluded"]) == (7, 1)
    assert (direct["pairs"], direct["pairs_with_gold"], direct["rounds_done"]) == (5, 4, 2)
    assert direct["status"]["unparsed"] == 1
    assert direct["difference_to_direct"]["why"] == "it is the reference"


def test_difference_is_taken_pair_by_pair(asked: Study) -> None:
    row = row_of(ablation(asked), "samples", "sc2")
    assert row["accuracy"]["value"] == 3 / 4
    # i1 1 - 1, i2 1 - 1/2, i3 1 - 0, i4 0 - 1/2
    assert row["difference_to_direct"]["value"] == pytest.approx((0 + 0.5 + 1 - 0.5) / 4)
    assert row["difference_to_direct"]["n"] == 4
    assert row["difference_to_direct"]["why"] == "no interval: fewer than 5 instances"


def test_calls_and_tokens_are_those_of_a_verdict(asked: Study) -> None:
    found = ablation(asked)
    row, direct = row_of(found, "samples", "sc2"), row_of(found, "methods", "direct")
    calls = {kind: one["value"] for kind, one in row["calls_per_verdict"].items()}
    assert calls == {"total": 8, "table": 4, "comparator": 3, "verdict": 1}
    assert list(row["calls_per_verdict"]) == ["total", "table", "comparator", "verdict"]
    assert row["comparator_calls"] == 3
    assert {name: one["value"] for name, one in row["tokens_per_verdict"].items()} == {
        "total": 880, "prompt": 800, "completion": 80,
    }  # fmt: skip
    assert row["cost_per_verdict"]["value"] == pytest.approx(0.008)
    assert row["cost_per_verdict"]["currency"] == "USD"
    # Ten answers, nine verdicts: what the one without a verdict took is theirs.
    assert direct["calls_per_verdict"]["total"]["value"] == pytest.approx(10 / 9)
    assert direct["comparator_calls"] is None


def test_errors_and_open_cells_are_no_answers(study: Study, endpoint: Endpoint) -> None:
    fill(
        study,
        endpoint,
        JudgeConfiguration("cot"),
        {"i1": [-1, "error"], "i2": ["pending", 1], "i3": ["error", "pending"]},
    )
    row = row_of(ablation(study), "methods", "cot")
    assert [one["value"] for one in row["by_round"]] == [1.0, 0.0]
    assert [one["n"] for one in row["by_round"]] == [1, 1]
    assert (row["status"]["errors"], row["status"]["pending"], row["status"]["asked"]) == (2, 2, 4)
    assert row["accuracy"]["excluded"] == 2
    assert (row["rounds"], row["rounds_done"], row["rounds_begun"]) == (2, 0, 2)
    assert row["difference_to_direct"]["why"] == "direct was not asked at this endpoint"


def test_errors_where_nothing_is_known_are_not_left_out_of_the_accuracy(study: Study, endpoint: Endpoint) -> None:
    fill(study, endpoint, JudgeConfiguration("cot"), {"i1": [-1, "error"], "i5": ["error", "error"]})
    row = row_of(ablation(study), "methods", "cot")
    assert (row["accuracy"]["n"], row["accuracy"]["excluded"], row["status"]["errors"]) == (1, 1, 3)


def test_round_with_one_answer_is_begun_and_not_done(study: Study, endpoint: Endpoint) -> None:
    fill(study, endpoint, JudgeConfiguration("cot"), {
        "i1": [-1, -1, "pending"], "i2": ["error", "pending", "pending"], "i3": ["unparsed", "pending", "pending"],
    })  # fmt: skip
    found = ablation(study)
    row = row_of(found, "methods", "cot")
    assert (row["rounds"], row["rounds_done"], row["rounds_begun"]) == (3, 1, 1)
    assert "1/3 (1 begun)" in text(found)
    [told] = [one for one in csv_rows(found) if one["part"] == "methods"]
    assert (told["rounds_done"], told["rounds_begun"]) == (1, 1)


def test_tables_that_are_looked_at_are_of_the_same_pairs_in_every_row(
    study: Study, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reporting.ablation.comparison.MAX_CHECKED_TABLES", 2)
    # Each pair has the same table in both rows; what differs is which pair was done first.
    names = list(GOLD)
    for one, order in ((sc2(1), names), (sc2(4), names[::-1]), (sc2(8), names[2:] + names[:2])):
        made = fill(study, endpoint, one, {name: [1] for name in names})
        for name in order:
            words = ["One", "fact", "second", "dragon", "wyvern"][: 1 + names.index(name)]
            rows = [{"aspect": word, "only_a": word, "both": "", "only_b": "griffin"} for word in words]
            record = {"samples": [{"rows": rows}], "winner": 0, "bracket": []}
            TableMaking.objects.create(
                judgment=made.judgments.of_every_question().get(pair=pair(study, name)), record=record
            )
    rows = ablation(study)["parts"]["samples"]
    assert [row["support"]["n"] for row in rows] == [2, 2, 2]
    assert len({row["support"]["value"] for row in rows}) == 1
    assert len({row["coverage"]["value"] for row in rows}) == 1
    # Whatever the intervals are drawn with.
    assert {row["support"]["value"] for row in ablation(study, seed=7)["parts"]["samples"]} == {
        rows[0]["support"]["value"]
    }


# ---- rows that differ in more than in how they judge


def under(study: Study, aspects: list[str]) -> AspectSet:
    versions = AspectSet.objects.filter(group=study.group)
    return AspectSet.objects.create(
        group=study.group, task="summarization", version=versions.count() + 1, aspects=aspects
    )


def test_rows_of_different_aspects_are_marked(reader: Client, study: Study, endpoint: Endpoint) -> None:
    under(study, ["One", "<b>Two</b>"])
    fill(study, endpoint, sc2(1), TABLES, kinds={"verdict": 1})
    fill(study, endpoint, sc2(4), TABLES, kinds={"verdict": 2}, aspects=["One", "<b>Two</b>"])
    found = ablation(study)
    assert found["differing"] == {"samples": ["aspects"], "grid": ["aspects"]}
    [former, holding] = found["parts"]["samples"]
    assert (former["aspects_name"], holding["aspects_name"]) == ("summarization (built in)", "summarization.v1")
    assert former["aspects_hash"] != holding["aspects_hash"]
    told = text(found)
    assert "summarization (built in)" in told
    assert "summarization.v1" in told
    assert "careful: these rows also differ in their aspects" in told
    assert [row["aspects_name"] for row in csv_rows(found) if row["part"] == "samples"] == [
        "summarization (built in)", "summarization.v1",
    ]  # fmt: skip
    assert "Careful: the rows also differ in their aspects" in json.dumps(by_samples(found, "light"))
    assert "Careful: the rows also differ in their aspects" in json.dumps(by_calls(found, "light"))
    page = reader.get(reverse(PAGE, args=[study.slug])).content.decode()
    assert "Not all compare under the same aspects" in page
    assert "Aspects summarization.v1" in page
    assert "Not all are about the same pairs" not in page


def test_rows_of_other_rounds_or_pairs_are_marked(reader: Client, study: Study, endpoint: Endpoint) -> None:
    fill(study, endpoint, sc2(1), {"i1": [1], "i2": [1]})
    fill(study, endpoint, sc2(4), {"i1": [1], "i3": [1]})
    assert ablation(study)["differing"]["samples"] == ["pairs"]  # as many, but others
    fill(study, endpoint, sc2(8), {"i1": [1, 1], "i2": [1, 1]})
    found = ablation(study)
    assert found["differing"]["samples"] == ["rounds", "pairs"]
    assert "careful: these rows also differ in their rounds, pairs" in text(found)
    page = reader.get(reverse(PAGE, args=[study.slug])).content.decode()
    assert "Not all have the same rounds" in page
    assert "Not all are about the same pairs" in page


def test_rows_that_only_judge_differently_are_not_marked(reader: Client, study: Study, endpoint: Endpoint) -> None:
    everything = (JudgeConfiguration("direct"), JudgeConfiguration("direct-aspects", aspects="offline"), sc2(8), sc2(1))
    for one in (*everything, sc2(8, aspects="online")):
        fill(study, endpoint, one, TABLES)
    found = ablation(study)
    assert found["differing"] == {}
    assert {row["pairs"] for rows in found["parts"].values() for row in rows} == {4}
    assert "areful" not in text(found) + json.dumps(by_samples(found, "light"))
    assert "Compare them with care" not in reader.get(reverse(PAGE, args=[study.slug])).content.decode()


def test_round_that_is_open_in_one_row_only_is_marked(study: Study, endpoint: Endpoint) -> None:
    fill(study, endpoint, sc2(1), {"i1": [1, 1], "i2": [1, 1]})
    fill(study, endpoint, sc2(4), {"i1": [1, "pending"], "i2": [1, "pending"]})
    assert ablation(study)["differing"]["samples"] == ["rounds"]


def test_agreement_with_people_needs_no_gold(endpoint: Endpoint) -> None:
    built = build_configuration(build_study(), instances=2, pairs=1)
    for code, verdicts in (("p", [-1, 1]), ("q", [-1, 1]), ("r", [1, -1])):
        for place, verdict in enumerate(verdicts):
            rate(built, place, code, [verdict])
    judge = judge_of(JudgeConfiguration("direct"), endpoint=endpoint, rounds=2, seed=1, aspects=None)
    judge.save()
    run = JudgeRun.objects.create(study=built.study, judge=judge)
    for place, said in enumerate([(-1, -1), (-1, 1)]):
        for repeat, verdict in enumerate(said):
            Judgment.objects.create(
                run=run, pair=built.pairs[place][0], order="ab", repeat=repeat, status="parsed", verdict=verdict
            )
    found = ablation(built.study)
    row = row_of(found, "methods", "direct")
    assert row["agreement_with_majority"]["value"] == pytest.approx((1 / 2 + 2 / 2) / 2)
    assert row["agreement_with_majority"]["n"] == 4
    assert row["accuracy"]["value"] is None
    assert "gold" in row["accuracy"]["why"]
    assert "gold" in found["why"]
    [curve, points] = [draw(found, "light") for draw in (by_samples, by_calls)]
    assert "Nothing to draw yet" in json.dumps(curve)
    assert "gold" in json.dumps(points) or "Agreement" in json.dumps(points)


def test_support_and_coverage_are_those_of_the_tables_that_won(study: Study, endpoint: Endpoint) -> None:
    run = fill(study, endpoint, sc2(1), {"i1": [-1], "i2": [1]})
    rows = [
        # Of A's text; of both; of no text
        {"aspect": "x", "only_a": "second", "both": "fact", "only_b": "dragon"},
    ]
    for cell in run.judgments.of_every_question():
        TableMaking.objects.create(
            judgment=cell, record={"samples": [{"lost": "?"}, {"rows": rows}], "winner": 1, "bracket": []}
        )
    row = row_of(ablation(study), "samples", "sc2")
    assert row["support"]["value"] == pytest.approx(2 / 3)
    assert row["support"]["n"] == 2
    assert 0 < row["coverage"]["value"] < 1
    assert ablation(study, tables=False)["parts"]["samples"][0]["support"]["value"] is None


def test_nothing_yet_says_so(study: Study) -> None:
    found = ablation(study)
    assert found["why"] == "no judge of an ablation was asked yet"
    assert all(rows == [] for rows in found["parts"].values())
    assert "no judge of an ablation was asked yet" in text(found)


def test_parts_and_endpoints_narrow_what_is_shown(asked: Study) -> None:
    assert list(ablation(asked, parts=["samples"])["parts"]) == ["samples"]
    assert len(ablation(asked, parts=["samples"])["parts"]["samples"]) == 1
    assert ablation(asked, endpoint="elsewhere")["parts"]["methods"] == []


def test_numbers_do_not_depend_on_other_rows(asked: Study, endpoint: Endpoint) -> None:
    before = row_of(ablation(asked), "samples", "sc2")
    fill(asked, endpoint, sc2(1), TABLES)
    fill(asked, endpoint, JudgeConfiguration("cot"), TABLES)
    assert row_of(ablation(asked), "samples", "sc2", samples=4) == before


def test_queries_do_not_grow_with_rows(asked: Study, endpoint: Endpoint, django_assert_max_num_queries: Any) -> None:
    for one in (JudgeConfiguration("cot"), sc2(1), sc2(8), sc2(budget=8), JudgeConfiguration("self-consistency", 8)):
        fill(asked, endpoint, one, TABLES)
    with django_assert_max_num_queries(20):
        ablation(asked, tables=False)


def test_rows_as_csv_and_text(asked: Study) -> None:
    found = ablation(asked)
    rows = list(csv_rows(found))
    assert all(set(row) == set(COLUMNS) for row in rows)
    assert {row["part"] for row in rows} == {"methods", "samples", "grid"}
    assert "sc2, |C|=4, tournament, offline @ here" in text(found)
    assert "0.500" in text(found)
    assert row_name(row_of(found, "methods", "direct")) == "direct"


def test_pictures_are_drawn_of_plain_values(asked: Study) -> None:
    found = ablation(asked)
    curve = by_samples(found, "dark")
    [point] = curve["data"]["values"]
    assert (point["x"], point["value"], point["kind"]) == (4, 0.75, "here")
    points = by_calls(found, "light")["data"]["values"]
    assert sorted((point["x"], point["kind"]) for point in points) == [
        (pytest.approx(10 / 9), "single answers"),
        (8, "SC², tournament"),
    ]


# ---- the command


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


def run(capsys: pytest.CaptureFixture[str], *arguments: Any, **options: Any) -> Any:
    capsys.readouterr()
    call_command("sc2_ablation", "side", *arguments, format="json", **options)
    return json.loads(capsys.readouterr().out)


def test_command_asks_reports_and_asks_nothing_again(stand_in: StandIn, capsys: pytest.CaptureFixture[str]) -> None:
    options = {"endpoint": "near", "part": ["methods", "samples", "schemes"], "rounds": 2, "samples": [1, 4, 8]}
    expected = run(capsys, estimate=True, **options)
    assert stand_in.calls == 0
    found = run(capsys, **options)
    assert 0.9 * expected["total"]["calls"] < stand_in.calls <= expected["total"]["calls"]
    assert [row["samples"] for row in found["parts"]["samples"]] == [1, 4, 8]
    assert [row["method"] for row in found["parts"]["methods"]] == [
        "direct", "direct-aspects", "cot", "cot-1shot", "self-consistency", "sc2",
    ]  # fmt: skip
    exact = row_of(found, "schemes", "sc2", scheme="exact")
    assert exact["calls_per_verdict"]["comparator"]["value"] == exact["comparator_calls"] == 56
    assert exact["support"]["n"] == 10
    assert all(row["rounds_done"] == 2 for rows in found["parts"].values() for row in rows)
    assert sum({row["judge"]: row["calls_made"] for rows in found["parts"].values() for row in rows}.values()) == (
        stand_in.calls
    )
    made = stand_in.calls
    assert run(capsys, **options) == found
    assert stand_in.calls == made
    assert run(capsys, report=True)["parts"]["samples"] == found["parts"]["samples"]
    assert run(capsys, estimate=True, **options)["total"]["calls"] == 0


def test_command_stops_at_the_cap_and_resumes_with_a_higher_one(
    stand_in: StandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    options = {"endpoint": "near", "part": ["methods"], "rounds": 1, "in_flight": 1}
    a_call = Decimal(18) / 1_000_000
    with pytest.raises(CommandError, match="cap") as stopped:
        call_command("sc2_ablation", "side", max_cost=str(a_call * 12), **options)
    assert stopped.value.returncode == 3
    assert stand_in.calls <= 12
    call_command("sc2_ablation", "side", max_cost="1", **options)
    assert JudgeRun.objects.exclude(status="done").count() == 0


def test_command_ends_where_the_endpoint_refuses(stand_in: StandIn) -> None:
    stand_in.script = [Reply(401, '{"error": {"message": "no such key"}}')] * 50
    with pytest.raises(CommandError, match="resumes without repeating a call"):
        call_command("sc2_ablation", "side", endpoint="near", part=["methods"], rounds=1)
    assert JudgeRun.objects.count() == 1
    stand_in.script = []
    call_command("sc2_ablation", "side", endpoint="near", part=["methods"], rounds=1)
    assert set(JudgeRun.objects.values_list("status", flat=True)) == {"done"}


def test_command_asks_a_part_of_the_pairs_only(
    stand_in: StandIn, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    ids = tmp_path / "ids"
    ids.write_text("i1\ni2\n")
    found = run(capsys, endpoint="near", part=["samples"], samples=[2], rounds=1, instances=str(ids))
    assert [row["pairs"] for row in found["parts"]["samples"]] == [2]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        pytest.param({"estimate": True}, "name one with --endpoint", id="estimate-of-nothing"),
        pytest.param({"endpoint": "nowhere"}, "nowhere", id="endpoint"),
        pytest.param({"endpoint": "nowhere", "report": True}, "nowhere", id="endpoint-of-a-report"),
        pytest.param({"endpoint": "near", "rounds": 0}, "rounds", id="rounds"),
        pytest.param({"endpoint": "near", "samples": [0]}, "samples", id="samples"),
        pytest.param({"endpoint": "near", "seed": -1}, "seed", id="seed"),
        pytest.param({"endpoint": "near", "max_cost": "much"}, "sum of money", id="cap"),
    ],
)
def test_command_refuses_what_makes_no_sense(stand_in: StandIn, options: dict[str, Any], reason: str) -> None:
    with pytest.raises(CommandError, match=reason):
        call_command("sc2_ablation", "side", **options)
    assert (stand_in.calls, JudgeRun.objects.count()) == (0, 0)


def test_command_prints_tables_and_csv(asked: Study, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("sc2_ablation", "side")
    assert "numbers of tables, |C|" in capsys.readouterr().out
    call_command("sc2_ablation", "side", format="csv")
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["accuracy"] for row in rows} == {"0.5", "0.75"}


def test_howto_can_be_walked_through(stand_in: StandIn, study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    study.instances.exclude(instance_id__in=["i1", "i2"]).delete()
    assert walk("docs/howto/compare_ways_of_judging.md", {"mine": "side", "local": "near"}) == ["sc2_ablation"] * 6
    assert '"difference_to_direct"' in capsys.readouterr().out
    assert JudgeRun.objects.count() == 8  # six methods, and SC² with 1 and 4 tables


# ---- the page


@pytest.fixture
def reader(study: Study) -> Client:
    client = Client()
    client.force_login(make_user("reader", "researcher", study=study))
    return client


CHOSEN = {
    "endpoint": "near",
    "parts": ["methods"],
    "rounds": 2,
    "samples": "1, 4 8",
    "schemes": ["random", "tournament", "exact"],
    "aspects": ["offline", "online"],
    "budgets": "8",
    "shots": "3",
    "in_flight": 4,
}


def test_page_explains_what_to_do_when_there_is_nothing(reader: Client, study: Study) -> None:
    page = reader.get(reverse(PAGE, args=[study.slug])).content.decode()
    assert "No judge of an ablation was asked yet" in page
    assert "manage.py sc2_ablation side --endpoint NAME --estimate" in page
    assert "Estimate calls and cost" in page


def test_page_shows_the_tables_and_links_the_runs(reader: Client, asked: Study) -> None:
    page = reader.get(reverse(PAGE, args=[asked.slug])).content.decode()
    assert "sc2, |C|=4, tournament, offline" in page
    assert "0.750" in page
    assert "0.250, 0.750; sd 0.354" in page
    for made in JudgeRun.objects.all():
        assert reverse("judging:run", args=[asked.slug, made.pk]) in page


def test_page_without_gold_shows_agreement_and_no_empty_columns(reader: Client, asked: Study) -> None:
    asked.instances.update(gold=None)
    page = reader.get(reverse(PAGE, args=[asked.slug])).content.decode()
    assert "No pair of the study has a gold label" in page
    assert "Accuracy, mean over rounds" not in page
    assert "Calls a verdict" in page


def test_page_says_what_it_takes_and_starts_it_for_a_worker(
    reader: Client, study: Study, stand_in: StandIn, django_capture_on_commit_callbacks: Any
) -> None:
    answered = reader.post(reverse(PAGE, args=[study.slug]), CHOSEN)
    assert answered.status_code == 200
    page = answered.content.decode()
    assert "<strong>280 calls</strong>" in page  # five pairs, two rounds, 4 single answers, 8 draws and 16 of SC²
    assert not JudgeRun.objects.exists()
    with django_capture_on_commit_callbacks(execute=True):
        answered = reader.post(reverse(START, args=[study.slug]), CHOSEN)
    assert DBTaskResult.objects.count() == 6
    assert (answered.status_code, answered.headers["Location"]) == (302, reverse(PAGE, args=[study.slug]))
    assert JudgeRun.objects.filter(status="queued").count() == 6
    page = reader.get(reverse(PAGE, args=[study.slug]))
    assert "0 of 6 runs are done." in page.content.decode()
    assert "data-poll" in page.content.decode()
    for queued in JudgeRun.objects.all():
        execute(queued.pk, stop=StopFlag())
    assert stand_in.calls == 280
    page = reader.get(reverse(PAGE, args=[study.slug]))
    assert "6 of 6 runs are done." in page.content.decode()
    assert "data-poll" not in page.content.decode()


def test_card_is_sent_alone_to_htmx(reader: Client, asked: Study, stand_in: StandIn) -> None:
    address = reverse(PAGE, args=[asked.slug])
    progress = reader.get(address, headers={"HX-Request": "true"}).content.decode()
    assert "2 of 2 runs are done." in progress
    assert "<html" not in progress
    estimate = reader.post(address, CHOSEN, headers={"HX-Request": "true"}).content.decode()
    assert 'id="start"' in estimate
    assert "<html" not in estimate


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        pytest.param({"samples": "some"}, "Write whole numbers", id="no-number"),
        pytest.param({"samples": "0"}, "samples of an ablation is from 1", id="no-table"),
        pytest.param({"budgets": "1"}, "budget of an ablation is from 2", id="no-call"),
        pytest.param({"endpoint": "nowhere"}, "Select a valid choice", id="endpoint"),
        pytest.param({"parts": []}, "This field is required", id="no-part"),
        pytest.param({"rounds": "101"}, "less than or equal to 100", id="rounds"),
        pytest.param({"instances": "i9"}, "has no instance i9", id="instance"),
    ],
)
def test_bad_form_is_shown_again_with_the_reason(
    reader: Client, study: Study, stand_in: StandIn, changed: dict[str, Any], said: str
) -> None:
    for route in (PAGE, START):
        answered = reader.post(reverse(route, args=[study.slug]), {**CHOSEN, **changed})
        assert answered.status_code == 422
        assert said in answered.content.decode()
    assert not JudgeRun.objects.exists()


def test_cap_that_is_not_enough_is_refused_on_the_page(reader: Client, study: Study, stand_in: StandIn) -> None:
    answered = reader.post(reverse(START, args=[study.slug]), {**CHOSEN, "max_cost": "0.000001"})
    assert answered.status_code == 422
    assert "are expected, more than" in answered.content.decode()
    assert not JudgeRun.objects.exists()


def test_files_and_pictures_are_sent(reader: Client, asked: Study) -> None:
    found = reader.get(reverse("reporting:ablation-file", args=[asked.slug, "json"]))
    assert json.loads(found.content)["parts"]["samples"][0]["samples"] == 4
    table = reader.get(reverse("reporting:ablation-file", args=[asked.slug, "csv"]))
    assert table.content.decode().startswith("study,part,judge")
    for name in ("samples", "calls"):
        picture = reader.get(reverse("reporting:ablation-chart", args=[asked.slug, name, "svg"]) + "?theme=dark")
        assert picture.content.startswith(b"<svg")
        assert picture.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert (
        reader.get(reverse("reporting:ablation-chart", args=[asked.slug, "calls", "png"]) + "?theme=pink").status_code
        == 404
    )


def test_hostile_names_are_escaped(reader: Client, asked: Study) -> None:
    Endpoint.objects.update(model="<script>alert(1)</script>")
    page = reader.get(reverse(PAGE, args=[asked.slug])).content.decode()
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page
