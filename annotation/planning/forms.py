"""The planner's form, sent by GET, so that plans have URLs."""

from collections.abc import Mapping
from typing import Any

from django import forms

from annotation.models import Rating, Study
from annotation.planning.pilots import (
    LARGEST,
    MOST_NUMBERS,
    PAIRS,
    RATERS,
    SHARES,
    Assumptions,
    PlannedMeasure,
    PlanSpec,
)
from annotation.studies.configurations import Configuration, configurations

LIST_ROWS = 4  # rows of the list of batches
HIGHEST_PRICE = 1_000_000
OF_VERDICTS = SHARES[PlannedMeasure.WIN_RATE]


class NumbersField(forms.CharField):
    """Whole numbers separated by commas, () if empty."""

    def to_python(self, value: Any) -> Any:
        """Return distinct numbers."""
        text = super().to_python(value) or ""
        try:
            numbers = tuple(dict.fromkeys(int(part) for part in text.replace(",", " ").split()))
        except ValueError:
            raise forms.ValidationError(
                "Whole numbers with commas between them, such as 1, 3, 5.", code="invalid"
            ) from None
        if len(numbers) > MOST_NUMBERS or any(not 1 <= number <= LARGEST for number in numbers):
            raise forms.ValidationError(f"Up to {MOST_NUMBERS} numbers from 1 to {LARGEST}.", code="invalid")
        return numbers


def share(label: str, default: float | None = None, *, help_text: str = "") -> forms.FloatField:
    """Return a field for a share from 0 to 1, which states its default."""
    return number(label, 1, default, help_text=help_text)


def number(
    label: str, maximum: float = HIGHEST_PRICE, default: float | None = None, *, help_text: str = ""
) -> forms.FloatField:
    """Return a field for a number that may be left out, which states its default."""
    attributes = {"step": "any"} | ({} if default is None else {"placeholder": str(default)})
    return forms.FloatField(
        required=False,
        min_value=0,
        max_value=maximum,
        label=label,
        help_text=help_text or f"Default: {default}.",
        widget=forms.NumberInput(attrs=attributes),
    )


class PlanForm(forms.Form):
    """What an interval takes: its width, the pairs and raters, and the assumptions about variance and costs."""

    PILOT, ASSUMED = "pilot", "assumed"
    INPUTS = ("width", "pairs", "raters")
    ASSUMPTIONS = ("win_rate", "tie_share", "consistency_sd", "instance", "pair", "rater")
    PRICES = (
        *("pay_per_hit", "minutes_per_hit", "source_share"),
        *("judges", "calls_per_pair", "orders", "cost_per_call"),
    )
    GROUPS = (
        ("Measure", ("measure", "level", "configuration", "finite")),
        ("Variance", ("source", "batches", *ASSUMPTIONS)),
        ("Costs", PRICES),
    )

    measure = forms.ChoiceField(
        choices=[
            (PlannedMeasure.WIN_RATE.value, "Win rate"),
            (PlannedMeasure.CONSISTENCY.value, "Mean consistency"),
        ],
        required=False,
        label="Measure",
        help_text="Default: win rate.",
    )
    width = forms.FloatField(
        min_value=0.001,
        max_value=1,
        initial=0.1,
        required=False,
        label="Width of the interval",
        widget=forms.NumberInput(attrs={"step": "any"}),
        help_text="0.1 is ± 5 percentage points. Default: 0.1.",
    )
    level = forms.FloatField(
        min_value=0.5,
        max_value=0.999,
        initial=0.95,
        required=False,
        label="Confidence level",
        widget=forms.NumberInput(attrs={"step": "any"}),
        help_text="Default: 0.95.",
    )
    configuration = forms.ChoiceField(
        required=False, label="Data set and systems", help_text="Its votes, texts and instances. Default: the first."
    )
    finite = forms.BooleanField(
        required=False,
        label="These instances are the whole population",
        help_text="Default: off. They are a sample, and findings are about others like them too.",
    )
    pairs = NumbersField(
        required=False,
        label="Pairs per instance (N)",
        help_text="Several, such as 1, 3, 5, are compared.",
        widget=forms.TextInput(attrs={"placeholder": ", ".join(map(str, PAIRS))}),
    )
    raters = NumbersField(
        required=False,
        initial=", ".join(map(str, RATERS)),
        label="Raters per pair (R)",
        help_text="Several, such as 1, 2, 3, are compared.",
    )
    source = forms.ChoiceField(
        choices=[(PILOT, "The votes so far"), (ASSUMED, "Assumptions")],
        required=False,
        label="Variance from",
        help_text="Default: the study’s votes, if there are any.",
    )
    batches = forms.MultipleChoiceField(
        required=False, label="Votes of these batches", help_text="Default: of all batches."
    )
    win_rate = share("Win rate", Assumptions.win_rate)
    tie_share = share("Share of ties", Assumptions.tie_share)
    consistency_sd = share("Standard deviation of consistency", Assumptions.consistency_sd)
    instance = share(
        "Share of instances",
        OF_VERDICTS["instance"],
        help_text=f"Default: {OF_VERDICTS['instance']}; 0.2 for consistency.",
    )
    pair = share("Share of pairs", OF_VERDICTS["pair"])
    rater = share("Share of raters", OF_VERDICTS["rater"])
    pay_per_hit = number("Pay for a HIT", help_text="Default: the study’s.")
    minutes_per_hit = number("Minutes for a HIT", help_text="Default: the study’s.")
    source_share = share(
        "Share of these minutes for the source text", help_text="Default: its share of the characters."
    )
    judges = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=1000,
        label="Judges that rate every pair",
        widget=forms.NumberInput(attrs={"placeholder": "0"}),
        help_text="Default: 0.",
    )
    calls_per_pair = number("A judge’s calls for one pair", 10_000, 1)
    orders = forms.TypedChoiceField(
        choices=[(1, "One order"), (2, "Both orders")],
        coerce=int,
        empty_value=None,
        required=False,
        label="Orders",
        help_text="Default: one order.",
    )
    cost_per_call = number("Price of a judge’s call", help_text="In the currency of the pay. Default: unknown.")

    def __init__(self, data: Mapping[str, Any] | None = None, *, study: Study) -> None:
        super().__init__(data)
        for field in self.fields.values():
            if isinstance(field, forms.IntegerField):  # or a FloatField
                allowed = f"Give a number from {field.min_value:g} to {field.max_value:g}."
                field.error_messages |= dict.fromkeys(("invalid", "min_value", "max_value"), allowed)
        self.known = {self._key(option): option for option in configurations(study)}
        fields: dict[str, Any] = self.fields
        fields["configuration"].choices = [(key, str(option)) for key, option in self.known.items()] or [
            ("", "none yet")
        ]
        fields["batches"].choices = [(name, name) for name in study.batches.for_rating().values_list("name", flat=True)]
        fields["batches"].widget.attrs["size"] = min(LIST_ROWS, max(1, len(fields["batches"].choices)))
        has_votes = Rating.objects.filter(display__assignment__hit__batch__study=study).exists()
        self.fields["source"].initial = self.PILOT if has_votes else self.ASSUMED
        for name in ("pay_per_hit", "minutes_per_hit"):
            if (value := getattr(study, name)) is not None:
                fields[name].widget.attrs["placeholder"] = str(value)

    @property
    def inputs(self) -> list[forms.BoundField]:
        """The fields that a plan needs."""
        return [self[name] for name in self.INPUTS]

    @property
    def groups(self) -> list[tuple[str, list[forms.BoundField]]]:
        """Headings with the fields of assumptions."""
        return [(title, [self[name] for name in names]) for title, names in self.GROUPS]

    @property
    def spec(self) -> PlanSpec:
        """The plan requested by a valid form."""
        sent = self.cleaned_data
        assumed = {name: sent[name] for name in self.ASSUMPTIONS if sent[name] is not None}
        named = self.known.get(sent["configuration"])
        from_votes = (sent["source"] or self.fields["source"].initial) == self.PILOT
        return PlanSpec(
            width=0.1 if sent["width"] is None else sent["width"],
            measure=PlannedMeasure(sent["measure"] or PlannedMeasure.WIN_RATE),
            level=0.95 if sent["level"] is None else sent["level"],
            dataset=named.dataset if named else None,
            systems=(named.system_a.name, named.system_b.name) if named else None,
            pairs=sent["pairs"],
            raters=sent["raters"] or RATERS,
            finite=sent["finite"],
            pilot_batches=tuple(sent["batches"]) if from_votes else (),
            assumptions=None if from_votes else Assumptions(**assumed),
            prices={name: sent[name] for name in self.PRICES if sent[name] is not None},
        )

    @staticmethod
    def _key(named: Configuration) -> str:
        return f"{named.system_a.pk}-{named.system_b.pk}-{named.dataset}"
