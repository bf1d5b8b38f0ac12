"""The fields of the panel's actions. What was sent is checked by the actions themselves, which commands call too."""

from decimal import Decimal
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotation.recruitment.prolific.site import CATEGORIES, LONGEST_REASON, SHORTEST_REASON

MOST_PLACES = 10_000


class DraftForm(forms.Form):
    """What a draft says beyond the channel's settings."""

    name = forms.CharField(label=gettext_lazy("Title for participants"), max_length=120)
    places = forms.IntegerField(label=gettext_lazy("Places"), min_value=1, max_value=MOST_PLACES)
    description = forms.CharField(
        label=gettext_lazy("Description for participants"), max_length=5000, widget=forms.Textarea({"rows": 3})
    )
    screening = forms.CharField(
        label=gettext_lazy("Screening, one filter a line"),
        required=False,
        max_length=2000,
        widget=forms.Textarea({"rows": 2}),
        help_text=gettext_lazy(
            "Only participants who pass all of them see the study. Ids are those of Prolific’s list of filters: "
            "approval_rate >= 95, age >= 18, fluent-languages in 19."
        ),
    )

    def __init__(self, hits_of_place: int, **options: Any) -> None:
        super().__init__(**options)
        self.fields["places"].help_text = ngettext(
            "Free slots; a place pays for %(hits)d HIT.",
            "Free slots, divided by the %(hits)d HITs that a place pays for.",
            hits_of_place,
        ) % {"hits": hits_of_place}


class PlacesForm(forms.Form):
    """How many places a published study has."""

    places = forms.IntegerField(label=gettext_lazy("Places in all"), min_value=1, max_value=MOST_PLACES)

    def __init__(self, free: int, **options: Any) -> None:
        super().__init__(**options)
        self.fields["places"].help_text = ngettext(
            "Begin with a few. Free slots are left for %(count)d place.",
            "Begin with a few. Free slots are left for %(count)d places.",
            free,
        ) % {"count": free}


class ProlificDecisionForm(forms.Form):
    """What a rejection or a bonus needs."""

    category = forms.ChoiceField(
        label=gettext_lazy("Category of a rejection"),
        required=False,
        choices=[("", gettext_lazy("Choose one")), *CATEGORIES.items()],
    )
    reason = forms.CharField(
        label=gettext_lazy("Reason of a rejection"),
        required=False,
        max_length=LONGEST_REASON,
        widget=forms.Textarea({"rows": 3}),
    )
    amount = forms.CharField(
        label=gettext_lazy("Bonus"),
        required=False,
        widget=forms.TextInput({"inputmode": "decimal", "autocomplete": "off"}),
    )
    reference = forms.CharField(
        label=gettext_lazy("Reference of the bonus"),
        required=False,
        max_length=20,
        help_text=gettext_lazy("Only to pay the same amount a second time."),
        widget=forms.TextInput({"autocomplete": "off"}),
    )

    def __init__(self, cap: Decimal, **options: Any) -> None:
        super().__init__(**options)
        shortest = _("The participant reads it: at least %(count)d characters.")
        self.fields["reason"].help_text = shortest % {"count": SHORTEST_REASON}
        self.fields["amount"].help_text = _("In the study’s currency, such as 0.75; at most %(cap)s.") % {"cap": cap}
