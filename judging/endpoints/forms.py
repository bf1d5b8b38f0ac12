"""The settings of endpoints, for pages, API and commands."""

from collections.abc import Mapping
from typing import Any

from django import forms

from annotation.core.names import ShortNameField
from judging.endpoints.services import CHANGEABLE
from judging.models import Endpoint

MOST_A_MINUTE = 2**31 - 1


class HeadersField(forms.CharField):
    """Lines of Name: value."""

    widget = forms.Textarea(attrs={"rows": 3, "spellcheck": "false", "autocomplete": "off"})
    json_shape = dict
    longest = 500  # characters of a value

    def prepare_value(self, value: Any) -> Any:
        """Format headers as lines."""
        return "\n".join(f"{name}: {item}" for name, item in value.items()) if isinstance(value, dict) else value

    def clean(self, value: Any) -> dict[str, str]:
        """Parse the lines. A request sends an object. Errors don't repeat a line, since it may hold a secret."""
        if isinstance(value, dict):
            if not all(isinstance(text, str) and len(text) <= self.longest for text in value.values()):
                raise forms.ValidationError(f"A header is a text of at most {self.longest} characters.")
            return value
        result: dict[str, str] = {}
        for number, line in enumerate(super().clean(value).splitlines(), start=1):
            if not line.strip():
                continue
            name, colon, text = (part.strip() for part in line.partition(":"))
            if not name or not colon:
                raise forms.ValidationError(
                    "Line %(number)d is not of the form Name: value.", params={"number": number}
                )
            if name in result:
                raise forms.ValidationError("The header %(name)s is given twice.", params={"name": name})
            result[name] = text
        return result


class PriceField(forms.DecimalField):
    """A price of a million tokens."""

    def __init__(self, **kwargs: Any) -> None:
        bounds: dict[str, Any] = {"min_value": 0, "max_digits": 12, "decimal_places": 6}
        super().__init__(required=False, help_text="Default: unknown.", **bounds, **kwargs)


class RateField(forms.IntegerField):
    """A limit a minute."""

    def __init__(self, **kwargs: Any) -> None:
        bounds: dict[str, Any] = {"min_value": 1, "max_value": MOST_A_MINUTE}
        super().__init__(required=False, help_text="Default: no limit.", **bounds, **kwargs)


class LimitsForm(forms.Form):
    """The settings of an endpoint that may change: prices, limits, time-out, headers."""

    price_prompt = PriceField(label="Price of a million prompt tokens")
    price_completion = PriceField(label="Price of a million tokens written")
    currency = forms.RegexField(
        "^[A-Za-z]{3}$", initial="USD", label="Currency", error_messages={"invalid": "Three letters, such as EUR."}
    )
    batch_discount = forms.FloatField(
        min_value=0,
        max_value=1,
        initial=0.5,
        label="Batch API: share of the price",
        help_text="0.5: half of it.",
    )
    cached_discount = forms.FloatField(
        required=False,
        min_value=0,
        max_value=1,
        initial=1,
        label="Cached prompt tokens: share of the price",
        help_text="Default: all of it.",
    )
    requests_per_minute = RateField(label="Calls a minute")
    tokens_per_minute = RateField(label="Tokens a minute")
    timeout_seconds = forms.FloatField(
        min_value=0.1, max_value=86_400, initial=60, label="Time-out of a call, in seconds"
    )
    headers = HeadersField(
        required=False,
        label="Headers",
        help_text=(
            "Name: value, one per line, sent with each call. Secrets are never stored: write env:MY_API_KEY as "
            "the value to read the environment variable MY_API_KEY."
        ),
    )

    def clean_currency(self) -> str:
        """Return the code in capitals."""
        return str(self.cleaned_data["currency"]).upper()

    def clean_cached_discount(self) -> float:
        """Return the share, by default all of the price."""
        discount: float | None = self.cleaned_data["cached_discount"]
        return 1.0 if discount is None else discount

    def named_in(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the clean values of the fields that are named: others keep what is stored."""
        return {name: value for name, value in self.cleaned_data.items() if name in values}

    @classmethod
    def of(cls, endpoint: Endpoint) -> "LimitsForm":
        """Return the form with an endpoint's values."""
        return cls(initial={name: getattr(endpoint, name) for name in CHANGEABLE})


class EndpointForm(LimitsForm):
    """A new endpoint."""

    field_order = ["name", "base_url", "model", "key_env"]
    name = ShortNameField(max_length=80, label="Name", help_text="Shown to researchers.")
    base_url = forms.CharField(max_length=500, label="Base URL", help_text="https://api.example.com/v1")
    model = forms.CharField(max_length=200, label="Model", help_text="Its name at the service.")
    key_env = forms.CharField(
        max_length=100,
        required=False,
        label="Environment variable with the key",
        help_text="Its name, such as MY_API_KEY. The key itself is never stored.",
    )
