"""The page of a HIT in two stages: no table before the first votes are locked, then pair by pair."""

import re
from typing import Any

import pytest
from django.utils import timezone

from annotation.models import Assignment, ComparisonTable, Study
from annotation.rating.second_stage import reveal, save_second_vote
from annotation.rating.votes import lock_first_votes
from tests.annotation.rating.pages import Forms, all_rated, at_hit, send
from tests.factories import add_tables, keys_of, make_batch, make_study, rate

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def store() -> Study:
    """One HIT of three pairs, each with a table of the same words."""
    row = {"aspect": "ASPECT", "only_a": "ONLY-A", "both": "BOTH", "only_b": "ONLY-B"}
    study = make_study("two", instances=1, k=3, protocol="two-stage", arms=["table:c8"], reason_min_length=10)
    add_tables(study, rows=[row])
    make_batch(study, pairs=3)
    return study


def test_nothing_of_a_table_is_sent_before_the_first_votes_are_closed(study: Study) -> None:
    client, address, _ = at_hit(study)
    keys = list(Forms(client.get(address).text).pairs)
    received = [client.get(address).text, client.get(f"{address}?change={keys[0]}").text]
    early = send(client, address, "second", pair_key=keys[0], choice="left")
    assert (early.status_code, "<html" in early.text) == (409, False)
    received.append(early.text)
    received.append(client.post(f"{address}second/", {"pair_key": keys[0], "choice": "up"}).text)
    for key in keys:
        received.append(client.post(f"{address}lock/").text)
        received.append(send(client, address, "vote", pair_key=key, choice="left").text)
    received.append(client.post(f"{address}submit/").text)
    assert [text for text in received if re.search("ASPECT|ONLY-|BOTH|<table", text)] == []
    assert client.post(f"{address}lock/").headers["Location"] == address
    assert "ASPECT" in client.get(address).text


def test_a_second_vote_shows_the_next_pairs_table(study: Study) -> None:
    client, address, _ = at_hit(study)
    keys = all_rated(client, address)
    client.post(f"{address}lock/")
    assert list(Forms(client.get(address).text).pairs) == [keys[0]]
    assert send(client, address, "vote", pair_key=keys[0], choice="right").status_code == 409  # locked
    early = client.post(f"{address}submit/")
    assert (early.status_code, "pair 1, pair 2, pair 3." in " ".join(early.text.split())) == (422, True)
    short = {"pair_key": keys[0], "choice": "right", "reason": "too <b>"}
    refused = [send(client, address, "second", **short), client.post(f"{address}second/", short)]
    assert [(answer.status_code, "<html" in answer.text) for answer in refused] == [(422, False), (422, True)]
    for answer in refused:  # keeps what was written
        assert "too &lt;b&gt;</textarea>" in answer.text
        assert "in 10 characters or more" in answer.text
        assert Forms(answer.text).pairs[keys[0]]["checked"] == "right"

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
    study = make_study(instances=1, k=12, protocol="two-stage", arms=["none"])
    make_batch(study, pairs=12)
    client, address, assignment = at_hit(study)
    lock_first_votes(assignment=rate(assignment, submit=False), at=timezone.now())
    keys = keys_of(assignment)
    for key in keys[:-1]:
        reveal(assignment=Assignment.objects.get(pk=assignment.pk), at=timezone.now())
        save_second_vote(assignment=assignment, pair_key=key, choice="left", reason="", at=timezone.now())

    with django_assert_max_num_queries(24):
        client.get(address)
    with django_assert_max_num_queries(32):
        assert send(client, address, "second", pair_key=keys[0], choice="left", reason="Because.").status_code == 200


def test_a_page_with_another_pairs_table_says_what_one_with_its_own_does(study: Study) -> None:
    """All tables of the study hold the same words, so the two pages are the same, byte for byte."""
    client, address, assignment = at_hit(study)
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
