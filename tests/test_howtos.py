"""Every command of every page runs, in the order of the page; a model is a stand-in on this machine."""

import itertools
import json
import re
import shlex
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from annotation.annotators.consent import answer_consent
from annotation.members.accounts import annotator_for
from annotation.models import (
    Annotator,
    Assignment,
    Batch,
    Channel,
    ComparisonTable,
    Event,
    Instance,
    Participant,
    PlatformAction,
    RoleGrant,
    Study,
)
from annotation.models.members import Role
from annotation.quality.qualification import begin_attempt
from annotation.rating.second_stage import reveal, save_second_vote
from annotation.rating.votes import lock_first_votes, submit_assignment
from judging.methods.own_wording import OF_ONE_TEXT, OWN_PLACEHOLDERS
from judging.models import Completion, Judge, JudgeRun, Judgment, PromptFile
from judging.outcomes.judgments import verdicts_by_pair
from judging.wordings.checks import READERS
from reporting.accuracy.accuracies import judge_accuracy
from tests.annotation.recruitment.mturk.server import MturkServer
from tests.annotation.recruitment.mturk.setup import do_work, make_mturk
from tests.annotation.recruitment.mturk.setup import mturk as mturk
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
from tests.fakes import StandIn
from tests.howto import ROOT, blocks, commands, text_of, walk
from tests.hub_folders import load_folder
from tests.judging.builders import make_endpoint
from tests.judging.builders import make_study as make_judged_study
from tests.judging.tuning.test_tuning import make_voted_study
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
    study = make_study(slug, instances=instances, k=texts, systems=SYSTEMS, **settings)
    study.instances.update(gold={"scores": {"large": 1, "small": 2, "tiny": 3}}, metadata={"tags": ["hard"]})
    study.instances.filter(position=1).update(metadata={"tags": ["adversarial"]})
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
    Path("ids.txt").write_text("news-1\nnews-3\n", encoding="utf-8")
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
    assert walk("docs/howto/deploy.md#back-up-and-restore", {"/backups": str(tmp_path)}) == ["backup"]
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


def test_batches() -> None:
    walk("docs/howto/make_a_batch.md")
    main, again = Batch.objects.order_by("pk")
    assert (main.status, main.raters_per_hit, main.hits.count(), main.slots.count()) == ("open", 5, 9, 45)
    assert (again.status, again.raters_per_hit, again.hits.count()) == ("closed", 5, 6)
    kinds = list(Event.objects.filter(batch=main).order_by("pk").values_list("kind", flat=True))
    assert kinds == ["launched", "paused", "launched", "extended", "extended"]


def test_links_lead_raters_to_a_hit(capsys: pytest.CaptureFixture[str]) -> None:
    for name, *arguments in commands("docs/howto/recruit.md#where-raters-come-from"):
        for rater in Annotator.objects.order_by("pk")[:1]:
            Annotator.objects.filter(pk=rater.pk).update(code="r-1a2b3c4d")  # whom the page names
        call_command(name, *arguments)
    said = capsys.readouterr().out
    assert said.count("https://rate.example.org/join/") == 20
    assert list(Channel.objects.values_list("name", "batch__name")) == [
        ("Invitations", None),
        ("Invitations: main", "main"),
    ]
    assert Annotator.objects.count() == 45
    links = re.findall(r"(/join/[\w-]+/[\w-]+/)", said)
    assert Client().get(links.pop()).status_code == 302  # in place of the first one
    for link in (links[1], links[-1]):  # into every batch, and into one
        client = Client()
        consent = client.get(link, follow=True)
        page = client.post(consent.redirect_chain[-1][0], {"answer": "accept"}, follow=True)
        assert re.fullmatch(r"/rate/hit/[\w-]+/", page.redirect_chain[-1][0])


def test_mturk(mturk: MturkServer) -> None:
    study = make_study("talks")
    make_batch(study)
    channel = make_mturk(mturk, study=study)
    publish, *others = commands("docs/howto/recruit.md#amazon-mechanical-turk")
    named = [line[line.index("--assignment") + 1] for line in others if "--assignment" in line]
    call_command(*publish)
    assert PlatformAction.objects.filter(kind="hit", state="done").count() == 3
    done = [do_work(mturk, channel, hit, f"AWORKER{hit}") for hit in list(mturk.hits)[:2]]
    workers = dict(zip(dict.fromkeys(named), done, strict=True))
    for line in others:
        call_command(*(workers.get(word, word) for word in line))
    assert {line[1] for line in [publish, *others]} == {
        *("publish", "sync", "approve", "reject", "bonus", "qualify", "expire")
    }
    assert [mturk.assignments[one]["AssignmentStatus"] for one in done] == ["Rejected", "Approved"]


TWO_STAGES = "docs/howto/comparison_tables.md#run-a-two-stage-study"


def rate_qualification(annotator: Annotator) -> None:
    """Fail the first attempt, and answer the other pair as the page's gold says."""
    for right in (False, True):
        if right:
            begin_attempt(annotator=annotator, at=timezone.now())
        assignment = claim(annotator, timezone.now())
        assert assignment.purpose == "qualification"
        display = assignment.displays.get()
        a_is_better = assignment.hit.matchup.instance.gold["better"] == "heron-2"
        rate(assignment, "left" if display.a_is_left == (a_is_better == right) else "right", at=timezone.now())


def rate_both_stages(annotator: Annotator) -> Assignment:
    """Rate a HIT: revise the first pair, keep the others."""
    now = timezone.now()
    assignment = rate(claim(annotator, now), "left", at=now, submit=False)
    assignment = lock_first_votes(assignment=assignment, at=now)
    for place in range(5):
        display = reveal(assignment=assignment, at=now)
        assert display is not None
        choice, reason = ("right", "The table names what I missed.") if place == 0 else ("left", "")
        save_second_vote(assignment=assignment, pair_key=display.pair.key, choice=choice, reason=reason, at=now)
    return submit_assignment(assignment=assignment, at=now)


def test_two_stages(capsys: pytest.CaptureFixture[str]) -> None:
    [own] = blocks(TWO_STAGES, "json")
    Path("first.jsonl").write_text(own, encoding="utf-8")
    *lines, export = commands(TWO_STAGES)
    for line in lines:
        call_command(*line)
    said = capsys.readouterr().out
    assert "protocol: one-stage → two-stage" in said
    assert "batch first: 2 HITs of 1 pair for every rater (Qualification" in said
    assert "batch main: 12 HITs of 5 pairs for 3 raters each = 180 ratings" in said
    assert "/login/link/" in said

    study = Study.objects.get(slug="talks")
    arms = []
    for name in ("one", "two", "three"):
        annotator = annotator_for(user=make_user(name, "annotator", study=study), study=study)
        answer_consent(annotator=annotator, accepted=True, at=timezone.now())
        rate_qualification(annotator)
        arms.append(rate_both_stages(annotator).arm)
    assert sorted(arms) == ["none", "placebo:hand", "table:hand"]

    call_command(*export)
    exported = Path("talks-export/ratings.csv").read_text(encoding="utf-8")
    assert exported.count(",revised,") == 15
    assert exported.count("The table names what I missed.") == 3
    assert {path.name for path in Path("talks-export").iterdir()} == {
        *("ratings.csv", "judgments.csv", "history.csv", "flags.csv", "texts.csv", "tables.csv", "separability.csv"),
        *("raters.csv", "settings.csv", "datasets.csv"),
    }


def test_the_demos_own_study_becomes_two_stage_before_the_first_vote() -> None:
    call_command("demo", "--no-serve")
    [settings] = [line for line in commands(TWO_STAGES) if "protocol=two-stage" in line]
    call_command(*(word.replace("talks", "example") for word in settings))
    assert Study.objects.get(slug="example").arms == ["none", "table:hand", "placebo:hand"]


def test_jury(capsys: pytest.CaptureFixture[str]) -> None:
    study = make_judged_study("tea")
    assert len(walk("docs/howto/improve_a_judge.md#create-a-jury")) == 9
    assert "Juries: how many independent votes they are worth" in capsys.readouterr().out
    for run in study.judge_runs.filter(judge__method="jury"):
        assert len(verdicts_by_pair(study, run.judge)) == 6


@pytest.mark.weekly
@pytest.mark.django_db(transaction=True)
@pytest.mark.any_engine
def test_tuning(capsys: pytest.CaptureFixture[str]) -> None:
    page = "docs/howto/improve_a_judge.md#tune-a-judge-on-peoples-votes"
    study = make_voted_study(30)
    with StandIn() as server:
        assert len(walk(page, {"https://api.example.com/v1": server.base_url})) == 6
        calls = server.calls
        name, *arguments = commands(page)[3]
        call_command(name, *arguments)  # the same again asks nothing
        assert server.calls == calls
        with pytest.raises(CommandError, match="max_cost"):
            call_command(name, *arguments[:-1], "a lot")
    said = capsys.readouterr().out
    assert "held out: 15" in said
    assert "plain-tuned was tuned on ratings of 15 instances" in said
    tuned = Judge.objects.get(name="plain-tuned")
    assert len(tuned.tuned["instances"]) == 15
    assert Judgment.objects.filter(run__judge=tuned, run__study=study).count() == 30


def test_own_prompt() -> None:
    page = "docs/howto/improve_a_judge.md#bring-your-own-prompt"
    [example] = blocks(page, "text")
    Path("plain-words.txt").write_text(example, encoding="utf-8")
    make_judged_study("my-study", instances=1, k=2, question="Which one is plainer?", task_kind="free")
    with StandIn(answer=lambda body: "The second one is shorter.\nVerdict: B") as stand_in:
        call_command("add_endpoint", "big", base_url=stand_in.base_url, model="big-1")
        for line in re.findall(r"manage\.py (.+)", text_of(page)):
            call_command(*shlex.split(line))
    assert str(PromptFile.objects.get()) == "plain-words.v1"
    assert set(Judgment.objects.values_list("status", "rationale")) == {("parsed", "The second one is shorter.")}
    assert {"plain-words.v1:verdict-line" in one.prompt_version for one in Judgment.objects.all()} == {True}
    content = Completion.objects.earliest("pk").request["messages"][0]["content"]
    assert content.startswith("You help an editor who wants plain words. Which one is plainer?")
    assert content.endswith("name the letter A or the letter B:\nVerdict: <A or B>")


def test_page_on_prompts_names_every_parser_and_every_placeholder() -> None:
    text = text_of("docs/howto/improve_a_judge.md#bring-your-own-prompt")
    assert [name for name in READERS if f"| `{name}` |" not in text] == []
    assert [name for name in OWN_PLACEHOLDERS | OF_ONE_TEXT if f"`${name}`" not in text] == []


def test_counting_judges_against_gold(capsys: pytest.CaptureFixture[str]) -> None:
    page = "docs/howto/judge_the_judges.md#count-them-against-gold-labels"
    outputs = [
        {"input": f"Question {n}", "output_1": "Yes, it is.", "output_2": "No.", "label": 1 + n % 2} for n in range(4)
    ]
    for name in ("Natural.json", "Adversarial_Manual.json"):
        Path(name).write_text(json.dumps(outputs), encoding="utf-8")
    Path("helpful.jsonl").write_bytes(
        json_lines({"prompt": f"Please {n}", "chosen": "Gladly, here it is.", "rejected": "No."} for n in range(4))
    )
    [table] = blocks(page, "csv")
    Path("verdicts.csv").write_text(table, encoding="utf-8")
    assert len(walk(page)) == 8
    assert r"\begin{table}" in capsys.readouterr().out
    found = judge_accuracy(Study.objects.get(slug="bar"))
    of = {judge["judge"]: {row["subset"]: row for row in judge["subsets"]} for judge in found["judges"]}
    assert {name: row["pairs"] for name, row in of["longest"].items()} == {
        "Adversarial_Manual": 4, "Natural": 4, "helpful": 4, "adversarial": 4, "natural": 8, "all": 12,
    }  # fmt: skip
    assert of["longest"]["helpful"]["accuracy"]["value"] == 1.0  # there the longer text is the chosen one
    assert of["longest"]["Natural"]["accuracy"]["value"] == 0.5
    mine = of["my-judge"]["Natural"]
    assert (mine["asked"], mine["a"], mine["b"], mine["unparsed"]) == (3, 1, 1, 1)


def summary(article: str, model: int) -> dict[str, Any]:
    """Write a line of a file of SummEval's form."""
    scores = [{"coherence": model + expert, "fluency": 5 - model} for expert in (0, 1)]
    text = f"{article} was written in{' ever' * model} more words."
    named = {"id": article, "model_id": f"M{model}", "decoded": text, "text": f"Of {article}."}
    return {**named, "expert_annotations": scores}


def converted(rows: list[dict[str, Any]], *more: str) -> subprocess.CompletedProcess[str]:
    Path("summaries.jsonl").write_bytes(json_lines(rows))
    command = [sys.executable, "examples/summeval_to_study.py", "summaries.jsonl", *more]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_summaries_become_instances_with_the_experts_means_as_gold() -> None:
    made = converted([summary("a1", 0), summary("a1", 2), summary("a2", 1)], "--aspect", "coherence")
    first, second = map(json.loads, made.stdout.splitlines())
    assert first["gold"] == {"scores": {"M0": 0.5, "M2": 2.5}}
    assert (first["dataset"], first["source"]) == ("summeval-coherence", "Of a1.")
    assert (list(first["generations"]), second["instance_id"]) == (["M0", "M2"], "a2")
    refused = converted([summary("a1", 0), {"id": "a1"}])
    assert refused.returncode == 1
    assert "line 2 has no 'model_id'" in refused.stderr


@pytest.mark.weekly
def test_rebuilding_a_paper(standin: StandInProcess, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [summary(article, model) for article in ("a1", "a2", "a3") for model in range(4)]
    Path("coherence.jsonl").write_text(converted(rows).stdout, encoding="utf-8")
    standin.behave(answer="longer")
    make_endpoint(standin.base_url, name="small")
    walk("docs/howto/audit_a_judge.md#rebuild-the-set-up-of-aligning-with-logic")
    said = capsys.readouterr().out
    assert Instance.objects.get(instance_id="a1").gold == {"scores": {f"M{n}": n + 0.5 for n in range(4)}}
    # Two articles with six pairs, both orders, plain and negated, twice, of two judges.
    assert Judgment.objects.filter(status="parsed").count() == 2 * 6 * 2 * 2 * 2 * 2
    assert "judge:thinks-audit2,summeval-coherence,transitivity_3," in said
    assert "REPAIR" in Path("repaired/README.md").read_text(encoding="utf-8")
    assert list(load_folder(Path("repaired").absolute())) == ["train"]  # a fifth of two instances is none
    assert "<svg" in Path("pairs.svg").read_text(encoding="utf-8")
    assert "  pairs-beam\n" in said


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
