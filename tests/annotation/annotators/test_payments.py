"""Payments: who is owed what, and a file that runs nothing in a spreadsheet."""

import csv
import io
import json
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import call_command

from annotation.annotators.consent import withdraw
from annotation.annotators.payments import COLUMNS, payments_of
from annotation.models import Annotator, Rating, Study
from annotation.quality.exclusion import exclude_annotator, reject_assignment
from tests.factories import NOON, claim, make_annotator, make_batch, make_study, make_user, queries_of, rate, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def study() -> Study:
    study = make_study(instances=6, pay_per_hit="0.30", currency="EUR")
    make_batch(study, raters=3)
    return study


def worked(study: Study, name: str, hits: int = 1, kind: str = "account") -> Annotator:
    rater = make_annotator(study, name)
    rater.code, rater.kind = name, kind
    rater.save()
    for _ in range(hits):
        rate(claim(rater))
    return rater


def of(study: Study, code: str, *, platforms: bool = False) -> SimpleNamespace:
    [found] = [row for row in payments_of(study, platforms=platforms) if row["code"] == code]
    return SimpleNamespace(**found)


@pytest.mark.engine
def test_each_rater_is_owed_what_was_settled_at_submission_even_for_work_that_is_left_out(study: Study) -> None:
    rater = worked(study, "ann", 3)
    study.pay_per_hit = Decimal("9.00")
    study.save()
    Rating.objects.update(active_seconds=45)  # of six pairs

    found = of(study, "ann")
    assert (found.hits, found.counted, found.late, found.rejected) == (3, 3, 0, 0)
    assert (found.pay_due, found.currency, found.name, found.minutes) == ("0.90", "EUR", "ann", 4.5)

    reject_assignment(assignment=rater.assignments.all()[0], reason="x", reopen=True, by=None, at=NOON)
    found = of(study, "ann")
    assert (found.hits, found.counted, found.rejected) == (3, 2, 1)
    assert (found.pay_due, found.pay_rejected) == ("0.90", "0.30")
    exclude_annotator(annotator=rater, reason="x", reopen=False, by=None, at=NOON)
    assert (of(study, "ann").counted, of(study, "ann").pay_due) == (0, "0.90")


@pytest.mark.engine
def test_who_withdrew_is_owed_their_pay_by_code_and_nothing_else_is_told(study: Study) -> None:
    withdraw(annotator=worked(study, "gone", 2), at=NOON)

    found = of(study, "gone")

    assert (found.pay_due, found.currency, found.withdrawn) == ("0.60", "EUR", True)
    assert (found.name, found.channel, found.hits, found.counted, found.minutes) == ("", "", None, None, None)


def test_platforms_pay_their_own_and_links_name_no_rater(study: Study) -> None:
    for name, kind in (("ann", "account"), ("inv", "invited"), ("ano", "anonymous"), ("pro", "prolific")):
        worked(study, name, kind=kind)
    worked(study, "idle", 0)

    assert [(row["code"], row["name"], row["channel"]) for row in payments_of(study)] == [
        ("ann", "ann", "account"),
        ("ano", "", "anonymous"),
        ("inv", "", "invited"),
    ]
    assert of(study, "pro", platforms=True).channel == "prolific"


def test_payments_take_as_many_queries_for_many_raters_as_for_few(study: Study) -> None:
    worked(study, "r0")
    few = queries_of(lambda: payments_of(study))
    for number in range(1, 10):
        worked(study, f"r{number}")
    assert few == queries_of(lambda: payments_of(study)) == 3
    assert len(payments_of(study)) == 10


def test_the_file_defuses_formulas(study: Study) -> None:
    worked(study, "=HYPERLINK(1)")
    address = "/studies/study/payments.csv"

    response = signed_in(make_user("admin", "study-admin", study=study)).get(address)

    assert response.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert response.headers["Content-Disposition"] == 'attachment; filename="study-payments.csv"'
    assert "no-store" in response.headers["Cache-Control"]
    [row] = csv.DictReader(io.StringIO(response.text))
    assert tuple(row) == COLUMNS
    assert (row["code"], row["pay_due"], row["hits"]) == ("'=HYPERLINK(1)", "0.30", "1")


@pytest.mark.parametrize("form", ["csv", "json"])
def test_the_command_prints_the_same(study: Study, capsys: pytest.CaptureFixture[str], form: str) -> None:
    worked(study, "ann", 2)

    call_command("payments", "study", "--format", form)

    out = capsys.readouterr().out
    row: dict[str, Any]
    [row] = json.loads(out)["payments"] if form == "json" else csv.DictReader(io.StringIO(out))
    assert (row["code"], row["pay_due"], str(row["hits"])) == ("ann", "0.60", "2")


def test_a_study_without_pay_owes_nothing_rather_than_zero() -> None:
    study = make_study(instances=2)
    make_batch(study)
    worked(study, "ann")

    assert of(study, "ann").pay_due is None
