"""Findings of studies that ask several questions, or how much one text is preferred."""

import json
import re
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation.models import Rating, Study
from annotation.questions.questions import Answer
from judging.models import JudgeRun, Judgment
from reporting.findings.data.inputs import Filters
from tests.factories import ask_more, make_user
from tests.reporting.builders import (
    Built,
    answer_too,
    build_batch,
    build_configuration,
    build_study,
    findings,
    judge,
    rate,
    separate,
)

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def built(db: None) -> Built:
    """Two instances of two pairs, of which two people and a judge say what is better and what is more fluent."""
    built = build_configuration(ask_more(build_study("asked"), "fluency", "detail"), instances=2, pairs=2)
    separate(built, [(0.5, 0.6, 0.1), (0.5, 0.5, 0.4)], [0.9, 0.1])
    answer_too(rate(built, 0, "ann", [-1, -1]), [1, 1])
    answer_too(rate(built, 0, "bob", [-1, 0]), [1, None])
    answer_too(rate(built, 1, "ann", [1, -1]), [1, 0])
    run = judge(built, "direct", [(0, 0, "ab", -1), (0, 1, "ab", -1), (1, 0, "ab", 1)])
    JudgeRun.objects.filter(pk=run.pk).update(questions=[0, 1])
    Judgment.objects.create(run=run, pair=built.pairs[0][0], order="ab", question=1, status="parsed", verdict=1)
    return built


def people(found: dict[str, Any]) -> dict[str, Any]:
    return found["configurations"][0]["raters"][0]


def test_findings_are_about_the_question_that_is_named(built: Built) -> None:
    main, fluency = findings(built.study, rounds=20), findings(built.study, rounds=20, question="fluency")
    assert people(main)["counts"] == {"a": 4, "tie": 1, "b": 1}
    assert people(fluency)["counts"] == {"a": 0, "tie": 1, "b": 4}
    assert people(fluency)["incomplete_rating_sets"] == 1
    assert [one["rater"] for one in fluency["configurations"][0]["raters"]] == ["people", "judge:direct"]
    assert fluency["configurations"][0]["raters"][1]["counts"] == {"a": 0, "tie": 0, "b": 1}
    assert fluency["configurations"][0]["raters"][1]["asked"] == 1
    assert fluency["rankings"][0]["systems"][0]["system"] == "second-system"
    assert (main["filters"]["question"], fluency["filters"]["question"]) == ("overall", "fluency")
    unanswered = findings(built.study, rounds=20, question="detail")
    assert [one["rater"] for one in unanswered["configurations"][0]["raters"]] == ["people"]
    assert (people(unanswered)["ratings"], people(unanswered)["mean_consistency"]["value"]) == (0, None)
    answer_too(rate(built, 1, "carla", [1, 1], state="claimed", fills_slot=False), [1, None])
    for question, excluded in (("", 2), ("fluency", 1)):
        found = people(findings(built.study, rounds=20, question=question))
        assert found["exclusions"]["not_submitted"] == excluded


def test_command_takes_the_question_and_lists_those_there_are(built: Built, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("findings", "asked", "--question", "fluency")
    said = capsys.readouterr().out
    assert "about the question fluency" in said
    assert "0 / 1 / 4" in said
    call_command("findings", "asked", "--question", "detail", "--judge", "direct")
    assert "  direct" not in capsys.readouterr().out
    with pytest.raises(CommandError, match="asks no question speed; it asks: overall, fluency, detail"):
        call_command("findings", "asked", "--question", "speed")


def test_advice_is_about_the_ratings_of_the_question(built: Built, capsys: pytest.CaptureFixture[str]) -> None:
    for question, sets in (("fluency", {"people": 2, "judge:direct": 0}), ("detail", {"people": 0})):
        call_command("separability_advice", "asked", "--question", question, "--format", "json")
        found = json.loads(capsys.readouterr().out)
        assert found["filters"]["question"] == question
        raters = found["configurations"][0]["advice"]["raters"]
        assert {one["rater"]: one["rating_sets"] for one in raters} == sets


def test_page_is_about_one_question_and_links_the_others(built: Built, client: Client) -> None:
    client.force_login(make_user("reader", "researcher"))
    shown = client.get("/studies/asked/findings/", {"question": "fluency", "with_incomplete": "1"}).content.decode()
    assert '<a href="?with_incomplete=1">overall</a>' in shown
    assert '<a href="?with_incomplete=1&amp;question=fluency" aria-current="page">fluency</a>' in shown
    assert "findings.json?with_incomplete=1&amp;question=fluency" in shown
    assert re.search(r'charts/[a-z-]+\.svg\?[^"]*question=fluency', shown)
    linked = client.get("/studies/asked/findings.json", {"question": "fluency"}).json()
    assert people(linked)["counts"]["b"] == 4
    assert client.get("/api/v1/studies/asked/findings/", {"question": "fluency"}).json() == linked
    assert client.get("/studies/asked/findings/", {"question": "detail", "judge": "direct"}).status_code == 200
    assert client.get("/studies/asked/findings/", {"question": "speed"}).status_code == 404
    about = "About the main question"
    for page in ("accuracy/", "table-effect/"):
        assert about in client.get(f"/studies/asked/{page}").content.decode()


def test_pages_of_a_study_with_one_question_name_none(client: Client) -> None:
    built = build_configuration(build_study("plain"), instances=1, pairs=1)
    rate(built, 0, "ann", [1])
    client.force_login(make_user("reader", "researcher"))
    shown = client.get("/studies/plain/findings/").content.decode()
    assert "overall" not in shown
    assert "Which one is better?" not in shown
    found = client.get("/studies/plain/findings.json").json()
    assert found["filters"] == Filters().as_json()
    assert "main question" not in client.get("/studies/plain/accuracy/").content.decode()
    assert not {"degrees", "five_level_alpha"} & people(found).keys()


MUCH, SLIGHTLY = 2, 1
GOOD = "good"


@pytest.fixture
def graded(db: None) -> Built:
    """Two instances of two pairs, whose raters say how much they prefer one, or what the two have in common."""
    study = ask_more(build_study("graded"), strength=True, tie_kinds=True)
    built = build_configuration(study, instances=2, pairs=2)
    for place, code, verdicts in ((0, "ann", [-1, 0]), (0, "bob", [-1, 1]), (1, "ann", [1, 1]), (1, "bob", [1, 0])):
        rate(built, place, code, verdicts)
    return built


def grade(study: Study, answers: list[Answer]) -> None:
    """Give the ratings of a study, in the order in which they were made, these strengths and kinds."""
    for rating, answer in zip(Rating.objects.for_question(0).order_by("pk"), answers, strict=True):
        Rating.objects.for_question(0).filter(pk=rating.pk).update(
            verdict=answer.verdict, strength=answer.strength, tie_kind=answer.tie_kind
        )


GRADES = [
    *(Answer(-1, MUCH), Answer(0, tie_kind=GOOD), Answer(-1, SLIGHTLY), Answer(1, MUCH)),
    *(Answer(1, MUCH), Answer(1), Answer(1, MUCH), Answer(0, tie_kind="bad")),
]


def test_strengths_are_counted_and_have_an_alpha_of_their_own(graded: Built) -> None:
    grade(graded.study, GRADES)
    found = people(findings(graded.study, rounds=20))
    assert found["degrees"] == {
        "a": {"much": 1, "slightly": 1, "unknown": 0},
        "tie": {"good": 1, "bad": 1, "unknown": 0},
        "b": {"much": 3, "slightly": 0, "unknown": 1},
    }
    # Pairs (-2 -1), (0 2), (2 2) and (unknown 0): the last has one known degree, and takes no part. Margins of -2, -1, 0
    # 1 each, of 2 3, n = 6; mid-ranks 0.5, 1.5, 2.5, 4.5. Observed 2 * (1 + 4) = 10; expected
    # 2 * (1 + 4 + 3*16 + 1 + 3*9 + 3*4) / 5 = 186/5, so alpha = 1 - 50/186.
    alpha = found["five_level_alpha"]
    assert alpha["value"] == pytest.approx(136 / 186)
    assert (alpha["n"], alpha["excluded"], alpha["unknown_strength"]) == (3, 1, 1)


def test_strengths_of_repeated_votes_are_left_out_with_them(graded: Built) -> None:
    grade(graded.study, GRADES)
    before = people(findings(graded.study, rounds=20))
    named = (graded.study, graded.dataset, graded.system_a, graded.system_b)
    again = build_batch(*named, graded.matchups, graded.pairs, name="again")
    rate(again, 0, "ann", [1, -1], strength=1)

    found = people(findings(graded.study, rounds=20))

    assert found["exclusions"]["repeated"] == 2
    for key in ("degrees", "five_level_alpha", "counts"):
        assert found[key] == before[key]


strengths = st.sampled_from([None, SLIGHTLY, MUCH])
kinds = st.sampled_from(["", GOOD, "bad"])


@pytest.fixture
def without_degrees(graded: Built) -> dict[str, Any]:
    """Findings of answers that say neither how much nor what kind of tie, without what is told of these."""
    grade(graded.study, [Answer(answer.verdict) for answer in GRADES])
    return about_verdicts(graded)


def about_verdicts(built: Built) -> dict[str, Any]:
    found = findings(built.study, rounds=20)
    people(found).pop("degrees")
    people(found).pop("five_level_alpha")
    return found


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(strengths, kinds), min_size=8, max_size=8))
def test_strengths_and_kinds_of_ties_change_no_other_number(
    graded: Built, without_degrees: dict[str, Any], drawn: list[tuple[Any, str]]
) -> None:
    answers = [
        Answer(one.verdict, strength if one.verdict else None, "" if one.verdict else kind)
        for one, (strength, kind) in zip(GRADES, drawn, strict=True)
    ]
    grade(graded.study, answers)
    assert about_verdicts(graded) == without_degrees
