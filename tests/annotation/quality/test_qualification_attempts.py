"""Further attempts at a qualification: fresh HITs, sides of their own, and answers that do not help in the next one."""

from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from annotation.hits.displays import derived_seed
from annotation.models import Annotator, Assignment, Batch, QualificationResult, Study
from annotation.quality.qualification import begin_attempt, qualification_status, too_few_hits
from annotation.rating.presenters import hit_place
from tests.annotation.quality.test_hidden_checks import answer, studied
from tests.factories import NOON, claim, make_annotator

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def attempt(annotator: Annotator, *, prefer_a: bool = False) -> list[Assignment]:
    """Do one whole attempt at the qualification; all answers are wrong unless A is preferred."""
    if qualification_status(annotator).awaits_retry:
        begin_attempt(annotator=annotator, at=NOON)
    number, done = qualification_status(annotator).attempts_used, []
    while qualification_status(annotator).attempts_used == number:
        done.append(answer(claim(annotator), prefer_a=prefer_a))
    return done


def names(assignments: list[Assignment]) -> set[str]:
    return {one.hit.matchup.instance.instance_id for one in assignments}


def feedback_of(client: Client, assignment: Assignment) -> Any:
    client.force_login(assignment.annotator.user, backend="annotation.members.signed_in.AccountBackend")
    return client.get(f"/rate/hit/{assignment.key}/feedback/")


def test_a_further_attempt_has_hits_that_were_not_in_the_one_before() -> None:
    study = studied(qualification=5, qualification_hits=2, qualification_attempts=2)
    annotator = make_annotator(study)

    first, second = attempt(annotator), attempt(annotator)

    assert (len(first), len(second)) == (2, 2)
    assert not names(first) & names(second)
    asked = annotator.assignments.filter(purpose="qualification").values_list("attempt", flat=True)
    assert list(asked) == [1, 1, 2, 2]  # which attempt a rating belongs to can be told
    assert list(QualificationResult.objects.values_list("attempt", "pairs")) == [(1, 4), (2, 4)]


def test_fresh_hits_come_before_those_of_an_earlier_attempt() -> None:
    annotator = make_annotator(studied(qualification=3, qualification_hits=2, qualification_attempts=3))

    first, second, third = attempt(annotator), attempt(annotator), attempt(annotator)

    assert len(names(first) | names(second)) == 3
    assert len(second) == len(third) == 2


def test_an_instance_of_an_earlier_attempt_is_not_fresh_on_another_hit() -> None:
    study = studied(qualification=2, qualification_hits=1, qualification_attempts=2)
    batch = study.batches.get(purpose="qualification")
    first_hit, second_hit = batch.hits.order_by("position")
    again = Batch.objects.get(pk=batch.pk)
    again.pk, again.name = None, "again"
    again.save()
    again.hits.create(matchup=first_hit.matchup, position=0)
    second_hit.batch.hits.filter(pk=second_hit.pk).update(position=9)
    annotator = make_annotator(study)

    assert names(attempt(annotator)) == {first_hit.matchup.instance.instance_id}
    assert names(attempt(annotator)) == {second_hit.matchup.instance.instance_id}


def test_sides_are_drawn_again_from_a_seed_of_the_attempts_own() -> None:
    annotator = make_annotator(studied(qualification=1, qualification_attempts=2))
    [first], [second] = attempt(annotator), attempt(annotator)

    assert first.hit_id == second.hit_id
    assert first.seed != second.seed
    for assignment in (first, second):
        for display in assignment.displays.select_related("pair"):
            assert display.seed == derived_seed(assignment.seed, display.pair.key)


def test_with_fresh_hits_for_every_attempt_answers_are_told_at_once(client: Client) -> None:
    annotator = make_annotator(studied(qualification=2, qualification_hits=1, qualification_attempts=2))
    [first] = attempt(annotator)

    assert "Because of qualification-" in feedback_of(client, first).text
    begin_attempt(annotator=annotator, at=NOON)
    assert "Because of qualification-" in feedback_of(client, first).text  # none of it comes again


@pytest.mark.parametrize("hits", [1, 3])
def test_answers_that_would_help_in_the_next_attempt_are_told_after_the_last(hits: int, client: Client) -> None:
    annotator = make_annotator(studied(qualification=hits, qualification_attempts=2))
    first = attempt(annotator)
    client.force_login(annotator.user, backend="annotation.members.signed_in.AccountBackend")
    page = f"/rate/qualification/{annotator.study.key}/"

    assert [feedback_of(client, one).headers.get("Location") for one in first] == ["/rate/"] * hits
    told = client.get(page).text
    assert f"0 of {2 * hits} as expected" in told  # the score alone
    assert "The expected answers are shown after your last attempt." in told
    assert "/feedback/" not in told

    second = attempt(annotator)
    assert [feedback_of(client, one).status_code for one in (*first, *second)] == [200] * 2 * hits
    over = client.get(page).text
    assert all(f"/rate/hit/{one.key}/feedback/" in over for one in (*first, *second))


def test_no_answer_is_told_while_the_last_attempt_asks_for_it_again(client: Client) -> None:
    annotator = make_annotator(studied(qualification=2, qualification_attempts=2))
    attempt(annotator)
    begin_attempt(annotator=annotator, at=NOON)
    one = answer(claim(annotator), prefer_a=False)

    assert feedback_of(client, one).headers["Location"] == "/rate/"


def test_answers_are_told_to_who_has_passed(client: Client) -> None:
    annotator = make_annotator(studied(qualification=1, qualification_attempts=2))
    [first] = attempt(annotator, prefer_a=True)

    assert "as expected" in feedback_of(client, first).text


def test_the_place_counts_the_hits_of_one_attempt() -> None:
    annotator = make_annotator(studied(qualification=5, qualification_hits=2))
    place = hit_place(claim(annotator), 0)

    assert (place.number, place.total, place.done) == (1, 2, 0)


# Who sets it up is told


@pytest.mark.parametrize(
    ("hits", "settings", "told"),
    [
        (4, {"qualification_attempts": 2, "qualification_hits": 2}, None),
        (3, {"qualification_attempts": 1}, None),
        (0, {"qualification_attempts": 3}, None),
        (3, {"qualification_attempts": 2, "qualification_hits": 2}, ("3 HITs (6 pairs)", "4 HITs (8 pairs)")),
        (2, {"qualification_attempts": 3}, ("2 HITs (4 pairs)", "6 HITs (12 pairs)")),
    ],
)
def test_too_few_hits_are_counted_beside_those_needed(
    hits: int, settings: dict[str, int], told: tuple[str, str] | None
) -> None:
    notice = too_few_hits(studied(qualification=hits, **settings))

    if told is None:
        assert notice == ""
    else:
        assert all(part in notice for part in told)
        assert "shown only after the last attempt" in notice


def test_page_command_and_api_tell_that_hits_are_too_few(
    admin_client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    study = studied(qualification=3)
    batch = study.batches.get(purpose="qualification")
    wanted = "6 HITs (12 pairs)"

    assert wanted in admin_client.get(f"/studies/study/batches/{batch.pk}/").text
    rating = study.batches.get(purpose="rating")
    assert wanted not in admin_client.get(f"/studies/study/batches/{rating.pk}/").text
    assert wanted in admin_client.get("/studies/study/settings/").text
    call_command("configure_study", "study", "qualification_share=0.7")
    assert wanted in capsys.readouterr().err
    told = admin_client.patch("/api/v1/studies/study/", {"qualification_share": 0.6}, content_type="application/json")
    assert [wanted in notice for notice in told.json()["notices"]] == [True]
    told = admin_client.post(
        f"/api/v1/batches/{batch.pk}/status/", {"status": "paused"}, content_type="application/json"
    )
    assert [wanted in notice for notice in told.json()["notices"]] == [True]

    call_command("configure_study", "study", "qualification_attempts=1")
    assert "notice" not in capsys.readouterr().err
    assert Study.objects.get().qualification_attempts == 1
