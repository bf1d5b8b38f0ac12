"""Marking a rationale as sound or not: service and page."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.urls import reverse

from annotation.core.errors import Unacceptable
from annotation.models import ApiToken, Pair, Study
from annotation.privacy.erasing import erase_rater
from judging.models import Judge, JudgeRun, Judgment, RationaleMark
from judging.review.marks import mark_rationale, remove_mark
from tests.factories import make_annotator, make_study, make_user, signed_in, token_of

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
NOON = datetime(2024, 5, 1, 12, 0, tzinfo=UTC)
HTMX = {"HX-Request": "true"}


@pytest.fixture
def judgment() -> Judgment:
    return make_judgment(make_study("tea", instances=1, k=1))


def make_judgment(study: Study, rationale: str = "Text A names no source.") -> Judgment:
    judge = Judge.objects.create(name=f"judge-of-{study.slug}", method="longer")
    run = JudgeRun.objects.create(study=study, judge=judge, status="done")
    pair = Pair.objects.get(matchup__instance__study=study)
    return Judgment.objects.create(run=run, pair=pair, order="ab", status="parsed", verdict=1, rationale=rationale)


def address(judgment: Judgment) -> str:
    return reverse("judging:mark", args=[judgment.run.study.slug, judgment.pk])


def said() -> list[tuple[str, bool, str]]:
    return list(RationaleMark.objects.order_by("marker__username").values_list("marker__username", "sound", "note"))


def test_a_mark_says_who_what_and_when(judgment: Judgment) -> None:
    with pytest.raises(Unacceptable, match="at most 2000"):
        mark_rationale(judgment=judgment, marker=make_user("bob"), sound=True, note="x" * 2001, at=NOON)
    mark = mark_rationale(judgment=judgment, marker=make_user("ann"), sound=True, note="so it is", at=NOON)
    assert (mark.sound, mark.note, mark.marked_at) == (True, "so it is", NOON)
    assert said() == [("ann", True, "so it is")]


def test_a_second_word_takes_the_place_of_the_first_of_the_same_person(judgment: Judgment) -> None:
    ann, bob = make_user("ann"), make_user("bob")
    for marker, sound in ((ann, True), (bob, True), (ann, False), (ann, False)):
        mark_rationale(judgment=judgment, marker=marker, sound=sound, at=NOON)
    assert said() == [("ann", False, ""), ("bob", True, "")]
    assert [remove_mark(judgment=judgment, marker=ann) for _ in range(2)] == [True, False]
    assert said() == [("bob", True, "")]


def test_the_page_of_a_judgment_asks_for_a_mark_and_shows_those_of_others(judgment: Judgment) -> None:
    mark_rationale(judgment=judgment, marker=make_user("bob"), sound=False, note="<b>no</b>", at=NOON)
    RationaleMark.objects.create(judgment=judgment, sound=True, marked_at=NOON)  # in a study made of a bundle
    page = signed_in(make_user("ann", "researcher")).get(reverse("judging:judgment", args=["tea", judgment.pk]))
    told = page.content.decode()
    assert f'hx-post="{address(judgment)}"' in told
    assert "Not sound" in told
    assert "&lt;b&gt;no&lt;/b&gt;" in told
    assert "Remove my mark" not in told  # ann has said nothing
    assert "server that the study comes from" in told


def test_a_mark_is_made_by_a_plain_form(judgment: Judgment) -> None:
    client = signed_in(make_user("ann", "researcher"))
    answer = client.post(address(judgment), {"sound": "False", "note": "  wrong source "})
    assert answer["Location"] == reverse("judging:judgment", args=["tea", judgment.pk])
    assert said() == [("ann", False, "wrong source")]


def test_a_mark_is_made_and_taken_back_by_htmx(judgment: Judgment) -> None:
    client = signed_in(make_user("ann", "researcher"))
    card = client.post(address(judgment), {"sound": "True"}, headers=HTMX).content.decode()
    assert card.count("<section") == 1
    assert "<html" not in card
    assert "Remove my mark" in card
    assert card.count("checked") == 1
    card = client.post(address(judgment), {"take_back": "1"}, headers=HTMX).content.decode()
    assert "Remove my mark" not in card
    assert said() == []


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["page", "card"])
def test_a_bad_form_is_shown_again(judgment: Judgment, headers: dict[str, str]) -> None:
    form = {"sound": "True", "note": "x" * 2001}
    answer = signed_in(make_user("ann", "researcher")).post(address(judgment), form, headers=headers)
    assert answer.status_code == 422
    assert "errorlist" in answer.content.decode()
    assert ("<html" in answer.content.decode()) == (not headers)
    assert said() == []


def test_a_judgment_without_a_rationale_has_no_control() -> None:
    judgment = make_judgment(make_study("tea", instances=1, k=1), rationale="")
    client = signed_in(make_user("ann", "researcher"))
    page = client.get(reverse("judging:judgment", args=["tea", judgment.pk])).content.decode()
    assert "rationale-mark" not in page
    with pytest.raises(Unacceptable, match="no rationale"):
        mark_rationale(judgment=judgment, marker=make_user("bob"), sound=True, at=NOON)
    assert client.post(address(judgment), {"sound": "True"}).status_code == 422


def test_queries_do_not_grow_with_marks(judgment: Judgment, django_assert_max_num_queries: Any) -> None:
    client = signed_in(make_user("ann", "researcher"))
    client.post(address(judgment), {"sound": "False"}, headers=HTMX)
    with django_assert_max_num_queries(24) as few:
        client.post(address(judgment), {"sound": "True"}, headers=HTMX)
    for name in ("bob", "cem", "dia"):
        mark_rationale(judgment=judgment, marker=make_user(name), sound=True, at=NOON)
    with django_assert_max_num_queries(len(few)):
        assert client.post(address(judgment), {"sound": "False"}, headers=HTMX).status_code == 200


def test_an_account_that_stays_for_its_marks_is_stripped_of_its_name_and_token(judgment: Judgment) -> None:
    rater = make_annotator(judgment.run.study, "ann")
    mark_rationale(judgment=judgment, marker=rater.user, sound=True, at=NOON)
    token_of(rater.user)
    assert erase_rater(annotator=rater, by=None, at=NOON).account
    marker = RationaleMark.objects.get().marker
    assert marker.username.startswith("erased-")
    assert not marker.is_active
    assert not ApiToken.objects.exists()
