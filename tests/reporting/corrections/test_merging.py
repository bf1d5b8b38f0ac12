"""Two raters who are one person become one, unless a vote would be lost."""

from typing import Any

import pytest

from annotation.allocation.claims import draw_arm
from annotation.annotators.consent import answer_consent
from annotation.models import Annotator, Assignment, Event, QualificationResult, Rating, Study
from tests.factories import NOON, claim, make_annotator, make_batch, make_study, rate
from tests.reporting.corrections.doors import correct, each_door, in_turn

pytestmark = [pytest.mark.django_db, pytest.mark.engine, pytest.mark.slow]

BOTH = {"rater": "second", "into": "first"}


def store() -> Study:
    """Two raters without accounts, each with a HIT of one rater and other pairs."""
    study = make_study(instances=2)
    make_batch(study, pairs=2, raters=1)
    for name in ("first", "second"):
        annotator = make_annotator(study, name)
        rate(claim(annotator))
        annotator.code, annotator.user, annotator.kind = name, None, "imported"
        annotator.save()
        QualificationResult.objects.create(
            annotator=annotator, attempt=1, pairs=1, right=1, needed_share=0.5, passed=True
        )
    return study


@each_door
def test_all_work_of_one_rater_is_the_others(study: Study, door: str) -> None:
    outlook = correct(door, study, "merge-raters", BOTH, preview=True)
    assert outlook.effects == ["1 HIT", "2 ratings", "1 consent answer"]
    assert correct(door, study, "merge-raters", {**BOTH, "reason": "same person"}).made

    [rater] = study.annotators.all()
    assert rater.code == "first"
    assert Rating.objects.filter(display__assignment__annotator=rater).count() == 4
    assert list(rater.qualification_results.values_list("attempt", flat=True)) == [1, 2]
    assert rater.consents.count() == 2
    event = study.events.get(kind=Event.Kind.MERGED)
    assert event.changes == {"rater": ["second", "first"], "HITs": 1, "ratings": 2}


def _share(study: Study) -> None:
    hit = study.annotators.get(code="first").assignments.get().hit
    Assignment.objects.create(hit=hit, annotator=study.annotators.get(code="second"), state="returned")


def _accounts(study: Study) -> None:
    for name in ("first", "second"):
        account = make_annotator(study, f"account-{name}").user
        Annotator.objects.filter(user=account).delete()
        study.annotators.filter(code=name).update(user=account)


@pytest.mark.parametrize(
    ("door", "change", "part"),
    in_turn(
        [
            (_share, "2 of the same pairs"),
            (_accounts, "account"),
            (lambda study: study.annotators.filter(code="first").update(excluded=True), "excluded"),
            (lambda study: study.annotators.filter(code="first").update(kind="scripted"), "program"),
            (lambda study: study.annotators.filter(code="second").update(withdrawn_at=NOON), "no rater second"),
            (lambda study: study.annotators.filter(code="second").update(code="other"), "no rater second"),
        ]
    ),
)
def test_nothing_is_lost_silently(study: Study, door: str, change: Any, part: str) -> None:
    change(study)
    count = study.annotators.count()

    outcome = correct(door, study, "merge-raters", BOTH)

    assert (outcome.made, part in outcome.text) == (False, True), outcome.text
    assert study.annotators.count() == count


def test_arms_stay_even_after_a_merge(study: Study) -> None:
    """A rater is in one arm; the next one's draw gets a number of its own."""
    Study.objects.filter(pk=study.pk).update(arms=["none", "table:c8"], protocol="two-stage")
    first, second = study.annotators.order_by("code")
    study.refresh_from_db()
    draw_arm(study=study, annotator=first)
    assert draw_arm(study=study, annotator=second) != first.arm_draw.arm
    assert "different arms" in correct("api", study, "merge-raters", BOTH).text

    study.arm_draws.update(arm="none")
    assert correct("api", study, "merge-raters", BOTH).made
    third = Annotator.objects.create(study=study, code="third", kind="imported")
    answer_consent(annotator=third, accepted=True, at=NOON)
    assert draw_arm(study=study, annotator=third)


def test_an_account_goes_with_its_work(study: Study) -> None:
    account = make_annotator(study, "account")
    user = account.user
    Annotator.objects.filter(pk=account.pk).update(code="person")

    assert correct("page", study, "merge-raters", {"rater": "person", "into": "first"}).made

    rater = study.annotators.get(code="first")
    assert (rater.user, rater.kind) == (user, "account")
