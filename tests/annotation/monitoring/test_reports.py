"""Flags and returned HITs, as researchers read them; and raters who fell below a threshold."""

import pytest
from django.test import Client
from django.utils import timezone

from annotation.allocation.claims import return_hit
from annotation.core.reasons import NO_REASON
from annotation.models import Annotator, Assignment, Flag, Study
from annotation.rating.flag_views import flag_pair, flag_row
from tests.annotation.rating.test_flags import ATTACK, at_work, first_key, second_stage_of
from tests.factories import claim, make_annotator, make_batch, make_study, make_user, queries_of, rate, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def store() -> Study:
    return make_study(instances=3, contact="ada@example.org")


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
    assert f'href="/studies/study/raters/{flagged.annotator.pk}/"><code>{flagged.annotator.code}<' in page
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
    assert "blocked" not in client.get("/studies/study/").text


def test_a_study_admin_lets_a_blocked_rater_go_on(study: Study) -> None:
    make_batch(study)
    blocked, warned = make_annotator(study), make_annotator(study, "other")
    Annotator.objects.filter(pk=blocked.pk).update(
        blocked_at=timezone.now(), block_reason="0.4 of 5 known answers, below 0.5"
    )
    Annotator.objects.filter(pk=warned.pk).update(warned_at=timezone.now())
    gold = rate(claim(warned, timezone.now()), at=timezone.now())
    gold.slot.delete()
    Assignment.objects.filter(pk=gold.pk).update(purpose="gold")
    study.instances.update(gold={"better": "alpha"})
    right = sum(display.a_is_left for display in gold.displays.all())
    address = "/studies/study/reports/"

    page = reader(study).get(address).text
    assert "0.4 of 5 known answers, below 0.5" in page
    assert f"{right} of 2" in page
    assert "Unblock" not in page
    manager = reader(study, "study-admin")
    assert manager.get(address).text.count("Unblock") == 1
    for stranger in (warned.code, "nobody", "a\x00b", make_annotator(make_study("second"), "x").code):
        assert manager.post(address, {"unblock": stranger}).status_code == 404
    done = manager.post(address, {"unblock": blocked.code}, follow=True)

    assert f"{blocked.code} may continue." in done.text
    blocked.refresh_from_db()
    assert (blocked.blocked_at, blocked.block_reason) == (None, NO_REASON)


def test_study_and_batch_pages_count_reports(study: Study) -> None:
    flagged, _ = reported(study)
    client = reader(study)

    page = client.get("/studies/study/").text
    assert "2 flags · 1 HIT returned · 0 raters blocked" in " ".join(page.split())
    assert page.count('href="/studies/study/reports/"') == 1
    other = make_batch(study, name="other", repeat_rate=0.1, gold_rate=0.2)
    shown = " ".join(client.get(f"/studies/study/batches/{flagged.hit.batch_id}/").text.split())
    assert "2 flags" in shown
    assert "1 HIT returned" in shown
    empty = " ".join(client.get(f"/studies/study/batches/{other.pk}/").text.split())
    assert "0 flags" in empty
    assert "hidden checks: gold 0.2, repeats 0.1" in empty
    assert "No gold batch is open" not in shown


def test_reports_take_the_same_queries_whatever_was_reported(study: Study) -> None:
    reported(study)
    client = reader(study)

    def queries() -> list[int]:
        kinds = ("", "?kind=returned")
        return [queries_of(lambda query=query: client.get(f"/studies/study/reports/{query}")) for query in kinds]

    before = queries()
    for number in range(4):
        _, assignment = at_work(study, f"r{number}")
        for kind in ("empty", "language"):
            key = first_key(assignment)
            flag_pair(assignment=assignment, pair_key=key, kind=kind, comment="", at=timezone.now())
        return_hit(assignment=assignment, reason="unclear", comment="", at=timezone.now())
    assert queries() == before
