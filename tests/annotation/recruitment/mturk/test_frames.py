"""MTurk's window: a preview that records nothing, one assignment for its first worker, and the way to the work and back."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Annotator, Assignment, Channel, Participant, Submission
from annotation.rating.votes import save_vote, submit_assignment
from annotation.recruitment.mturk.work import hits_left, release_browser, result_code
from tests.annotation.recruitment.mturk.server import MturkServer
from tests.annotation.recruitment.mturk.setup import SANDBOX, at_stand_in, make_mturk, open_frame
from tests.factories import make_batch, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def channel(stored_channel: int) -> Channel:
    """Return the module's channel, whose requests would go to MTurk."""
    cache.clear()
    return Channel.objects.get(pk=stored_channel)


def directives(response: HttpResponse) -> dict[str, list[str]]:
    """Read the content security policy."""
    parts = [part.split() for part in response["Content-Security-Policy"].split(";") if part.strip()]
    return {name: values for name, *values in parts}


def link(response: HttpResponse, start: str) -> str:
    """Return the page's link whose path begins so."""
    found = re.search(rf'href="({re.escape(start)}[^"]*)"', response.content.decode())
    assert found, response.content.decode()
    return found[1]


def work_link(response: HttpResponse, channel: Channel) -> str:
    return link(response, f"/mturk/{channel.key}/task/")


def begin(channel: Channel, browser: Client | None = None, **told: str) -> Client:
    """Accept an assignment, and follow the link to the work in a window of its own."""
    browser = browser or Client()
    arrived = browser.get(work_link(open_frame(channel, **told), channel))
    assert arrived.status_code == 302, arrived.content.decode()
    return browser


def agree(browser: Client, channel: Channel) -> None:
    browser.post(reverse("annotation:consent", args=[channel.study.key]), {"answer": "accept"})


def do_hit(browser: Client) -> Assignment:
    """Claim a HIT through the page, rate it and submit it."""
    key = browser.get("/rate/").headers["Location"].split("/")[-2]
    assignment = Assignment.objects.get(key=key)
    for display in assignment.displays.select_related("pair"):
        save_vote(assignment=assignment, pair_key=display.pair.key, choice="left", at=timezone.now())
    return submit_assignment(assignment=assignment, at=timezone.now())


def counts() -> list[int]:
    return [model._base_manager.count() for model in (Participant, Submission, Annotator, User, Assignment)]


# The preview


def test_a_preview_says_what_is_asked_and_paid_and_shows_no_text_of_the_study() -> None:
    study = make_study("other", question="Which one is kinder?", guidelines="Be *fair*.", minutes_per_hit=4)
    make_batch(study)

    page = open_frame(make_mturk(study=study), assignment="ASSIGNMENT_ID_NOT_AVAILABLE").content.decode()

    assert "Which one is kinder?" in page
    assert "Be <em>fair</em>." in page
    assert "0.50 USD" in page
    assert "about 4 minutes" in page
    assert "Text 0 on" not in page
    assert "Source of" not in page
    assert "alpha" not in page


# Who may frame what


@pytest.mark.parametrize(
    ("told", "recorded"),
    [
        pytest.param({"assignment": "ASSIGNMENT_ID_NOT_AVAILABLE", "worker": ""}, 0, id="preview"),
        pytest.param({"assignment": ""}, 0, id="no assignment"),
        pytest.param({"assignment": "no id"}, 0, id="garbled"),
        pytest.param({"assignment": "3ASSIGNMENT1"}, 1, id="accepted"),
    ],
)
def test_a_framed_page_lets_only_mturk_frame_it(channel: Channel, told: dict[str, str], recorded: int) -> None:
    response = open_frame(channel, **told)

    policy = directives(response)
    assert policy["frame-ancestors"] == [SANDBOX]
    assert policy["form-action"] == [SANDBOX]
    assert policy["default-src"] == ["'self'"]
    assert "X-Frame-Options" not in response
    assert "no-store" in response["Cache-Control"]
    assert not response.cookies
    assert [model.objects.count() for model in (Participant, Submission, Annotator)] == [recorded] * 3


def test_a_live_page_is_framed_by_the_live_site_and_sends_its_form_there(channel: Channel) -> None:
    channel.options["site"] = "live"
    channel.save()

    policy = directives(open_frame(channel, turkSubmitTo="https://www.mturk.com"))

    assert policy["frame-ancestors"] == ["https://worker.mturk.com", "https://www.mturk.com"]
    assert policy["form-action"] == ["https://www.mturk.com"]


def test_the_status_page_and_its_part_have_the_same_headers(channel: Channel) -> None:
    status = link(open_frame(channel), f"/mturk/{channel.key}/status/")

    for headers in ({}, {"HX-Request": "true"}):
        response = Client().get(status, headers=headers)
        assert response.status_code == 200
        assert directives(response)["frame-ancestors"] == [SANDBOX]
        assert directives(response)["form-action"] == [SANDBOX]
        assert "X-Frame-Options" not in response
        assert not response.cookies
    assert b"<html" not in response.content


def test_every_other_page_forbids_framing(channel: Channel) -> None:
    browser = begin(channel)
    agree(browser, channel)

    pages = [browser.get(path) for path in ("/rate/", "/rate/progress/", "/login/", "/")]
    pages.append(browser.get(pages[0].headers["Location"]))
    pages.append(Client().get(work_link(open_frame(channel, worker="AOTHER", assignment="3B"), channel)))
    pages.append(Client().get(f"/mturk/{channel.key}/task/nonsense/"))

    for response in pages:
        assert response["X-Frame-Options"] == "DENY"
        assert directives(response)["frame-ancestors"] == ["'none'"]
        assert directives(response)["form-action"] == ["'self'"]


# What the address says


ELSEWHERE = [
    "https://www.mturk.com",  # the other site
    "https://evil.example",
    "https://workersandbox.mturk.com.evil.example",
    "https://workersandbox.mturk.com@evil.example",
    "https://workersandbox.mturk.com/x",
    "http://workersandbox.mturk.com",
    "//workersandbox.mturk.com",
    "",
]


def test_an_address_that_is_not_mturks_is_refused_in_the_frame(channel: Channel) -> None:
    before = counts()
    wrong = [{"worker": "BWORKER"}, {"worker": "A<b>"}, {"worker": "A" * 65}, {"assignment": "a b"}, {"hit": "x"}]

    for change in [*wrong, *({"turkSubmitTo": submit_to} for submit_to in ELSEWHERE)]:
        response = open_frame(channel, **change)

        assert response.status_code == 422, change
        assert b"evil" not in response.content
    assert counts()[:3] == before[:3]
    assert open_frame(channel, turkSubmitTo=f"{SANDBOX}/").status_code == 200  # as the site's own


def test_a_shut_channel_takes_no_new_rater_and_says_so_in_the_frame(channel: Channel) -> None:
    Channel.objects.update(is_open=False)

    response = open_frame(channel)

    assert response.status_code == 409
    assert b"takes no new raters" in response.content
    assert directives(response)["frame-ancestors"] == [SANDBOX]
    assert Participant.objects.count() == 0


# Whose work it is


def test_an_assignment_stays_its_first_workers(channel: Channel) -> None:
    open_frame(channel, worker="AFIRST")

    response = open_frame(channel, worker="ASECOND")

    assert response.status_code == 409
    assert b"belongs to another person" in response.content
    assert list(Participant.objects.values_list("external_id", flat=True)) == ["AFIRST"]


def test_another_browser_cannot_open_a_workers_work_not_even_by_an_invented_assignment(channel: Channel) -> None:
    begin(channel, worker="AVICTIM")
    thief = Client()

    same = thief.get(work_link(open_frame(channel, worker="AVICTIM"), channel))
    invented = thief.get(work_link(open_frame(channel, worker="AVICTIM", assignment="3INVENTED"), channel))

    assert [same.status_code, invented.status_code] == [409, 409]
    assert b"another browser" in invented.content
    assert "_auth_user_id" not in thief.session


def test_a_worker_is_the_same_rater_in_every_assignment_of_their_browser(channel: Channel) -> None:
    browser = begin(channel)
    begin(channel, browser, assignment="3ASSIGNMENT2")

    assert Annotator.objects.filter(kind="mturk").count() == 1
    assert Submission.objects.count() == 2


def test_an_admin_can_let_a_worker_go_on_in_another_browser(channel: Channel) -> None:
    begin(channel)
    release_browser(participant=Participant.objects.get())

    begin(channel)

    assert Submission.objects.get().details["opens"] == 2


def test_a_link_works_once_and_again_only_in_the_browser_that_used_it(channel: Channel) -> None:
    used = work_link(open_frame(channel), channel)
    browser = Client()
    browser.get(used)

    assert browser.get(used).status_code == 302
    assert Client().get(used).status_code == 409


@pytest.mark.parametrize("spoil", [lambda token: token[:-2] + "xx", lambda token: "x", lambda token: token + "x"])
def test_a_link_that_was_not_signed_here_leads_nowhere(channel: Channel, spoil: Any) -> None:
    start, token = work_link(open_frame(channel), channel).rstrip("/").rsplit("/", 1)

    response = Client().get(f"{start}/{spoil(token)}/")

    assert response.status_code == 409
    assert "sessionid" not in response.cookies


def test_a_signed_page_of_one_channel_is_none_of_another(channel: Channel) -> None:
    other = make_mturk(study=make_study("other"))
    status = link(open_frame(channel), f"/mturk/{channel.key}/status/")
    work = work_link(open_frame(channel), channel)

    assert Client().get(status.replace(channel.key, other.key)).status_code == 404
    assert Client().get(work.replace(channel.key, other.key)).status_code == 409


def test_looking_ahead_at_a_link_does_not_use_it_up(channel: Channel) -> None:
    work = work_link(open_frame(channel), channel)

    assert Client().get(work, headers={"Sec-Purpose": "prefetch"}).status_code == 204
    assert Client().head(work).status_code == 204
    assert Client().get(work, headers={"User-Agent": "WhatsApp/2.23"}).status_code == 200
    assert "opens" not in Submission.objects.get().details
    assert Client().get(work).status_code == 302


# The work, and back


def test_the_form_appears_when_the_hit_was_submitted_and_goes_to_mturk(channel: Channel) -> None:
    status = link(open_frame(channel), f"/mturk/{channel.key}/status/")
    browser = begin(channel)
    agree(browser, channel)
    assert b"externalSubmit" not in Client().get(status).content

    assignment = do_hit(browser)

    page = Client().get(status, headers={"HX-Request": "true"}).content.decode()
    submission = Submission.objects.get()
    assert f'action="{SANDBOX}/mturk/externalSubmit"' in page
    assert 'name="assignmentId" value="3ASSIGNMENT1"' in page
    assert f'name="code" value="{result_code(submission)}"' in page
    assert "hx-get" not in page
    assert (submission.state, submission.assignment) == ("completed", assignment)


def test_each_mturk_assignment_gives_one_hit(channel: Channel) -> None:
    browser = begin(channel)
    agree(browser, channel)
    rater = Annotator.objects.get(kind="mturk")
    assert hits_left(rater) == 1
    first = do_hit(browser)

    assert hits_left(rater) == 0
    page = browser.get("/rate/")
    assert page.status_code == 200
    assert b"go back to the MTurk window now, and press Submit" in page.content
    assert rater.assignments.count() == 1

    begin(channel, browser, assignment="3ASSIGNMENT2")
    second = do_hit(browser)
    open_frame(channel, assignment="3ASSIGNMENT2")
    done = dict(Submission.objects.values_list("external_id", "assignment_id"))
    assert done == {"3ASSIGNMENT1": first.pk, "3ASSIGNMENT2": second.pk}


def test_two_assignments_at_once_give_two_hits_and_no_third(channel: Channel) -> None:
    browser = begin(channel, assignment="3A1")
    agree(browser, channel)
    begin(channel, browser, assignment="3A2")

    do_hit(browser)
    assert "/hit/" not in browser.get("/rate/").headers.get("Location", "")
    begin(channel, browser, assignment="3A1")
    do_hit(browser)

    open_frame(channel, assignment="3A1")
    assert set(Submission.objects.values_list("state", flat=True)) == {"completed"}
    assert Submission.objects.values_list("assignment", flat=True).distinct().count() == 2
    assert hits_left(Annotator.objects.get(kind="mturk")) == 0


def test_an_assignment_that_was_left_behind_gives_no_second_hit(channel: Channel) -> None:
    browser = begin(channel, assignment="3RETURNED")
    agree(browser, channel)
    begin(channel, browser, assignment="3A2")
    do_hit(browser)

    assert hits_left(Annotator.objects.get(kind="mturk")) == 0


def test_who_declines_returns_the_hit_or_submits_it_where_the_channel_pays_for_that(channel: Channel) -> None:
    browser = begin(channel)
    browser.post(reverse("annotation:consent", args=[channel.study.key]), {"answer": "decline"})

    page = open_frame(channel).content.decode()
    assert "Please return this HIT" in page
    assert "externalSubmit" not in page
    assert b"return the HIT" in browser.get("/rate/").content

    channel.options["screened_out"] = "submit"
    channel.save()
    assert b"externalSubmit" in open_frame(channel).content
    assert Submission.objects.get().state == "screened-out"


# What MTurk says of an assignment


def test_an_assignment_is_let_in_for_its_worker_and_asked_about_once(mturk: MturkServer, stored_channel: int) -> None:
    channel = at_stand_in(stored_channel, mturk)
    mturk.hits["3HIT1"] = {"HITId": "3HIT1", "MaxAssignments": 2, "Expiration": 1e12}
    accepted, submitted = (mturk.accept("3HIT1", worker) for worker in ("AWORKER1", "AOWNER"))
    mturk.submit(submitted, code="x")

    assert [open_frame(channel, assignment=accepted).status_code for _ in range(2)] == [200, 200]
    assert Submission.objects.get().details["verified"] == "accepted"
    assert len(mturk.asked("GetAssignment")) == 1
    assert open_frame(channel, assignment=submitted, worker="ATHIEF").status_code == 409
    assert open_frame(channel, assignment=submitted, worker="AOWNER").status_code == 200


def test_a_hit_that_the_channel_did_not_offer_is_refused(channel: Channel) -> None:
    channel.actions.create(kind="hit", key="hit:1", state="done", answer={"hit_id": "3OURS"})

    assert open_frame(channel, hit="3STRANGE").status_code == 409
    assert open_frame(channel, hit="3OURS").status_code == 200
