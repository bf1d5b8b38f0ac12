"""Runs on a part of a study's pairs: which pairs, which run, and what is refused."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from annotation.core.errors import UnknownName
from annotation.models import Study
from judging.core.errors import BadSettings
from judging.models import JudgeRun
from judging.runs import pair_filters
from judging.runs.estimates import estimate
from judging.runs.forms import SystemsField
from judging.runs.pair_filters import PairFilter, filter_of
from judging.runs.services import start_run
from tests.factories import add_instances, instance_rows, make_batch, make_study, make_user
from tests.fakes import ScriptedClient
from tests.judging.builders import judge_with, make_judge

pytestmark = [pytest.mark.django_db, pytest.mark.engine]


def store() -> Study:
    """Three systems on two data sets; some instances are tagged."""
    study = make_study("tea", instances=0)
    systems = ("alpha", "beta", "gamma")
    news = instance_rows(instances=3, k=1, systems=systems)
    tags: list[dict[str, Any]] = [{"tags": ["hard", "long"]}, {"tag": "hard"}, {"tags": ["long"]}]
    add_instances(study, [replace(row, metadata=found) for row, found in zip(news, tags, strict=True)])
    add_instances(study, instances=2, k=1, systems=systems, dataset="mail")
    return study


def judged(run: JudgeRun) -> set[tuple[str, str, str]]:
    names = ("matchup__instance__instance_id", "matchup__system_a__name", "matchup__system_b__name")
    return set(run.judgments.values_list(*(f"pair__{name}" for name in names)))


@pytest.mark.parametrize(
    ("only", "instances", "systems"),
    [
        pytest.param({"dataset": "mail"}, {"mail-1", "mail-2"}, 3, id="data set"),
        pytest.param({"systems": ("gamma", "alpha")}, {"news-1", "news-2", "news-3", "mail-1", "mail-2"}, 1, id="systems"),
        pytest.param({"tags": ("hard",)}, {"news-1", "news-2"}, 3, id="tag"),
        pytest.param({"tags": ("hard", "long")}, {"news-1", "news-2", "news-3"}, 3, id="either tag"),
        pytest.param({"instances": ("mail-2", "news-3")}, {"mail-2", "news-3"}, 3, id="instances"),
        pytest.param({"dataset": "news", "tags": ("long",), "systems": ("beta", "gamma")}, {"news-1", "news-3"}, 1, id="all"),
    ],
)  # fmt: skip
def test_a_run_is_about_the_pairs_that_its_filter_lets_through(
    study: Study, only: dict[str, Any], instances: set[str], systems: int
) -> None:
    run = start_run(study=study, judge=make_judge("coin"), only=PairFilter(**only))
    found = judged(run)
    assert {instance for instance, _, _ in found} == instances
    assert {frozenset(pair) for _, *pair in found if "systems" in only} <= {frozenset(only.get("systems", ()))}
    assert len(found) == systems * len(instances) == run.judgments.count()
    assert filter_of(run.pair_filter).key == run.filter_key


def test_the_same_filter_is_the_same_run_and_another_one_is_another(study: Study) -> None:
    judge = make_judge("coin")
    run = start_run(study=study, judge=judge, only=PairFilter(tags=("long", "hard")))
    assert start_run(study=study, judge=judge, only=PairFilter(tags=("hard", "long", "hard"))) == run
    others = [start_run(study=study, judge=judge, only=only) for only in (PairFilter(tags=("hard",)), PairFilter())]
    assert len({run.pk, *(other.pk for other in others)}) == 3
    assert others[1].pair_filter == {}
    assert others[1].judgments.count() == 15


def test_a_filter_narrows_a_batch_down(study: Study) -> None:
    batch = make_batch(study, pairs=1, raters=1)
    run = start_run(study=study, judge=make_judge("coin"), batch=batch, only=PairFilter(tags=("hard",)))
    assert judged(run) == {("news-1", "alpha", "beta"), ("news-2", "alpha", "beta")}


@pytest.mark.slow
@pytest.mark.any_engine
def test_an_estimate_counts_the_part(study: Study) -> None:
    judge = make_judge(order="both")
    assert estimate(study=study, judge=judge, only=PairFilter(dataset="mail")).calls == 12
    judge_with(ScriptedClient(), study, judge, only=PairFilter(dataset="mail"))
    found = estimate(study=study, judge=judge, only=PairFilter(dataset="mail"))
    assert (found.presentations, found.pending) == (12, 0)


@pytest.mark.parametrize(
    ("only", "reason"),
    [
        pytest.param({"dataset": "post"}, "no data set post; it has: mail, news", id="data set"),
        pytest.param({"systems": ("alpha", "delta")}, "no system delta; it has: alpha, beta, gamma", id="system"),
        pytest.param({"tags": ("odd",)}, "no tag odd; it has: hard, long", id="tag"),
        pytest.param({"instances": ("a", "b", "mail-1")}, "has no instance a and 1 more", id="instances"),
        pytest.param({"systems": ("alpha", "alpha")}, "two systems; 1 are named", id="one system"),
        pytest.param({"dataset": "mail", "tags": ("hard",)}, "has no such pairs to judge", id="nothing left"),
    ],
)
@pytest.mark.any_engine
def test_what_is_not_there_is_refused_and_makes_no_run(study: Study, only: dict[str, Any], reason: str) -> None:
    with pytest.raises((UnknownName, BadSettings), match=reason):
        start_run(study=study, judge=make_judge("coin"), only=PairFilter(**only))
    assert not JudgeRun.objects.exists()


@pytest.mark.any_engine
def test_names_with_a_dash_are_told_apart() -> None:
    study = make_study("dashes", instances=0)
    add_instances(study, instances=1, k=1, systems=("a", "a – b", "b – c", "c"))
    field = SystemsField()
    field.for_study(study)
    assert field.clean(["b – c", "a"]) == ("a", "b – c")
    labels = [label for value, label in field.choices if value]
    assert sorted(map(field.clean, labels)) == sorted(field.pairs)
    assert field.clean(["a – b", "c"]) == ("a – b", "c")
    with pytest.raises(ValidationError):
        field.clean(["a – b – c", ""])


def test_more_instances_than_can_be_named_are_refused(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_filters, "MOST_INSTANCES", 2)
    for only in (PairFilter(tags=("hard", "long")), PairFilter(instances=("mail-1", "mail-2", "news-1"))):
        with pytest.raises(BadSettings, match="create a batch of them"):
            start_run(study=study, judge=make_judge("coin", name=f"coin-{only.key[:8]}"), only=only)


@pytest.mark.slow
@pytest.mark.any_engine
def test_the_commands_take_the_filter(study: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_judge("coin", name="coin")
    (tmp_path / "ids.txt").write_text("news-1\n\nmail-1\n")
    part = ["--systems", "alpha", "beta", "--instances", str(tmp_path / "ids.txt")]
    call_command("estimate_run", "tea", "--judge", "coin", *part)
    assert "presentations: 2\npending: 2\n" in capsys.readouterr().out
    call_command("run_judge", "tea", "--judge", "coin", *part)
    assert "asked 2 = " in capsys.readouterr().out
    call_command("run_judge", "tea", "--judge", "coin", "--dataset", "news", "--tag", "hard", "--tag", "long")
    assert "asked 9 = " in capsys.readouterr().out
    call_command("run_status", "tea", "--format", "json")
    told = json.loads(capsys.readouterr().out)["runs"]
    assert [run["filter"] for run in told] == [
        {"systems": ["alpha", "beta"], "instances": ["mail-1", "news-1"]},
        {"dataset": "news", "tags": ["hard", "long"]},
    ]
    (tmp_path / "ids.txt").write_text("\n")
    with pytest.raises(CommandError, match=r"ids.txt names no instance"):
        call_command("run_judge", "tea", "--judge", "coin", *part)


@pytest.mark.slow
@pytest.mark.any_engine
def test_the_pages_take_show_and_keep_the_filter(
    study: Study, client: Client, django_capture_on_commit_callbacks: Any
) -> None:
    make_judge("coin", name="coin")
    client.force_login(make_user("rosa", "researcher", study=study))
    part = {"dataset": "news", "systems": "alpha – gamma", "tags": "hard\nlong", "instances": "news-1\nnews-2"}
    sent = {"judge": "coin", "in_flight": 4, **part}
    told = client.post(reverse("judging:estimate", args=["tea"]), sent)
    assert told.context["run_form"]["tags"].value() == "hard\nlong"
    with django_capture_on_commit_callbacks(execute=True):
        started = client.post(reverse("judging:start", args=["tea"]), sent)
    run = JudgeRun.objects.get()
    assert judged(run) == {("news-1", "alpha", "gamma"), ("news-2", "alpha", "gamma")}
    words = "of these only news, alpha – gamma, hard, long, 2 instances"
    for address in (started.headers["Location"], reverse("judging:judges", args=["tea"])):
        assert words in client.get(address).content.decode()
    JudgeRun.objects.update(status="done")
    with django_capture_on_commit_callbacks(execute=True):
        client.post(reverse("judging:steer", args=["tea", run.pk]), {"action": "again"})
    assert JudgeRun.objects.get().status == "queued"  # the same run, and no second one
    wrong = client.post(reverse("judging:start", args=["tea"]), {**sent, "tags": "odd"})
    assert wrong.status_code == 422
    assert "no tag odd" in wrong.content.decode()


@pytest.mark.slow
@pytest.mark.any_engine
def test_pairs_off_hits_are_judged_where_asked(
    study: Study, client: Client, capsys: pytest.CaptureFixture[str], django_capture_on_commit_callbacks: Any
) -> None:
    make_judge("coin", name="coin")
    batch = make_batch(study, pairs=1, raters=1)  # alpha and beta, of news
    call_command("run_judge", "tea", "--judge", "coin", "--dataset", "news")
    call_command("run_judge", "tea", "--judge", "coin", "--dataset", "news", "--off-hits")
    assert [line.split(" = ")[0] for line in capsys.readouterr().out.splitlines()] == ["asked 3", "asked 9"]
    assert [run.pair_filter.get("off_hits", False) for run in JudgeRun.objects.order_by("pk")] == [False, True]
    with pytest.raises(CommandError, match="not allowed with"):
        call_command("run_judge", "tea", "--judge", "coin", "--off-hits", "--batch", batch.name)

    client.force_login(make_user("rosa", "researcher", study=study))
    sent = {"judge": "coin", "in_flight": 4, "off_hits": "on"}
    refused = client.post(reverse("judging:start", args=["tea"]), {**sent, "batch": batch.name})
    assert "All pairs of a batch are on its HITs" in refused.content.decode()
    assert JudgeRun.objects.count() == 2
    with django_capture_on_commit_callbacks(execute=True):
        started = client.post(reverse("judging:start", args=["tea"]), sent)
    assert JudgeRun.objects.latest("pk").judgments.count() == 15
    assert "all pairs of the study, on HITs or not" in client.get(started.headers["Location"]).content.decode()
