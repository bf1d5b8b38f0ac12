"""A study's pay for an hour, and the minimum that the server's admin has set."""

from dataclasses import dataclass
from decimal import Decimal

from django.conf import settings

from annotation.core.counting import to_cents
from annotation.models import Study


@dataclass(frozen=True)
class HourlyPay:
    """Pay for an hour of expected work. `least` is None where the server sets none in this currency."""

    amount: Decimal
    currency: str
    least: Decimal | None

    @property
    def is_below(self) -> bool:
        """Tell whether it is less than the server's least."""
        return self.least is not None and self.amount < self.least


def hourly_pay(pay: Decimal | None, currency: str, minutes_per_hit: int | None) -> HourlyPay | None:
    """Return the pay for an hour of HITs, or None where pay, currency or expected minutes are not known."""
    if pay is None or not currency or not minutes_per_hit:
        return None
    minimum = settings.LEAST_HOURLY_PAY.get(currency.upper())
    return HourlyPay(to_cents(pay * 60 / minutes_per_hit), currency.upper(), minimum)


def hourly_pay_of(study: Study) -> HourlyPay | None:
    """Return the pay for an hour of a study's HITs."""
    return hourly_pay(study.pay_for(1), study.currency, study.minutes_per_hit)
