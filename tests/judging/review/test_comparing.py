"""Two raters side by side: what counts, how it adds up, and that it asks no more of a larger study."""

from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.models import Annotator, Assignment, Instance, Pair, Rating, Study
from judging.models import JudgeRun
from judging.review import comparing
from judging.review.comparing import GOLD, PEOPLE, compare, draw_wrong, judged_pairs, people_by_pair, votes_on
from tests.factories import claim, make_annotator, make_batch, make_study, rate
from tests.judging.builders import COHERENCE, fill, make_judge

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def store() -> Study:
    """Three instances with two pairs each; ann and bob rated all of them, always the text on the left."""
    study = make_study("tea")
    make_batch(study)
    for name in ("ann-of-old", "bob-of-old"):
        annotator = make_annotator(study, name)
        for _ in range(3):
            rate(claim(annotator))
    return study


def pairs_of(study: Study) -> list[Pair]:
    return list(Pair.objects.filter(matchup__instance__study=study).order_by("pk"))


def judged(study: Study, name: str, verdicts: list[int | None]) -> JudgeRun:
    run = JudgeRun.objects.create(study=study, judge=make_judge("coin", name=name))
    for pair, verdict in zip(pairs_of(study), verdicts, strict=False):
        fill(run, pair, "ab", verdict=verdict, status="unparsed" if verdict is None else "parsed")
    return run


def said_by(study: Study, code: str) -> dict[int, int]:
    """A person's verdict on each pair, straight from the votes."""
    rows = Rating.objects.filter(display__assignment__annotator__code=code)
    return dict(rows.values_list("display__pair_id", "verdict"))


def vote(pair: Pair, code: str, verdict: int) -> None:
    Rating.objects.filter(display__pair=pair, display__assignment__annotator__code=code).update(verdict=verdict)


def answer_further(study: Study, verdict: int) -> None:
    """Let everybody answer the study's further question alike."""
    study.criteria = [COHERENCE]
    study.save()
    for main in Rating.objects.for_question(0):
        Rating.objects.create(display_id=main.display_id, question=1, verdict=verdict)


def test_people_are_those_that_findings_count_with_one_vote_each(study: Study) -> None:
    ann, bob = Annotator.objects.order_by("pk")
    assert people_by_pair(study) == {
        pair.pk: [said_by(study, ann.code)[pair.pk], said_by(study, bob.code)[pair.pk]] for pair in pairs_of(study)
    }
    for change in ({"excluded": True}, {"withdrawn_at": timezone.now()}):
        Annotator.objects.filter(pk=bob.pk).update(**change)
        assert {len(votes) for votes in people_by_pair(study).values()} == {1}
        assert {one.rater for votes in votes_on(study, [pairs_of(study)[0].pk]).values() for one in votes} == {ann.code}
        Annotator.objects.filter(pk=bob.pk).update(excluded=False, withdrawn_at=None)
    Annotator.objects.filter(pk=bob.pk).update(kind=Annotator.Kind.SCRIPTED)
    first = pairs_of(study)[0].pk
    assert {one.rater: one.scripted for one in votes_on(study, [first])[first]} == {ann.code: False, bob.code: True}
    Assignment.objects.filter(annotator=ann).update(state="returned")
    assert {len(votes) for votes in people_by_pair(study).values()} == {1}
    assert people_by_pair(study, dataset="nowhere") == {}


def test_judge_is_held_against_the_majority_and_against_each_vote(study: Study) -> None:
    ann, bob = (annotator.code for annotator in Annotator.objects.order_by("pk"))
    # A A, A A, A B (no majority), B B, tie tie, and A A, on which the judge has no verdict.
    for pair, (one, other) in zip(
        pairs_of(study), [(-1, -1), (-1, -1), (-1, 1), (1, 1), (0, 0), (-1, -1)], strict=True
    ):
        vote(pair, ann, one)
        vote(pair, bob, other)
    run = judged(study, "judy", [-1, 1, -1, 1, -1, None])
    found = compare(study, run.judge, PEOPLE)
    # Right on the first and the fourth of four with a majority and a verdict; two are left out.
    assert (found.agreement.value, found.agreement.n, found.agreement.left_out) == (0.5, 4, 2)
    assert found.counts == [[1, 1, 0], [0, 0, 0], [1, 0, 1]]
    assert found.disagreements == 2
    # Votes: 2 of 2, 0 of 2, 1 of 2, 2 of 2, 0 of 2; two are on the pair without a verdict.
    per_vote = found.per_vote
    assert per_vote is not None
    assert (per_vote.value, per_vote.n, per_vote.left_out) == (0.5, 10, 2)
    pairs = [pairs_of(study)[place] for place in found.order]
    assert pairs == [pairs_of(study)[place] for place in (1, 4, 0, 3, 2, 5)]


def test_draw_takes_wrong_pairs_only_and_the_same_for_the_same_seed(
    researcher: Client, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = judged(study, "one", [-1, 0, 1, 1, -1, None]), judged(study, "two", [1, 1, 1, -1, 0, 1])
    found = compare(study, first.judge, second.judge)
    wrong = [0, 1, 3, 4]  # the third is equal, the last lacks a verdict
    drawn = {seed: tuple(draw_wrong(found, seed=seed).tolist()) for seed in range(20)}
    assert {tuple(sorted(one)) for one in drawn.values()} == {tuple(wrong)}
    assert len(set(drawn.values())) > 5
    assert draw_wrong(found, seed=3).tolist() == list(drawn[3])
    monkeypatch.setattr(comparing, "DRAWN", 2)
    asked = {"first": "one", "second": "two", "drawn": "on", "seed": "3"}
    page = researcher.get(reverse("judging:compare", args=["tea"]), asked).context["page"]
    assert list(page.object_list) == list(drawn[3][:2])


def test_wrong_verdicts_are_drawn_by_the_gold_where_nobody_has_voted(researcher: Client, study: Study) -> None:
    Assignment.objects.update(state="returned")
    run = judged(study, "one", [-1, 1, 0, None])
    asked = {"first": "one", "second": GOLD, "drawn": "on"}
    address = reverse("judging:compare", args=["tea"])
    assert researcher.get(address, asked).status_code == 422  # no gold
    Instance.objects.update(gold={"better": "alpha"})
    found = compare(study, run.judge, GOLD)
    assert (found.agreement.value, found.asked, found.per_vote) == (pytest.approx(1 / 3), 4, None)
    told = researcher.get(address, asked)
    assert sorted(told.context["page"].object_list) == [1, 2]
    assert "one beside gold labels" in told.content.decode()


def test_two_judges_meet_on_the_pairs_that_both_were_asked_about(study: Study) -> None:
    one = judged(study, "one", [-1, 0, 1, 1])
    other = judged(study, "other", [-1, 1])
    found = compare(study, one.judge, other.judge)
    assert found.pair.tolist() == [pair.pk for pair in pairs_of(study)[:2]]
    assert (found.agreement.value, found.per_vote) == (0.5, None)
    assert found.agreement.low is None  # both pairs are of one instance
    swapped = compare(study, other.judge, one.judge)
    np.testing.assert_array_equal(np.array(swapped.counts), np.array(found.counts).T)
    assert compare(study, one.judge, other.judge, dataset="nowhere").asked == 0
    assert compare(study, one.judge, other.judge, dataset="nowhere").agreement.value is None


def test_only_answers_to_one_question_are_compared(study: Study) -> None:
    answer_further(study, 0)
    Rating.objects.for_question(0).update(verdict=-1)
    run = judged(study, "judy", [-1, -1])
    first, second, third = pairs_of(study)[:3]
    for pair in (second, third):
        fill(run, pair, "ab", verdict=0, question=1)
    main, further = (compare(study, run.judge, PEOPLE, question=question) for question in (0, 1))
    assert main.pair.tolist() == [first.pk, second.pk]
    assert further.pair.tolist() == [second.pk, third.pk]
    assert (main.counts, further.counts) == ([[2, 0, 0], [0, 0, 0], [0, 0, 0]], [[0, 0, 0], [0, 2, 0], [0, 0, 0]])
    assert [one.verdict for one in votes_on(study, [first.pk], question=1)[first.pk]] == [0, 0]
    assert [
        len(pair.judgments.all()) for pair in judged_pairs(study, [run.judge], [first.pk, second.pk], question=1)
    ] == [0, 1]
    two = compare(study, run.judge, run.judge, question=1)
    assert two.pair.tolist() == [second.pk, third.pk]


def test_no_interval_for_three_instances(study: Study) -> None:
    # Both people say the same of every pair: what they said depended on the sides they were shown, and might be no majority.
    for pair, verdict in zip(pairs_of(study), [-1, -1, -1, 1, 1, 1], strict=True):
        for annotator in Annotator.objects.all():
            vote(pair, annotator.code, verdict)
    run = judged(study, "judy", [-1, 1, -1, 1, -1, 1])
    found = compare(study, run.judge, PEOPLE)
    assert [(one.low, one.n_instances, one.least) for one in (found.agreement, found.kappa)] == [
        (None, 3, 5),
        (None, 3, 20),
    ]


def test_page_shows_each_persons_vote_under_a_code_and_no_account(researcher: Client, study: Study) -> None:
    Rating.objects.update(reason="because <b>so</b>")
    judged(study, "judy", [-1, 1])
    page = researcher.get(reverse("judging:compare", args=["tea"]), {"first": "judy", "second": "@people"})
    text = page.content.decode()
    for annotator in Annotator.objects.select_related("user"):
        assert f"<code>{annotator.code}</code>" in text
        assert annotator.user is not None
        assert annotator.user.username not in text
    assert "because &lt;b&gt;so&lt;/b&gt;" in text
    judgment = JudgeRun.objects.get().judgments.earliest("pk")
    beside = researcher.get(reverse("judging:judgment", args=["tea", judgment.pk])).content.decode()
    assert Annotator.objects.earliest("pk").code in beside


def test_a_larger_study_takes_no_more_queries(researcher: Client, study: Study) -> None:
    judged(study, "judy", [-1, 1])
    judged(study, "jo", [1, 1])
    queries: dict[str, list[int]] = {}

    def look() -> None:
        for second in ("@people", "jo"):
            with CaptureQueriesContext(connection) as context:
                asked: dict[str, Any] = {"first": "judy", "second": second}
                assert researcher.get(reverse("judging:compare", args=["tea"]), asked).status_code == 200
            queries.setdefault(second, []).append(len(context))

    look()
    for name in ("judy", "jo"):
        run = JudgeRun.objects.get(judge__name=name)
        for pair in pairs_of(study)[2:]:
            fill(run, pair, "ab", verdict=1)
    look()
    assert all(before == after for before, after in queries.values())
