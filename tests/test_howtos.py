"""Every command of every page runs, in the order of the page; a model is a stand-in on this machine."""

import itertools
import json
import re
import shlex
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.utils import timezone
from rest_framework.test import APIClient

from annotation.models import Annotator, Batch, ComparisonTable, Event, Participant, RoleGrant, Study
from annotation.models.members import Role
from judging.models import JudgeRun, Judgment
from tests.annotation.recruitment.prolific.setup import OTHER_PID, OTHER_SESSION, PID, SESSION, come, make_prolific
from tests.annotation.recruitment.prolific.setup import prolific as prolific
from tests.factories import (
    claim,
    criterion,
    json_lines,
    make_annotator,
    make_batch,
    make_study,
    make_user,
    rate,
    token_of,
)
from tests.howto import ROOT, blocks, commands, walk
from tests.standin.process import StandInProcess, running

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture(scope="module")
def standin() -> Iterator[StandInProcess]:
    with running() as process:
        yield process


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: object, standin: StandInProcess) -> None:
    """Be in an empty folder with the examples; judges may ask this machine with the pages' key."""
    settings.ENDPOINT_ALLOWLIST = ["127.0.0.1"]  # type: ignore[attr-defined]
    monkeypatch.setenv("MY_API_KEY", "sk-of-nobody")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    standin.reset()


def test_tutorial_leads_to_findings_and_prints_what_it_shows(
    standin: StandInProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    page = "docs/tutorial/first_study.md"
    walk(page, {"http://localhost:8089/v1": standin.base_url})

    said = capsys.readouterr().out
    shown = [line for block in blocks(page, "text") for line in block.splitlines()]
    assert len(shown) > 10
    assert [line for line in shown if line not in said] == []
    assert Path("talks-export/judgments.csv").read_text(encoding="utf-8").count("\n") == 241
    assert (Path("talks-report") / "report.html").stat().st_size > 10_000


SYSTEMS = ("large", "small", "tiny")


def study_of(
    slug: str,
    standin: StandInProcess,
    *,
    instances: int = 3,
    texts: int = 2,
    rated: bool = True,
    endpoints: tuple[str, ...] = (),
    judges: tuple[str, ...] = (),
    **settings: Any,
) -> Study:
    """Make a study of three systems that two people have rated, with gold and tags, and the endpoints and judges that pages name."""
    lines = [
        {
            "instance_id": f"n{number}",
            "dataset": "news",
            "source": f"Of {number}.",
            "generations": {
                system: [f"{system[0] * (3 + index)} of {number}" for index in range(texts)] for system in SYSTEMS
            },
            "gold": {"scores": {system: place + 1 for place, system in enumerate(SYSTEMS)}},
            "metadata": {"tags": ["adversarial" if number % 2 else "hard"]},
        }
        for number in range(instances)
    ]
    Path("made.jsonl").write_bytes(json_lines(lines))
    call_command("import_study", "made.jsonl", study=slug, task="summarization")
    Study.objects.filter(slug=slug).update(**settings)
    study = Study.objects.get(slug=slug)
    for first, second in (("large", "small"), ("small", "tiny"), ("large", "tiny")):
        make_batch(
            study, name="spring" if second == "small" else f"{first}-{second}", systems=(first, second), pairs=texts
        )
    for name in ("ada", "bo") if rated else ():
        annotator = make_annotator(study, name)
        for _ in range(3 * instances):
            rate(claim(annotator, timezone.now()), "left", at=timezone.now())
    for name in endpoints or ("gpt",) * bool(judges):
        call_command(
            "add_endpoint", name, base_url=standin.base_url, model="m", price_prompt="0.1", price_completion="0.1"
        )
    for name in judges:
        call_command("add_judge", name, method="direct", endpoint=(endpoints or ("gpt",))[0], order="both")
    return study


def test_several_questions(standin: StandInProcess) -> None:
    study = make_study("mine", instances=1)
    walk("docs/howto/set_up_a_study.md#ask-more-than-one-question-of-a-pair")
    study.refresh_from_db()
    assert [one["key"] for one in study.criteria] == ["coherence", "faithfulness"]


def test_choosing_instances(standin: StandInProcess, capsys: pytest.CaptureFixture[str]) -> None:
    walk("docs/howto/plan_a_study.md#choose-instances-worth-a-persons-time")
    assert Batch.objects.get(name="drawn").hits.count() == 6
    assert "rank correlation" in capsys.readouterr().out


def test_fewer_votes(standin: StandInProcess) -> None:
    study_of("mine", standin, instances=60, texts=1, judges=("direct",), rated=False, pairs_per_hit=1)
    Batch.objects.all().delete()
    walk("docs/howto/spend_fewer_votes.md")
    rest = Batch.objects.get(name="rest")
    assert rest.hits.filter(inclusion_probability__gt=0).count() == 30
    assert rest.selection["active"]["judges"] == ["direct"]


def test_freezing_the_plan(standin: StandInProcess, capsys: pytest.CaptureFixture[str]) -> None:
    walk("docs/howto/plan_a_study.md#freeze-the-plan")
    assert '"claims": [\n      "preference",\n      "replacement"\n    ]' in capsys.readouterr().out


@pytest.mark.weekly
def test_audits(standin: StandInProcess, capsys: pytest.CaptureFixture[str]) -> None:
    study_of("mine", standin, instances=1, texts=1, judges=("careful",))
    walk("docs/howto/audit_a_judge.md#consistency-of-a-judge-with-itself")
    assert "transitivity" in capsys.readouterr().out
    assert "<svg" in Path("rank.svg").read_text(encoding="utf-8")
    assert {run.judge.name for run in JudgeRun.objects.select_related("judge")} >= {"careful-audit10", "careful-rank"}


@pytest.mark.weekly
def test_ways_of_judging_are_compared(standin: StandInProcess, capsys: pytest.CaptureFixture[str]) -> None:
    study_of("mine", standin, endpoints=("local",), rated=False)
    walk("docs/howto/judge_the_judges.md#compare-ways-of-judging")
    assert set(Judgment.objects.values_list("run__judge__name", "status")) == {
        ("direct-1", "parsed"),
        ("sc2-1", "parsed"),
    }


def test_stress_tests(standin: StandInProcess, capsys: pytest.CaptureFixture[str]) -> None:
    study_of("mine", standin, instances=1, judges=("careful",))
    walk("docs/howto/audit_a_judge.md#stress-tests")
    assert "padding" in capsys.readouterr().out


@pytest.mark.weekly
def test_tables(standin: StandInProcess) -> None:
    study_of("mine", standin, instances=1, endpoints=("local", "large", "small"))
    [aspects] = blocks("docs/howto/comparison_tables.md#create-comparison-tables", "text")
    Path("aspects.txt").write_text(aspects, encoding="utf-8")
    walk("docs/howto/comparison_tables.md#create-comparison-tables")
    tables = [json.loads(line) for line in Path("tables.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(tables) == ComparisonTable.objects.exclude(variant="large-8").count() > 0
    assert "making" in json.loads(Path("c8.jsonl").read_text(encoding="utf-8").splitlines()[0])


@pytest.mark.weekly
def test_repair(standin: StandInProcess) -> None:
    study_of("mine", standin, judges=("careful",))
    call_command("run_judge", "mine", judge="careful")
    walk("docs/howto/audit_a_judge.md#repair-preferences-and-train-on-them")
    assert json.loads(Path("pairs.jsonl").read_text(encoding="utf-8").splitlines()[0])


@pytest.mark.weekly
def test_runs(standin: StandInProcess) -> None:
    study = study_of("mine", standin, rated=False, judges=("gpt-direct",), criteria=[criterion("coherence")])
    Path("ids.txt").write_text("n0\nn2\n", encoding="utf-8")
    standin.behave(rejects=["temperature"])
    with pytest.raises(CommandError, match="no question got an answer"):
        call_command("run_judge", "mine", judge="gpt-direct", limit=1)
    standin.reset()
    walk("docs/howto/run_judges.md", {"12": str(JudgeRun.objects.get().pk)})
    assert JudgeRun.objects.filter(study=study).count() == 7
    assert set(Judgment.objects.values_list("status", flat=True)) == {"parsed"}


def test_sampling(standin: StandInProcess) -> None:
    for name in ("local", "hosted"):
        call_command(
            "add_endpoint", name, base_url=standin.base_url, model=name, price_prompt="0.1", price_completion="0.1"
        )
    Path("sources.jsonl").write_bytes(json_lines({"instance_id": f"i{n}", "source": f"Of {n}."} for n in range(2)))
    [template] = blocks("docs/howto/sample_texts.md", "text")
    Path("mine.txt").write_text(template, encoding="utf-8")
    walk("docs/howto/sample_texts.md")
    assert {system.generations.count() for system in Study.objects.get().systems.all()} == {10}


@pytest.mark.weekly
def test_endpoints(standin: StandInProcess, capsys: pytest.CaptureFixture[str]) -> None:
    study_of("news", standin)
    [wording] = blocks("docs/howto/improve_a_judge.md#bring-your-own-prompt", "text")
    for ending in ("", "\nBe brief."):
        Path("my-wording.txt").write_text(wording + ending, encoding="utf-8")
        call_command("add_prompt", "my-wording.txt")
    walk("docs/howto/set_up_endpoints.md", {"https://api.example.com/v1": standin.base_url})
    assert "json_schema: yes" in capsys.readouterr().out
    assert JudgeRun.objects.get().status == "done"


@pytest.mark.weekly
@pytest.mark.django_db(transaction=True)
def test_backup(standin: StandInProcess, tmp_path: Path) -> None:
    make_study("kept")
    assert walk("docs/howto/back_up.md", {"/backups": str(tmp_path)}) == ["backup"]
    assert zipfile.is_zipfile(tmp_path / "tandem.zip")


def test_watching(standin: StandInProcess) -> None:
    study = make_study("example")
    make_batch(study, name="main")
    rater = make_annotator(study)
    Annotator.objects.filter(pk=rater.pk).update(code="r-0a1b2c3d")
    rate(claim(rater, timezone.now()), at=timezone.now())
    walk("docs/howto/watch_a_batch.md")
    assert [*Event.objects.filter(study=study, annotator=rater).order_by("pk").values_list("kind", flat=True)] == [
        "excluded",
        "included",
    ]


def test_pictures(standin: StandInProcess, capsys: pytest.CaptureFixture[str]) -> None:
    study_of("mine", standin, judges=("direct",))
    call_command("run_judge", "mine", judge="direct")
    walk("docs/howto/use_pictures.md")
    printed = capsys.readouterr().out
    found = json.loads(printed[printed.index("\n{") :])
    assert found["filters"]["datasets"] == ["news"]


def test_personal_data(prolific: Any) -> None:
    study = make_study("harbour")
    make_batch(study)
    come(make_prolific(study, prolific), pid=PID)
    raters = [make_annotator(study, name) for name in ("ada", "bo")]
    Annotator.objects.filter(pk=raters[1].pk).update(code="r-1a2b3c4d")
    walk("docs/privacy.md")
    study.refresh_from_db()
    assert study.keep_personal_days == 90
    assert not User.objects.filter(username="ada").exists()
    assert User.objects.filter(username="bo").exists()
    assert not Participant.objects.filter(external_id=PID).exists()


def test_roles(standin: StandInProcess, capsys: pytest.CaptureFixture[str]) -> None:
    study = make_study("cnndm")
    for name in ("ann", "bob"):
        make_user(name)
    walk("docs/roles.md")
    study.refresh_from_db()
    assert study.group.slug == "nlp"
    assert not RoleGrant.objects.filter(user__username="bob").exists()
    assert "ann" in capsys.readouterr().out


def test_requests_that_set_up_a_study(standin: StandInProcess) -> None:
    [block] = blocks("docs/howto/set_up_a_study.md#from-a-question-to-a-study", "bash")
    api = APIClient(headers={"Authorization": f"Token {token_of(make_user('ada', Role.STUDY_ADMIN))}"})
    sent = [shlex.split(line) for line in block.splitlines() if line.startswith(("api $at", "json $at", "json -X"))]
    for _client, *words in sent:
        address = next(word for word in words if word.startswith("$at")).replace("$at", "/api/v1/studies")
        given = {before: after for before, after in itertools.pairwise(words) if before in ("-X", "-d")}
        fields = dict(word.split("=", 1) for before, word in itertools.pairwise(words) if before == "-F")
        if fields:
            with Path(fields["file"].removeprefix("@")).open("rb") as file:
                answer = api.post(address, {**fields, "file": file}, format="multipart")
        elif "-d" in given:
            method = given.get("-X", "POST").lower()
            answer = getattr(api, method)(address, json.loads(given["-d"]), format="json")
        else:
            answer = api.get(address)
        assert answer.status_code in (200, 201), (words, answer.content)
    assert len(sent) == 7
    assert Study.objects.get(slug="quay-2").instances.count() == 12


def test_prolific(prolific: Any) -> None:
    study = make_study("talks")
    make_batch(study, raters=2)
    channel = make_prolific(study, prolific)
    for session, pid in ((SESSION, PID), (OTHER_SESSION, OTHER_PID)):
        come(channel, pid=pid, session=session)
        prolific.add(session, pid, "AWAITING REVIEW")
    walk("docs/howto/recruit.md#prolific")
    assert [prolific.submissions[session]["status"] for session in (SESSION, OTHER_SESSION)] == ["APPROVED", "REJECTED"]
    assert prolific.paid(SESSION) == [75.0]


INSTANCES = 4


def test_readme(standin: StandInProcess) -> None:
    systems = ("system-x", "system-y")
    Path("mine.jsonl").write_bytes(
        json_lines(
            {
                "instance_id": f"n{number}",
                "dataset": "news",
                "source": f"Of {number}.",
                "generations": {system: [f"{system} {index} {number}" for index in range(5)] for system in systems},
            }
            for number in range(INSTANCES)
        )
    )
    walk("README.md", {"https://api.example.com/v1": standin.base_url, "top:50": f"top:{INSTANCES}"})
    assert Judgment.objects.filter(status="parsed").count() == INSTANCES * 5 * 2
    assert Path("mine-export/judgments.csv").exists()


def test_every_command_of_a_page_is_walked() -> None:
    tests = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("tests/**/test_*.py"))
    walked: dict[str, list[list[str]]] = {}
    for name in set(re.findall(r'"((?:docs/[\w/]+|README)\.md(?:#[\w-]+)?)"', tests)):
        walked.setdefault(name.partition("#")[0], []).extend(commands(name))
    pages = {page.relative_to(ROOT).as_posix() for page in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]}
    for page in sorted(pages):
        assert [command for command in commands(page) if command not in walked.get(page, [])] == [], page


def test_no_command_of_a_howto_stands_where_it_is_not_run() -> None:
    for page in ROOT.glob("docs/howto/*.md"):
        name = page.relative_to(ROOT).as_posix()
        unmarked = [block for block in blocks(name, "") if "manage.py" in block]
        indented = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("    manage.py")]
        assert (name, unmarked + indented) == (name, [])
