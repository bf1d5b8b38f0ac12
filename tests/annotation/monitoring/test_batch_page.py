"""The page that watches a batch: what it shows, that its parts ask for themselves, and when they stop."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.models import Batch, Message, Study
from annotation.monitoring import batch_views
from annotation.quality.exclusion import exclude_annotator
from tests.factories import claim, make_annotator, make_batch, make_study, queries_of, rate

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
HTMX = {"HX-Request": "true"}


def store() -> Study:
    return make_study(instances=3, pay_per_hit="0.50", currency="EUR")


@pytest.fixture
def batch(study: Study) -> Batch:
    return make_batch(study, raters=2)


def at(batch: Batch, part: str = "") -> str:
    return f"/studies/study/batches/{batch.pk}/{part}"


def asks_again(text: str, part: str) -> list[str]:
    """Return the addresses at which a part asks for itself."""
    return re.findall(rf'id="batch-{part}"\s+data-poll\s+hx-get="([^"]+)"', text)


def work(study: Study, name: str = "rater", hits: int = 1) -> None:
    now = timezone.now()
    rater = make_annotator(study, name)
    for _ in range(hits):
        rate(claim(rater, now), at=now)


def test_the_page_shows_progress_raters_time_and_money(study: Study, batch: Batch, researcher: Client) -> None:
    work(study, hits=2)
    rater = study.annotators.get()

    page = researcher.get(at(batch)).text

    assert "2 of 6 slots filled, 0 being worked on." in page
    assert "4 open." in page
    assert f'href="/studies/study/raters/{rater.pk}/"' in page
    assert rater.code in page
    assert "100% <small>(4)</small>" in page  # left, of four votes
    assert "1.00 EUR" in page
    assert "3.00 EUR" in page
    assert "2 HITs came in" in page
    assert re.search(r"<strong>1 rating</strong>: 4\s+pairs", page)


def test_the_parts_ask_for_themselves_and_get_nothing_while_nothing_changed(
    study: Study, batch: Batch, researcher: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: now)  # figures have idle minutes and a forecast
    page = researcher.get(at(batch)).text
    for part in ("live", "figures"):
        [address] = asks_again(page, part)
        assert researcher.get(address, headers=HTMX).status_code == 204

    work(study)

    for part in ("live", "figures"):
        [address] = asks_again(page, part)
        answer = researcher.get(address, headers=HTMX)
        assert answer.status_code == 200
        assert "<html" not in answer.text
        [again] = asks_again(answer.text, part)
        assert again != address
        assert researcher.get(again, headers=HTMX).status_code == 204


def test_progress_asks_the_database_once(study: Study, batch: Batch, researcher: Client) -> None:
    address = at(batch, "live/")
    with CaptureQueriesContext(connection) as captured:
        researcher.get(address, headers=HTMX)

    slots = [query["sql"] for query in captured if "annotation_slot" in query["sql"]]
    assert len(slots) == 1
    assert not [query for query in captured if "annotation_rating" in query["sql"]]


@pytest.mark.parametrize("over", ["closed", "complete", "draft"])
def test_nothing_asks_again_when_nothing_more_can_come(
    study: Study, batch: Batch, researcher: Client, over: str
) -> None:
    Batch.objects.filter(pk=batch.pk).update(status="paused")  # which is still watched
    [before] = asks_again(researcher.get(at(batch)).text, "live")
    Batch.objects.filter(pk=batch.pk).update(status="open")
    if over == "complete":
        for name in ("r1", "r2"):
            work(study, name, hits=3)
    else:
        Batch.objects.filter(pk=batch.pk).update(status=over)

    assert "data-poll" not in researcher.get(at(batch)).text
    answer = researcher.get(before, headers=HTMX)
    assert answer.status_code == 200
    assert "data-poll" not in answer.text


def test_a_part_opened_by_itself_leads_to_the_page(batch: Batch, researcher: Client) -> None:
    assert researcher.get(at(batch, "live/")).headers["Location"] == at(batch)
    assert researcher.get(at(batch, "figures/")).headers["Location"] == at(batch, "?figures=1")


def test_a_large_batchs_page_comes_before_its_figures(
    study: Study, batch: Batch, researcher: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    work(study)
    monkeypatch.setattr(batch_views, "MOST_INLINE", 1)
    page = researcher.get(at(batch)).text

    assert "are being counted" in page
    assert 'hx-trigger="load, wake"' in page
    assert study.annotators.get().code not in page
    [address] = asks_again(page, "figures")
    assert study.annotators.get().code in researcher.get(address, headers=HTMX).text
    assert study.annotators.get().code in researcher.get(at(batch, "?figures=1")).text


def test_a_huge_batchs_ratings_are_not_sorted_for_a_page(
    study: Study, batch: Batch, researcher: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    work(study)
    monkeypatch.setattr(batch_views, "MOST_SORTED", 1)
    with CaptureQueriesContext(connection) as captured:
        page = researcher.get(at(batch)).text

    assert "batch_status" in page
    assert study.annotators.get().code in page
    assert "100% <small>(2)</small>" in page
    assert not [query for query in captured if "WITH found" in query["sql"]]


def test_counting_takes_a_small_share_of_the_servers_time(
    batch: Batch, researcher: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    moments = iter([0.0, 3.0])  # counting took three seconds
    monkeypatch.setattr(batch_views, "perf_counter", lambda: next(moments))

    assert 'hx-trigger="every 60s, wake"' in researcher.get(at(batch)).text


def test_idle_excluded_and_blocked_raters_are_marked(study: Study, batch: Batch, researcher: Client) -> None:
    idle, out, blocked = (make_annotator(study, name) for name in ("idle", "out", "blocked"))
    claim(idle, timezone.now() - timedelta(minutes=20))
    for rater in (out, blocked):
        rate(claim(rater, timezone.now()), at=timezone.now())
    exclude_annotator(annotator=out, reason="x", reopen=False, by=None, at=timezone.now())
    blocked.refresh_from_db()
    blocked.blocked_at = timezone.now()
    blocked.save()

    page = researcher.get(at(batch)).text

    assert re.search(r"idle for 2[01] min", page)
    assert "<strong>excluded</strong>" in page
    assert "<strong>blocked</strong>" in page


def test_buttons_are_the_managers(batch: Batch, researcher: Client, manager: Client) -> None:
    page = manager.get(at(batch)).text
    for address in ("status/", "extend/", "preview/", "copy/", "message/"):
        assert f'"{at(batch, address)}"' in page
    assert "<form" not in re.sub(r"(?s)<(header|footer).*?</\1>", "", researcher.get(at(batch)).text)


def test_a_message_reaches_the_raters_of_the_batch(study: Study, batch: Batch, manager: Client) -> None:
    address = at(batch, "message/")
    early = manager.post(address, {"text": "To nobody."})
    assert (early.status_code, list(early.context["form"].errors)) == (422, ["__all__"])
    assert "To nobody." in early.text
    work(study)

    refused = manager.post(address, {"text": "x" * 1001})
    assert refused.status_code == 422
    assert "x" * 1001 in refused.text
    sent = manager.post(address, {"text": "We pause at six."}, follow=True)
    assert sent.redirect_chain == [(at(batch), 302)]
    assert "Sent to 1 rater." in sent.text
    assert Message.objects.get().text == "We pause at six."


def test_the_page_takes_no_more_queries_for_more_raters(study: Study, researcher: Client) -> None:
    batch = make_batch(study, raters=30)
    work(study, "first")

    before = queries_of(lambda: researcher.get(at(batch)))
    for number in range(12):
        work(study, f"r{number}", hits=2)
    assert queries_of(lambda: researcher.get(at(batch))) == before
