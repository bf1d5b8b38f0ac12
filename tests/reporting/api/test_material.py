"""What judges are given, members and groups: by the API as on the pages, through the same services."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from annotation.models import AuditEntry, ResearchGroup, RoleGrant, Study
from annotation.models.members import Role
from judging.models import AspectSet, Distillation, GenerationRun, JudgeRun
from tests.factories import make_batch, make_study, make_user, token_of
from tests.judging.builders import make_endpoint
from tests.reporting.api.test_whole_job import Client
from tests.whole_study import member

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
AT = "studies/study/"


def store() -> Study:
    study = make_study(instances=2, k=2)
    make_batch(study)
    make_endpoint(name="local", price_prompt="1", price_completion="2")
    return study


@pytest.fixture
def researcher(study: Study) -> Client:
    return Client(make_user("rea", Role.RESEARCHER, study=study))


def test_aspects_are_edited_estimated_and_distilled(researcher: Client, study: Study) -> None:
    at_first = researcher.get(f"{AT}aspects/").json()
    assert (at_first["version"], len(at_first["aspects"]), at_first["distillation"]) == (0, 5, None)

    made = researcher.post(f"{AT}aspects/", aspects=["Facts", "Style"], seen=0)
    assert (made.status_code, made.json()["version"], made.json()["made_by"]["by"]) == (201, 1, "rea")
    assert researcher.post(f"{AT}aspects/", aspects=["Facts", "Style"]).status_code == 200
    assert researcher.post(f"{AT}aspects/", aspects=["one", "ONE"]).status_code == 422
    assert researcher.post(f"{AT}aspects/", aspects=["x"], seen=0).status_code == 409
    assert AspectSet.objects.count() == 1

    asked = {"endpoint": "local", "pairs": 2, "params": {"temperature": 0.5}}
    estimate = researcher.post(f"{AT}aspects/estimate/", **asked).json()
    assert (estimate["currency"], estimate["calls"] > 0) == ("USD", True)
    assert not Distillation.objects.exists()
    begun = researcher.post(f"{AT}aspects/distil/", **asked, max_cost="0.5")
    assert (begun.status_code, begun.json()["distillation"]["status"]) == (202, "queued")
    refused = researcher.post(f"{AT}aspects/distil/", **{**asked, "params": {"a=b": 1}})
    assert (refused.status_code, list(refused.json()["fields"])) == (422, ["params"])


def test_tables_are_estimated_and_made(researcher: Client) -> None:
    asked = {"endpoint": "local", "samples": 2, "aspects": "online", "batch": "batch", "params": {"max_tokens": 90}}
    assert researcher.post(f"{AT}tables/estimate/", **asked).json()["calls"] > 0
    assert not JudgeRun.objects.exists()
    made = researcher.post(f"{AT}tables/", **asked, max_cost="2")
    run = JudgeRun.objects.get()
    assert (made.status_code, made.headers["Location"]) == (202, f"/api/v1/runs/{run.pk}/")
    assert (run.tables_as, run.status, run.judge.params["max_tokens"]) == ("c2-online", "queued", 90)
    refused = researcher.post(f"{AT}tables/", **asked, budget=9)
    assert (refused.status_code, list(refused.json()["fields"])) == (422, ["budget"])


def test_texts_are_sampled(researcher: Client) -> None:
    asked: dict[str, Any] = {"system": "gamma", "endpoint": "local", "samples": 2, "instances": ["news-1"]}
    estimate = researcher.post(f"{AT}sampling/estimate/", **asked, temperature=None).json()
    assert (estimate["calls"], estimate["instances"]["open"]) == (2, 1)
    assert not GenerationRun.objects.exists()
    begun = researcher.post(f"{AT}sampling/", **asked, params={"stop": "\n"}, wording="Shorten: $source")
    [system] = begun.json()["systems"]
    assert (begun.status_code, system["name"], system["work"]["status"]) == (202, "gamma", "queued")
    run = GenerationRun.objects.get()
    assert (run.by, run.template, run.params["stop"], run.temperature) == ("rea", "Shorten: $source", "\n", 0.5)
    assert researcher.get(f"{AT}sampling/").json() == begun.json()
    refused = researcher.post(f"{AT}sampling/", **{**asked, "instances": [["a"]]})
    assert (refused.status_code, list(refused.json()["fields"])) == (422, ["instances"])


def test_members_are_listed_added_and_taken_away(researcher: Client, study: Study) -> None:
    boss = make_user("boss", Role.STUDY_ADMIN, study=study)
    admin = Client(boss)
    make_user("sam")
    made = admin.post(f"{AT}members/", username="sam", role="researcher")
    assert (made.status_code, made.json()["study"], made.json()["group"]) == (201, "study", None)
    listed = admin.get(f"{AT}members/").json()
    assert {(one["username"], one["role"]) for one in listed["results"]} == {
        *{("boss", "study-admin"), ("rea", "researcher"), ("sam", "researcher")}
    }
    assert admin.post(f"{AT}members/", username="new-one", role="annotator", new=True).status_code == 201
    assert admin.post(f"{AT}members/", username="nobody", role="researcher").status_code == 422
    assert admin.post(f"{AT}members/", username="sam", role="admin").status_code == 422
    assert researcher.post(f"{AT}members/", username="sam", role="study-admin").status_code == 403
    assert researcher.get(f"{AT}members/").status_code == 403
    gone = admin.api.delete(f"/api/v1/{AT}members/{made.json()['id']}/")
    assert gone.status_code == 204
    assert not RoleGrant.objects.filter(user__username="sam").exists()
    assert admin.api.delete(f"/api/v1/{AT}members/{made.json()['id']}/").status_code == 404
    noted = AuditEntry.objects.filter(account=boss.pk).values_list("method", "action", "status")
    assert {("POST", "api:study-members", 201), ("DELETE", "api:study-remove-member", 204)} <= set(noted)


def test_groups_are_for_those_in_them_and_for_tokens_of_all_studies(study: Study) -> None:
    root = User.objects.create_superuser("root")
    site_admin = Client(root)
    made = site_admin.post("groups/", slug="lab", name="The lab")
    assert (made.status_code, made.headers["Location"]) == (201, "/api/v1/groups/lab/")
    assert site_admin.patch("groups/lab/", name="Our lab").json() == {"slug": "lab", "name": "Our lab"}
    head = member("head", Role.STUDY_ADMIN, group=ResearchGroup.objects.get(slug="lab"))
    assert [one["slug"] for one in Client(head).get("groups/").json()["results"]] == ["lab"]
    make_user("sam")
    assert Client(head).post("groups/lab/members/", username="sam", role="researcher").json()["group"] == "lab"
    assert Client(head).post("groups/", slug="mine", name="Mine").status_code == 403
    limited = Client(root)
    limited.api.credentials(HTTP_AUTHORIZATION=f"Token {token_of(root, studies=[study])}")
    assert limited.get("groups/").status_code == 403
    assert limited.post(f"{AT}move/", group="lab").status_code == 403
    assert site_admin.post(f"{AT}move/", group="nowhere").status_code == 404
    assert site_admin.post(f"{AT}move/", group="lab").status_code == 204
    study.refresh_from_db()
    assert study.group.slug == "lab"
