"""Forms of the pages: they check what was sent and hand clean values to services."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile

from analysis import similarity as similarities
from annotation.configurations import Configuration, configurations
from annotation.models import Study
from annotation.models.study import TaskKind
from annotation.services.batches import MOST_RATERS


class VoteForm(forms.Form):
    """One choice on one pair of a HIT."""

    pair_key = forms.CharField(max_length=64)
    choice = forms.ChoiceField()

    def __init__(self, *args: Any, choices: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["choice"] = forms.ChoiceField(choices=list(choices.items()))


class UploadForm(forms.Form):
    """A file to be read into a study."""

    KINDS = [
        ("study", "Study file: instances and generations (JSON Lines or CSV)"),
        ("mturk", "MTurk batch results (CSV): instances and ratings"),
        ("ratings", "Ratings, long form (CSV or JSON Lines)"),
        ("tables", "Comparison tables (JSON Lines)"),
    ]

    kind = forms.ChoiceField(choices=KINDS, label="What is in the file")
    file = forms.FileField()
    dataset = forms.CharField(
        required=False, max_length=100, label="Data set", help_text="For MTurk results; or where lines name none."
    )
    system_1 = forms.CharField(required=False, max_length=200, help_text="MTurk results: whose Input.id is 1 (A).")
    system_2 = forms.CharField(required=False, max_length=200, help_text="MTurk results: whose Input.id is 2 (B).")

    def clean_file(self) -> UploadedFile:
        """Refuse a file too large to be read within a web request."""
        file: UploadedFile = self.cleaned_data["file"]
        if (file.size or 0) > settings.UPLOAD_MAX_BYTES:
            limit = settings.UPLOAD_MAX_BYTES // 2**20
            raise forms.ValidationError(f"Larger than {limit} MB; read it with manage.py import_study instead.")
        return file

    def clean(self) -> dict[str, Any]:
        """Ask for the names that an MTurk file does not hold."""
        cleaned = super().clean() or {}
        if cleaned.get("kind") == "mturk":
            for field in ("dataset", "system_1", "system_2"):
                if not cleaned.get(field):
                    self.add_error(field, "MTurk results need this.")
        return cleaned


class NewStudyForm(UploadForm):
    """A new study together with its first file."""

    KINDS = UploadForm.KINDS[:2]

    kind = forms.ChoiceField(choices=KINDS, label="What is in the file")
    slug = forms.SlugField(
        max_length=80, label="Short name", help_text="Letters, digits and dashes: part of addresses."
    )
    title = forms.CharField(max_length=200, required=False)
    task_kind = forms.ChoiceField(choices=TaskKind.choices, label="Task")
    question = forms.CharField(max_length=300, required=False, help_text="What raters are asked of each pair.")

    field_order = ["slug", "title", "task_kind", "question", "kind", "file", "dataset", "system_1", "system_2"]

    def clean_slug(self) -> str:
        """Refuse a name that is taken: by any study, also one that this user may not see."""
        slug: str = self.cleaned_data["slug"]
        if Study.objects.filter(slug=slug).exists():
            raise forms.ValidationError("This name is taken.")
        return slug


class StudySettingsForm(forms.ModelForm[Study]):
    """What raters are told and asked."""

    class Meta:
        model = Study
        fields = [
            *("title", "task_kind", "question", "source_label", "label_left", "label_right", "ties_allowed"),
            *("guidelines", "consent_text", "contact"),
        ]


class BatchForm(forms.Form):
    """A batch to be made."""

    name = forms.CharField(max_length=200)
    configuration = forms.ChoiceField(label="Data set and systems")
    pairs = forms.IntegerField(min_value=1, initial=5, label="Pairs per HIT")
    raters = forms.IntegerField(min_value=1, max_value=MOST_RATERS, initial=3, label="Raters per HIT")
    select = forms.CharField(
        initial="all",
        label="Which instances",
        help_text="all, random:N, top:N, stratified:BxN (N from each of B bins of separability), or importance:N.",
    )
    similarity = forms.ChoiceField(
        required=False,
        choices=[("", "computed last"), *((name, name) for name in similarities.names())],
        help_text="Whose separability to choose by.",
    )
    seed = forms.IntegerField(min_value=0, max_value=2**31 - 1, required=False, help_text="Drawn when left empty.")

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.known: list[Configuration] = configurations(study)
        places = [(str(place), str(one)) for place, one in enumerate(self.known)]
        self.fields["configuration"] = forms.ChoiceField(choices=places, label="Data set and systems")

    def clean_configuration(self) -> Configuration:
        """Return the chosen configuration itself."""
        return self.known[int(self.cleaned_data["configuration"])]
