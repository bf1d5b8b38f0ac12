"""The options of a Prolific channel. Its secrets stay in environment variables, whose names are stored."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator

from annotation.recruitment.options import PlatformLimitsForm
from annotation.recruitment.prolific.site import API, ASKED, CODE, ID, LINK, MONEY, SIGNED, VARIABLE, address_problem

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


def _code(**texts: Any) -> forms.CharField:
    return forms.CharField(required=False, max_length=64, validators=[_CODE], **texts)


class ProlificOptionsForm(PlatformLimitsForm):
    """The study at Prolific, the proof of identity that is required, and the completion codes."""

    # A submission's reward pays for so many HITs; links are trusted.
    defaults = {**PlatformLimitsForm.defaults, "most_hits": MOST_HITS, "proof": LINK}
    seldom = (*PlatformLimitsForm.seldom, *_CODES, "bonus_cap", "api_url")

    study_id = forms.CharField(
        label="Study at Prolific",
        required=False,
        max_length=64,
        validators=[_ID],
        help_text=(
            "Filled in when you create the draft on the channel’s page. Otherwise its id, from the address of its "
            "page there."
        ),
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
    code_completed = _code(label="Code: completed", help_text="Codes are filled in with the draft.")
    code_screened_out = _code(
        label="Code: screened out",
        help_text="For those who fail the qualification. Default: they are asked to return the submission.",
    )
    code_no_consent = _code(label="Code: no consent", help_text="Default: the code for those who are screened out.")
    code_timed_out = _code(
        label="Code: timed out", help_text="For those whose time ran out and who have no HIT that counts."
    )
    bonus_cap = forms.CharField(
        label="Largest bonus",
        required=False,
        initial=PlatformLimitsForm.usual_bonus_cap,
        validators=[_MONEY],
        help_text="In the currency of the study at Prolific.",
    )
    token_env = forms.CharField(
        label="Variable with the API token",
        required=False,
        validators=[_VARIABLE],
        help_text="Such as PROLIFIC_TOKEN.",
    )
    webhook_secret_env = forms.CharField(
        label="Variable with the webhook secret",
        required=False,
        validators=[_VARIABLE],
        help_text="Such as PROLIFIC_WEBHOOK_SECRET. Without it no message of Prolific is taken.",
    )
    api_url = forms.CharField(
        label="Address of Prolific’s API", required=False, max_length=200, help_text="Default: Prolific’s own."
    )
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
