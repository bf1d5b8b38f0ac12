"""Who a form was made for: what a browser sends under another account is neither taken nor given up."""

from itertools import product
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Assignment, Consent, Rating, Study
from tests.factories import claim, make_annotator, make_batch, make_study, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
HTMX = {"HX-Request": "true"}
ADDRESSES = ["save-vote", "save-second-vote", "lock", "submit"]


def store() -> Study:
    """Two HITs of two pairs."""
    study = make_study(instances=2, k=2)
    make_batch(study, raters=1)
    return study


def at_work(study: Study, name: str) -> tuple[Client, Assignment, str]:
    """Return a signed-in browser, its HIT, and the owner that its page names."""
    annotator = make_annotator(study, name)
    client = signed_in(annotator)
    assignment = claim(annotator)
    page = client.get(reverse("annotation:hit", args=[assignment.key]))
    return client, assignment, page.context["owner"]


def vote(assignment: Assignment, **more: str) -> dict[str, str]:
    """Return what the form of the first pair sends."""
    display = assignment.displays.select_related("pair").get(position=0)
    return {"pair_key": display.pair.key, "choice": "left", **more}


def test_a_form_of_another_account_is_sent_back_and_a_strangers_hit_is_not_found(study: Study) -> None:
    _, assignment, owner = at_work(study, "ann")
    other, _, own = at_work(study, "ben")
    assert owner != own
    for name, headers in product(ADDRESSES, ({}, HTMX)):
        address = reverse(f"annotation:{name}", args=[assignment.key])
        answer: Any = other.post(address, vote(assignment, owner=owner), headers=headers)
        assert answer.status_code == 401, (name, headers)
        assert "Another person has signed in in this browser" in answer.text
        assert other.post(address, vote(assignment, owner=own), headers=headers).status_code == 404
    assert not Rating.objects.exists()
    assert Assignment.objects.get(pk=assignment.pk).state == "claimed"


def test_ones_own_vote_is_taken_with_and_without_its_owner_whom_each_form_names(study: Study) -> None:
    client, assignment, owner = at_work(study, "ann")
    page = client.get(reverse("annotation:hit", args=[assignment.key])).text
    assert page.count(f'name="owner" value="{owner}"') == 3  # two pairs, and the end of the HIT
    address = reverse("annotation:save-vote", args=[assignment.key])
    assert client.post(address, vote(assignment), headers=HTMX).status_code == 200
    answer = client.post(address, vote(assignment, owner=owner, choice="right"), headers=HTMX)
    assert answer.status_code == 200
    assert Rating.objects.count() == 1


def test_a_vote_without_consent_is_asked_to_wait_for_it(study: Study) -> None:
    client, assignment, owner = at_work(study, "ann")
    Consent.objects.all().delete()
    address = reverse("annotation:save-vote", args=[assignment.key])
    for headers in ({}, HTMX):
        answer = client.post(address, vote(assignment, owner=owner), headers=headers)
        assert (answer.status_code, answer.headers.get("X-Tandem-Wait")) == (409, "consent")


def test_other_refusals_ask_for_no_waiting(study: Study) -> None:
    client, assignment, owner = at_work(study, "ann")
    Assignment.objects.update(state="returned")
    address = reverse("annotation:save-vote", args=[assignment.key])
    answer = client.post(address, vote(assignment, owner=owner), headers=HTMX)
    assert (answer.status_code, answer.headers.get("X-Tandem-Wait")) == (409, None)
