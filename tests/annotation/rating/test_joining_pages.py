"""Joining a study and leaving it: consent, qualification with feedback, progress, withdrawing."""

import re
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from annotation.allocation.claims import return_hit
from annotation.annotators.consent import withdraw
from annotation.models import Annotator, Assignment, Consent, Display, Rating, RoleGrant, Study
from annotation.quality.qualification import expected_verdict, screen_side
from annotation.rating.votes import save_vote, submit_assignment
from annotation.studies.services import save_settings
from tests.annotation.rating.pages import at_hit
from tests.factories import (
    NOON,
    add_instances,
    claim,
    instance_rows,
    make_annotator,
    make_batch,
    make_study,
    make_user,
    queries_of,
    rate,
    signed_in,
)

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def make_qualified_study(**settings: Any) -> Study:
    """A study with one instance to rate and a qualification of two HITs of two pairs, alpha the better throughout."""
    study = make_study(instances=1, **settings)
    gold = {"better": "alpha", "why": "It names <b>the place</b>."}
    rows = [replace(row, gold=gold) for row in instance_rows(instances=2, dataset="gold")]
    add_instances(study, rows)
    make_batch(study, name="rated")
    make_batch(study, name="first", dataset="gold", purpose="qualification")
    return study


def answer(assignment: Assignment, *, right: int) -> Assignment:
    """Rate a qualification HIT with so many pairs as expected, the others the other way round; and submit it."""
    choices = []
    for place, display in enumerate(assignment.displays.order_by("position")):
        expected = expected_verdict(display.pair)
        assert expected is not None
        choices.append(str(screen_side(expected if place < right else -expected, display)))
    return rate(assignment, choices, at=timezone.now())


def attempt(annotator: Annotator, *, right: int) -> list[Assignment]:
    """Go through the qualification once, with so many pairs right on each HIT."""
    return [answer(claim(annotator, timezone.now()), right=right) for _ in range(2)]


# Consent


def test_consent_says_what_is_paid_and_what_comes_first_and_asks_again_after_an_unclear_answer() -> None:
    study = make_qualified_study(
        pay_per_hit=Decimal("0.75"), currency="EUR", minutes_per_hit=4, contact="Ada <ada@example.org>",
        content_warning="Some texts are **cruel**.", consent_version=3,
    )  # fmt: skip
    client, address = signed_in(make_annotator(study, consent=False)), f"/rate/consent/{study.key}/"
    page = client.get(address).text

    assert "You are paid 0.75 EUR for each HIT (a page of texts to compare)" in page
    assert "A HIT takes about 4 minutes." in page
    assert "First come some pairs with a known answer." in page
    assert "Some texts are <strong>cruel</strong>." in page
    assert "Ada &lt;ada@example.org&gt;" in page
    assert "Version 3 of this text." in page
    assert "withdraw/" not in page.lower()
    for unclear in ("", "perhaps", "true"):
        response = client.post(address, {"answer": unclear})
        assert response.status_code == 422
        assert "Please choose one of the two answers." in response.text
        assert "known answer" in response.text
    assert Consent.objects.count() == 0


def test_consent_comes_before_the_first_hit() -> None:
    study = make_study(instances=1)
    make_batch(study)
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
    answered = client.get(address).text
    assert "UTC</time>: accepted." in answered
    assert f"{address}withdraw/" in answered


def test_who_declines_gets_no_hit_but_may_think_again() -> None:
    study = make_study(instances=1)
    make_batch(study)
    client = signed_in(make_user("rater", "annotator", study=study))
    address = client.get("/rate/").headers["Location"]

    page = client.post(address, {"answer": "decline"}, follow=True)

    assert "You declined the consent question" in page.text
    assert address in page.text
    assert Assignment.objects.count() == 0
    answered = client.get(address).text
    assert "UTC</time>: declined." in answered
    assert f"{address}withdraw/" not in answered
    client.post(address, {"answer": "accept"})
    assert client.get("/rate/").headers["Location"].startswith("/rate/hit/")


def test_a_changed_text_is_asked_for_again_before_the_hit_continues() -> None:
    study = make_study(instances=1)
    make_batch(study)
    client, address, _ = at_hit(study)
    save_settings(study=study, consent_text="Another text.", reason="Clearer.")

    assert client.get(address).headers["Location"] == f"/rate/consent/{study.key}/"
    assert client.get("/rate/").headers["Location"] == f"/rate/consent/{study.key}/"
    assert (
        client.post(f"/rate/consent/{study.key}/", {"answer": "accept"}, follow=True).redirect_chain[-1][0] == address
    )


# Withdrawing


def test_withdrawing_says_what_it_does_asks_once_and_is_final() -> None:
    study = make_study(instances=2, contact="ada@example.org")
    make_batch(study)
    annotator = make_annotator(study)
    rate(claim(annotator))
    client, address = signed_in(annotator), f"/rate/consent/{study.key}/withdraw/"

    page = client.get(address).text
    for words in ("ends for good", "left out of every later export", "be called back", "still due", "ada@example.org"):
        assert words in page
    refused = client.post(address)
    assert (refused.status_code, Annotator.objects.get().withdrawn_at) == (422, None)
    assert client.post(address, {"confirm": "yes"}).headers["Location"] == address

    assert Annotator.objects.get().withdrawn_at is not None
    assert not Assignment.objects.counted().exists()
    assert "You have withdrawn" in client.get(address).text
    again = client.get(f"/rate/consent/{study.key}/")
    assert "You have withdrawn" in again.text
    assert "<form" not in again.text.split("<main")[1].split("</main>")[0]
    assert client.post(f"/rate/consent/{study.key}/", {"answer": "accept"}).status_code == 200
    assert Consent.objects.latest("pk").accepted is False
    nothing = client.get("/rate/")
    assert nothing.status_code == 200
    assert "withdrawn from this study" in nothing.text
    progress = main_of(client)
    assert "You withdrew from this study on" in progress
    assert "<table" not in progress
    assert "submitted" not in progress
    assert "withdraw/" not in progress


def test_who_lost_the_role_may_withdraw_still() -> None:
    study = make_study(instances=1)
    annotator = make_annotator(study)
    address = f"/rate/consent/{study.key}/withdraw/"
    RoleGrant.objects.all().delete()

    assert signed_in(annotator).post(address, {"confirm": "yes"}).status_code == 302
    assert Annotator.objects.get().withdrawn_at is not None


# Qualification


def test_a_failed_attempt_is_told_kindly_and_may_be_repeated() -> None:
    study = make_qualified_study(contact="ada@example.org")
    annotator = make_annotator(study)
    client, address = signed_in(annotator), f"/rate/qualification/{study.key}/"
    assert client.get(address).headers["Location"] == "/rate/"  # nothing to tell before an attempt

    attempt(annotator, right=1)

    assert client.get("/rate/").headers["Location"] == address
    page = client.get(address).text
    assert "2 of 4 as expected, 4 needed." in page
    assert "You have 1 attempt left." in page
    assert "Try again" in page
    assert client.post(address).headers["Location"] == "/rate/"
    assert client.get(address).headers["Location"] == "/rate/"  # the next attempt is under way
    assert client.post(address).status_code == 409
    hit = client.get("/rate/").headers["Location"]
    assert Assignment.objects.get(key=hit.split("/")[-2]).attempt == 2


def test_the_last_failed_attempt_is_a_polite_end() -> None:
    study = make_qualified_study(contact="ada@example.org", qualification_attempts=1)
    annotator = make_annotator(study)
    client = signed_in(annotator)
    address = f"/rate/qualification/{study.key}/"

    offered = []  # after which HIT's feedback the result is offered
    for _ in range(2):
        done = answer(claim(annotator, timezone.now()), right=0)
        offered.append(f'href="{address}"' in client.get(f"/rate/hit/{done.key}/feedback/").text)
    assert offered == [False, True]

    page = client.get(address).text

    assert "Thank you for trying" in page
    assert "0 of 4 as expected, 4 needed." in page
    assert "ada@example.org" in page
    assert "Try again" not in page
    assert client.post(address).status_code == 409
    assert client.get("/rate/").headers["Location"] == address


def test_feedback_shows_each_pair_on_this_raters_sides_with_why() -> None:
    study = make_qualified_study(qualification_attempts=1)
    annotator = make_annotator(study)
    assignment = answer(claim(annotator, timezone.now()), right=1)
    client = signed_in(annotator)

    page = client.get(f"/rate/hit/{assignment.key}/feedback/")

    assert page.status_code == 200
    assert "1 of 2 as expected" in page.text
    assert "It names &lt;b&gt;the place&lt;/b&gt;." in page.text
    cards = main_of(client, f"/rate/hit/{assignment.key}/feedback/").split('class="card"')[1:]
    for display, card in zip(assignment.displays.order_by("position"), cards, strict=True):
        texts = [display.pair.generation_a.text, display.pair.generation_b.text]
        left, right = texts if display.a_is_left else texts[::-1]
        assert card.index(left) < card.index(right)
        expected = "Left" if display.a_is_left else "Right"  # alpha is A
        if display.position == 0:
            assert f"You chose <strong>{expected}</strong>, as expected." in card
        else:
            assert f"expected was <strong>{expected}</strong>." in card
    assert "alpha" not in page.text
    assert "beta" not in page.text


def test_feedback_is_on_a_submitted_qualification_of_ones_own_only() -> None:
    study = make_qualified_study(qualification_attempts=1)
    annotator = make_annotator(study)
    first = claim(annotator, timezone.now())
    client = signed_in(annotator)
    assert client.get(f"/rate/hit/{first.key}/feedback/").status_code == 404  # not submitted yet
    answer(first, right=2)
    assert client.get(f"/rate/hit/{first.key}/feedback/").status_code == 200
    answer(claim(annotator, timezone.now()), right=2)
    assert "That went well" in client.get(f"/rate/qualification/{study.key}/").text
    rated = rate(claim(annotator, timezone.now()), at=timezone.now())
    for purpose in ("rating", "gold"):
        Assignment.objects.filter(pk=rated.pk).update(purpose=purpose)
        assert client.get(f"/rate/hit/{rated.key}/feedback/").status_code == 404
    withdraw(annotator=annotator, at=timezone.now())
    assert client.get(f"/rate/hit/{first.key}/feedback/").status_code == 404


# Progress


def main_of(client: Client, address: str = "/rate/progress/") -> str:
    response = client.get(address)
    assert response.status_code == 200
    shown = response.text.split("<main")[1].split("</main>")[0]
    # What keeps the researcher's words apart from ours, names a side by the screen, or a time by its zone.
    shown = re.sub(r'<span class="if-beside">([^<]*)</span><span class="if-stacked">[^<]*</span>', r"\1", shown)
    shown = re.sub("</?(bdi|time)[^>]*>", "", shown)
    return re.sub(r' (role="(row|rowgroup|cell)"|data-label="[^"]*")', "", shown)  # what a narrow screen is told


def rows_of(page: str) -> list[str]:
    return page.split("<tbody>")[1].split("</tbody>", maxsplit=1)[0].split("<tr>")[1:]


def test_progress_sums_up_and_lists_the_latest_first() -> None:
    study = make_study(instances=4, pay_per_hit=Decimal("0.50"), currency="EUR", contact="ada@example.org")
    make_batch(study, raters=1)
    annotator = make_annotator(study)
    rate(claim(annotator), ["left", "none"], at=NOON)
    later = NOON + timedelta(minutes=10)
    rate(claim(annotator, later), ["right", "left"], at=later)
    Rating.objects.update(active_seconds=45)
    returned = claim(annotator, NOON + timedelta(minutes=20))
    return_hit(assignment=returned, reason="upsetting", comment="secret", at=NOON + timedelta(minutes=21))
    current = claim(annotator, timezone.now())
    save_vote(
        assignment=current, pair_key=current.displays.earliest("position").pair.key, choice="none", at=timezone.now()
    )

    page = main_of(signed_in(annotator))

    assert "2 HITs submitted" in page
    assert "4 pairs rated" in page
    assert "3 min at work" in page
    assert "1.00 EUR due so far" in page
    assert f'href="/rate/hit/{current.key}/"' in page
    assert f'href="/rate/consent/{study.key}/withdraw/"' in page
    assert "ada@example.org" in page
    working, given_back, second, first = rows_of(page)
    assert "No preference, –" in working
    assert "in progress" in working
    assert "returned: I don&#x27;t want to read this" in given_back
    assert "Right, Left" in second
    assert "1 May 2024 12:10 UTC" in second
    assert "0.50 EUR" in second
    assert "Left, No preference" in first
    assert "1.5" in first


def test_progress_says_what_became_of_late_and_run_out_hits() -> None:
    study = make_study(instances=3, pay_per_hit=1, currency="EUR")
    make_batch(study, raters=1)
    annotator, other = make_annotator(study), make_annotator(study, "other")
    late = claim(annotator, NOON)
    quick = claim(other, NOON + timedelta(hours=2))
    assert quick.hit_id == late.hit_id
    rate(quick, at=NOON + timedelta(hours=2))
    rate(late, at=NOON + timedelta(hours=3))
    counted = claim(annotator, NOON + timedelta(hours=4))
    rate(counted, at=NOON + timedelta(hours=4), submit=False)
    submit_assignment(assignment=counted, at=NOON + timedelta(hours=6))
    left_lying = claim(annotator, NOON + timedelta(hours=7))
    Assignment.objects.filter(pk=left_lying.pk).update(state="expired")

    ran_out, late_counted, late_lost = rows_of(main_of(signed_in(annotator)))

    assert "ran out" in ran_out
    assert "submitted late" in late_counted
    assert "1.00 EUR" in late_counted
    assert "late: stored, not counted" in late_lost
    assert "0.00 EUR" in late_lost


def test_progress_tells_no_check_from_a_rating_but_names_the_qualification() -> None:
    study = make_study(instances=4)
    make_batch(study)
    annotator = make_annotator(study)
    hits = [rate(claim(annotator), at=NOON) for _ in range(4)]
    plain = rows_of(main_of(signed_in(annotator)))
    for assignment, changes in zip(
        hits[:2], ({"purpose": "gold"}, {"purpose": "repeat", "repeat_of": hits[3], "attempt": 2}), strict=True
    ):
        assignment.slot.delete()
        Assignment.objects.filter(pk=assignment.pk).update(**changes)
    Assignment.objects.filter(pk=hits[2].pk).update(purpose="qualification")

    page = main_of(signed_in(annotator))

    rows = rows_of(page)
    assert rows[0] == plain[0]
    assert "before your first HIT" in rows[1]
    assert rows[2:] == plain[2:]
    assert "3 HITs submitted" in page
    assert "6 pairs rated" in page
    for word in ("gold", "repeat", "check"):
        assert word not in page.lower()


def test_progress_shows_a_changed_mind_and_the_studys_own_labels() -> None:
    study = make_study(instances=1, label_left="Summary 1", label_right="Summary 2")
    make_batch(study)
    annotator = make_annotator(study)
    assignment = rate(claim(annotator), ["left", "right"], at=NOON)
    for display in assignment.displays.all():
        Rating.objects.create(display=display, stage="revised", verdict=-1 if display.a_is_left else 1)  # left

    [row] = rows_of(main_of(signed_in(annotator)))

    assert "Summary 1, Summary 2 → Summary 1" in row


def test_progress_names_no_system_study_or_instance_and_is_ones_own() -> None:
    study = make_study("secret-slug", instances=1, title="Secret title")
    make_batch(study, name="secret-batch")
    annotator = make_annotator(study)
    rate(claim(annotator))

    page = signed_in(annotator).get("/rate/progress/").text

    for secret in ("alpha", "beta", "secret-slug", "Secret title", "secret-batch", "news-1", "Text 0", annotator.code):
        assert secret not in page
    empty = main_of(signed_in(make_annotator(study, "other", consent=False)))
    assert "0 HITs submitted" in empty
    assert "<table" not in empty
    assert "You have not begun yet." in main_of(signed_in(make_user("nobody")))


def test_progress_takes_the_same_queries_whatever_was_done() -> None:
    study = make_study(instances=28, k=1)
    make_batch(study, pairs=1)
    annotator = make_annotator(study)
    client = signed_in(annotator)

    rate(claim(annotator))
    before = queries_of(lambda: client.get("/rate/progress/"))
    for _ in range(26):
        rate(claim(annotator))
    other = make_study("second", instances=1)
    make_batch(other)
    rate(claim(make_annotator(other)))

    assert queries_of(lambda: client.get("/rate/progress/")) == before
    page = main_of(client)
    assert "Page 1 of 2" in page
    assert len(rows_of(page)) == 25
    assert len(rows_of(main_of(client, "/rate/progress/?page=2"))) == 3
    assert Display.objects.count() == 29
