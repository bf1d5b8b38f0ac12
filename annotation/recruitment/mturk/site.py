"""Mechanical Turk's two sites, and the settings of a channel."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Self
from urllib.parse import urlsplit

from django.conf import settings

from annotation.core.errors import Unacceptable
from annotation.models import Channel, Study
from annotation.recruitment.platform_access import is_listed, variable_problem, within_ceiling


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
# A study's admin names the variables, which must not expose other secrets of the server.
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


@dataclass(frozen=True)
class MturkSettings:
    """A channel's options, with defaults."""

    site: Site
    title: str
    description: str
    keywords: str
    reward: str
    duration_minutes: int
    lifetime_days: int
    auto_approval_days: int
    requirements: str
    bonus_cap: Decimal
    screened_out: str
    access_key_env: str
    secret_key_env: str
    endpoint: str
    study_pk: int

    @classmethod
    def of(cls, channel: Channel) -> Self:
        """Read a channel's options."""
        options: Mapping[str, Any] = channel.options
        site = SITES[options.get("site") or "sandbox"]
        return cls(
            site=site,
            title=options.get("title") or "",
            description=options.get("description") or "",
            keywords=options.get("keywords") or "",
            reward=options.get("reward") or _pay(channel.study),
            duration_minutes=int(options.get("duration_minutes") or 60),
            lifetime_days=int(options.get("lifetime_days") or 7),
            auto_approval_days=int(options.get("auto_approval_days") or 3),
            requirements=options.get("requirements") or "",
            bonus_cap=within_ceiling(Decimal(options.get("bonus_cap") or "5.00")),
            screened_out=options.get("screened_out") or "return",
            access_key_env=options.get("access_key_env") or "",
            secret_key_env=options.get("secret_key_env") or "",
            endpoint=options.get("endpoint") or site.endpoint,
            study_pk=channel.study_id,
        )

    @property
    def has_key(self) -> bool:
        """Tell whether the environment holds both parts of the channel's key."""
        return None not in self.key

    @property
    def key(self) -> tuple[str | None, str | None]:
        """Access key and secret key from the environment, or None for an unset variable or another group's."""
        return self._secret(self.access_key_env), self._secret(self.secret_key_env)

    @property
    def key_problem(self) -> str | None:
        """The reason why the key's variables may not be used, or None."""
        names = (name for name in (self.access_key_env, self.secret_key_env) if name)
        return next((problem for name in names if (problem := variable_problem(name, self.study_pk))), None)

    def _secret(self, name: str) -> str | None:
        """Read a variable if its name is allowed here and belongs to the study's present group."""
        if not VARIABLE.fullmatch(name) or variable_problem(name, self.study_pk):
            return None
        value: str | None = settings.ENDPOINT_KEY(name)
        return value

    @property
    def is_stand_in(self) -> bool:
        """Tell whether requests go to a stand-in on this machine."""
        return self.endpoint != self.site.endpoint


def _pay(study: Study) -> str:
    """Return the study's pay if it is in dollars, MTurk's only currency."""
    return str(study.pay_for(1)) if study.pays and study.currency == "USD" else ""


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
        requirement["LocaleValues"] = [_locale(value) for value in values]
    elif values:
        if not all(re.fullmatch(r"[0-9]{1,9}", value) for value in values):
            raise wrong
        requirement["IntegerValues"] = [int(value) for value in values]
    return requirement


def _locale(value: str) -> dict[str, str]:
    country, _dash, subdivision = value.partition("-")
    return {"Country": country, **({"Subdivision": subdivision} if subdivision else {})}


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
