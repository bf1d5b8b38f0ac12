"""The settings of a Prolific channel, and Prolific's own constants.

From Prolific's documentation:
- completion codes and their address: docs.prolific.com/documentation/core-concepts/reviewing-submissions-and-rewards
- statuses, rejection categories, the 100 characters: docs.prolific.com/api-reference/submissions/transition-submission
- errors and 429: docs.prolific.com/documentation/get-started/api-fundamentals, …/core-concepts/managing-high-loads
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Self
from urllib.parse import quote, urlsplit

from django.conf import settings

from annotation.models import Channel
from annotation.recruitment.platform_access import is_listed, variable_problem, within_ceiling

API = "https://api.prolific.com"
COMPLETE = "https://app.prolific.com/submissions/complete?cc="
LINK, SIGNED, ASKED = "link", "signed", "asked"
SHORTEST_REASON, LONGEST_REASON = 100, 2000
CATEGORIES = {
    "TOO_QUICKLY": "Done too quickly",
    "TOO_SLOWLY": "Done too slowly",
    "FAILED_INSTRUCTIONS": "Did not follow the instructions",
    "INCOMP_LONGITUDINAL": "Did not finish a study of several parts",
    "FAILED_CHECK": "Failed attention checks",
    "LOW_EFFORT": "Little effort",
    "MALINGERING": "Lied to get in",
    "NO_CODE": "No completion code",
    "BAD_CODE": "Wrong completion code",
    "NO_DATA": "No data came in",
    "UNSUPP_DEVICE": "Device not supported",
    "OTHER": "Something else",
}
ID = re.compile(r"[A-Za-z0-9]{1,64}")
CODE = re.compile(r"[A-Za-z0-9_-]{1,64}")
MONEY = re.compile(r"[0-9]{1,4}(\.[0-9]{1,2})?")
# A study's admin names the variable that is sent to Prolific, which must not expose other secrets.
VARIABLE = re.compile(r"(?!DATABASE_|DJANGO_|AWS_)(?=[A-Z0-9_]*PROLIFIC)[A-Z][A-Z0-9_]{0,99}")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class ProlificSettings:
    """A channel's settings."""

    study_id: str
    completed: str
    screened_out: str
    timed_out: str
    no_consent: str
    api: str
    token_env: str
    webhook_env: str
    proof: str
    bonus_cap: Decimal
    study_pk: int

    @classmethod
    def of(cls, channel: Channel) -> Self:
        """Read a channel's options, with the form's defaults for empty ones."""
        options = channel.options
        screened_out = str(options.get("code_screened_out") or "")
        return cls(
            study_id=str(options.get("study_id") or ""),
            completed=str(options.get("code_completed") or ""),
            screened_out=screened_out,
            timed_out=str(options.get("code_timed_out") or ""),
            no_consent=str(options.get("code_no_consent") or "") or screened_out,
            api=str(options.get("api_url") or "") or API,
            token_env=str(options.get("token_env") or ""),
            webhook_env=str(options.get("webhook_secret_env") or ""),
            proof=str(options.get("proof") or LINK),
            bonus_cap=within_ceiling(Decimal(str(options.get("bonus_cap") or "0"))),
            study_pk=channel.study_id,
        )

    @property
    def token(self) -> str | None:
        """The API token from the environment, or None if unset or another group's."""
        return self._secret(self.token_env)

    @property
    def token_problem(self) -> str | None:
        """The reason why the token's variable may not be used, or None."""
        return variable_problem(self.token_env, self.study_pk) if self.token_env else None

    @property
    def webhook_secret(self) -> str | None:
        """The secret of Prolific's webhooks from the environment, or None if unset or another group's."""
        return self._secret(self.webhook_env)

    def _secret(self, name: str) -> str | None:
        """Read a variable if its name is allowed here and belongs to the study's present group."""
        if not VARIABLE.fullmatch(name) or variable_problem(name, self.study_pk):
            return None
        value: str | None = settings.ENDPOINT_KEY(name)
        return value


def completion_url(code: str) -> str:
    """Return the address at Prolific that takes a completion code."""
    return COMPLETE + quote(code, safe="")


def address_problem(url: str) -> str | None:
    """Return why the token may not be sent to an address, or None for Prolific's own and those in PLATFORM_ALLOWLIST.

    A study's admin chooses the address, and must not reach this server's own network or send its secrets elsewhere.
    """
    try:
        parts = urlsplit(url)
        listed = is_listed(parts)
    except ValueError:
        return "This address can’t be read."
    plain = parts.netloc and not (parts.username or parts.password or parts.query or parts.fragment)
    if not plain or parts.path not in ("", "/") or re.search(r"[\s\\]", url):
        return "Only https://host or https://host:port, without a path."
    if parts.scheme == "https":
        is_allowed = listed or (parts.hostname == urlsplit(API).hostname and parts.port in (None, 443))
    else:
        is_allowed = listed and parts.scheme == "http" and parts.hostname in _LOOPBACK
    if not is_allowed:
        return (
            "The token is sent to Prolific only. For a stand-in, the server’s administrator adds its host:port to "
            "PLATFORM_ALLOWLIST; without https it has to be this machine."
        )
    return None
