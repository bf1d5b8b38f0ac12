"""The settings of a Prolific channel, and Prolific's own constants.

From Prolific's documentation:
- completion codes and their address: docs.prolific.com/documentation/core-concepts/reviewing-submissions-and-rewards
- statuses, rejection categories, the 100 characters: docs.prolific.com/api-reference/submissions/transition-submission
- errors and 429: docs.prolific.com/documentation/get-started/api-fundamentals, …/core-concepts/managing-high-loads
"""

import re
from urllib.parse import quote, urlsplit

from annotation.models import Channel
from annotation.recruitment.platform_access import PlatformSettings, is_listed

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
VARIABLE = re.compile(r"(?!DATABASE_|DJANGO_|AWS_)(?=[A-Z0-9_]*PROLIFIC)[A-Z][A-Z0-9_]{0,99}")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class ProlificSettings(PlatformSettings):
    """A channel's settings, with the form's defaults for empty ones."""

    variable, secrets = VARIABLE, ("token_env", "webhook_secret_env")

    def __init__(self, channel: Channel) -> None:
        super().__init__(channel)
        self.study_id = self.text("study_id")
        self.completed, self.timed_out = self.text("code_completed"), self.text("code_timed_out")
        self.screened_out = self.text("code_screened_out")
        self.no_consent = self.text("code_no_consent", self.screened_out)
        self.api, self.proof = self.text("api_url", API), self.text("proof", LINK)

    @property
    def token(self) -> str | None:
        """The API token."""
        return self.secret("token_env")

    @property
    def webhook_secret(self) -> str | None:
        """The secret of Prolific's webhooks."""
        return self.secret("webhook_secret_env")


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
