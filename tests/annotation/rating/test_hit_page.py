"""The page of a HIT: what it shows, choices sent with and without scripts, and what is refused."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from annotation.allocation.claims import return_hit
from annotation.models import Assignment, Rating, Study, VoteChange
from annotation.rating.votes import lock_first_votes
from tests.annotation.rating.pages import HTMX, Forms, at_hit, send
from tests.factories import keys_of, make_batch, make_study, rate

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def test_a_hit_page_shows_its_source_and_each_pair_as_a_form(study: Study) -> None:
    client, address, assignment = at_hit(study)

    page = client.get(address)

    assert page.status_code == 200
    forms = Forms(page.text)
    assert list(forms.pairs) == keys_of(assignment)
    assert {form["method"] for form in forms.pairs.values()} == {"post"}
    assert all(form["choices"] == ["left", "none", "right"] for form in forms.pairs.values())
    assert all(form["checked"] is None for form in forms.pairs.values())
    assert forms.submits == 1
    assert assignment.hit.matchup.instance.source in page.text
    assert "no-store" in page.headers["Cache-Control"]


def test_texts_stand_on_the_sides_that_were_drawn(study: Study) -> None:
    client, address, assignment = at_hit(study)
    first, second = assignment.displays.order_by("position").select_related("pair__generation_a", "pair__generation_b")
    first.a_is_left, second.a_is_left = True, False
    first.save()
    second.save()

    text = client.get(address).text

    a1, b1 = (text.index(generation.text) for generation in (first.pair.generation_a, first.pair.generation_b))
    a2, b2 = (text.index(generation.text) for generation in (second.pair.generation_a, second.pair.generation_b))
    assert a1 < b1 < b2 < a2


def test_a_study_without_ties_offers_none() -> None:
    study = make_study("no-ties", ties_allowed=False, label_left="Text 1", label_right="Text 2")
    make_batch(study)
    client, address, _ = at_hit(study)

    page = client.get(address)

    assert all(form["choices"] == ["left", "right"] for form in Forms(page.text).pairs.values())
    assert "Text 1" in page.text


def test_a_vote_without_javascript_is_saved_and_shown_again(study: Study) -> None:
    client, address, assignment = at_hit(study)
    key, form = next(iter(Forms(client.get(address).text).pairs.items()))

    for choice in ("left", "none", "right"):
        response = client.post(form["action"], {"pair_key": key, "choice": choice})

        assert (response.status_code, response.headers["Location"]) == (302, f"{address}#pair-{key}")
        assert Forms(client.get(address).text).pairs[key]["checked"] == choice
        rating = Rating.objects.select_related("display").get()
        assert rating.choice == choice
        assert rating.display.assignment_id == assignment.pk


def test_a_bad_choice_is_refused_on_the_page_or_in_the_form(study: Study) -> None:
    client, address, _ = at_hit(study)
    first, second = Forms(client.get(address).text).pairs
    action = f"{address}vote/"
    none = "Please choose one of the answers"
    for choice, refusal in {"": none, "up": "“up” is not one of the choices on offer", "none\x00": none}.items():
        part = client.post(action, {"pair_key": first, "choice": choice}, headers=HTMX)
        page = client.post(action, {"pair_key": first, "choice": choice})

        assert (part.status_code, page.status_code) == (422, 422)
        assert refusal in part.text
        assert "<html" not in part.text
        assert list(Forms(part.text).pairs) == [first]
        assert "<html" in page.text
        assert list(Forms(page.text).pairs) == [first, second]
        assert page.text.count(refusal) == 1
    assert Rating.objects.count() == 0


def test_a_pair_that_is_not_on_the_hit_is_a_404(study: Study) -> None:
    client, address, _ = at_hit(study)
    _, _, other = at_hit(study, "other")
    foreign = other.displays.select_related("pair")[0].pair.key

    for what, key in (("vote", foreign), ("vote", ""), ("vote", "x" * 100), ("vote", "a\x00b"), ("second", foreign)):
        part = send(client, address, what, pair_key=key, choice="left")
        assert (part.status_code, "<html" in part.text) == (404, False)
        assert "That pair is not on this page" in part.text
        assert client.post(f"{address}{what}/", {"pair_key": key, "choice": "left"}).status_code == 404
    assert Rating.objects.count() == 0


def test_a_stale_page_gets_the_choice_that_holds_and_is_told_so(study: Study) -> None:
    client, address, _ = at_hit(study)
    key = next(iter(Forms(client.get(address).text).pairs))
    assert send(client, address, "vote", pair_key=key, choice="left", page="one", version=0).status_code == 200

    stale = send(client, address, "vote", pair_key=key, choice="right", page="two", version=0)
    assert stale.status_code == 409
    assert Forms(stale.text).pairs[key]["checked"] == "left"
    assert "that stays" in stale.text
    assert re.search(r'name="version"\s+value="1"', stale.text)
    assert 'name="page" value="two"' in stale.text
    plain = client.post(f"{address}vote/", {"pair_key": key, "choice": "right", "page": "two", "version": "0"})
    assert (plain.status_code, Forms(plain.text).pairs[key]["checked"]) == (409, "left")
    assert plain.text.count("that stays") == 1

    assert send(client, address, "vote", pair_key=key, choice="right", page="two", version=1).status_code == 200
    assert send(client, address, "vote", pair_key=key, choice="none", page="two", version=1).status_code == 200
    assert Rating.objects.select_related("display").get().choice == "none"
    assert VoteChange.objects.count() == 3


def test_no_choice_is_lost_to_what_a_page_reports_beside_it(study: Study) -> None:
    client, address, _ = at_hit(study)
    key = next(iter(Forms(client.get(address).text).pairs))
    nonsense = {"version": "many", "chosen_at": "yesterday", "active_seconds": "nan", "wall_seconds": "-1"}
    nonsense |= {"page": "x" * 99, "source_opened": "perhaps", "translated": "perhaps"}
    impossible = {"version": "-1", "chosen_at": "9999-99-99T00:00:00Z", "active_seconds": "inf", "page": "a\x00b"}
    for choice, report, translated in (
        ("left", nonsense, None),
        ("right", {**impossible, "translated": "true"}, True),
        ("none", {"translated": "false"}, False),
    ):
        assert send(client, address, "vote", pair_key=key, choice=choice, **report).status_code == 200
        change = VoteChange.objects.latest("pk")
        rating = Rating.objects.select_related("display").get()
        assert (rating.choice, rating.translated) == (choice, translated)
        assert (change.chosen_at, change.active_seconds, change.page, change.source_opened) == (None, None, "", None)


def test_a_vote_by_htmx_gets_what_it_changes_on_the_page(study: Study) -> None:
    client, address, assignment = at_hit(study)
    first, second = Forms(client.get(address).text).pairs
    before = timezone.now() + timedelta(minutes=50)
    Assignment.objects.filter(pk=assignment.pk).update(expires_at=before)  # it was claimed ten minutes ago

    answer = send(client, address, "vote", pair_key=first, choice="right")
    assert answer.status_code == 200
    one = answer.text
    assert "<html" not in one
    assert "<form" not in one
    assert re.findall(r'id="([^"]+)"[^>]* hx-swap-oob', one) == [f"answer-{first}", "hit-status"]
    assert re.search(r'name="version"\s+value="1"', one)
    assert "Saved at" in one
    assert 'class="answer rated"' in one
    assert "1 of 2 rated." in one
    assert f'<a href="#pair-{second}">' in one
    after = Assignment.objects.get(pk=assignment.pk).expires_at
    assert after > before
    assert f'data-expires="{after.isoformat()}"' in one  # an answer extends the time
    assert Forms(client.get(address).text).pairs[first]["checked"] == "right"
    both = send(client, address, "vote", pair_key=second, choice="right").text
    assert "2 of 2 rated." in both
    assert "Still open" not in both
    assert Forms(both).submits == 1


def test_nothing_of_a_returned_hit_is_shown_any_more() -> None:
    study = make_study("returned", instances=1, k=2, protocol="two-stage", arms=["none"])
    make_batch(study, raters=1)
    client, address, assignment = at_hit(study)
    rate(assignment, submit=False)
    lock_first_votes(assignment=assignment, at=timezone.now())
    return_hit(assignment=assignment, reason="unclear", comment="", at=timezone.now())
    key = assignment.displays.first().pair.key

    assert client.get(address).headers["Location"] == "/rate/"
    for step in ("vote", "second", "submit"):
        for headers in ({}, HTMX):
            answer = client.post(f"{address}{step}/", {"pair_key": key, "choice": "bogus"}, headers=headers)
            assert answer.status_code == 409
            assert "Text 0" not in answer.text
    assert not assignment.displays.exclude(second_shown_at=None).exists()


def test_each_step_of_a_hit_takes_few_queries_however_many_pairs_it_has(django_assert_max_num_queries: Any) -> None:
    study = make_study("long", instances=2, k=20)
    make_batch(study, pairs=20)
    client, _address, assignment = at_hit(study)
    rate(assignment)
    with django_assert_max_num_queries(14):
        address = client.get("/rate/").headers["Location"]
    with django_assert_max_num_queries(11):
        keys = list(Forms(client.get(address).text).pairs)
    sent = {"pair_key": keys[0], "choice": "left", "page": "x", "version": "0", "wall_seconds": "0"}
    with django_assert_max_num_queries(10):
        assert client.post(f"{address}vote/", sent, headers=HTMX).status_code == 200
    assignment = Assignment.objects.get(key=address.split("/")[3])
    rate(assignment, "right", submit=False)
    with django_assert_max_num_queries(11):
        assert len(Forms(client.get(address).text).pairs) == 20
    with django_assert_max_num_queries(10):
        assert client.post(f"{address}vote/", {**sent, "version": "2"}, headers=HTMX).status_code == 200
    with django_assert_max_num_queries(8):
        assert client.get("/rate/").headers["Location"] == address
    with django_assert_max_num_queries(8):
        assert client.post(f"{address}submit/").status_code == 302
    assignment.refresh_from_db()
    assert assignment.state == Assignment.State.SUBMITTED
