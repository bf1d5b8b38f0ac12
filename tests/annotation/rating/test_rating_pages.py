"""The annotator's pages: the way to a HIT and through it, blind, with and without JavaScript."""

import re
import time
from datetime import timedelta
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.allocation.claims import claim_hit, return_hit
from annotation.annotators.consent import answer_consent
from annotation.importing.formats.study_file import InstanceRow
from annotation.importing.tables import import_tables
from annotation.members.accounts import login_link
from annotation.models import Annotator, Assignment, ComparisonTable, Consent, Rating, Slot, Study, VoteChange
from annotation.quality import hidden_checks
from annotation.rating.votes import lock_first_votes, rated_choice, save_vote, submit_assignment
from annotation.studies.services import save_settings
from tests.factories import add_instances, json_lines, make_annotator, make_batch, make_study, make_user, rate

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

HTMX = {"HX-Request": "true"}


class Forms(HTMLParser):
    """Reads the pairs' forms of a page: key → its radio inputs, and the checked one."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.pairs: dict[str, dict[str, Any]] = {}
        self.submits = 0
        self._key = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "form":
            self._key = given.get("data-pair") or ""
            if self._key:
                self.pairs[self._key] = {
                    "action": given["action"],
                    "method": given["method"],
                    "choices": [],
                    "checked": None,
                }
        elif tag == "input" and given.get("type") == "radio" and self._key:
            self.pairs[self._key]["choices"].append(given["value"])
            if "checked" in given:
                self.pairs[self._key]["checked"] = given["value"]
        elif tag == "button" and given.get("data-action") == "submit":
            self.submits += 1


@pytest.fixture
def study() -> Study:
    study = make_study(instances=2, k=2)
    make_batch(study, raters=1)
    return study


def signed_in(annotator: Annotator | User) -> Client:
    client = Client()
    user = annotator.user if isinstance(annotator, Annotator) else annotator
    assert user is not None
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def at_hit(study: Study, name: str = "rater") -> tuple[Client, str, Assignment]:
    """Sign in, follow /rate/ and return the HIT's address."""
    client = signed_in(make_annotator(study, name))
    address = client.get("/rate/").headers["Location"]
    return client, address, Assignment.objects.get(key=address.split("/")[-2])


# Signing in


def link(user: User) -> str:
    return login_link(user=user, base_url="http://testserver/")


def test_a_login_link_works_once(client: Client, study: Study) -> None:
    user = make_user("rater", "annotator", study=study)
    address = link(user)
    assert address.startswith("http://testserver/login/link/?")

    first = client.post(address)
    assert (first.status_code, first.headers["Location"]) == (302, "/")
    assert client.get("/").headers["Location"] == "/rate/"

    again = Client().get(address)
    assert again.status_code == 403
    assert "This link no longer works" in again.text
    assert Client().get("/rate/").status_code == 302


def test_signing_in_makes_every_earlier_link_stale(client: Client) -> None:
    user = make_user("rater")
    earlier, later = link(user), link(user)

    assert client.post(later).status_code == 302
    assert client.get(earlier).status_code == 403


@pytest.mark.parametrize("query", ["", "?sesame=", "?sesame=nonsense", "?sesame=AAAAAAAAAAAAAAAAAAAA"])
def test_a_link_that_is_no_link_is_refused_with_a_page(client: Client, query: str) -> None:
    response = client.get(reverse("annotation:login-link") + query)

    assert response.status_code == 403
    assert "ask the person who sent it for a new one" in response.text


@pytest.mark.parametrize(("seconds", "status"), [(24 * 3600 - 60, 200), (24 * 3600 + 60, 403)])
def test_a_link_lasts_a_day(client: Client, monkeypatch: pytest.MonkeyPatch, seconds: int, status: int) -> None:
    address = link(make_user("rater"))
    later = time.time() + seconds
    monkeypatch.setattr("sesame.tokens_v2.time", SimpleNamespace(time=lambda: later))

    assert client.get(address).status_code == status


def test_who_is_not_signed_in_is_led_to_the_login_page(client: Client) -> None:
    for address in ("/", "/rate/", "/rate/hit/x/", "/rate/consent/x/", "/studies/"):
        assert client.get(address).headers["Location"] == f"/login/?next={address}"
    assert "Sign in" in client.get("/login/").text


def test_who_has_no_role_is_told(study: Study) -> None:
    client = signed_in(make_user("nobody"))

    assert client.get("/").status_code == 403
    response = client.get("/rate/")
    assert response.status_code == 403
    assert "no role in any study" in response.text


# Consent


def test_consent_comes_before_the_first_hit(study: Study) -> None:
    client = signed_in(make_user("rater", "annotator", study=study))

    address = client.get("/rate/").headers["Location"]
    assert address == f"/rate/consent/{study.key}/"
    page = client.get(address)
    assert "You may stop at any time." in page.text
    assert Assignment.objects.count() == 0

    accepted = client.post(address, {"answer": "accept"}, follow=True)
    assert accepted.redirect_chain[-1][0].startswith("/rate/hit/")
    consent = Consent.objects.get()
    assert (consent.accepted, consent.version, consent.text) == (True, 1, study.consent_text)


def test_who_declines_gets_no_hit_but_may_think_again(study: Study) -> None:
    client = signed_in(make_user("rater", "annotator", study=study))
    address = client.get("/rate/").headers["Location"]

    page = client.post(address, {"answer": "decline"}, follow=True)

    assert "You declined the consent question" in page.text
    assert address in page.text
    assert Assignment.objects.count() == 0
    assert "Your last answer" in client.get(address).text
    client.post(address, {"answer": "accept"})
    assert client.get("/rate/").headers["Location"].startswith("/rate/hit/")


@pytest.mark.parametrize("answer", ["", "maybe", "true"])
def test_any_other_answer_is_asked_again(study: Study, answer: str) -> None:
    client = signed_in(make_user("rater", "annotator", study=study))

    response = client.post(f"/rate/consent/{study.key}/", {"answer": answer})

    assert response.status_code == 422
    assert "Please choose one of the two answers" in response.text
    assert Consent.objects.count() == 0


def test_a_changed_text_is_asked_for_again_before_the_hit_continues(study: Study) -> None:
    client, address, _ = at_hit(study)
    save_settings(study=study, consent_text="Another text.", reason="Clearer.")

    assert client.get(address).headers["Location"] == f"/rate/consent/{study.key}/"
    assert client.get("/rate/").headers["Location"] == f"/rate/consent/{study.key}/"
    assert (
        client.post(f"/rate/consent/{study.key}/", {"answer": "accept"}, follow=True).redirect_chain[-1][0] == address
    )


def test_consent_of_a_study_where_one_may_not_rate_is_a_404(study: Study) -> None:
    other = make_study("other")
    client = signed_in(make_annotator(study))

    assert client.get(f"/rate/consent/{other.key}/").status_code == 404
    assert client.post(f"/rate/consent/{other.key}/", {"answer": "accept"}).status_code == 404
    assert Annotator.objects.filter(study=other).count() == 0


# The HIT


def test_a_hit_page_shows_its_source_and_each_pair_as_a_form(study: Study) -> None:
    client, address, assignment = at_hit(study)

    page = client.get(address)

    assert page.status_code == 200
    forms = Forms(page.text)
    assert list(forms.pairs) == list(assignment.displays.order_by("position").values_list("pair__key", flat=True))
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
    study = make_study(ties_allowed=False, label_left="Text 1", label_right="Text 2")
    make_batch(study)
    client, address, _ = at_hit(study)

    page = client.get(address)

    assert all(form["choices"] == ["left", "right"] for form in Forms(page.text).pairs.values())
    assert "Text 1" in page.text


@pytest.mark.parametrize("choice", ["left", "none", "right"])
def test_a_vote_without_javascript_is_saved_and_shown_again(study: Study, choice: str) -> None:
    client, address, assignment = at_hit(study)
    key, form = next(iter(Forms(client.get(address).text).pairs.items()))

    response = client.post(form["action"], {"pair_key": key, "choice": choice})

    assert (response.status_code, response.headers["Location"]) == (302, f"{address}#pair-{key}")
    assert Forms(client.get(address).text).pairs[key]["checked"] == choice
    rating = Rating.objects.of_every_question().select_related("display").get()
    assert rated_choice(rating) == choice
    assert rating.display.assignment_id == assignment.pk


def test_a_vote_by_htmx_gets_its_own_form_back(study: Study) -> None:
    client, address, _ = at_hit(study)
    key, form = next(iter(Forms(client.get(address).text).pairs.items()))

    response = client.post(form["action"], {"pair_key": key, "choice": "right"}, headers=HTMX)

    assert response.status_code == 200
    assert "<html" not in response.text
    assert list(Forms(response.text).pairs) == [key]
    assert Forms(response.text).pairs[key]["checked"] == "right"
    assert "Saved at" in response.text
    assert 'class="pair rated"' in response.text
    assert 'class="sides"' not in response.text  # the texts stay on the page


@pytest.mark.parametrize(
    ("choice", "told"),
    [
        pytest.param("", "Please choose one of the answers", id="none"),
        pytest.param("up", "“up” is not one of the choices on offer", id="another"),
        pytest.param("none\x00", "Please choose one of the answers", id="what no text may hold"),
    ],
)
def test_a_bad_choice_is_told_on_the_page_or_in_the_form(study: Study, choice: str, told: str) -> None:
    client, address, _ = at_hit(study)
    first, second = Forms(client.get(address).text).pairs
    action = f"{address}vote/"

    part = client.post(action, {"pair_key": first, "choice": choice}, headers=HTMX)
    page = client.post(action, {"pair_key": first, "choice": choice})

    assert (part.status_code, page.status_code) == (422, 422)
    assert told in part.text
    assert "<html" not in part.text
    assert list(Forms(part.text).pairs) == [first]
    assert "<html" in page.text
    assert list(Forms(page.text).pairs) == [first, second]
    assert page.text.count(told) == 1
    assert Rating.objects.of_every_question().count() == 0


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["page", "htmx"])
def test_a_pair_of_another_hit_is_a_404(study: Study, headers: dict[str, str]) -> None:
    client, address, _ = at_hit(study)
    _, _, other = at_hit(study, "other")
    foreign = other.displays.select_related("pair")[0].pair.key

    for key in (foreign, "", "x" * 100):
        assert client.post(f"{address}vote/", {"pair_key": key, "choice": "left"}, headers=headers).status_code == 404
    assert Rating.objects.of_every_question().count() == 0


def test_another_annotators_hit_is_a_404(study: Study) -> None:
    _, address, assignment = at_hit(study)
    key = assignment.displays.select_related("pair")[0].pair.key
    for intruder in (signed_in(make_annotator(study, "other")), signed_in(User.objects.create_superuser("root"))):
        assert intruder.get(address).status_code == 404
        assert intruder.post(f"{address}vote/", {"pair_key": key, "choice": "left"}).status_code == 404
        assert intruder.post(f"{address}submit/").status_code == 404
    assert Rating.objects.of_every_question().count() == 0
    assert Assignment.objects.get(pk=assignment.pk).state == "claimed"


def test_submitting_too_early_says_which_pairs_are_open(study: Study) -> None:
    client, address, _ = at_hit(study)
    key = next(iter(Forms(client.get(address).text).pairs))
    client.post(f"{address}vote/", {"pair_key": key, "choice": "left"})

    response = client.post(f"{address}submit/")

    assert response.status_code == 422
    assert "Still open: pair 2." in response.text
    assert Forms(response.text).pairs[key]["checked"] == "left"
    assert Assignment.objects.get().state == "claimed"


def test_the_whole_way_to_the_end(study: Study) -> None:
    client, address, _ = at_hit(study)
    seen = set()
    while address.startswith("/rate/hit/"):
        seen.add(address)
        for key in Forms(client.get(address).text).pairs:
            client.post(f"{address}vote/", {"pair_key": key, "choice": "none"})
        assert client.post(f"{address}submit/").headers["Location"] == "/rate/"
        response = client.get("/rate/")
        address = response.headers.get("Location", "")

    assert len(seen) == 2
    assert "Everything has been rated. Thank you!" in response.text
    assert Assignment.objects.filter(state="submitted").count() == 2
    assert set(Rating.objects.of_every_question().values_list("verdict", flat=True)) == {0}


def test_a_submitted_hit_is_closed(study: Study) -> None:
    client, address, assignment = at_hit(study)
    for display in assignment.displays.select_related("pair"):
        save_vote(assignment=assignment, pair_key=display.pair.key, choice="left", at=timezone.now())
    submit_assignment(assignment=assignment, at=timezone.now())
    key = assignment.displays.select_related("pair")[0].pair.key

    assert client.get(address).headers["Location"] == "/rate/"
    vote = client.post(f"{address}vote/", {"pair_key": key, "choice": "right"}, headers=HTMX)
    assert vote.status_code == 409
    assert "This HIT was submitted before" in vote.text
    assert "<html" not in vote.text
    assert client.post(f"{address}submit/").status_code == 409
    assert {rated_choice(rating) for rating in Rating.objects.of_every_question().select_related("display")} == {"left"}


def test_a_hit_abandoned_by_another_annotator_is_free_for_the_next(study: Study) -> None:
    for name in ("gone-1", "gone-2"):  # both HITs are held, and no claim comes in between
        claim_hit(annotator=make_annotator(study, name), at=timezone.now() - timedelta(minutes=61))
    assert Slot.objects.free().count() == 0

    client = signed_in(make_annotator(study, "next"))

    assert client.get("/rate/").headers["Location"].startswith("/rate/hit/")
    assert Assignment.objects.filter(state="expired").count() == 2


def test_the_hit_that_one_is_at_comes_before_other_studies(study: Study) -> None:
    client, address, _ = at_hit(study)
    first = make_study("a-study-that-sorts-first")
    make_batch(first)
    user = User.objects.get(username="rater")
    make_annotator(first, user.username)

    assert client.get("/rate/").headers["Location"] == address


def test_studies_without_open_work_are_passed_over(study: Study) -> None:
    make_study("aaa-empty")
    imported = make_study("aab-closed")
    batch = make_batch(imported)
    batch.status = "closed"
    batch.save()
    user = make_user("rater", "annotator")  # in all studies

    response = signed_in(user).get("/rate/")

    assert response.headers["Location"] == f"/rate/consent/{study.key}/"
    assert list(user.annotators.values_list("study__slug", flat=True)) == ["study"]


def test_an_excluded_annotator_is_told_so(study: Study) -> None:
    annotator = make_annotator(study)
    annotator.excluded = True
    annotator.save()

    response = signed_in(annotator).get("/rate/")

    assert response.status_code == 200
    assert "Your work in this study has ended" in response.text


@pytest.mark.parametrize("method", ["get", "put", "delete"])
def test_votes_and_submits_are_posts(study: Study, method: str) -> None:
    client, address, _ = at_hit(study)

    for step in ("vote", "lock", "second", "flag", "submit"):
        answer = getattr(client, method)(f"{address}{step}/")
        if method == "get":  # the address of what was refused, opened again: it leads back to the HIT
            assert (answer.status_code, answer["Location"]) == (302, address)
        else:
            assert answer.status_code == 405
    assert Assignment.objects.get().state == Assignment.State.CLAIMED


def test_posts_need_the_page_they_came_from(study: Study) -> None:
    client, address, assignment = at_hit(study)
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = client.cookies
    key = assignment.displays.select_related("pair")[0].pair.key

    assert strict.post(f"{address}vote/", {"pair_key": key, "choice": "left"}).status_code == 403
    assert Rating.objects.of_every_question().count() == 0


def test_pages_do_not_take_more_queries_for_more_pairs(django_assert_max_num_queries: Any) -> None:
    study = make_study(instances=1, k=30)
    make_batch(study, pairs=30)
    client, address, assignment = at_hit(study)
    for display in assignment.displays.select_related("pair"):
        save_vote(assignment=assignment, pair_key=display.pair.key, choice="left", at=timezone.now())
    key = assignment.displays.select_related("pair")[0].pair.key

    with django_assert_max_num_queries(20):
        assert len(Forms(client.get(address).text).pairs) == 30
    with django_assert_max_num_queries(30):
        assert client.post(f"{address}vote/", {"pair_key": key, "choice": "none"}, headers=HTMX).status_code == 200
    with django_assert_max_num_queries(24):
        assert client.get("/rate/").status_code == 302


# Bad input, stale pages, late work


def send(client: Client, address: str, what: str, **fields: object) -> Any:
    """Post to a HIT as its page does by htmx."""
    return client.post(f"{address}{what}/", {key: str(value) for key, value in fields.items()}, headers=HTMX)


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
    assert rated_choice(Rating.objects.of_every_question().select_related("display").get()) == "none"
    assert VoteChange.objects.of_every_question().count() == 3


def test_the_same_choice_again_adds_nothing(study: Study) -> None:
    client, address, _ = at_hit(study)
    key = next(iter(Forms(client.get(address).text).pairs))
    for _ in range(3):
        again = send(client, address, "vote", pair_key=key, choice="left", page="one", version=0)
        assert again.status_code == 200
    assert (Rating.objects.of_every_question().count(), VoteChange.objects.of_every_question().count()) == (1, 1)


@pytest.mark.parametrize(
    "said",
    [
        {
            "version": "many",
            "chosen_at": "yesterday",
            "active_seconds": "nan",
            "wall_seconds": "-1",
            "page": "x" * 99,
            "source_opened": "perhaps",
        },
        {"version": "-1", "chosen_at": "9999-99-99T00:00:00Z", "active_seconds": "inf", "page": "a\x00b"},
        {},
    ],
    ids=["nonsense", "impossible", "nothing"],
)
def test_no_choice_is_lost_to_what_a_page_says_beside_it(study: Study, said: dict[str, str]) -> None:
    client, address, _ = at_hit(study)
    key = next(iter(Forms(client.get(address).text).pairs))

    assert send(client, address, "vote", pair_key=key, choice="left", **said).status_code == 200
    change = VoteChange.objects.of_every_question().get()
    assert (change.chosen_at, change.active_seconds, change.page, change.source_opened) == (None, None, "", None)


def test_the_card_comes_with_the_foot_of_the_page(study: Study) -> None:
    client, address, assignment = at_hit(study)
    first, second = Forms(client.get(address).text).pairs
    before = timezone.now() + timedelta(minutes=50)
    Assignment.objects.filter(pk=assignment.pk).update(expires_at=before)  # it was claimed ten minutes ago

    one = send(client, address, "vote", pair_key=first, choice="left").text
    assert 'hx-swap-oob="true"' in one
    assert "1 of 2 rated." in one
    assert f'<a href="#pair-{second}">' in one
    after = Assignment.objects.get(pk=assignment.pk).expires_at
    assert after is not None
    assert after > before
    assert f'data-expires="{after.isoformat()}"' in one  # an answer extends the time
    both = send(client, address, "vote", pair_key=second, choice="right").text
    assert "2 of 2 rated." in both
    assert "Still open" not in both
    assert Forms(both).submits == 1


def test_a_pair_that_is_not_on_the_hit_is_told_to_a_page_and_to_a_part(study: Study) -> None:
    client, address, _ = at_hit(study)
    for what in ("vote", "second"):
        part = send(client, address, what, pair_key="unknown", choice="left")
        assert (part.status_code, "<html" in part.text) == (404, False)
        assert "That pair is not on this page" in part.text
        assert client.post(f"{address}{what}/", {"pair_key": "unknown", "choice": "left"}).status_code == 404


def test_a_hit_given_back_leads_on(study: Study) -> None:
    client, address, assignment = at_hit(study)
    return_hit(assignment=assignment, reason="no-time", comment="", at=timezone.now())
    key = assignment.displays.select_related("pair")[0].pair.key

    assert client.get(address).headers["Location"] == "/rate/"
    assert send(client, address, "vote", pair_key=key, choice="left").status_code == 409
    assert client.post(f"{address}submit/").status_code == 409


def all_rated(client: Client, address: str, choice: str = "left") -> list[str]:
    """Vote on every pair of a HIT; returns the pairs' keys."""
    keys = list(Forms(client.get(address).text).pairs)
    for key in keys:
        assert client.post(f"{address}vote/", {"pair_key": key, "choice": choice}).status_code == 302
    return keys


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, ""),
        ({"pay_per_hit": 2, "currency": "EUR", "pay_late": True}, "You are paid for it all the same."),
        ({"pay_per_hit": 2, "currency": "EUR"}, "It is not paid."),
    ],
    ids=["without pay", "paid", "not paid"],
)
def test_who_comes_too_late_is_told_that_it_does_not_count(settings: dict[str, Any], told: str) -> None:
    study = make_study(instances=1, k=2, **settings)
    make_batch(study, raters=1)
    client, address, assignment = at_hit(study)
    all_rated(client, address)
    Assignment.objects.filter(pk=assignment.pk).update(expires_at=timezone.now() - timedelta(minutes=1))
    quicker = claim_hit(annotator=make_annotator(study, "quicker"), at=timezone.now())
    assert quicker.hit_id == assignment.hit_id

    assert "Your time is up." in client.get(address).text
    page = client.post(f"{address}submit/", follow=True)
    assert "another rater has taken this HIT" in page.text
    assert told in page.text
    assert ("paid" in page.text) == bool(told)
    assert Assignment.objects.get(pk=assignment.pk).late


def test_hits_are_counted_so_that_no_count_gives_a_check_away(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study(instances=4, k=2)
    make_batch(study, raters=1, repeat_rate=0.2)
    monkeypatch.setattr(  # the third HIT is a repeat, whatever the seed
        "annotation.allocation.claims.next_check",
        lambda annotator, batch: (
            hidden_checks._repeat(annotator, batch) if annotator.assignments.count() == 2 else None
        ),
    )
    client = signed_in(make_annotator(study))
    told = []
    for _ in range(5):
        address = client.get("/rate/").headers["Location"]
        told.append(re.findall(r"HIT (\d+) of (\d+)", " ".join(client.get(address).text.split())))
        all_rated(client, address)
        assert client.post(f"{address}submit/").status_code == 302
    purposes = Assignment.objects.order_by("pk").values_list("purpose", flat=True)
    assert list(purposes) == ["rating", "rating", "repeat", "rating", "rating"]
    assert told == [[(str(number), "5")] for number in range(1, 6)]


def test_a_rater_with_very_many_hits_ahead_is_not_told_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study(instances=3)
    make_batch(study)
    monkeypatch.setattr("annotation.allocation.claims.MOST_AHEAD", 1)
    monkeypatch.setattr("annotation.rating.presenters.MOST_AHEAD", 1)
    client, address, _ = at_hit(study)
    all_rated(client, address)
    address = client.post(f"{address}submit/", follow=True).redirect_chain[-1][0]
    assert "HIT 2, at least 1 to come" in " ".join(client.get(address).text.split())


# Two stages


@pytest.fixture
def two_stages() -> Study:
    study = make_study(instances=1, k=3, protocol="two-stage", arms=["table:c8"], reason_min_length=10)
    row = {"aspect": "ASPECT", "only_a": "ONLY-A", "both": "BOTH", "only_b": "ONLY-B"}
    names = {"instance_id": "news-1", "system_a": "alpha", "system_b": "beta", "variant": "c8"}
    tables = [{"table_id": f"t{k}", **names, "pair_index": k, "rows": [row]} for k in range(3)]
    import_tables(data=json_lines(tables), name="tables", slug="study")
    make_batch(study, pairs=3)
    return study


def test_nothing_of_a_table_is_sent_before_the_first_votes_are_closed(two_stages: Study) -> None:
    client, address, _ = at_hit(two_stages)
    keys = list(Forms(client.get(address).text).pairs)
    received = [client.get(address).text, client.get(f"{address}?change={keys[0]}").text]
    received.append(send(client, address, "second", pair_key=keys[0], choice="left").text)
    received.append(client.post(f"{address}second/", {"pair_key": keys[0], "choice": "up"}).text)
    for key in keys:
        received.append(client.post(f"{address}lock/").text)
        received.append(send(client, address, "vote", pair_key=key, choice="left").text)
    received.append(client.post(f"{address}submit/").text)
    assert [text for text in received if re.search("ASPECT|ONLY-|BOTH|<table", text)] == []
    assert client.post(f"{address}lock/").headers["Location"] == address
    assert "ASPECT" in client.get(address).text


def test_locking_early_says_which_pairs_are_open(two_stages: Study) -> None:
    client, address, assignment = at_hit(two_stages)
    client.post(f"{address}vote/", {"pair_key": next(iter(Forms(client.get(address).text).pairs)), "choice": "none"})

    early = client.post(f"{address}lock/")
    assert early.status_code == 422
    assert "pair 2, pair 3." in " ".join(early.text.split())
    assert Assignment.objects.get(pk=assignment.pk).locked_at is None


def test_a_hit_of_one_stage_has_nothing_to_lock(study: Study) -> None:
    client, address, _ = at_hit(study)
    keys = all_rated(client, address)
    assert client.post(f"{address}lock/").status_code == 422
    assert send(client, address, "second", pair_key=keys[0], choice="left").status_code == 409
    assert Rating.objects.of_every_question().filter(stage="revised").count() == 0


def test_the_second_stage_refuses_what_is_out_of_turn(two_stages: Study) -> None:
    client, address, _ = at_hit(two_stages)
    keys = list(Forms(client.get(address).text).pairs)
    too_early = send(client, address, "second", pair_key=keys[0], choice="left")
    assert (too_early.status_code, "<html" in too_early.text) == (409, False)
    all_rated(client, address)
    client.post(f"{address}lock/")
    client.get(address)

    assert send(client, address, "vote", pair_key=keys[0], choice="right").status_code == 409
    assert send(client, address, "second", pair_key=keys[1], choice="left").status_code == 409
    assert send(client, address, "second", pair_key=keys[0], choice="up").status_code == 422
    assert send(client, address, "second", pair_key=keys[0], choice="right", reason="short").status_code == 422
    early = client.post(f"{address}submit/")
    assert (early.status_code, "pair 1, pair 2, pair 3." in " ".join(early.text.split())) == (422, True)
    assert Rating.objects.of_every_question().filter(stage="revised").count() == 0
    other = signed_in(make_annotator(two_stages, "other"))
    for what in ("lock", "second"):
        assert other.post(f"{address}{what}/", {"pair_key": keys[0], "choice": "left"}).status_code == 404


def test_a_refused_second_vote_keeps_what_was_written(two_stages: Study) -> None:
    client, address, _ = at_hit(two_stages)
    (key, *_) = all_rated(client, address)
    client.post(f"{address}lock/")
    client.get(address)

    part = send(client, address, "second", pair_key=key, choice="right", reason="too <b>")
    page = client.post(f"{address}second/", {"pair_key": key, "choice": "right", "reason": "too <b>"})
    assert (part.status_code, page.status_code) == (422, 422)
    for text in (part.text, page.text):
        assert "too &lt;b&gt;</textarea>" in text
        assert "in 10 characters or more" in text
        assert Forms(text).pairs[key]["checked"] == "right"
    assert "<html" not in part.text


def test_a_second_vote_shows_the_next_pairs_table(two_stages: Study) -> None:
    client, address, _ = at_hit(two_stages)
    keys = all_rated(client, address)
    client.post(f"{address}lock/")
    assert list(Forms(client.get(address).text).pairs) == [keys[0]]

    part = send(client, address, "second", pair_key=keys[0], choice="left")
    assert (part.status_code, list(Forms(part.text).pairs)) == (200, [keys[1]])
    assert "1 of 3 looked at again." in part.text
    plain = client.post(f"{address}second/", {"pair_key": keys[1], "choice": "left"})
    assert plain.headers["Location"] == f"{address}#pair-{keys[2]}"
    assert list(Forms(client.get(f"{address}?change={keys[0]}").text).pairs) == [keys[0]]
    assert list(Forms(client.get(f"{address}?change=nonsense").text).pairs) == [keys[2]]
    last = client.post(f"{address}second/", {"pair_key": keys[2], "choice": "left"})
    assert last.headers["Location"] == f"{address}#hit-status"
    assert client.post(f"{address}submit/").headers["Location"] == "/rate/"


def test_the_second_stage_takes_no_more_queries_for_more_pairs(django_assert_max_num_queries: Any) -> None:
    study = make_study(instances=1, k=20, protocol="two-stage", arms=["none"])
    make_batch(study, pairs=20)
    client, address, assignment = at_hit(study)
    keys = all_rated(client, address)
    client.post(f"{address}lock/")
    for key in keys[:-1]:
        client.get(address)
        client.post(f"{address}second/", {"pair_key": key, "choice": "left"})
    assert Rating.objects.of_question(0).filter(display__assignment=assignment, stage="revised").count() == 19

    with django_assert_max_num_queries(24):
        client.get(address)
    with django_assert_max_num_queries(32):
        assert send(client, address, "second", pair_key=keys[0], choice="left", reason="Because.").status_code == 200


# Blindness

SECRETS = ("gpt-7-secretive", "llama-unseen", "hush-hush-study", "Hidden Title", "covert-batch", "dataset-incognito", "instance-undercover")  # fmt: skip


def test_nothing_that_an_annotator_receives_tells_what_is_compared() -> None:
    systems = SECRETS[:2]
    study = make_study(SECRETS[2], title=SECRETS[3], instances=0)
    rows = [
        InstanceRow(n, f"{SECRETS[6]}-{n}", SECRETS[5], "A source.", {systems[0]: ["One.", "Two."], systems[1]: ["Three.", "Four."]})
        for n in (1, 2)
    ]  # fmt: skip
    add_instances(study, rows)
    make_batch(study, name=SECRETS[4], dataset=SECRETS[5], systems=systems)
    user = make_user("rater", "annotator", study=study)
    client = Client()
    received: list[str] = []

    def keep(response: Any) -> Any:
        for one in [*(hop for hop in getattr(response, "redirect_chain", [])), response]:
            if isinstance(one, tuple):
                received.append(one[0])
                continue
            received.extend([one.text, str(one.headers), str(one.cookies), one.request["PATH_INFO"]])
        return response

    keep(client.get(link(user), follow=True))
    keep(client.post(link(user), follow=True))
    address = keep(client.get("/rate/")).headers["Location"]
    keep(client.get(address))
    keep(client.post(address, {}))
    address = keep(client.post(address, {"answer": "accept"}, follow=True)).redirect_chain[-1][0]
    for _ in range(2):
        page = keep(client.get(address))
        keep(client.post(f"{address}submit/"))
        for key in Forms(page.text).pairs:
            keep(client.post(f"{address}vote/", {"pair_key": key, "choice": "right"}, headers=HTMX))
            keep(client.post(f"{address}vote/", {"pair_key": key, "choice": "left"}, follow=True))
            keep(client.post(f"{address}vote/", {"pair_key": key, "choice": "gone"}, headers=HTMX))
        keep(client.post(f"{address}submit/", follow=True))
        keep(client.post(f"{address}vote/", {"pair_key": key, "choice": "left"}, headers=HTMX))
        address = keep(client.get("/rate/")).headers.get("Location", "")

    assert Assignment.objects.filter(state="submitted").count() == 2
    everything = "\n".join(received).lower()
    assert "a source." in everything
    # Parts of names, long enough never to turn up in a random token.
    told = (
        *SECRETS,
        "gpt-7",
        "llama-",
        "secretive",
        "unseen",
        "covert",
        "incognito",
        "undercover",
        "separab",
    )
    assert [word for word in told if word.lower() in everything] == []


def test_what_a_page_says_does_not_depend_on_which_side_has_which_system(study: Study) -> None:
    """With the texts taken out, a page and its twin with all sides changed over are the same, byte for byte."""
    client, address, assignment = at_hit(study)
    for display in assignment.displays.select_related("pair"):
        save_vote(assignment=assignment, pair_key=display.pair.key, choice="left", at=timezone.now())

    def without_texts() -> str:
        text = re.sub(r'(name="(csrfmiddlewaretoken|page)" value|data-now)="[^"]+"', "", client.get(address).text)
        return re.sub(r"Text \d+ on news-\d+\.", "TEXT", text)

    before = without_texts()
    for display in assignment.displays.all():
        display.a_is_left = not display.a_is_left
        display.save()
    for rating in Rating.objects.of_every_question():
        rating.verdict = -rating.verdict
        rating.save()

    assert before.count("TEXT") == 4
    assert without_texts() == before


def test_a_page_with_another_pairs_table_says_what_one_with_its_own_does(two_stages: Study) -> None:
    """All tables of the study hold the same words, so the two pages are the same, byte for byte."""
    client, address, assignment = at_hit(two_stages)
    all_rated(client, address)
    client.post(f"{address}lock/")

    def page() -> str:
        return re.sub(
            r'(name="(csrfmiddlewaretoken|page)" value|data-now|data-page)="[^"]+"', "", client.get(address).text
        )

    own = page()
    first, second, _ = assignment.displays.select_related("pair").order_by("position")
    first.table = ComparisonTable.objects.get(pair=second.pair)
    first.save()
    Assignment.objects.update(arm="placebo:c8")
    assert "made by a program" in own
    assert page() == own


def test_ids_are_random_and_carry_no_number(study: Study) -> None:
    client, address, assignment = at_hit(study)
    keys = [*Forms(client.get(address).text).pairs, assignment.key, study.key]

    assert len(set(keys)) == len(keys)
    assert all(re.fullmatch(r"[\w-]{16}", key) for key in keys)
    text = client.get(address).text
    assert f"/{assignment.pk}/" not in text
    assert f'id="pair-{assignment.displays.all()[0].pk}"' not in text


# Hostile text

ATTACK = "<script>alert('x')</script><img src=x onerror=alert(1)>\"'>{{ secret }}{% now 'Y' %}"


def test_hostile_text_is_shown_and_never_run() -> None:
    study = make_study(
        "hostile", instances=0, question=ATTACK, source_label=ATTACK[:60], label_left="<b>L</b>", label_right="</h3>R",
        contact=ATTACK, guidelines=f"{ATTACK}\n\n[click](javascript:alert(1)) ![i](http://x/y.png) <iframe src=//x>",
        consent_text=f"{ATTACK}\n\n**bold** [ok](https://example.org)",
    )  # fmt: skip
    add_instances(study, [InstanceRow(1, "i", "d", ATTACK, {"a": [f"one {ATTACK}"], "b": [f"two {ATTACK}"]})])
    make_batch(study, dataset="d", systems=("a", "b"), pairs=1)
    client = signed_in(make_user("rater", "annotator", study=study))

    consent = client.get(f"/rate/consent/{study.key}/")
    answer_consent(annotator=Annotator.objects.get(), accepted=True, at=timezone.now())
    hit = client.get("/rate/", follow=True)
    (key,) = Forms(hit.text).pairs
    part = client.post(f"{hit.request['PATH_INFO']}vote/", {"pair_key": key, "choice": "left"}, headers=HTMX)

    for response in (consent, hit, part):
        text = response.text
        assert "<script>alert" not in text
        assert "<img" not in text
        assert "<iframe" not in text
        assert "onerror=alert(1)>" not in text
        assert "javascript:" not in re.sub(r"&lt;.*?&gt;", "", text).replace("[click](javascript:alert(1))", "")
    assert "&lt;script&gt;alert(&#x27;x&#x27;)" in hit.text
    assert "{{ secret }}" in hit.text
    assert "{% now &#x27;Y&#x27; %}" in hit.text
    assert "<b>L</b>" not in hit.text
    assert "<strong>bold</strong>" in consent.text
    assert 'href="https://example.org"' in consent.text
    assert "default-src 'self'" in hit.headers["Content-Security-Policy"]


@pytest.mark.parametrize("step", ["vote", "second", "submit"])
def test_nothing_of_a_returned_hit_is_shown_any_more(step: str) -> None:
    study = make_study(instances=1, k=2, protocol="two-stage", arms=["none"])
    make_batch(study, raters=1)
    client, address, assignment = at_hit(study)
    rate(assignment, submit=False)
    lock_first_votes(assignment=assignment, at=timezone.now())
    return_hit(assignment=assignment, reason="unclear", comment="", at=timezone.now())
    key = assignment.displays.first().pair.key

    for headers in ({}, HTMX):
        answer = client.post(f"{address}{step}/", {"pair_key": key, "choice": "bogus"}, headers=headers)
        assert answer.status_code == 409
        assert "Text 0" not in answer.text
    assert not assignment.displays.exclude(second_shown_at=None).exists()


@pytest.mark.parametrize("headers", [{"Sec-Purpose": "prefetch;prerender"}, None], ids=["fetched ahead", "HEAD"])
def test_a_prefetched_page_leaves_no_mark(headers: dict[str, str] | None) -> None:
    study = make_study(instances=1, k=2)
    make_batch(study, raters=1)
    client = signed_in(make_annotator(study))

    def look(address: str) -> int:
        return (client.get(address, headers=headers) if headers else client.head(address)).status_code

    assert look("/rate/") == 204
    assert not Assignment.objects.exists()
    address = client.get("/rate/").headers["Location"]
    assert look(address) == 204
    assert not Assignment.objects.get().displays.exclude(shown_at=None).exists()


def test_each_step_of_a_hit_takes_few_queries(study: Study, django_assert_max_num_queries: Any) -> None:
    client, _address, assignment = at_hit(study)
    rate(assignment)
    with django_assert_max_num_queries(14):
        address = client.get("/rate/").headers["Location"]
    with django_assert_max_num_queries(10):
        page = client.get(address).content.decode()
    keys = re.findall(r'data-pair="([^"]+)"', page)
    for key in keys:
        sent = {"pair_key": key, "choice": "left", "page": "x", "version": "0", "wall_seconds": "0"}
        with django_assert_max_num_queries(10):
            assert client.post(f"{address}vote/", sent, headers={"HX-Request": "true"}).status_code == 200
    with django_assert_max_num_queries(8):
        assert client.post(f"{address}submit/").status_code == 302
    assert Assignment.objects.get(key=address.split("/")[3]).state == Assignment.State.SUBMITTED
