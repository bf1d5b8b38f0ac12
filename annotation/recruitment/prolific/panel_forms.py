"""The fields of the panel's actions. What was sent is checked by the actions themselves, which commands call too."""

from decimal import Decimal
from typing import Any

from django import forms
from django.template.defaultfilters import pluralize

from annotation.recruitment.prolific.site import CATEGORIES, LONGEST_REASON, SHORTEST_REASON

MOST_PLACES = 10_000


class DraftForm(forms.Form):
    """The fields of a draft beyond the channel's settings."""

    name = forms.CharField(label="Title for participants", max_length=120)
    places = forms.IntegerField(label="Places", min_value=1, max_value=MOST_PLACES)
    description = forms.CharField(
        label="Description for participants", max_length=5000, widget=forms.Textarea({"rows": 3})
    )
    screening = forms.CharField(
        label="Screening, one filter a line",
        required=False,
        max_length=2000,
        widget=forms.Textarea({"rows": 2}),
        help_text=(
            "Only participants who pass all of them see the study. Ids are those of Prolific’s list of filters: "
            "approval_rate >= 95, age >= 18, fluent-languages in 19."
        ),
    )

    def __init__(self, hits_of_place: int, **options: Any) -> None:
        super().__init__(**options)
        self.fields["places"].help_text = (
            f"Free slots; a place pays for {hits_of_place} HIT."
            if hits_of_place == 1
            else f"Free slots, divided by the {hits_of_place} HITs that a place pays for."
        )


class PlacesForm(forms.Form):
    """The number of places of a published study."""

    places = forms.IntegerField(label="Places in all", min_value=1, max_value=MOST_PLACES)

    def __init__(self, free: int, **options: Any) -> None:
        super().__init__(**options)
        self.fields["places"].help_text = f"Begin with a few. Free slots are left for {free} place{pluralize(free)}."


class ProlificDecisionForm(forms.Form):
    """The fields of a rejection or a bonus."""

    category = forms.ChoiceField(
        label="Category of a rejection",
        required=False,
        choices=[("", "Choose one"), *CATEGORIES.items()],
    )
    reason = forms.CharField(
        label="Reason of a rejection",
        required=False,
        max_length=LONGEST_REASON,
        widget=forms.Textarea({"rows": 3}),
    )
    amount = forms.CharField(
        label="Bonus",
        required=False,
        widget=forms.TextInput({"inputmode": "decimal", "autocomplete": "off"}),
    )
    reference = forms.CharField(
        label="Reference of the bonus",
        required=False,
        max_length=20,
        help_text="Only to pay the same amount a second time.",
        widget=forms.TextInput({"autocomplete": "off"}),
    )

    def __init__(self, cap: Decimal, **options: Any) -> None:
        super().__init__(**options)
        self.fields["reason"].help_text = f"The participant reads it: at least {SHORTEST_REASON} characters."
        self.fields["amount"].help_text = f"In the study’s currency, such as 0.75; at most {cap}."
