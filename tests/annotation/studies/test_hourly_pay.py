"""Pay for an hour: beside the pay in the forms of settings and in a batch's forecast, against the server's least."""

from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from annotation.studies.hourly_pay import hourly_pay
from tests.factories import make_study, make_user, signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _least(settings: Any) -> None:
    settings.LEAST_HOURLY_PAY = {"EUR": Decimal(13)}


def test_pay_for_an_hour_is_in_proportion_to_the_expected_minutes() -> None:
    found = hourly_pay(Decimal("1.30"), "eur", 6)  # ten HITs an hour
    assert (found.amount, found.currency, found.is_below) == (Decimal("13.00"), "EUR", False)
    below = hourly_pay(Decimal("1.29"), "EUR", 6)
    assert below.is_below
    other = hourly_pay(Decimal("0.10"), "USD", 6)
    assert (other.least, other.is_below) == (None, False)


@pytest.mark.parametrize("known", [(None, "EUR", 6), (Decimal(1), "", 6), (Decimal(1), "EUR", None)], ids=str)
def test_pay_for_an_hour_is_unknown_where_a_part_is(known: tuple[Decimal | None, str, int | None]) -> None:
    assert hourly_pay(*known) is None


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        pytest.param(
            {"pay_per_hit": "1", "currency": "EUR", "minutes_per_hit": "5"}, "12.00 EUR for an hour", id="known"
        ),
        pytest.param({"pay_per_hit": "1", "currency": "EUR", "minutes_per_hit": "5"}, "13.00 EUR at least", id="below"),
        pytest.param({"pay_per_hit": "1", "currency": "EUR", "minutes_per_hit": "0"}, "shows here once", id="wrong"),
        pytest.param({}, "shows here once", id="empty"),
    ],
)
def test_the_form_shows_pay_for_an_hour(sent: dict[str, str], words: str) -> None:
    assert words in signed_in(make_user("r", "researcher")).post("/studies/new/pay/", sent).text


@pytest.mark.slow
def test_a_forecast_warns_of_pay_below_the_least() -> None:
    make_study("study", pay_per_hit="1", currency="EUR", minutes_per_hit=5, pairs_per_hit=2)
    manager = signed_in(make_user("manager", "study-admin"))
    assert "13.00 EUR at least" in manager.get("/studies/study/batches/new/").text
    assert Client().post("/studies/new/pay/").status_code == 302
