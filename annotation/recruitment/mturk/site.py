"""Mechanical Turk's two sites, and the settings of a channel."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator

from annotation.core.errors import Unacceptable
from annotation.models import Channel
from annotation.recruitment.options import PlatformLimitsForm, text_option
from annotation.recruitment.platform_access import PlatformSettings, is_listed


@dataclass(frozen=True)
class Site:
    """One of the two sites. `submit` takes the frame's form, `frames` are the origins that may frame our page."""

    submit: str
    frames: tuple[str, ...]
    endpoint: str


SITES: Mapping[str, Site] = {
    "sandbox": Site(
        submit="https://workersandbox.mturk.com",
        frames=("https://workersandbox.mturk.com",),
        endpoint="https://mturk-requester-sandbox.us-east-1.amazonaws.com",
    ),
    "live": Site(
        submit="https://www.mturk.com",
        frames=("https://worker.mturk.com", "https://www.mturk.com"),
        endpoint="https://mturk-requester.us-east-1.amazonaws.com",
    ),
}
VARIABLE = re.compile(r"(?=.*MTURK)[A-Z][A-Z0-9_]{0,99}")
MONEY = re.compile(r"[0-9]{1,5}(\.[0-9]{1,2})?")
LOOPBACK = ("127.0.0.1", "localhost", "::1")

_KNOWN = {
    "approval-rate": "000000000000000000L0",
    "approved-hits": "00000000000000000040",
    "locale": "00000000000000000071",
    "adult": "00000000000000000060",
}
_COMPARATORS = {
    ">=": "GreaterThanOrEqualTo",
    ">": "GreaterThan",
    "<=": "LessThanOrEqualTo",
    "<": "LessThan",
    "=": "EqualTo",
    "!=": "NotEqualTo",
    "in": "In",
    "not-in": "NotIn",
    "exists": "Exists",
    "missing": "DoesNotExist",
}
_ALONE = ("exists", "missing")
_MANY = ("in", "not-in")
MOST_REQUIREMENTS = 10
_LOCALE = re.compile(r"[A-Z]{2}(-[A-Z0-9]{1,3})?")


class MturkSettings(PlatformSettings):
    """A channel's options, with defaults."""

    variable, secrets = VARIABLE, ("access_key_env", "secret_key_env")
    usual_bonus_cap = "5.00"

    def __init__(self, channel: Channel) -> None:
        super().__init__(channel)
        self.site = SITES[self.text("site", "sandbox")]
        self.title, self.description = self.text("title"), self.text("description")
        self.keywords, self.requirements = self.text("keywords"), self.text("requirements")
        self.reward = self.text("reward")
        if not self.reward and channel.study.pays and channel.study.currency == "USD":  # MTurk's only currency
            self.reward = str(channel.study.pay_for(1))
        self.duration_minutes = int(self.text("duration_minutes", "60"))
        self.lifetime_days = int(self.text("lifetime_days", "7"))
        self.auto_approval_days = int(self.text("auto_approval_days", "3"))
        self.screened_out = self.text("screened_out", "return")
        self.endpoint = self.text("endpoint", self.site.endpoint)

    @property
    def key(self) -> tuple[str | None, str | None]:
        """Access key and secret key, each None for a variable that is unset or another group's."""
        return self.secret("access_key_env"), self.secret("secret_key_env")

    @property
    def has_key(self) -> bool:
        """Tell whether the environment holds both parts of the channel's key."""
        return None not in self.key

    @property
    def is_stand_in(self) -> bool:
        """Tell whether requests go to a stand-in on this machine."""
        return self.endpoint != self.site.endpoint


def parse_requirements(text: str) -> list[dict[str, Any]]:
    """Read qualification requirements, one a line: `approval-rate >= 95`, `locale in US GB`, `3ABC… missing`.

    Raises: Unacceptable naming the line.
    """
    requirements = [_requirement(line) for line in text.splitlines() if line.strip()]
    if len(requirements) > MOST_REQUIREMENTS:
        raise Unacceptable(f"MTurk takes at most {MOST_REQUIREMENTS} requirements.")
    return requirements


def _requirement(line: str) -> dict[str, Any]:
    wrong = Unacceptable(f"“{line}” is no requirement. Write, for example, approval-rate >= 95 or locale in US GB.")
    name, *words = line.split()
    comparator, values = (words[0], words[1:]) if words else ("", [])
    type_id = _KNOWN.get(name, name)
    if comparator not in _COMPARATORS or not re.fullmatch(r"[A-Z0-9]{1,64}", type_id):
        raise wrong
    if (comparator in _ALONE and values) or (comparator in _MANY and not values):
        raise wrong
    if comparator not in (*_ALONE, *_MANY) and len(values) != 1:
        raise wrong
    requirement: dict[str, Any] = {"QualificationTypeId": type_id, "Comparator": _COMPARATORS[comparator]}
    if name == "locale":
        if comparator in ("<", "<=", ">", ">=") or not all(_LOCALE.fullmatch(value) for value in values):
            raise wrong
        places = [value.partition("-") for value in values]
        requirement["LocaleValues"] = [
            {"Country": country, **({"Subdivision": part} if part else {})} for country, _dash, part in places
        ]
    elif values:
        if not all(re.fullmatch(r"[0-9]{1,9}", value) for value in values):
            raise wrong
        requirement["IntegerValues"] = [int(value) for value in values]
    return requirement


def stand_in_problem(endpoint: str) -> str | None:
    """Return why an address can't replace Amazon's (it must be local and in PLATFORM_ALLOWLIST), or None if it can."""
    try:
        parts = urlsplit(endpoint)
        listed = is_listed(parts)
    except ValueError:
        return "This address can’t be read."
    plain = not (parts.username or parts.password or parts.query or parts.fragment) and parts.path in ("", "/")
    is_local = parts.scheme == "http" and parts.hostname in LOOPBACK and parts.port is not None
    if not (plain and is_local) or re.search(r"[\s\\@?#]", endpoint):
        return "The address must be on this machine: http://127.0.0.1:PORT."
    if not listed:
        return f"To allow it, the server’s administrator adds {parts.netloc} to the setting PLATFORM_ALLOWLIST."
    return None


SANDBOX, LIVE = "sandbox", "live"
RETURN, SUBMIT = "return", "submit"
_MONEY = RegexValidator(rf"^{MONEY.pattern}\Z", "Dollars and cents, such as 0.75.")
# Error messages don't repeat the input, which may be the secret itself.
_VARIABLE = RegexValidator(
    rf"^(?:{VARIABLE.pattern})\Z",
    (
        "Name an environment variable that was made for this key, in capitals and with MTURK in it, "
        "such as MTURK_SECRET_KEY; never give the key itself."
    ),
)


class MturkOptionsForm(PlatformLimitsForm):
    """Properties of the HITs on MTurk, and the account that offers them."""

    defaults = {**PlatformLimitsForm.defaults, "site": SANDBOX, "screened_out": RETURN}  # neither costs anything
    seldom = (
        *PlatformLimitsForm.seldom,
        *("keywords", "duration_minutes", "lifetime_days", "auto_approval_days"),
        *("requirements", "bonus_cap", "screened_out", "endpoint"),
    )

    site = forms.ChoiceField(
        label="Site",
        required=False,
        choices=[(SANDBOX, "Sandbox: for trying out, no payments"), (LIVE, "Live")],
    )
    title = text_option("Title of the HIT", max_length=128)
    description = text_option("Description", max_length=2000, widget=forms.Textarea(attrs={"rows": 3}))
    keywords = text_option("Keywords", "Between commas.", max_length=1000)
    reward = text_option("Reward in dollars", "For one HIT. Default: the study’s pay, if it is in USD.", _MONEY)
    duration_minutes = forms.IntegerField(
        label="Minutes for one HIT", required=False, initial=60, min_value=1, max_value=60 * 24 * 30
    )
    lifetime_days = forms.IntegerField(label="Days on offer", required=False, initial=7, min_value=1, max_value=365)
    auto_approval_days = forms.IntegerField(
        label="Days until MTurk approves by itself", required=False, initial=3, min_value=1, max_value=30
    )
    requirements = text_option(
        "Requirements",
        "One a line: approval-rate >= 95, approved-hits >= 500, locale in US GB, or a type’s id: 3ABC missing.",
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    bonus_cap = text_option("Largest bonus in dollars", "", _MONEY, initial=PlatformLimitsForm.usual_bonus_cap)
    screened_out = forms.ChoiceField(
        label="Who does not qualify",
        required=False,
        choices=[(RETURN, "is asked to return the HIT"), (SUBMIT, "submits the HIT, and is paid")],
    )
    access_key_env = text_option("Variable with the access key", "Such as MTURK_ACCESS_KEY.", _VARIABLE)
    secret_key_env = text_option("Variable with the secret key", "Such as MTURK_SECRET_KEY.", _VARIABLE)
    endpoint = text_option(
        "Stand-in for MTurk’s API", "For tests only: http://127.0.0.1:PORT. Default: Amazon’s.", max_length=100
    )
    field_order = ["site", "title", "description", "keywords", "reward", "most_hits"]

    def clean_requirements(self) -> str:
        """Refuse invalid requirements."""
        text: str = self.cleaned_data["requirements"]
        try:
            parse_requirements(text)
        except Unacceptable as error:
            raise ValidationError(str(error)) from None
        return text

    def clean_endpoint(self) -> str:
        """Refuse an address that the key may not be sent to."""
        endpoint: str = self.cleaned_data["endpoint"].rstrip("/")
        if endpoint and (problem := stand_in_problem(endpoint)):
            raise ValidationError(problem)
        return endpoint
