"""Groups: who belongs to them, and who says so."""

import json

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from annotation.core.errors import AnnotationError, Unacceptable, UnknownName
from annotation.members.accounts import grant_role
from annotation.members.groups import add_member, create_group, move_study, new_member_link, revoke_role
from annotation.models import Assignment, ResearchGroup, RoleGrant, Study
from annotation.models.members import Role, main_group
from tests.factories import (
    api_of,
    claim,
    make_annotator,
    make_batch,
    make_study,
    make_user,
    output_of,
    signed_in,
    token_of,
)
from tests.whole_study import member

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def group() -> ResearchGroup:
    return create_group(slug="nlp", name="NLP group")


@pytest.fixture
def study(group: ResearchGroup) -> Study:
    return make_study("cnndm", instances=1, group=group)


@pytest.fixture
def admin(group: ResearchGroup) -> User:
    """A study admin of the whole group."""
    return member("ada", Role.STUDY_ADMIN, group=group)


@pytest.fixture
def root() -> User:
    return User.objects.create_superuser("root", password="a long enough one")


# The wall between groups; that no response shows anything of another one is in tests/test_roles.py


def test_a_role_in_one_study_opens_that_study_only(group: ResearchGroup, study: Study) -> None:
    make_study("xsum", instances=0, group=group)
    reader = signed_in(member("rea", Role.RESEARCHER, study=study))

    assert [one.slug for one in reader.get(reverse("annotation:studies")).context["studies"]] == ["cnndm"]
    assert reader.get(reverse("annotation:study", args=["xsum"])).status_code == 404
    assert reader.get(reverse("annotation:group", args=["nlp"])).status_code == 404
    groups = reader.get(reverse("annotation:groups"))
    assert list(groups.context["groups"]) == []
    assert "nlp" not in groups.text
    assert {row["slug"] for row in reader.get("/api/v1/studies/").json()["results"]} == {"cnndm"}


# Giving and taking roles


def test_a_revoked_role_ends_access_with_the_next_request(group: ResearchGroup, study: Study) -> None:
    reader = member("rea", Role.RESEARCHER, group=group)
    browser, api = signed_in(reader), APIClient()
    api.credentials(HTTP_AUTHORIZATION=f"Token {token_of(reader)}")
    pages = [reverse("annotation:study", args=["cnndm"]), reverse("reporting:findings", args=["cnndm"])]
    assert [browser.get(page).status_code for page in pages] == [200, 200]
    assert api.get("/api/v1/studies/cnndm/").status_code == 200

    revoke_role(user=reader, role=Role.RESEARCHER, place=group)

    assert [browser.get(page).status_code for page in pages] == [404, 404]
    assert browser.get(reverse("annotation:studies")).status_code == 403
    assert api.get("/api/v1/studies/cnndm/").status_code == 403


def test_an_annotators_work_ends_with_the_role_and_stays(study: Study) -> None:
    make_batch(study)
    annotator = make_annotator(study, "ann")
    assert annotator.user is not None
    assignment, browser = claim(annotator), signed_in(annotator.user)

    revoke_role(user=annotator.user, role=Role.ANNOTATOR, place=study)

    assert browser.get(reverse("annotation:hit", args=[assignment.key])).status_code == 404
    assert browser.get(reverse("annotation:progress")).status_code == 200
    assert Assignment.objects.get().pk == assignment.pk


def test_the_last_site_admin_stays(root: User) -> None:
    with pytest.raises(AnnotationError, match="root is the last site admin"):
        revoke_role(user=root, role=Role.ADMIN)
    second, _ = grant_role(username="second", role=Role.ADMIN)
    revoke_role(user=root, role=Role.ADMIN, by=second)
    root.refresh_from_db()
    assert (root.is_superuser, root.is_staff) == (False, False)
    with pytest.raises(UnknownName, match="root is not a site admin"):
        revoke_role(user=root, role=Role.ADMIN)
    User.objects.create(username="gone", is_superuser=True, is_active=False)  # can't sign in, so is none
    with pytest.raises(AnnotationError, match="second is the last site admin"):
        revoke_role(user=second, role=Role.ADMIN)


@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.RESEARCHER])
def test_annotators_and_researchers_give_and_take_no_roles(group: ResearchGroup, study: Study, role: Role) -> None:
    lower, other = member("low", role, group=group), member("other", Role.RESEARCHER, group=group)
    for place in (group, study):
        with pytest.raises(UnknownName):
            add_member(username="other", role="annotator", by=lower, place=place)
        with pytest.raises(UnknownName):
            revoke_role(user=other, role=Role.RESEARCHER, by=lower, place=place)
    assert list(other.role_grants.values_list("role", flat=True)) == ["researcher"]


def test_a_study_admin_makes_no_site_admin(group: ResearchGroup, study: Study, admin: User) -> None:
    User.objects.create_user("ann")
    browser = signed_in(admin)
    for page in (reverse("annotation:group", args=["nlp"]), reverse("annotation:members", args=["cnndm"])):
        refused = browser.post(page, {"username": "ann", "role": "admin", "new": "False"})
        assert refused.status_code == 422
        assert refused.context["form"].data["username"] == "ann"
    with pytest.raises(UnknownName, match="it must be one of"):
        add_member(username="ann", role=Role.ADMIN, place=group, by=admin)
    with pytest.raises(UnknownName):
        revoke_role(user=User.objects.create_superuser("root", password="x"), role=Role.ADMIN, by=admin)
    assert not User.objects.get(username="ann").is_superuser


def test_an_admin_of_one_study_reaches_neither_its_group_nor_others(group: ResearchGroup, study: Study) -> None:
    other = make_study("xsum", instances=0, group=group)
    local = member("loc", Role.STUDY_ADMIN, study=study)
    User.objects.create_user("ann")
    for place in (group, other):
        with pytest.raises(UnknownName):
            add_member(username="ann", role=Role.ANNOTATOR, by=local, place=place)
    assert add_member(username="ann", role=Role.ANNOTATOR, place=study, by=local)[1]
    with pytest.raises(UnknownName):
        create_group(slug="new", by=local)
    with pytest.raises(UnknownName):
        move_study(study=study, group=main_group(), by=local)


def test_a_role_goes_to_an_account_that_is_there_or_to_a_new_one_as_was_said(group: ResearchGroup, admin: User) -> None:
    User.objects.create_user("ann")
    with pytest.raises(Unacceptable, match="There is no account with the user name anna"):
        add_member(username="anna", role=Role.RESEARCHER, place=group, by=admin)
    with pytest.raises(Unacceptable, match="The user name Ann is taken"):
        add_member(username="Ann", role=Role.RESEARCHER, place=group, new=True, by=admin)
    with pytest.raises(AnnotationError, match="username: "):
        add_member(username="two words", role=Role.RESEARCHER, place=group, new=True, by=admin)
    assert set(User.objects.values_list("username", flat=True)) == {"ada", "ann"}
    _user, is_first = add_member(username="ann", role=Role.RESEARCHER, place=group, by=admin)
    _user, is_again = add_member(username=" ann ", role=Role.RESEARCHER, place=group, by=admin)
    assert (is_first, is_again) == (True, False)
    assert RoleGrant.objects.filter(group=group, role="researcher").count() == 1


def test_a_new_account_comes_with_a_link_that_is_shown_once_and_works_once(group: ResearchGroup, admin: User) -> None:
    browser, page = signed_in(admin), reverse("annotation:group", args=["nlp"])
    made = browser.post(page, {"username": "new", "role": "researcher", "new": "True"})
    url = made.context["made"]["url"]
    assert made.status_code == 200
    assert f"<code data-link>{url}</code>" in made.text
    assert "no-store" in made["Cache-Control"]
    assert url not in browser.get(page).text

    newcomer = Client()
    assert newcomer.post(url).status_code == 302
    assert newcomer.get(page).status_code == 200
    assert Client().get(url).status_code == 403


def test_another_link_is_for_newcomers_only(group: ResearchGroup, study: Study, admin: User, root: User) -> None:
    new = add_member(username="new", role=Role.RESEARCHER, place=study, new=True, by=admin)[0]
    grant = new.role_grants.get()
    browser = signed_in(admin)
    again = browser.post(reverse("annotation:link-in-study", args=["cnndm"]), {"grant": grant.pk})
    assert Client().post(again.context["made"]["url"]).status_code == 302

    new.refresh_from_db()
    told = "has signed in before, or has roles elsewhere"
    with pytest.raises(Unacceptable, match=told):
        new_member_link(user=new, base_url="http://x", place=study, by=admin)
    elsewhere = add_member(username="else", role=Role.RESEARCHER, place=study, new=True, by=admin)[0]
    RoleGrant.objects.create(user=elsewhere, role=Role.RESEARCHER, group=main_group())
    with pytest.raises(Unacceptable, match=told):
        new_member_link(user=elsewhere, base_url="http://x", place=study, by=admin)
    with pytest.raises(Unacceptable, match=told):
        new_member_link(user=root, base_url="http://x", place=study, by=admin)
    assert new_member_link(user=elsewhere, base_url="http://x", place=study, by=root).startswith("http://x/login/link/")


def test_a_grant_of_another_place_is_not_found(group: ResearchGroup, study: Study, admin: User) -> None:
    stranger = make_user("stranger", Role.RESEARCHER)  # of the main group
    grant = stranger.role_grants.get()
    browser = signed_in(admin)
    for name, slug in (("group", "nlp"), ("study", "cnndm")):
        for action in ("revoke", "link"):
            for asked in (grant.pk, "", "x", "-1", "³", "9" * 19, "9" * 5000):
                answer = browser.post(reverse(f"annotation:{action}-in-{name}", args=[slug]), {"grant": asked})
                assert answer.status_code == 404
    assert RoleGrant.objects.filter(pk=grant.pk).exists()
    own = admin.role_grants.get()
    left = browser.post(reverse("annotation:revoke-in-group", args=["nlp"]), {"grant": own.pk})
    assert left["Location"] == reverse("annotation:home")  # away from the page
    assert not admin.role_grants.exists()


# Pages


def test_a_group_lists_its_readers_to_readers_and_its_annotators_to_admins(group: ResearchGroup, admin: User) -> None:
    reader = member("rea", Role.RESEARCHER, group=group)
    member("ann", Role.ANNOTATOR, group=group)
    page = reverse("annotation:group", args=["nlp"])
    seen, managed = signed_in(reader).get(page), signed_in(admin).get(page)

    main = seen.text.split("<main")[1].split("</main")[0]
    assert ("ada" in main, "ann<" in main, "<form method" in main) == (True, False, False)
    assert [one.user.username for one in managed.context["annotators"]] == ["ann"]
    assert "Revoke the role Researcher of rea" in managed.text


def test_site_admins_make_rename_and_see_all_groups(root: User, admin: User, group: ResearchGroup) -> None:
    browser, page = signed_in(root), reverse("annotation:groups")
    made = browser.post(page, {"slug": "vision", "name": "Vision"})
    assert made["Location"] == reverse("annotation:group", args=["vision"])
    again = browser.post(page, {"slug": "vision", "name": "Vision 2"})
    assert again.status_code == 422
    assert again.context["form"]["name"].value() == "Vision 2"
    for slug in ("vision", "VISION"):
        told = api_of(root).post("/api/v1/groups/", {"slug": slug, "name": "Vision 2"}, format="json")
        assert (told.status_code, list(told.json()["fields"])) == (422, ["slug"])
        assert slug in told.json()["detail"]
    assert {one.slug for one in browser.get(page).context["groups"]} == {"main", "nlp", "vision"}
    assert {one.slug for one in signed_in(admin).get(page).context["groups"]} == {"nlp"}
    browser.post(reverse("annotation:rename-group", args=["vision"]), {"name": "Seeing"})
    assert browser.post(reverse("annotation:rename-group", args=["vision"]), {"name": " "}).status_code == 422
    assert ResearchGroup.objects.get(slug="vision").name == "Seeing"
    assert signed_in(admin).post(page, {"slug": "x", "name": "X"}).status_code == 403


def test_a_moved_study_leaves_old_readers_behind(root: User, group: ResearchGroup, study: Study, admin: User) -> None:
    vision = create_group(slug="vision")
    theirs = member("vis", Role.RESEARCHER, group=vision)
    member("loc", Role.STUDY_ADMIN, study=study)
    rater = member("ann", Role.ANNOTATOR, study=study)
    page = reverse("annotation:study", args=["cnndm"])
    move = reverse("annotation:move-study", args=["cnndm"])
    browser = signed_in(root)

    assert browser.post(move, {"group": "vision"}).status_code == 422  # not confirmed
    assert signed_in(admin).get(page).status_code == 200
    moved = browser.post(move, {"group": "vision", "confirmed": "on"}, follow=True)
    assert "roles in the study itself that ended: 1" in moved.text
    assert signed_in(admin).get(page).status_code == 404
    assert signed_in(User.objects.get(username="loc")).get(page).status_code == 404
    assert signed_in(theirs).get(page).status_code == 200
    assert list(Study.objects.visible_to(rater, Role.ANNOTATOR)) == [study]
    study.refresh_from_db()
    assert move_study(study=study, group=vision) == 0


# Commands


def test_commands_make_groups_and_give_list_and_take_roles(study: Study) -> None:
    output_of("create_group", "vision", "--name", "Vision lab")
    assert ResearchGroup.objects.get(slug="vision").name == "Vision lab"
    output_of("grant", "ann", "--role", "study-admin", "--group", "vision")
    output_of("grant", "ann", "--role", "researcher", "--study", "cnndm")
    listed = json.loads(output_of("list_members", "--study", "cnndm", "--format", "json"))
    assert listed == [{"user": "ann", "role": "researcher", "in": "study cnndm"}]
    output_of("revoke", "ann", "--role", "researcher", "--study", "cnndm")
    remaining = RoleGrant.objects.filter(user__username="ann").values_list("role", "group__slug")
    assert list(remaining) == [("study-admin", "vision")]
    for _time in range(2):
        output_of("move_study", "cnndm", "--group", "vision")
        study.refresh_from_db()
        assert study.group.slug == "vision"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(["create_group", "nlp"], "slug: ", id="taken"),
        pytest.param(["create_group", "two words"], "slug: ", id="no slug"),
        pytest.param(["grant", "a", "--role", "annotator", "--group", "x"], "no group x; known: main, nlp", id="group"),
        pytest.param(["grant", "a", "--role", "admin", "--group", "nlp"], "leave the group out", id="admin in a group"),
        pytest.param(["revoke", "nobody", "--role", "annotator"], "there is no user nobody", id="user"),
        pytest.param(["revoke", "ada", "--role", "annotator", "--group", "nlp"], "ada is not annotator", id="not held"),
        pytest.param(["revoke", "ada", "--role", "admin"], "ada is not a site admin", id="no site admin"),
        pytest.param(
            ["revoke", "ada", "--role", "admin", "--group", "nlp"], "leave the study or group out", id="where"
        ),
        pytest.param(
            ["grant", "a", "--role", "annotator", "--group", "nlp", "--study", "s"], "not allowed with", id="both"
        ),
    ],
)
def test_commands_say_what_is_wrong(admin: User, arguments: list[str], told: str) -> None:
    main_group()
    with pytest.raises(CommandError, match=told):
        output_of(*arguments)
    assert not User.objects.filter(username="a").exists()
