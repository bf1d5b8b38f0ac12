"""The forms of the judges' pages."""

from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from annotation.models import Batch, Study
from judging.errors import JudgingError
from judging.judges import method_names
from judging.models import Endpoint, Judge
from judging.services.judges import check_fit


class JudgeForm(forms.Form):
    """A new judge."""

    name = forms.SlugField(max_length=80, label=_("Name"))
    method = forms.ChoiceField(choices=[], label=_("Method"))
    endpoint = forms.ModelChoiceField(
        Endpoint.objects.none(),
        required=False,
        label=_("Endpoint"),
        empty_label=_("none (baselines)"),
        help_text=_("Added by a site admin."),
    )
    order = forms.ChoiceField(choices=Judge.Order.choices, initial=Judge.Order.RANDOM, label=_("Order"))
    family = forms.CharField(
        max_length=100, required=False, label=_("Family"), help_text=_("The model's family, as on systems.")
    )

    def __init__(self, *args: Any, judges: QuerySet[Judge], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.judges = judges
        self.fields["method"].choices = [(name, name) for name in method_names()]  # type: ignore[attr-defined]
        self.fields["endpoint"].queryset = Endpoint.objects.all()  # type: ignore[attr-defined]

    def clean_name(self) -> str:
        """Refuse the name of another group's judge, whose settings stay its own."""
        name = str(self.cleaned_data["name"])
        if Judge.objects.filter(name=name).exists() and not self.judges.filter(name=name).exists():
            raise forms.ValidationError(_("This name is taken. Please choose another."))
        return name

    def clean(self) -> dict[str, Any]:
        """Refuse a method without its endpoint beside the form rather than as an error page."""
        data = super().clean() or {}
        if "method" in data and "endpoint" in data:
            try:
                check_fit(method=data["method"], endpoint=data["endpoint"], params={})
            except JudgingError as error:
                self.add_error("endpoint", str(error))
        return data


class RunForm(forms.Form):
    """A judge to be run on a study or on one batch of it."""

    judge = forms.ModelChoiceField(Judge.objects.none(), to_field_name="name", label=_("Judge"))
    batch = forms.ModelChoiceField(
        Batch.objects.none(),
        required=False,
        label=_("Batch"),
        empty_label=_("every pair that is on a HIT (while there is no batch: every pair)"),
    )
    in_flight = forms.IntegerField(label=_("Calls in flight"), min_value=1, max_value=256, initial=8)

    def __init__(self, *args: Any, study: Study, judges: QuerySet[Judge], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["judge"].queryset = judges  # type: ignore[attr-defined]
        self.fields["batch"].queryset = study.batches.all()  # type: ignore[attr-defined]
