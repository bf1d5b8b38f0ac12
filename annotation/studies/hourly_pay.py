"""What a study's pay comes to for an hour, and the least that the server's admin has set."""

from dataclasses import dataclass
from decimal import Decimal

from django import forms
from django.conf import settings

from annotation.core.money import to_cents
from annotation.models import Study


@dataclass(frozen=True)
class HourlyPay:
    """Pay for an hour of expected work; `least` is None where the server sets none in this currency."""

    amount: Decimal
    currency: str
    least: Decimal | None

    @property
    def is_below(self) -> bool:
        """Tell whether it is less than the server's least."""
        return self.least is not None and self.amount < self.least


class PayForm(forms.Form):
    """The fields of a form of settings on which pay for an hour depends."""

    pay_per_hit = forms.DecimalField(min_value=0, max_digits=8, decimal_places=2)
    currency = forms.RegexField(r"^[A-Za-z]{3}$")
    minutes_per_hit = forms.IntegerField(min_value=1)

    @property
    def hourly(self) -> HourlyPay | None:
        """The pay for an hour; None while a field is missing or wrong."""
        return hourly_pay(**self.cleaned_data) if self.is_valid() else None


def hourly_pay(pay_per_hit: Decimal | None, currency: str, minutes_per_hit: int | None) -> HourlyPay | None:
    """Return the pay for an hour of HITs; None where pay, currency or expected minutes are not known."""
    if pay_per_hit is None or not currency or not minutes_per_hit:
        return None
    least = settings.LEAST_HOURLY_PAY.get(currency.upper())
    return HourlyPay(to_cents(pay_per_hit * 60 / minutes_per_hit), currency.upper(), least)


def hourly_pay_of(study: Study) -> HourlyPay | None:
    """Return the pay for an hour of a study's HITs."""
    return hourly_pay(study.pay_per_hit, study.currency, study.minutes_per_hit)
