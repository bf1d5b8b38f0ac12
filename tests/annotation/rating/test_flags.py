"""Flags on pairs and table rows, and HITs given back: set by raters, with and without scripts."""

import pytest
from django.test import Client
from django.utils import timezone

from annotation.models import Assignment, Flag, Slot, Study
from annotation.rating.second_stage import reveal
from annotation.rating.votes import lock_first_votes
from tests.annotation.rating.pages import HTMX
from tests.factories import add_tables, claim, make_annotator, make_batch, make_study, make_user, rate, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

ATTACK = "<script>alert('x')</script>"


@pytest.fixture
def study() -> Study:
    return make_study(instances=3, contact="ada@example.org")


def at_work(study: Study, name: str = "rater") -> tuple[Client, Assignment]:
    annotator = make_annotator(study, name)
    return signed_in(annotator), claim(annotator, timezone.now())


def first_key(assignment: Assignment) -> str:
    return assignment.displays.earliest("position").pair.key


def second_stage_of(study: Study) -> tuple[Client, Assignment, str]:
    """Bring a rater to the second stage, with the first pair's table shown; tells the pair's key too."""
    Study.objects.filter(pk=study.pk).update(protocol="two-stage", arms=["table:c8"])
    rows = [{"aspect": f"Aspect {n}", "only_a": "a", "both": "", "only_b": "b"} for n in range(2)]
    add_tables(study, rows=rows)
    make_batch(study)
    client, assignment = at_work(study)
    rate(assignment, submit=False, at=timezone.now())
    assignment = lock_first_votes(assignment=assignment, at=timezone.now())
    display = reveal(assignment=assignment, at=timezone.now())
    return client, assignment, display.pair.key


def test_a_pair_is_flagged_on_the_page_and_without_javascript(study: Study) -> None:
    make_batch(study)
    client, assignment = at_work(study)
    key, address = first_key(assignment), f"/rate/hit/{assignment.key}/flag/"

    plain = client.post(address, {"pair_key": key, "kind": "language", "comment": " It is Latin. "})
    assert plain.headers["Location"] == f"/rate/hit/{assignment.key}/#pair-{key}"
    card = client.post(address, {"pair_key": key, "kind": "other", "comment": ATTACK}, headers=HTMX)

    assert card.status_code == 200
    assert "<html" not in card.text
    assert "Wrong language" in card.text
    assert "It is Latin." in card.text
    assert "&lt;script&gt;" in card.text
    assert ATTACK not in card.text
    assert 'value="unsupported-row"' not in card.text
    assert sorted(Flag.objects.values_list("kind", "comment")) == [("language", "It is Latin."), ("other", ATTACK)]
    again = client.post(address, {"pair_key": key, "kind": "other", "comment": "Sorry."})
    assert again.status_code == 302
    assert Flag.objects.get(kind="other").comment == "Sorry."


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"kind": "empty"}, 422),
        ({"pair_key": "KEY"}, 422),
        ({"pair_key": "KEY", "kind": "boring"}, 422),
        ({"pair_key": "KEY", "kind": "unsupported-row"}, 422),
        ({"pair_key": "KEY", "kind": "empty", "comment": "x" * 2001}, 422),
        ({"pair_key": "KEY", "row": "first"}, 422),
        ({"pair_key": "KEY", "row": "-1"}, 422),
        ({"pair_key": "KEY", "row": "0"}, 409),  # no table has been shown
        ({"pair_key": "nonsense", "kind": "empty"}, 404),
        ({"pair_key": "nonsense", "row": "0"}, 404),
        ({"pair_key": "a\x00b", "kind": "empty"}, 422),
    ],
    ids=str,
)
def test_a_flag_that_says_nothing_is_refused(study: Study, sent: dict[str, str], status: int) -> None:
    make_batch(study)
    client, assignment = at_work(study)
    fields = {name: first_key(assignment) if value == "KEY" else value for name, value in sent.items()}

    for headers in ({}, HTMX):
        response = client.post(f"/rate/hit/{assignment.key}/flag/", fields, headers=headers)
        assert response.status_code == status
        assert 'role="alert"' in response.text
    assert Flag.objects.count() == 0


def test_a_report_of_a_pair_is_taken_back_and_kept_as_such(study: Study) -> None:
    make_batch(study)
    client, assignment = at_work(study)
    address, pair = f"/rate/hit/{assignment.key}/flag/", {"pair_key": first_key(assignment)}
    client.post(address, {**pair, "kind": "empty", "comment": "Cut off."})
    client.post(address, {**pair, "kind": "other"})

    taken = client.post(address, {**pair, "kind": "empty", "take_back": "1"}, headers=HTMX)
    assert taken.status_code == 200
    assert "Report taken back: A text is empty or cut off." in " ".join(taken.text.split())
    assert "Reported: Something else." in " ".join(taken.text.split())
    assert "Take back: Something else" in " ".join(taken.text.split())
    flag = Flag.objects.get(kind="empty")
    assert (flag.comment, flag.taken_back_at is None) == ("Cut off.", False)
    assert client.post(address, {**pair, "kind": "empty", "take_back": "1"}).status_code == 302
    assert Flag.objects.get(kind="empty").taken_back_at == flag.taken_back_at
    assert client.post(address, {**pair, "kind": "language", "take_back": "1"}).status_code == 422

    page = signed_in(make_user("rita", "researcher")).get(f"/studies/{study.slug}/reports/").text
    assert page.count("(taken back)") == 1
    assert "Something else (1)" in page
    assert "A text is empty or cut off (0)" in page
    client.post(address, {**pair, "kind": "empty", "comment": "It is."})
    flag.refresh_from_db()
    assert (flag.comment, flag.taken_back_at) == ("It is.", None)


def test_a_row_of_the_table_is_flagged_and_taken_back(study: Study) -> None:
    client, assignment, key = second_stage_of(study)
    address = f"/rate/hit/{assignment.key}/flag/"

    for _ in range(2):
        made = client.post(address, {"pair_key": key, "row": "1"}, headers=HTMX)

    assert made.status_code == 200
    assert 'aria-pressed="true"' in made.text
    assert "Aspect 1" in made.text
    flag = Flag.objects.get()
    assert (flag.kind, flag.row, flag.taken_back_at) == ("unsupported-row", 1, None)
    assert flag.table == assignment.displays.earliest("position").table
    taken = client.post(address, {"pair_key": key, "row": "1", "take_back": "1"}, headers=HTMX)
    assert 'aria-pressed="false"' in taken.text
    assert Flag.objects.get().taken_back_at is not None
    plain = client.post(address, {"pair_key": key, "row": "1", "take_back": ""})
    assert plain.headers["Location"].endswith(f"#pair-{key}")
    assert Flag.objects.get().taken_back_at is None
    assert client.post(address, {"pair_key": key, "row": "2"}).status_code == 404


# Returning


def test_a_hit_is_given_back_with_a_reason(study: Study) -> None:
    make_batch(study, raters=1)
    client, assignment = at_work(study)
    address = f"/rate/hit/{assignment.key}/return/"

    page = client.get(address).text
    for words in ("I don&#x27;t want to read this", "I have no time for it now", "ada@example.org"):
        assert words in page
    assert page.count('type="radio"') == len(Assignment.ReturnReason)
    for unclear in ({}, {"reason": "bored"}, {"reason": "other", "comment": "x" * 2001}):
        refused = client.post(address, unclear)
        assert (refused.status_code, "errorlist" in refused.text) == (422, True)
    assignment.refresh_from_db()
    assert assignment.state == "claimed"
    response = client.post(address, {"reason": "upsetting", "comment": f"Too sad. {ATTACK}"}, follow=True)

    assert response.redirect_chain[0][0] == "/rate/"
    assert "The HIT is returned." in response.text
    assignment.refresh_from_db()
    assert (assignment.state, assignment.return_reason) == ("returned", "upsetting")
    assert not Slot.objects.filter(assignment=assignment).exists()
    assert client.get(address).headers["Location"] == "/rate/"
    assert client.post(address, {"reason": "broken"}).status_code == 409
    assert Assignment.objects.claimed().get().hit_id != assignment.hit_id


def test_the_qualification_is_not_given_back_and_says_so(study: Study) -> None:
    study.instances.filter(instance_id="news-1").update(gold={"better": "alpha"})
    make_batch(study, name="first", purpose="qualification")
    make_batch(study)
    client, assignment = at_work(study)
    assert assignment.purpose == "qualification"

    page = client.get(f"/rate/hit/{assignment.key}/return/")

    assert "The first HITs can't be returned." in page.text
    assert 'type="radio"' not in page.text
    assert client.post(f"/rate/hit/{assignment.key}/return/", {"reason": "other"}).status_code == 409
