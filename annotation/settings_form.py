"""The form of a study's settings: the page shows it in groups, and the command `configure_study` checks with it."""

from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.models import Study

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


class StudySettingsForm(forms.ModelForm[Study]):
    """What raters are told and asked, how they are paid and checked."""

    GROUPS: "ClassVar[list[tuple[StrOrPromise, StrOrPromise, list[str]]]]" = [
        (_("The study"), _("For researchers; raters never see this part."), ["title", "task_kind"]),
        (
            _("What raters read"),
            _("Texts in Markdown. Name no system here: raters are not to know which one wrote what."),
            [
                *("consent_text", "guidelines", "content_warning", "contact", "source_label"),
                *("language", "render_markdown"),
            ],
        ),
        (
            _("What they are asked"),
            _("Once votes have been given, only the wording can be changed."),
            ["question", "label_left", "label_right", "ties_allowed", "pair_order"],
        ),
        (
            _("Two stages"),
            _("First a vote on every pair of a HIT; then, pair by pair, a second one. Fixed once votes are given."),
            ["protocol", "arms", "arm_unit", "reason_min_length"],
        ),
        (_("Pay"), _("Shown before consent."), ["pay_per_hit", "currency", "minutes_per_hit", "pay_late"]),
        (
            _("Qualification and checks"),
            _("Shares from 0 to 1, as 0.8 for 80 %. A threshold left empty does nothing."),
            [
                *("qualification_share", "qualification_attempts", "check_pairs_needed"),
                *("gold_warn_below", "gold_block_below", "repeat_warn_below", "repeat_block_below"),
            ],
        ),
    ]

    arms = forms.CharField(
        required=False,
        label=_("Arms"),
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text=_(
            "One a line, for a two-stage study: none (asked again, no table), table:VARIANT (the pair’s own comparison "
            "table), placebo:VARIANT (another pair’s). As table:c8."
        ),
    )

    currency = forms.CharField(
        required=False, max_length=3, label=_("Currency"), help_text=_("Three capital letters, as EUR.")
    )

    class Meta:
        model = Study
        fields = [
            *("title", "task_kind", "question", "source_label", "label_left", "label_right", "ties_allowed"),
            *("guidelines", "consent_text", "content_warning", "contact", "language", "render_markdown"),
            *("pair_order", "protocol", "arms", "arm_unit", "reason_min_length"),
            *("pay_per_hit", "currency", "minutes_per_hit", "pay_late"),
            *("qualification_share", "qualification_attempts", "check_pairs_needed"),
            *("gold_warn_below", "gold_block_below", "repeat_warn_below", "repeat_block_below"),
        ]
        labels: "ClassVar[dict[str, StrOrPromise]]" = {
            "title": _("Title"),
            "task_kind": _("Task"),
            "consent_text": _("Consent text"),
            "guidelines": _("Guidelines"),
            "content_warning": _("Content warning"),
            "contact": _("Contact"),
            "source_label": _("Heading of the source text"),
            "language": _("Language of the texts"),
            "render_markdown": _("Render Markdown in the generations"),
            "question": _("Question"),
            "label_left": _("Name of the left text"),
            "label_right": _("Name of the right text"),
            "ties_allowed": _("Offer “no preference”"),
            "pair_order": _("Order of the pairs on a page"),
            "protocol": _("How often raters are asked"),
            "arm_unit": _("What is split into arms"),
            "reason_min_length": _("Least length of a reason"),
            "pay_per_hit": _("Pay per HIT"),
            "minutes_per_hit": _("Expected minutes per HIT"),
            "pay_late": _("Pay for late HITs that no longer count"),
            "qualification_share": _("Share of qualification pairs to get right"),
            "qualification_attempts": _("Attempts at the qualification"),
            "check_pairs_needed": _("Checked pairs before a threshold acts"),
            "gold_warn_below": _("Gold: warn below"),
            "gold_block_below": _("Gold: end the work below"),
            "repeat_warn_below": _("Repeats: warn below"),
            "repeat_block_below": _("Repeats: end the work below"),
        }
        help_texts: "ClassVar[dict[str, StrOrPromise]]" = {
            "title": "",
            "consent_text": _("A change raises the version, and everybody is asked again."),
            "guidelines": _("How to rate, with examples."),
            "content_warning": _("On every page of the study, where there is one."),
            "contact": _("How raters reach you: an address, a phone number. On every page."),
            "language": _("A tag such as en, ar or pt-BR, for screen readers; empty when unknown or mixed."),
            "render_markdown": _("Without links and pictures."),
            "ties_allowed": "",
            "reason_min_length": _("Characters, of a reason for changing a choice. A kept choice needs none."),
            "minutes_per_hit": "",
            "pay_late": _("A HIT sent in after its time counts only while its place is free."),
            "qualification_share": _("As 0.8: 8 of 10 pairs as expected."),
            "check_pairs_needed": _("Of gold or repeated pairs, so that nobody is judged by one slip."),
            "gold_warn_below": _("Share of hidden gold pairs answered as expected."),
            "gold_block_below": _("The rater gets no further HIT. You can undo it under Reports."),
            "repeat_warn_below": _("Share of repeated pairs answered as the first time, sides swapped."),
            "repeat_block_below": _("The rater gets no further HIT. You can undo it under Reports."),
        }
        widgets: ClassVar[dict[str, forms.Widget]] = {
            name: forms.Textarea(attrs={"rows": rows})
            for name, rows in (("consent_text", 8), ("guidelines", 8), ("content_warning", 3))
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["arms"] = "\n".join(self.instance.arms)

    def clean_arms(self) -> list[str]:
        """Return one name a line, or between commas."""
        given = self.cleaned_data["arms"].replace(",", "\n").splitlines()
        return [name.strip() for name in given if name.strip()]

    def clean_currency(self) -> str:
        """Return the code in capital letters, however it was typed."""
        return str(self.cleaned_data["currency"]).upper()

    @property
    def groups(self) -> "list[tuple[StrOrPromise, StrOrPromise, list[forms.BoundField]]]":
        """The fields as the page groups them: heading, help, fields."""
        return [(title, told, [self[name] for name in names]) for title, told, names in self.GROUPS]
