"""Juries: adding them, what they are refused for, and their verdicts as those of any judge."""

import json
from collections.abc import Sequence
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from annotation.models import Annotator, Assignment, Display, Instance, Pair, Rating, Slot, Study
from judging.core.errors import BadSettings, UnknownJudge
from judging.core.visibility import judges_seen_by
from judging.importing.judgments import parse_judgments
from judging.models import Judge, JudgeRun, Judgment
from judging.outcomes.gold import gold_pairs, judged_gold
from judging.outcomes.judgment_rows import judgment_rows
from judging.outcomes.judgments import judges_of, judgments, verdicts_by_pair
from judging.runs.estimates import estimate
from judging.runs.figures import figures_of
from judging.runs.judges import add_judge
from judging.runs.juries import add_jury
from judging.runs.services import queue_run, start_run
from judging.runs.status import counts_of_run, report_on
from reporting.exports.files import export_lines
from tests.factories import ask_more, criterion
from tests.judging.builders import fill, make_batch, make_judge, make_study, make_user, pairs_in, selection_of

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def member(
    study: Study, name: str, verdicts: Sequence[int | None], *, pairs: Sequence[Pair] = (), question: int = 0
) -> Judge:
    """Make a judge with a verdict on each pair; None is an answer that could not be read."""
    judge, _ = Judge.objects.get_or_create(name=name, defaults={"method": "imported", "params": {}, "seed": 1})
    run = JudgeRun.objects.create(study=study, judge=judge, status="done", questions=[question])
    for pair, verdict in zip(pairs or pairs_in(study), verdicts, strict=False):
        fill(run, pair, "ab", verdict=verdict, status="unparsed" if verdict is None else "parsed", question=question)
    return judge


@pytest.fixture
def study() -> Study:
    """Three instances of two pairs, judged by three judges."""
    study = make_study()
    member(study, "ann", [-1, -1, 1, 0, None, None])
    member(study, "bea", [-1, 1, 1, 1, -1, None])
    member(study, "cal", [1, 0, 1, 1, None, None])
    return study


def added(
    study: Study, rule: str = "majority", members: Sequence[str] = ("ann", "bea", "cal"), name: str = "panel"
) -> JudgeRun:
    return add_jury(study=study, name=name, members=members, rule=rule)


def said(study: Study, run: JudgeRun) -> list[int | None]:
    found = verdicts_by_pair(study, run.judge)
    return [found[pair.pk] for pair in pairs_in(study)]


def test_a_jury_is_a_judge_whose_verdicts_are_made_when_read(study: Study) -> None:
    run = added(study)
    # A tie of -1, 1 and 0 is shared by all three; on the fifth pair two members abstain; on the last all do.
    assert said(study, run) == [-1, 0, 1, 1, -1, None]
    assert (run.status, run.judgments.count()) == ("done", 0)
    assert [one.judge.name for one in judges_of(study)] == ["ann", "bea", "cal", "panel"]
    judged = judgments(selection_of(study), run)
    assert judged.rated.outcomes.verdict[:5].tolist() == [-1, 0, 1, 1, -1]
    assert judged.counts == {"asked": 6, "parsed": 5, "unparsed": 1, "refused": 0, "errors": 0, "pending": 0}
    assert [counts.as_dict()["tie"] for counts in counts_of_run(run).values()] == [1]
    assert report_on([run])["parsed"] == 5
    assert figures_of(run).first is None
    rows = [row for row in judgment_rows(study) if row["judge"] == "panel"]
    assert [row["verdict"] for row in rows] == [-1, 0, 1, 1, -1, None]
    assert {(row["order"], row["shown_first"], row["calls"], row["cost"]) for row in rows} == {("", "", 0, None)}
    assert rows[-1]["reason"] == "no member has a verdict"
    # A member's later verdict is the jury's at once.
    run.study.judge_runs.get(judge__name="cal").judgments.for_question(0).filter(pair=pairs_in(study)[1]).update(
        verdict=1
    )
    assert said(study, run)[1] == 1


def test_a_pair_on_which_every_member_failed_is_an_error_and_no_wrong_answer(study: Study) -> None:
    last, run = pairs_in(study)[-1], added(study)
    Instance.objects.filter(matchups__pairs=last).update(gold={"better": last.matchup.system_a.name})
    judges = {"ann": [True, True], "bea": [True, True], "cal": [True, True], "panel": [True, True]}
    assert answered(study) == judges
    Judgment.objects.for_question(0).filter(pair=last, run__judge__name__in=("ann", "bea")).update(status="error")
    assert answered(study) == judges | {"ann": [True, False], "bea": [True, False]}  # cal's can't be read
    Judgment.objects.for_question(0).filter(pair=last).update(status="error")
    assert answered(study) == {name: [True, False] for name in judges}
    assert judgments(selection_of(study), run).counts["errors"] == report_on([run])["errors"] == 1
    [row] = [row for row in judgment_rows(study) if (row["judge"], row["status"]) == ("panel", "error")]
    assert (row["instance_id"], row["verdict"]) == (last.matchup.instance.instance_id, None)
    study.judge_runs.filter(pk=run.pk).update(questions=[1])  # of further questions alone
    assert "panel" not in answered(study)


def answered(study: Study) -> dict[str, list[bool]]:
    return {one.name: judged.answered[:, 0].tolist() for one, judged in judged_gold(study, gold_pairs(study))}


def test_a_weighted_jury_is_weighted_by_people_on_other_instances() -> None:
    study = make_study(instances=3, k=1, raters_per_hit=1)
    pairs = pairs_in(study)
    batch = make_batch(study, pairs)
    for hit, verdict in zip(batch.hits.order_by("position"), (-1, -1, 1), strict=True):
        vote(study, hit, verdict)
    member(study, "right", [-1, -1, -1])
    member(study, "wrong", [1, 1, 1])
    run = added(study, "weighted", ("right", "wrong"))
    # Elsewhere: on instances 1 and 2 each is right once of two votes, on the third the one always and the other never.
    assert said(study, run) == [0, 0, -1]


def vote(study: Study, hit: Any, verdict: int) -> None:
    """Let a person rate the one pair of a HIT."""
    person, _ = Annotator.objects.get_or_create(study=study, code="pat", defaults={"kind": "account"})
    work = Assignment.objects.create(hit=hit, annotator=person, state="submitted", submitted_at=study.created_at)
    Slot.objects.create(hit=hit, batch=hit.batch, position=hit.position, number=0, assignment=work)
    shown = Display.objects.create(assignment=work, pair=hit.hit_pairs.get().pair, position=0, a_is_left=True)
    Rating.objects.create(display=shown, verdict=verdict, rated_at=study.created_at)


def test_dawid_skene_and_a_jury_of_two(study: Study) -> None:
    assert said(study, added(study, "dawid-skene", name="ds"))[2:] == [1, 1, -1, None]
    assert said(study, added(study, members=("ann", "bea"), name="two")) == [-1, 0, 1, 0, -1, None]


@pytest.mark.parametrize(
    ("params", "error"),
    [
        pytest.param({"members": ["ann"]}, "at least 2 members, and this one only ann: name further", id="one"),
        pytest.param({"members": []}, "at least 2 members, and this one none", id="none"),
        pytest.param({"members": ["ann", "bea"], "rule": "dawid-skene"}, "dawid-skene has at least 3", id="two-by-dawid-skene"),
        pytest.param({"members": ["ann", "ann"]}, "ann is named twice", id="twice"),
        pytest.param({"members": ["ann", "bea"], "rule": "mean"}, "one of majority, weighted, dawid-skene, got mean", id="rule"),
        pytest.param({"members": "ann"}, "members are a list of judges' names", id="no-list"),
        pytest.param({"members": ["ann", "bea"], "temperature": 1}, "takes no parameters, got temperature", id="parameter"),
        pytest.param({"members": ["ann", "zoe"]}, "there is no judge zoe: add it first", id="stranger"),
        pytest.param({"members": ["ann", "panel"]}, "panel is a jury itself, whose votes would count twice", id="jury-of-juries"),
    ],
)  # fmt: skip
def test_what_is_no_jury_is_refused(study: Study, params: dict[str, Any], error: str) -> None:
    added(study)
    with pytest.raises((BadSettings, UnknownJudge), match=error):
        add_judge(name="other", method="jury", params=params)
    assert not Judge.objects.filter(name="other").exists()


@pytest.mark.parametrize("settings", [{"order": "both"}, {"repeats": 2}, {"negated": True}, {"task": "free"}])
def test_a_jury_takes_no_settings_of_asking(study: Study, settings: dict[str, Any]) -> None:
    with pytest.raises(BadSettings, match="a jury"):
        add_judge(name="panel", method="jury", params={"members": ["ann", "bea"]}, **settings)


def test_a_jury_needs_its_members_on_the_study_and_on_the_same_pairs(study: Study) -> None:
    pairs = pairs_in(study)
    make_judge("coin", name="idle")
    with pytest.raises(BadSettings, match="idle was not asked anything in study tea: run it there first"):
        added(study, members=("ann", "idle"))
    assert not Judge.objects.filter(name="panel").exists()
    other = make_study("milk", instances=2, k=1)
    here, there = pairs_in(other)
    member(other, "ann", [1], pairs=[here])
    member(other, "bea", [1], pairs=[there])
    with pytest.raises(BadSettings, match="its members share no pairs in study milk"):
        added(other, members=("ann", "bea"))
    jury = added(study).judge
    batch = make_batch(study, pairs)
    with pytest.raises(BadSettings, match="covers all pairs that its members judged: leave out the batch"):
        start_run(study=study, judge=jury, batch=batch)
    Judge.objects.filter(name="cal").update(name="gone")  # as after it was deleted
    with pytest.raises(BadSettings, match="member cal has been deleted: add the judge again, or a jury without it"):
        start_run(study=study, judge=jury)
    assert said(study, JudgeRun.objects.get(judge=jury)) == [-1, 0, 1, 0, -1, None]


def test_members_answer_the_same_questions(study: Study) -> None:
    ask_more(study, criterion("coherence"))
    member(study, "ann", [1] * 6, question=1)
    member(study, "bea", [1] * 6, question=1)
    run = added(study)
    assert run.questions == [0]
    with pytest.raises(BadSettings, match="cal was not asked question coherence in study tea"):
        start_run(study=study, judge=run.judge, questions=[0, 1])
    two = added(study, members=("ann", "bea"), name="two")
    assert two.questions == [0, 1]
    assert verdicts_by_pair(study, two.judge, question=1) == dict.fromkeys((pair.pk for pair in pairs_in(study)), 1)


def test_commands_add_and_run_a_jury_without_a_call(study: Study) -> None:
    out = StringIO()
    call_command("add_judge", "panel", method="jury", members=["ann", "bea", "cal"], rule="majority", stdout=out)
    assert 'judge panel added: jury, order random, members=["ann", "bea", "cal"], rule="majority"' in out.getvalue()
    call_command("run_judge", "tea", judge="panel", stdout=out)
    assert "asked 6" in out.getvalue()
    found = estimate(study=study, judge=Judge.objects.get(name="panel"))
    assert (found.calls, found.cost) == (0, 0)
    with pytest.raises(CommandError, match="--members are for juries"):
        call_command("add_judge", "x", method="coin", members=["ann"])


def test_the_page_makes_a_jury_and_shows_it(study: Study, client: Client) -> None:
    client.force_login(make_user("res", "researcher", study))
    page = client.get(reverse("judging:judges", args=["tea"])).content.decode()
    assert 'value="ann"' in page
    address = reverse("judging:new-jury", args=["tea"])
    bad = client.post(address, {"name": "panel", "members": ["ann"], "rule": "majority"})
    assert (bad.status_code, "at least 2 members" in bad.content.decode()) == (422, True)
    answer = client.post(address, {"name": "panel", "members": ["ann", "bea", "cal"], "rule": "majority"})
    run = JudgeRun.objects.get(judge__name="panel")
    assert answer["Location"] == reverse("judging:run", args=["tea", run.pk])
    shown = client.get(answer["Location"]).content.decode()
    assert "A 2 + tie 1 + B 2 + unparsed 1" in shown
    assert "A jury makes no calls" in shown
    assert "First shown preferred" not in shown
    assert "first=panel" in client.get(reverse("judging:judgments", args=["tea", run.pk]))["Location"]
    assert client.get(reverse("judging:compare", args=["tea"]), {"first": "panel", "second": "ann"}).status_code == 200


def test_the_api_makes_and_runs_a_jury(study: Study, client: Client) -> None:
    client.force_login(make_user("res", "researcher", study))
    body = {"name": "panel", "method": "jury", "params": {"members": ["ann", "bea"], "rule": "majority"}}
    made = client.post(reverse("api:judge-list"), json.dumps(body), content_type="application/json")
    assert (made.status_code, made.json()["params"]["members"]) == (201, ["ann", "bea"])
    run = client.post(
        reverse("api:judgerun-list"), json.dumps({"study": "tea", "judge": "panel"}), content_type="application/json"
    )
    assert (run.status_code, run.json()["status"]) == (202, "done")


def test_a_jury_that_never_ran_is_hidden_with_its_members(study: Study) -> None:
    add_judge(name="panel", method="jury", params={"members": ["ann", "bea"]})
    researcher, stranger = make_user("res", "researcher", study), make_user("stranger")
    assert judges_seen_by(researcher).filter(name="panel").exists()
    assert not judges_seen_by(stranger).filter(name="panel").exists()


def test_exported_juries_are_no_judgments_to_import(study: Study) -> None:
    queue_run(study=study, judge=added(study).judge)
    data = "".join(export_lines(study, "judgments", "csv")).encode()
    assert data.count(b"judge:panel") == 6
    found = parse_judgments(data, "judgments.csv")
    assert (found.bad, {row.judge for row in found.rows}) == ([], {"ann", "bea", "cal"})
