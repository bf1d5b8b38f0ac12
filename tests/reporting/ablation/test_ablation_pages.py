"""Ways of judging side by side: the command over a stand-in, the page."""

import csv
import io
import json
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django_tasks_db.models import DBTaskResult

from annotation.models import Study
from judging.jobs.stopping import StopFlag
from judging.models import Endpoint, JudgeRun
from judging.runs.execution import execute
from tests.fakes import Reply, StandIn
from tests.howto import walk
from tests.reporting.ablation.setup import asked as asked
from tests.reporting.ablation.setup import endpoint as endpoint
from tests.reporting.ablation.setup import reader as reader
from tests.reporting.ablation.setup import row_of
from tests.reporting.ablation.setup import stand_in as stand_in
from tests.reporting.ablation.setup import study as study

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
PAGE, START = "reporting:ablation", "reporting:start-ablation"


# The command


def only(study: Study, *names: str) -> None:
    study.instances.exclude(instance_id__in=names).delete()


def run(capsys: pytest.CaptureFixture[str], *arguments: Any, **options: Any) -> Any:
    capsys.readouterr()
    call_command("sc2_ablation", "side", *arguments, format="json", **options)
    return json.loads(capsys.readouterr().out)


@pytest.mark.weekly
def test_command_asks_reports_and_asks_nothing_again(
    study: Study, stand_in: StandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    only(study, "i1")
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
    assert exact["support"]["n"] == 2
    assert all(row["rounds_done"] == 2 for rows in found["parts"].values() for row in rows)
    assert sum({row["judge"]: row["calls_made"] for rows in found["parts"].values() for row in rows}.values()) == (
        stand_in.calls
    )
    made = stand_in.calls
    assert run(capsys, **options) == found
    assert stand_in.calls == made
    assert run(capsys, report=True)["parts"]["samples"] == found["parts"]["samples"]
    assert run(capsys, estimate=True, **options)["total"]["calls"] == 0


def test_command_stops_at_the_cap_and_resumes_with_a_higher_one(study: Study, stand_in: StandIn) -> None:
    only(study, "i1", "i3")
    options = {"endpoint": "near", "part": ["methods"], "rounds": 1, "in_flight": 1}
    a_call = Decimal(18) / 1_000_000
    with pytest.raises(CommandError, match="cap") as stopped:
        call_command("sc2_ablation", "side", max_cost=str(a_call * 12), **options)
    assert stopped.value.returncode == 3
    assert stand_in.calls <= 12
    call_command("sc2_ablation", "side", max_cost="1", **options)
    assert JudgeRun.objects.exclude(status="done").count() == 0


@pytest.mark.weekly
def test_command_ends_where_the_endpoint_refuses(study: Study, stand_in: StandIn) -> None:
    only(study, "i1", "i3")
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
        pytest.param({"endpoint": "near", "max_cost": "nan"}, "sum of money", id="no-number"),
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


@pytest.mark.weekly
def test_howto_can_be_walked_through(stand_in: StandIn, study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    only(study, "i1")
    assert walk("docs/howto/compare_ways_of_judging.md", {"mine": "side", "local": "near"}) == ["sc2_ablation"] * 6
    assert '"difference_to_direct"' in capsys.readouterr().out
    assert JudgeRun.objects.count() == 8  # six methods, and SC² with 1 and 4 tables


# The page


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
    assert "Choose below what is to be varied" in page
    assert "manage.py" not in page
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
    only(study, "i1", "i3")
    answered = reader.post(reverse(PAGE, args=[study.slug]), CHOSEN)
    assert answered.status_code == 200
    page = answered.content.decode()
    assert "<strong>112 calls</strong>" in page  # two pairs, two rounds, 4 single answers, 8 draws and 16 of SC²
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
    assert stand_in.calls == 112
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
    for route in (PAGE, START) if "rounds" in changed or "instances" in changed else (PAGE,):  # both read one form
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
