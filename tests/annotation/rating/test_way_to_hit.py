"""The way of an annotator to a HIT, from one to the next, and to the end."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from annotation.allocation.claims import claim_hit
from annotation.models import Assignment, Rating, Study
from annotation.quality import hidden_checks
from tests.annotation.rating.pages import Forms, all_rated, at_hit
from tests.factories import make_annotator, make_batch, make_study, make_user, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


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
    assert "Everything has been rated." in response.text
    assert Assignment.objects.filter(state="submitted").count() == 2
    assert set(Rating.objects.values_list("verdict", flat=True)) == {0}


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
    study = make_study("paid", instances=1, k=2, **settings)
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
    study = make_study("repeating", instances=4, k=2)
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
        text = " ".join(client.get(address).text.split())
        told.append(re.findall(r"HIT (\d+) </h1>.*HITs done: (\d+)|HIT (\d+) </h1>", text)[0])
        all_rated(client, address)
        assert client.post(f"{address}submit/").status_code == 302
    purposes = Assignment.objects.order_by("pk").values_list("purpose", flat=True)
    assert list(purposes) == ["rating", "rating", "repeat", "rating", "rating"]
    assert told == [("", "", "1"), *((str(number), str(number - 1), "") for number in range(2, 6))]


def test_a_prefetched_page_leaves_no_mark(study: Study) -> None:
    client = signed_in(make_annotator(study))

    def prefetch(address: str) -> list[int]:
        ahead = client.get(address, headers={"Sec-Purpose": "prefetch;prerender"})
        return [ahead.status_code, client.head(address).status_code]

    assert prefetch("/rate/") == [204, 204]
    assert not Assignment.objects.exists()
    address = client.get("/rate/").headers["Location"]
    assert prefetch(address) == [204, 204]
    assert not Assignment.objects.get().displays.exclude(shown_at=None).exists()


def test_who_has_no_role_is_told() -> None:
    client = signed_in(make_user("nobody"))

    assert [client.get(address).status_code for address in ("/", "/rate/")] == [403, 403]
