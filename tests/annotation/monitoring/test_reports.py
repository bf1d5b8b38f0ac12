"""Flags and returned HITs: as raters make them, as researchers read them; and raters who fell below a threshold."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.allocation.claims import return_hit
from annotation.models import Annotator, Assignment, ComparisonTable, Flag, Pair, Slot, Study
from annotation.rating.flags import flag_pair, flag_row
from annotation.rating.second_stage import reveal
from annotation.rating.votes import lock_first_votes
from tests.annotation.rating.test_joining_pages import signed_in
from tests.factories import claim, make_annotator, make_batch, make_study, make_user, rate

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

HTMX = {"HX-Request": "true"}
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
    for pair in Pair.objects.filter(matchup__instance__study=study):
        ComparisonTable.objects.create(study=study, table_id=f"t-{pair.pk}", pair=pair, variant="c8", rows=rows)
    make_batch(study)
    client, assignment = at_work(study)
    rate(assignment, submit=False, at=timezone.now())
    assignment = lock_first_votes(assignment=assignment, at=timezone.now())
    display = reveal(assignment=assignment, at=timezone.now())
    assert display is not None
    return client, assignment, display.pair.key


# Flags


def test_a_pair_is_flagged_on_the_page_and_without_javascript(study: Study) -> None:
    make_batch(study)
    client, assignment = at_work(study)
    key, address = first_key(assignment), f"/rate/hit/{assignment.key}/flag/"

    plain = client.post(address, {"pair_key": key, "kind": "language", "comment": "It is Latin."})
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
@pytest.mark.parametrize("headers", [{}, HTMX], ids=["plain", "htmx"])
def test_a_flag_that_says_nothing_is_refused(
    study: Study, sent: dict[str, str], status: int, headers: dict[str, str]
) -> None:
    make_batch(study)
    client, assignment = at_work(study)
    fields = {name: first_key(assignment) if value == "KEY" else value for name, value in sent.items()}

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


def test_flags_are_ones_own(study: Study) -> None:
    make_batch(study)
    client, assignment = at_work(study)
    stranger, _ = at_work(study, "other")
    address, fields = f"/rate/hit/{assignment.key}/flag/", {"pair_key": first_key(assignment), "kind": "empty"}

    assert stranger.post(address, fields).status_code == 404
    assert Client().post(address, fields).status_code == 302
    assert client.get(address).headers["Location"] == f"/rate/hit/{assignment.key}/"
    assert Flag.objects.count() == 0


def test_a_row_of_the_table_is_flagged_and_taken_back(study: Study) -> None:
    client, assignment, key = second_stage_of(study)
    address = f"/rate/hit/{assignment.key}/flag/"

    made = client.post(address, {"pair_key": key, "row": "1"}, headers=HTMX)

    assert made.status_code == 200
    assert 'aria-pressed="true"' in made.text
    assert "Aspect 1" in made.text
    flag = Flag.objects.get()
    assert (flag.kind, flag.row, flag.taken_back_at) == ("unsupported-row", 1, None)
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
    response = client.post(address, {"reason": "upsetting", "comment": f"Too sad. {ATTACK}"}, follow=True)

    assert response.redirect_chain[0][0] == "/rate/"
    assert "The HIT is given back." in response.text
    assignment.refresh_from_db()
    assert (assignment.state, assignment.return_reason) == ("returned", "upsetting")
    assert not Slot.objects.filter(assignment=assignment).exists()
    assert client.get(address).headers["Location"] == "/rate/"
    assert client.post(address, {"reason": "broken"}).status_code == 409
    assert Assignment.objects.claimed().get().hit_id != assignment.hit_id


@pytest.mark.parametrize("sent", [{}, {"reason": "bored"}, {"reason": "other", "comment": "x" * 2001}], ids=str)
def test_a_return_without_a_reason_is_asked_again(study: Study, sent: dict[str, str]) -> None:
    make_batch(study)
    client, assignment = at_work(study)

    response = client.post(f"/rate/hit/{assignment.key}/return/", sent)

    assert response.status_code == 422
    assert "errorlist" in response.text
    assignment.refresh_from_db()
    assert assignment.state == "claimed"


def test_a_strangers_hit_cannot_be_returned(study: Study) -> None:
    make_batch(study)
    _, assignment = at_work(study)
    stranger, _ = at_work(study, "other")
    for response in (
        stranger.get(f"/rate/hit/{assignment.key}/return/"),
        stranger.post(f"/rate/hit/{assignment.key}/return/", {"reason": "other"}),
    ):
        assert response.status_code == 404


def test_the_qualification_is_not_given_back_and_says_so(study: Study) -> None:
    study.instances.filter(instance_id="news-1").update(gold={"better": "alpha"})
    make_batch(study, name="first", purpose="qualification")
    make_batch(study)
    client, assignment = at_work(study)
    assert assignment.purpose == "qualification"

    page = client.get(f"/rate/hit/{assignment.key}/return/")

    assert "The first HITs can't be given back." in page.text
    assert 'type="radio"' not in page.text
    assert client.post(f"/rate/hit/{assignment.key}/return/", {"reason": "other"}).status_code == 409


# What researchers read


def reader(study: Study, role: str = "researcher") -> Client:
    return signed_in(make_user(role, role, study=study))


def reported(study: Study) -> tuple[Assignment, Assignment]:
    """One flagged HIT and one that was returned."""
    make_batch(study)
    now = timezone.now()
    _, flagged = at_work(study)
    key = first_key(flagged)
    flag_pair(assignment=flagged, pair_key=key, kind="harmful", comment=ATTACK, at=now)
    flag_pair(assignment=flagged, pair_key=key, kind="empty", comment="nothing there", at=now)
    _, returned = at_work(study, "other")
    return_hit(assignment=returned, reason="broken", comment=f"Keys {ATTACK}", at=now)
    return flagged, returned


def test_reports_list_flags_and_returned_hits_by_kind(study: Study) -> None:
    flagged, returned = reported(study)
    Flag.objects.filter(kind="empty").update(taken_back_at=timezone.now())
    client, address = reader(study), "/studies/study/reports/"

    page = client.get(address).text
    assert "All flags (1)" in page
    assert "Harmful content (1)" in page
    assert "A text is empty or cut off (0)" in page
    assert "Returned HITs (1)" in page
    assert "nothing there" in page  # taken back ones are there, and marked
    assert page.count("taken back") == 1
    assert flagged.annotator.code in page
    assert ATTACK not in page
    assert "&lt;script&gt;" in page
    instance = flagged.hit.matchup.instance
    assert f'href="/studies/study/instances/{instance.pk}/"' in page

    harmful = client.get(address, {"kind": "harmful"}).text
    assert "nothing there" not in harmful
    assert "&lt;script&gt;" in harmful
    given_back = client.get(address, {"kind": "returned"}).text
    assert "Something on the page doesn&#x27;t work" in given_back
    assert "Keys &lt;script&gt;" in given_back
    assert returned.annotator.code in given_back
    assert flagged.annotator.code not in given_back
    assert client.get(address, {"kind": "nonsense"}).status_code == 404


def test_reports_show_the_row_that_a_flag_is_about(study: Study) -> None:
    _, assignment, key = second_stage_of(study)
    flag_row(assignment=assignment, pair_key=key, row=1, take_back=False, at=timezone.now())

    page = reader(study).get("/studies/study/reports/", {"kind": "unsupported-row"}).text

    assert "Aspect 1: A “a”" in page
    assert "Aspect 0" not in page


def test_reports_hold_nothing_of_who_has_withdrawn(study: Study) -> None:
    reported(study)
    client = reader(study)
    Annotator.objects.update(withdrawn_at=timezone.now(), blocked_at=timezone.now())

    for kind in ("", "returned"):
        page = client.get("/studies/study/reports/", {"kind": kind}).text
        assert "All flags (0)" in page
        assert "Returned HITs (0)" in page
        assert "script&gt;" not in page
        for annotator in Annotator.objects.all():
            assert annotator.code not in page
    assert "0 raters blocked" in client.get("/studies/study/").text


def test_reports_are_for_readers_of_the_study(study: Study) -> None:
    other = make_study("other")
    address = "/studies/study/reports/"
    assert signed_in(make_user("stranger", "researcher", study=other)).get(address).status_code == 404
    assert signed_in(make_annotator(study)).get(address).status_code == 404
    assert Client().get(address).status_code == 302
    assert reader(study).get(address).status_code == 200


def test_a_study_admin_lets_a_blocked_rater_go_on(study: Study) -> None:
    make_batch(study)
    blocked, warned = make_annotator(study), make_annotator(study, "other")
    Annotator.objects.filter(pk=blocked.pk).update(blocked_at=timezone.now(), block_reason="0.40 of 5 known answers")
    Annotator.objects.filter(pk=warned.pk).update(warned_at=timezone.now())
    gold = rate(claim(warned, timezone.now()), at=timezone.now())
    gold.slot.delete()
    Assignment.objects.filter(pk=gold.pk).update(purpose="gold")
    study.instances.update(gold={"better": "alpha"})
    right = sum(display.a_is_left for display in gold.displays.all())
    address = "/studies/study/reports/"

    page = reader(study).get(address).text
    assert "0.40 of 5 known answers" in page
    assert f"{right} of 2" in page
    assert "Unblock" not in page
    assert reader(study, "annotator").post(address, {"unblock": blocked.code}).status_code == 404
    researcher = signed_in(make_user("second", "researcher", study=study))
    assert researcher.post(address, {"unblock": blocked.code}).status_code == 403
    manager = reader(study, "study-admin")
    assert manager.get(address).text.count("Unblock") == 1
    for stranger in (warned.code, "nobody", "a\x00b", make_annotator(make_study("second"), "x").code):
        assert manager.post(address, {"unblock": stranger}).status_code == 404
    done = manager.post(address, {"unblock": blocked.code}, follow=True)

    assert f"{blocked.code} may continue." in done.text
    blocked.refresh_from_db()
    assert (blocked.blocked_at, blocked.block_reason) == (None, "")


def test_study_and_batch_pages_count_reports(study: Study) -> None:
    flagged, _ = reported(study)
    client = reader(study)

    page = client.get("/studies/study/").text
    assert "2 flags · 1 HIT given back · 0 raters blocked" in " ".join(page.split())
    assert page.count('href="/studies/study/reports/"') == 2
    other = make_batch(study, name="other", repeat_rate=0.1, gold_rate=0.2)
    shown = " ".join(client.get(f"/studies/study/batches/{flagged.hit.batch_id}/").text.split())
    assert "2 flags" in shown
    assert "1 HIT given back" in shown
    empty = " ".join(client.get(f"/studies/study/batches/{other.pk}/").text.split())
    assert "0 flags" in empty
    assert "hidden checks: gold 0.2, repeats 0.1" in empty
    assert "No open gold batch" in empty
    assert "No open gold batch" not in shown


def test_a_batch_of_checks_shows_no_slots(study: Study) -> None:
    study.instances.update(gold={"better": "alpha"})
    names = list(study.instances.values_list("instance_id", flat=True))
    batch = make_batch(study, name="first", purpose="qualification", select="ids", instance_ids=names[:1])
    make_batch(study)
    annotator = make_annotator(study)
    rate(claim(annotator, timezone.now()), at=timezone.now())

    page = " ".join(reader(study).get(f"/studies/study/batches/{batch.pk}/").text.split())

    assert "Qualification: before the first HIT, with feedback" in page
    assert "1 HITs, submitted 1 times." in page
    assert "slots filled" not in page
    assert '<th class="num">Slots</th>' not in page


def test_reports_take_the_same_queries_whatever_was_reported(study: Study) -> None:
    reported(study)
    client = reader(study)

    def queries(**query: Any) -> int:
        with CaptureQueriesContext(connection) as captured:
            assert client.get("/studies/study/reports/", query).status_code == 200
        return len(captured)

    before = queries(), queries(kind="returned")
    for number in range(4):
        _, assignment = at_work(study, f"r{number}")
        for kind in ("empty", "language"):
            key = first_key(assignment)
            flag_pair(assignment=assignment, pair_key=key, kind=kind, comment="", at=timezone.now())
        return_hit(assignment=assignment, reason="unclear", comment="", at=timezone.now())
    assert (queries(), queries(kind="returned")) == before
