"""Numbers about judges and raters by the API: what the commands print, pages of lists, and the work that they start."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from annotation.models import Message, Study
from annotation.models.members import Role
from judging.models import Endpoint, JudgeRun, JudgeTuning, Judgment, RationaleMark
from judging.runs.judges import add_judge
from reporting.logic.audits import audit_study
from tests.reporting.api.test_whole_job import Client
from tests.whole_study import Whole, build_whole_study

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
AT = "studies/mine-study/"
REASON = {"reason": "gone"}


@pytest.fixture
def whole() -> Whole:
    return build_whole_study("mine")


@pytest.fixture
def researcher(whole: Whole) -> Client:
    return Client(whole.people[Role.RESEARCHER])


@pytest.fixture
def admin(whole: Whole) -> Client:
    return Client(whole.people[Role.STUDY_ADMIN])


def test_numbers_are_those_of_the_commands_and_lists_come_in_pages(whole: Whole, researcher: Client) -> None:
    study, judge = whole.study, whole.judge
    assert researcher.get(f"{AT}accuracy/", seed="3").json()["study"] == study.slug
    assert researcher.get(f"{AT}accuracy/", seed="-3").status_code == 400
    assert researcher.get(f"{AT}logic/").json() == audit_study(study, [None, judge])
    rows = researcher.get(f"{AT}logic/instances/").json()["rows"]
    assert {row["rater"] for row in rows} == {"people", f"judge:{judge.name}"}
    found = researcher.get(f"{AT}logic/contradictions/", rater=f"judge:{judge.name}", kind="order_effects").json()
    assert found["count"] == len(found["results"])
    assert researcher.get(f"{AT}logic/contradictions/", rater="judge:nobody").status_code == 404

    apart = researcher.get(f"{AT}disagreements/", page_size="1").json()
    assert (apart["count"], len(apart["results"])) == (2, 1)
    [pair] = apart["results"]
    [vote], [verdict] = (one["first"]["verdict"] for one in pair["people"]), pair["judges"].values()
    assert {vote, verdict} == {-1, 1}
    assert researcher.get(f"{AT}disagreements/", page="3", page_size="1").json()["results"] == []
    assert researcher.get(f"{AT}disagreements/", kind="quarrels").status_code == 404

    beside = researcher.get(f"{AT}compare/", first=judge.name).json()
    assert (beside["count"], beside["agreement"]["n"], len(beside["results"])) == (2, 2, 2)
    assert beside["differing"] == sum(one["first"] != one["second"] for one in beside["results"])
    assert researcher.get(f"{AT}compare/", first=judge.name, second=judge.name).status_code == 400
    assert researcher.get(f"{AT}compare/", first="nobody").status_code == 404
    assert researcher.get(f"{AT}stability/").json()["configurations"]
    designs = researcher.get(f"{AT}plan/", width="0.2", source="assumed", dataset="mine-news").json()["designs"]
    assert designs[0]["instances"] > 0
    refused = researcher.get(f"{AT}plan/", width="wide", dataset="none")
    assert (refused.status_code, set(refused.json()["fields"])) == (422, {"width", "configuration"})


def test_judges_are_made_of_judges_votes_and_wordings(whole: Whole, researcher: Client) -> None:
    other, _ = add_judge(name="coin", method="coin")
    JudgeRun.objects.create(study=whole.study, judge=other, status="done", software_version="1")
    pair = whole.run.judgments.earliest("pk").pair
    Judgment.objects.create(run=JudgeRun.objects.get(judge=other), pair=pair, order="ab", verdict=1, status="parsed")
    asked: dict[str, Any] = {"name": "jury", "members": [whole.judge.name, "coin"], "rule": "majority"}
    made = researcher.post(f"{AT}juries/", **asked)
    assert (made.status_code, made.json()["status"]) == (201, "done")
    assert researcher.post(f"{AT}juries/", **{**asked, "members": ["nobody"]}).status_code == 422

    tuning = {"judge": whole.judge.name, "budget": 200, "methods": ["direct"], "shots": [], "max_cost": "1"}
    too_few = researcher.post(f"{AT}tunings/estimate/", **tuning)
    assert (too_few.status_code, "only one candidate" in too_few.json()["detail"]) == (409, True)
    assert researcher.post(f"{AT}tunings/", **tuning).status_code == 409
    JudgeTuning.objects.create(
        study=whole.study, judge=whole.judge, name="tuned", status="stopped", plan={"presentations": 8}
    )
    assert researcher.post(f"{AT}tunings/tuned/resume/", max_cost="2.5").status_code == 409  # without prices
    Endpoint.objects.update(price_prompt=1, price_completion=1)
    again = researcher.post(f"{AT}tunings/tuned/resume/", max_cost="2.5")
    assert (again.status_code, again.json()["status"], again.json()["max_cost"]) == (202, "queued", "2.500000")
    assert researcher.post(f"{AT}tunings/none/resume/").status_code == 404
    assert [one["name"] for one in researcher.get(f"{AT}tunings/").json()] == ["tuned"]

    text = "Which is better?\n[$fence begin]\n$source\nA: $first\nB: $second\n[$fence end]\nVerdict: $letters"
    wording = {"name": "ours", "parser": "verdict-line", "text": text}
    sent = researcher.post(f"{AT}prompts/check/", **wording, instance="mine-news-1").json()["messages"]
    assert "Which is better?" in sent[-1]["content"]
    added = researcher.post(f"{AT}prompts/", **wording)
    assert (added.status_code, added.json()["version"], added.json()["group"]) == (201, 1, "mine-group")
    assert researcher.post(f"{AT}prompts/", **wording).status_code == 200
    assert researcher.post(f"{AT}prompts/", **{**wording, "text": "$nothing"}).status_code == 422
    names = {one["name"] for one in researcher.get("prompts/").json()["results"]}
    assert names == {"ours", "mine-prompt"}
    strangers = Client(build_whole_study("theirs").people[Role.RESEARCHER])
    assert {one["name"] for one in strangers.get("prompts/").json()["results"]} == {"theirs-prompt"}


def test_audits_of_logic_are_estimated_and_queued(whole: Whole, researcher: Client) -> None:
    logic = {"judge": whole.judge.name, "wording": "mine-prompt.v1", "repeats": 2, "negated": False}
    assert "three compared systems" in researcher.post(f"{AT}logic/estimate/", **logic).json()["detail"]


def test_a_judgment_is_opened_and_its_rationale_marked(whole: Whole, researcher: Client) -> None:
    judgment = whole.run.judgments.earliest("pk")
    [step] = researcher.get(f"judgments/{judgment.pk}/replay/").json()["steps"]
    assert (step["status"], step["attempt"]) == ("read", 1)
    assert "mine" in step["text"]
    refused = researcher.post(f"judgments/{judgment.pk}/mark/", note="x" * 2001)  # by the form of the page
    assert (refused.status_code, set(refused.json()["fields"])) == (422, {"sound", "note"})
    marked = researcher.post(f"judgments/{judgment.pk}/mark/", sound=False, note="beside the point")
    assert (marked.status_code, RationaleMark.objects.get().sound) == (204, False)
    assert researcher.api.delete(f"/api/v1/judgments/{judgment.pk}/mark/").status_code == 204
    assert not RationaleMark.objects.exists()


def test_raters_of_a_batch_get_messages_and_idle_claims_end(whole: Whole, researcher: Client, admin: Client) -> None:
    at = f"batches/{whole.batch.pk}/"
    before = Message.objects.count()
    assert admin.post(f"{at}message/", text="Thank you").json() == {"count": 1}
    assert Message.objects.count() == before + 1
    open_hit = whole.open_hit
    type(open_hit).objects.filter(pk=open_hit.pk).update(claimed_at=timezone.now() - timedelta(minutes=50))
    [idle] = admin.get(f"{at}idle/", minutes="30").json()
    assert (idle["assignment"], idle["annotator"]) == (open_hit.key, whole.annotator.code)
    assert admin.get(f"{at}idle/", minutes="1").status_code == 400
    assert admin.post(f"{at}idle/", minutes=60).json() == {"count": 0}
    assert admin.post(f"{at}idle/", minutes=30, **REASON).json() == {"count": 1}
    for refused in (
        researcher.post(f"{at}message/", text="x"),
        researcher.post(f"{at}idle/"),
        researcher.get(f"{at}idle/"),
    ):
        assert refused.status_code == 403
    act = admin.post(f"channels/{whole.channel.key}/act/", action="sync")
    assert (act.status_code, "no action" in act.json()["detail"]) == (422, True)
    assert researcher.post(f"channels/{whole.channel.key}/act/", action="sync").status_code == 403
    assert Study.objects.count() == 1
