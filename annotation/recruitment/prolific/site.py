"""The settings of a Prolific channel, and Prolific's own constants.

From Prolific's documentation:
- completion codes and their address: docs.prolific.com/documentation/core-concepts/reviewing-submissions-and-rewards
- statuses, rejection categories, the 100 characters: docs.prolific.com/api-reference/submissions/transition-submission
- errors and 429: docs.prolific.com/documentation/get-started/api-fundamentals, …/core-concepts/managing-high-loads
"""

import re
from typing import Any
from urllib.parse import quote, urlsplit

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator

from annotation.models import Channel
from annotation.recruitment.options import PlatformLimitsForm, text_option
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


_ID = RegexValidator(rf"^{ID.pattern}\Z", "An id of Prolific: letters and digits only.")
_CODE = RegexValidator(rf"^{CODE.pattern}\Z", "A completion code: letters, digits, - and _ only.")
_MONEY = RegexValidator(rf"^{MONEY.pattern}\Z", "An amount such as 0.75.")
# Error messages don't repeat the input, which may be the secret itself.
_VARIABLE = RegexValidator(
    rf"^(?:{VARIABLE.pattern})\Z",
    (
        "Name an environment variable that was made for this, in capitals and with PROLIFIC in it, "
        "such as PROLIFIC_TOKEN; never give the secret itself."
    ),
)
_CODES = ("code_completed", "code_screened_out", "code_timed_out", "code_no_consent")
MOST_HITS = 1


class ProlificOptionsForm(PlatformLimitsForm):
    """The study at Prolific, the proof of identity that is required, and the completion codes."""

    # A submission's reward pays for so many HITs; links are trusted.
    defaults = {**PlatformLimitsForm.defaults, "most_hits": MOST_HITS, "proof": LINK}
    seldom = (*PlatformLimitsForm.seldom, *_CODES, "bonus_cap", "api_url")

    study_id = text_option(
        "Study at Prolific",
        "Filled in when you create the draft on the channel’s page. Otherwise its id, from the address of its page there.",
        _ID,
        max_length=64,
    )
    proof = forms.ChoiceField(
        label="Who comes",
        required=False,
        choices=[
            (LINK, "is who the link says; the first browser keeps the place"),
            (ASKED, "is looked up at Prolific on arrival, with the token"),
            (SIGNED, "comes by a link that Prolific has signed (secured external URL)"),
        ],
        help_text="A link can be typed by hand. The second and the third option keep out those who do.",
    )
    code_completed = text_option("Code: completed", "Codes are filled in with the draft.", _CODE, max_length=64)
    code_screened_out = text_option(
        "Code: screened out",
        "For those who fail the qualification. Default: they are asked to return the submission.",
        _CODE,
        max_length=64,
    )
    code_no_consent = text_option(
        "Code: no consent", "Default: the code for those who are screened out.", _CODE, max_length=64
    )
    code_timed_out = text_option(
        "Code: timed out", "For those whose time ran out and who have no HIT that counts.", _CODE, max_length=64
    )
    bonus_cap = text_option(
        "Largest bonus",
        "In the currency of the study at Prolific.",
        _MONEY,
        initial=PlatformLimitsForm.usual_bonus_cap,
    )
    token_env = text_option("Variable with the API token", "Such as PROLIFIC_TOKEN.", _VARIABLE)
    webhook_secret_env = text_option(
        "Variable with the webhook secret",
        "Such as PROLIFIC_WEBHOOK_SECRET. Without it no message of Prolific is taken.",
        _VARIABLE,
    )
    api_url = text_option("Address of Prolific’s API", "Default: Prolific’s own.", max_length=200)
    field_order = ["study_id", "proof", "most_hits", *_CODES, "bonus_cap", "per_address", "most_raters"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["most_hits"].initial = MOST_HITS
        self.fields["most_hits"].help_text = "Of this channel’s raters. Default: 1, since a place pays once."

    def clean_api_url(self) -> str:
        """Refuse an address that the token may not be sent to."""
        url: str = self.cleaned_data["api_url"].strip().rstrip("/")
        if url and (problem := address_problem(url)):
            raise ValidationError(problem)
        return "" if url == API else url

    def clean(self) -> dict[str, Any]:
        """Refuse one code for two outcomes, and look-ups at Prolific without a token."""
        cleaned = super().clean()
        used: set[str] = set()
        for name in _CODES:
            code = cleaned.get(name)
            if code and code in used:
                self.add_error(name, "This code is used for another end already: Prolific could not distinguish them.")
            used.add(code or "")
        if cleaned.get("proof") == ASKED and not cleaned.get("token_env") and "token_env" not in self.errors:
            self.add_error("token_env", "Looking people up at Prolific takes the token.")
        return cleaned
