"""The options of a Mechanical Turk channel. The key stays in environment variables, whose names are stored."""

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator

from annotation.core.errors import Unacceptable
from annotation.recruitment.mturk.site import MONEY, VARIABLE, parse_requirements, stand_in_problem
from annotation.recruitment.options import PlatformLimitsForm

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
    title = forms.CharField(label="Title of the HIT", required=False, max_length=128)
    description = forms.CharField(
        label="Description", required=False, max_length=2000, widget=forms.Textarea(attrs={"rows": 3})
    )
    keywords = forms.CharField(label="Keywords", required=False, max_length=1000, help_text="Between commas.")
    reward = forms.CharField(
        label="Reward in dollars",
        required=False,
        validators=[_MONEY],
        help_text="For one HIT. Default: the study’s pay, if it is in USD.",
    )
    duration_minutes = forms.IntegerField(
        label="Minutes for one HIT", required=False, initial=60, min_value=1, max_value=60 * 24 * 30
    )
    lifetime_days = forms.IntegerField(label="Days on offer", required=False, initial=7, min_value=1, max_value=365)
    auto_approval_days = forms.IntegerField(
        label="Days until MTurk approves by itself", required=False, initial=3, min_value=1, max_value=30
    )
    requirements = forms.CharField(
        label="Requirements",
        required=False,
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="One a line: approval-rate >= 95, approved-hits >= 500, locale in US GB, or a type’s id: 3ABC missing.",
    )
    bonus_cap = forms.CharField(
        label="Largest bonus in dollars",
        required=False,
        initial=PlatformLimitsForm.usual_bonus_cap,
        validators=[_MONEY],
    )
    screened_out = forms.ChoiceField(
        label="Who does not qualify",
        required=False,
        choices=[(RETURN, "is asked to return the HIT"), (SUBMIT, "submits the HIT, and is paid")],
    )
    access_key_env = forms.CharField(
        label="Variable with the access key",
        required=False,
        validators=[_VARIABLE],
        help_text="Such as MTURK_ACCESS_KEY.",
    )
    secret_key_env = forms.CharField(
        label="Variable with the secret key",
        required=False,
        validators=[_VARIABLE],
        help_text="Such as MTURK_SECRET_KEY.",
    )
    endpoint = forms.CharField(
        label="Stand-in for MTurk’s API",
        required=False,
        max_length=100,
        help_text="For tests only: http://127.0.0.1:PORT. Default: Amazon’s.",
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
