"""The page of disagreements: what it lists and opens, to whom, and in how many queries."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.http import QueryDict
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.models import Annotator, Generation, Instance, Rating, Study
from reporting.disagreements import choosing, views
from reporting.disagreements.choosing import asked_of
from tests.factories import make_user, signed_in
from tests.reporting.builders import (
    Built,
    answer_too,
    build_configuration,
    build_study,
    judge,
    rate,
    separate,
)

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
ADDRESS = "/studies/shown/reports/disagreements/"
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(autouse=True)
def _nothing_kept() -> Iterator[None]:
    choosing._kept.clear()
    yield
    choosing._kept.clear()


@pytest.fixture
def built() -> Built:
    """People are divided on the second pair; the judge is against all of them on the first."""
    built = build_configuration(build_study("shown"), instances=2, pairs=2, systems=(HOSTILE, "=cmd()"))
    rate(built, 0, "ann", [-1, -1], a_is_left=[True, False], reason=f"shorter {HOSTILE}")
    rate(built, 0, "bob", [-1, 1], reason="why not")
    rate(built, 1, "cat", [0, 0])
    run = judge(built, "direct", [(0, 0, "ab", 1), (0, 1, "ab", -1), (1, 0, "ab", 0)])
    run.judgments.for_question(0).filter(pair=built.pairs[0][0]).update(rationale=f"because {HOSTILE}")
    Generation.objects.update(text=f"text {HOSTILE}")
    Instance.objects.update(source=f"source {HOSTILE}")
    return built


def client_of(study: Study) -> Client:
    return signed_in(User.objects.first() or make_user("reader", "researcher", study=study))


def page_of(study: Study, query: str = "") -> str:
    response: Any = client_of(study=study).get(f"{ADDRESS}{query}")
    assert response.status_code == 200, response.status_code
    return str(response.content.decode())


def pairs_on(page: str) -> list[str]:
    return re.findall(r'<h2 dir="auto">([^<]*)</h2>', page)


def test_a_pair_opens_with_texts_votes_and_rationales(built: Built) -> None:
    page = page_of(built.study)
    assert pairs_on(page) == ["news-0, pair 0", "news-0, pair 1"]
    first, second = page.split('<details class="fold">')[1:]
    assert "people: A 2, tie 0, B 0" in first
    assert "<bdi>direct</bdi>: B" in " ".join(first.split())
    assert "A judge and the majority of people: 1.00" in " ".join(first.split())
    assert "people: A 1, tie 0, B 1" in second
    for code, side in (("ann", "B was on the left"), ("bob", "A was on the left")):
        said = second[second.index(f"<code>{code}</code>") :]
        assert side in said[: said.index("</li>")]
    assert "why not" in first


def test_filters_are_in_the_address(built: Built) -> None:
    study = built.study
    assert pairs_on(page_of(study, "?kind=people")) == ["news-0, pair 1"]
    assert pairs_on(page_of(study, "?kind=judge")) == ["news-0, pair 0"]
    assert pairs_on(page_of(study, "?rater=cat")) == []
    assert pairs_on(page_of(study, "?judge=direct&dataset=news&system=%3Dcmd()")) == [
        "news-0, pair 0",
        "news-0, pair 1",
    ]


def test_several_names_of_one_kind_are_all_kept(built: Built) -> None:
    talk = build_configuration(built.study, instances=1, pairs=1, dataset="talk", systems=(HOSTILE, "=cmd()"))
    build_configuration(built.study, instances=1, pairs=1, dataset="third", systems=(HOSTILE, "=cmd()"))
    rate(talk, 0, "cat", [1])
    rate(talk, 0, "dan", [-1])
    query = "?dataset=news&dataset=talk&rater=cat&rater=bob"
    page = page_of(built.study, query)
    assert pairs_on(page) == ["news-0, pair 0", "news-0, pair 1", "talk-0, pair 0"]
    assert re.search(r'<select name="dataset"[^>]*multiple', page)
    assert re.findall(r'<option value="(\w+)" selected>', page) == ["news", "talk"]
    assert re.findall(r'name="rater"\s+value="(\w+)"', page) == ["cat", "bob"]
    rows = asked_of(built.study, QueryDict(query[1:])).query()
    assert QueryDict(rows) == QueryDict(query[1:])


def test_filters_of_findings_outlast_the_form_and_are_said(built: Built) -> None:
    page = page_of(built.study, "?with_excluded=1&batch=news-batch&stage=revised")
    form = page[page.index('<form method="get"') :]
    assert re.findall(r'type="hidden"\s+name="(\w+)"\s+value="([^"]*)"', form[: form.index("</form>")]) == [
        ("batch", "news-batch"),
        ("with_excluded", "1"),
    ]
    assert "Batches: news-batch · Ratings that were excluded by hand count too" in page


def test_unknown_names_and_numbers_are_said_to_be_unknown(built: Built) -> None:
    separate(built, [(0.5, 0.6, 0.1), (0.5, 0.5, 0.4)], [0.9, 0.1])
    study, client = built.study, client_of(study=built.study)
    assert len(pairs_on(page_of(study, "?bin=1") + page_of(study, "?bin=4"))) == 2
    unknown = [f"{name}=none" for name in ("judge", "batch", "dataset", "system", "rater")]
    for wrong in (*unknown, "kind=other", "bin=one", "bin=0", "bin=5", "bin=%C2%B2", "stage=third"):
        assert client.get(f"{ADDRESS}?{wrong}").status_code == 404, wrong


def test_pages_keep_the_filters_and_cost_a_fixed_number_of_queries(
    built: Built, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in range(2):
        for number in range(4):
            rate(built, place, f"more-{number}", [1, -1] if number % 2 else [-1, 1])
    client = client_of(study=built.study)

    def queries(a_page: int) -> int:
        monkeypatch.setattr(views, "A_PAGE", a_page)
        client.get(ADDRESS)  # the table is kept from here on
        with CaptureQueriesContext(connection) as found:
            assert len(pairs_on(client.get(f"{ADDRESS}?kind=people").content.decode())) == a_page
        return len(found)

    assert queries(1) == queries(4)
    monkeypatch.setattr(views, "A_PAGE", 1)
    assert 'href="?page=2&amp;kind=people&amp;dataset=news"' in page_of(built.study, "?kind=people&dataset=news")
    listed = [pairs_on(page_of(built.study, f"?kind=people&page={number}"))[0] for number in range(1, 5)]
    assert len(set(listed)) == 4


def test_those_who_withdrew_or_were_excluded_are_gone_at_once(built: Built) -> None:
    assert "<code>bob</code>" in page_of(built.study)
    Annotator.objects.filter(code="bob").update(withdrawn_at=timezone.now())
    page = page_of(built.study)
    assert "bob" not in page
    assert pairs_on(page) == ["news-0, pair 0"]
    Annotator.objects.filter(code="ann").update(excluded=True)
    assert pairs_on(page_of(built.study)) == []


def test_new_votes_and_verdicts_are_there_at_once(built: Built) -> None:
    assert len(pairs_on(page_of(built.study))) == 2
    rate(built, 1, "dan", [1, 0])
    assert len(pairs_on(page_of(built.study))) == 3
    judge(built, "direct", [(1, 1, "ab", 1)])
    assert len(pairs_on(page_of(built.study))) == 4


def test_votes_after_the_second_stage_stand_beside_the_first(built: Built) -> None:
    study = built.study
    Study.objects.filter(pk=study.pk).update(protocol="two-stage", arms=["none"])
    made = rate(built, 1, "eve", [-1, -1])
    shown = made.displays.get(position=0)
    Rating.objects.bulk_create([Rating(display=shown, stage="revised", verdict=1, reason="the table", arm="none")])
    page = page_of(study, "?kind=revised")
    assert pairs_on(page) == ["news-1, pair 0"]
    said = " ".join(page[page.index("<code>eve</code>") :].split())
    assert said.startswith("<code>eve</code>: <strong>A</strong> → <strong>B</strong>")
    assert "the table" in said


def test_a_further_question_has_its_own_disagreements() -> None:
    study = build_study("shown")
    study.criteria = [{"key": "fluent", "text": "Which is more fluent?"}]
    study.save()
    built = build_configuration(study, instances=1, pairs=1)
    for code, answer in (("ann", -1), ("bob", 1)):
        answer_too(rate(built, 0, code, [0], reason=f"{code} said"), [answer])
    assert pairs_on(page_of(study)) == []
    page = page_of(study, "?question=fluent")
    assert pairs_on(page) == ["news-0, pair 0"]
    assert "ann said" in page
    assert "question=fluent" in page


def test_a_study_without_anything_has_an_empty_page() -> None:
    assert "0 pairs" in page_of(build_study("shown"))
