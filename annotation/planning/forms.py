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


def share(label: str, usual: float | None = None, *, help_text: str = "") -> forms.FloatField:
    """Return a field for a share from 0 to 1, which shows its default."""
    return number(label, 1, usual, help_text=help_text)


def number(
    label: str, maximum: float = HIGHEST_PRICE, usual: float | None = None, *, help_text: str = ""
) -> forms.FloatField:
    """Return a field for a number that may be left out, which shows its default."""
    attributes = {"step": "any"} | ({} if usual is None else {"placeholder": str(usual)})
    widget = forms.NumberInput(attrs=attributes)
    return forms.FloatField(
        required=False, min_value=0, max_value=maximum, label=label, help_text=help_text, widget=widget
    )


class PlanForm(forms.Form):
    """The interval's precision, the source of the variance, and the costs."""

    PILOT, ASSUMED = "pilot", "assumed"
    GROUPS = (
        ("What you want to know", ("measure", "width", "level", "configuration", "finite")),
        ("Designs to compare", ("pairs", "raters")),
        ("Where the variance comes from", ("source", "batches")),
    )
    ASSUMPTIONS = ("win_rate", "tie_share", "consistency_sd", "instance", "pair", "rater")
    PRICES = (
        *("pay_per_hit", "minutes_per_hit", "source_share"),
        *("judges", "calls_per_pair", "orders", "cost_per_call"),
    )

    measure = forms.ChoiceField(
        choices=[
            (PlannedMeasure.WIN_RATE.value, "Win rate"),
            (PlannedMeasure.CONSISTENCY.value, "Mean consistency"),
        ],
        required=False,
        label="Measure",
    )
    width = forms.FloatField(
        min_value=0.001,
        max_value=1,
        initial=0.1,
        label="Width of the interval",
        widget=forms.NumberInput(attrs={"step": "any"}),
        help_text="From its lower to its upper bound: 0.1 is ± 0.05.",
    )
    level = forms.FloatField(
        min_value=0.5,
        max_value=0.999,
        initial=0.95,
        required=False,
        label="Level",
        widget=forms.NumberInput(attrs={"step": "any"}),
    )
    configuration = forms.ChoiceField(required=False, label="Data set and systems")
    finite = forms.BooleanField(
        required=False,
        label="The study’s instances are all there are",
        help_text="Otherwise they are a sample, and what is found is meant for others like them.",
    )
    pairs = NumbersField(
        required=False,
        label="Pairs per HIT (N)",
        help_text="Empty: 1, 3, 5; for consistency the pilot’s or the study’s number.",
        widget=forms.TextInput(attrs={"placeholder": ", ".join(map(str, PAIRS))}),
    )
    raters = NumbersField(required=False, initial=", ".join(map(str, RATERS)), label="Raters per HIT (R)")
    source = forms.ChoiceField(
        choices=[(PILOT, "The votes so far"), (ASSUMED, "Assumptions")],
        required=False,
        label="Plan from",
    )
    batches = forms.MultipleChoiceField(
        required=False, label="Votes of these batches", help_text="None chosen: all of them."
    )
    win_rate = share("Win rate", Assumptions.win_rate)
    tie_share = share("Share of ties", Assumptions.tie_share)
    consistency_sd = share("Standard deviation of consistency", Assumptions.consistency_sd)
    instance = share("Share of instances", OF_VERDICTS["instance"], help_text="For consistency: 0.2.")
    pair = share("Share of pairs", OF_VERDICTS["pair"])
    rater = share("Share of raters", OF_VERDICTS["rater"])
    pay_per_hit = number("Pay for a HIT")
    minutes_per_hit = number("Minutes for a HIT")
    source_share = share("Share of these minutes for the source text")
    judges = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=1000,
        label="Judges that rate every pair",
        widget=forms.NumberInput(attrs={"placeholder": "0"}),
    )
    calls_per_pair = number("A judge’s calls for one pair", 10_000, 1)
    orders = forms.TypedChoiceField(
        choices=[(1, "One order"), (2, "Both orders")],
        coerce=int,
        empty_value=None,
        required=False,
        label="Orders",
    )
    cost_per_call = number("Price of a judge’s call")

    def __init__(self, data: Mapping[str, Any] | None = None, *, study: Study) -> None:
        super().__init__(data)
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
    def groups(self) -> list[tuple[Any, list[forms.BoundField]]]:
        """Headings with their fields, without assumptions and costs."""
        return [(title, [self[name] for name in names]) for title, names in self.GROUPS]

    @property
    def assumption_fields(self) -> list[forms.BoundField]:
        """The fields of assumptions, which replace a pilot."""
        return [self[name] for name in self.ASSUMPTIONS]

    @property
    def price_fields(self) -> list[forms.BoundField]:
        """The fields of costs."""
        return [self[name] for name in self.PRICES]

    @property
    def spec(self) -> PlanSpec:
        """The plan requested by a valid form."""
        sent = self.cleaned_data
        assumed = {name: sent[name] for name in self.ASSUMPTIONS if sent[name] is not None}
        named = self.known.get(sent["configuration"])
        from_votes = (sent["source"] or self.fields["source"].initial) == self.PILOT
        return PlanSpec(
            width=sent["width"],
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
