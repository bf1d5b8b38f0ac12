"""Two groups that did the same: what each sees of the other, which is nothing."""

import json
from copy import deepcopy
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from annotation.models import Assignment, Study
from annotation.models.members import Role
from judging.models import Completion, Judge
from tests.factories import signed_in, token_of
from tests.routes import ask, body_of, routes, session_of
from tests.whole_study import Whole, build_whole_study, member

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
THEIRS = "zanzibar"


def store() -> tuple[Whole, Whole]:
    return build_whole_study("ours"), build_whole_study(THEIRS)


@pytest.fixture
def groups(stored: tuple[Whole, Whole]) -> tuple[Whole, Whole]:
    return deepcopy(stored)


@pytest.fixture
def mine(groups: tuple[Whole, Whole]) -> Whole:
    return groups[0]


@pytest.fixture
def theirs(groups: tuple[Whole, Whole]) -> Whole:
    return groups[1]


@pytest.fixture
def root() -> User:
    return User.objects.create_superuser("root", password="a long enough one")


def test_the_other_group_is_visible_to_site_admins(client: Client, mine: Whole, theirs: Whole, root: User) -> None:
    session = session_of(root)
    of_rows = {"study", "instance", "generation", "batch", "annotator", "comparisontable"}
    named = {f"api:{one}-list" for one in of_rows | {"judge", "judgerun", "judgment", "rating", "flag"}}
    lists = [route for route in routes() if route.name in named and "<" not in route.address]
    seen = {route.name for route in lists if THEIRS in body_of(ask(client, route, "GET", mine, session))}
    assert seen == named


def test_what_two_groups_asked_alike_doesnt_tell_of_the_other(mine: Whole, theirs: Whole) -> None:
    shared = Completion.objects.filter(judgments__run=mine.run).earliest("pk")
    theirs.run.judgments.earliest("pk").completions.add(shared)
    api = APIClient()
    token = token_of(mine.people[Role.RESEARCHER])
    api.credentials(HTTP_AUTHORIZATION=f"Token {token}")

    assert api.get("/api/v1/completions/", {"study": theirs.study.slug}).json()["count"] == 0
    found = api.get("/api/v1/completions/", {"study": mine.study.slug}).json()
    assert shared.cache_key in {row["cache_key"] for row in found["results"]}
    assert THEIRS not in json.dumps(found)


def test_a_judge_is_known_to_the_groups_that_it_works_for(mine: Whole, theirs: Whole) -> None:
    Judge.objects.create(name="fresh", method="coin")
    reader = signed_in(mine.people[Role.RESEARCHER])
    page = reverse("judging:judges", args=[mine.study.slug])

    offered = reader.get(page).context["run_form"].fields["judge"].queryset
    assert [judge.name for judge in offered] == ["fresh", "ours-judge"]
    assert {row["name"] for row in reader.get("/api/v1/judges/").json()["results"]} == {"fresh", "ours-judge"}

    started = reader.post(
        reverse("judging:start", args=[mine.study.slug]), {"judge": theirs.judge.name, "in_flight": 1}
    )
    assert started.status_code == 422
    new = {"name": theirs.judge.name, "method": "first", "order": "ab"}
    refused = reader.post(reverse("judging:new-judge", args=[mine.study.slug]), new)
    assert refused.status_code == 422
    assert "This name is taken" in refused.text
    assert "direct" not in str(refused.context["judge_form"].errors)


def test_a_taken_short_name_tells_nothing_more_of_a_study(mine: Whole, theirs: Whole) -> None:
    admin = signed_in(mine.people[Role.STUDY_ADMIN])
    new = {"slug": theirs.study.slug.upper(), "title": "mine"}
    for refused in (
        admin.post("/api/v1/studies/", json.dumps(new), content_type="application/json"),
        admin.post(reverse("annotation:new-study"), {**new, "group": mine.study.group.slug}),
    ):
        assert refused.status_code == 422
        assert new["slug"] in refused.text
        assert theirs.study.slug not in refused.text


def test_the_api_makes_nothing_in_another_groups_study(mine: Whole, theirs: Whole) -> None:
    admin = signed_in(mine.people[Role.STUDY_ADMIN])
    systems = [theirs.batch.system_a.name, theirs.batch.system_b.name]
    wanted = {"study": theirs.study.slug, "name": "b", "dataset": theirs.batch.dataset, "systems": systems}
    before = theirs.study.batches.count()
    answer = admin.post("/api/v1/batches/", json.dumps(wanted), content_type="application/json")
    assert answer.status_code == 404
    taken = admin.post(
        "/api/v1/studies/", json.dumps({"slug": "x", "group": theirs.group.slug}), content_type="application/json"
    )
    assert taken.status_code in (404, 422)
    assert theirs.study.batches.count() == before
    assert not Study.objects.filter(slug="x").exists()


def test_annotators_of_another_group_get_none_of_its_hits(mine: Whole, theirs: Whole) -> None:
    outside = member("outside", Role.ANNOTATOR, group=theirs.group)
    outsider = signed_in(outside)
    theirs.study.batches.update(status="closed")

    assert "Nothing is open for rating" in outsider.get(reverse("annotation:rate")).text
    assert outsider.get(reverse("annotation:consent", args=[mine.study.key])).status_code == 404
    assert not Assignment.objects.filter(annotator__user=outside).exists()
    mine_too = signed_in(member("inside", Role.ANNOTATOR, group=mine.group))
    assert mine_too.get(reverse("annotation:rate"))["Location"] == reverse("annotation:consent", args=[mine.study.key])


def test_members_of_a_study_come_with_those_of_its_group(mine: Whole, django_assert_max_num_queries: Any) -> None:
    member("local", Role.RESEARCHER, study=mine.study)
    ann = member("ann-local", Role.ANNOTATOR, study=mine.study)
    browser, page = signed_in(mine.people[Role.STUDY_ADMIN]), reverse("annotation:members", args=[mine.study.slug])
    with django_assert_max_num_queries(25):
        shown = browser.get(page)
    assert [grant.user.username for grant in shown.context["readers"]] == ["local"]
    assert [grant.user for grant in shown.context["annotators"]] == [ann]
    assert [grant.user.username for grant in shown.context["group_readers"]] == ["ours-researcher", "ours-study-admin"]
    assert shown.context["channel_raters"] == 1
    assert "Move the study" not in shown.text
