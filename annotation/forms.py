"""Forms of the pages: they check what was sent and hand clean values to services."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext_lazy as _

from analysis import similarity as similarities
from annotation.configurations import Configuration, configurations
from annotation.models import Assignment, Batch, Flag, Study
from annotation.models.study import TaskKind
from annotation.services.batches import LONGEST_LEASE, MOST_CHECKS, MOST_RATERS
from annotation.services.sending import Sent

LONGEST_COMMENT = 2000
MOST_ROWS = 32_767  # what the column holds
PAIR_FLAGS = [(kind.value, kind.label) for kind in Flag.Kind if kind != Flag.Kind.UNSUPPORTED_ROW]


class VoteForm(forms.Form):
    """One choice on one pair of a HIT, and what the page says about it."""

    SAID = ("page", "version", "chosen_at", "active_seconds", "wall_seconds")

    pair_key = forms.CharField(max_length=64)
    choice = forms.ChoiceField()
    page = forms.CharField(required=False, max_length=32)
    version = forms.IntegerField(required=False, min_value=0)
    chosen_at = forms.DateTimeField(required=False)
    active_seconds = forms.FloatField(required=False, min_value=0)
    wall_seconds = forms.FloatField(required=False, min_value=0)

    def __init__(self, *args: Any, choices: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        problem = _("Please choose one of the answers.")
        self.fields["choice"] = forms.ChoiceField(
            choices=list(choices.items()), error_messages={"required": problem, "invalid_choice": problem}
        )

    def clean(self) -> dict[str, Any]:
        """Leave out what can't be read of what the page says: no choice is lost to a browser's clock."""
        cleaned = super().clean() or {}
        for name in self.SAID:
            if self.errors.pop(name, None):
                cleaned[name] = None
        return cleaned

    @property
    def vote(self) -> dict[str, Any]:
        """What the services take of a valid form."""
        said = {name: self.cleaned_data[name] for name in self.SAID}
        kept = {name: value for name, value in self.cleaned_data.items() if name not in self.SAID}
        return {**kept, "sent": Sent(**{**said, "page": said["page"] or ""})}

    @property
    def problem(self) -> str:
        """What is wrong, in one line for the card."""
        return " ".join(str(message) for messages in self.errors.values() for message in messages)


class SecondVoteForm(VoteForm):
    """The second choice on one pair; the service knows when it needs a reason."""

    reason = forms.CharField(required=False)


class UploadForm(forms.Form):
    """A file to be read into a study."""

    KINDS = [
        ("study", _("Study file: instances and generations (JSON Lines or CSV)")),
        ("mturk", _("MTurk batch results (CSV): instances and ratings")),
        ("ratings", _("Ratings, long form (CSV or JSON Lines)")),
        ("tables", _("Comparison tables (JSON Lines)")),
    ]

    kind = forms.ChoiceField(choices=KINDS, label=_("What is in the file"))
    file = forms.FileField(label=_("File"))
    dataset = forms.CharField(
        required=False, max_length=100, label=_("Data set"), help_text=_("For MTurk results; or where lines name none.")
    )
    system_1 = forms.CharField(
        required=False, max_length=200, label=_("System 1"), help_text=_("MTurk results: whose Input.id is 1 (A).")
    )
    system_2 = forms.CharField(
        required=False, max_length=200, label=_("System 2"), help_text=_("MTurk results: whose Input.id is 2 (B).")
    )

    def clean_file(self) -> UploadedFile:
        """Refuse a file too large to be read within a web request."""
        file: UploadedFile = self.cleaned_data["file"]
        if (file.size or 0) > settings.UPLOAD_MAX_BYTES:
            limit = settings.UPLOAD_MAX_BYTES // 2**20
            raise forms.ValidationError(
                _("Larger than %(limit)d MB; read it with manage.py import_study instead."), params={"limit": limit}
            )
        return file

    def clean(self) -> dict[str, Any]:
        """Ask for the names that an MTurk file does not hold."""
        cleaned = super().clean() or {}
        if cleaned.get("kind") == "mturk":
            for field in ("dataset", "system_1", "system_2"):
                if not cleaned.get(field):
                    self.add_error(field, _("MTurk results need this."))
        return cleaned


class NewStudyForm(UploadForm):
    """A new study together with its first file."""

    KINDS = UploadForm.KINDS[:2]

    kind = forms.ChoiceField(choices=KINDS, label=_("What is in the file"))
    slug = forms.SlugField(
        max_length=80, label=_("Short name"), help_text=_("Letters, digits and dashes: part of addresses.")
    )
    title = forms.CharField(max_length=200, required=False, label=_("Title"))
    task_kind = forms.ChoiceField(choices=TaskKind.choices, label=_("Task"))
    question = forms.CharField(
        max_length=300, required=False, label=_("Question"), help_text=_("What raters are asked of each pair.")
    )

    field_order = ["slug", "title", "task_kind", "question", "kind", "file", "dataset", "system_1", "system_2"]

    def clean_slug(self) -> str:
        """Refuse a name that is taken: by any study, also one that this user may not see."""
        slug: str = self.cleaned_data["slug"]
        if Study.objects.filter(slug=slug).exists():
            raise forms.ValidationError(_("This name is taken."))
        return slug


class BatchForm(forms.Form):
    """A batch to be made."""

    name = forms.CharField(max_length=200, label=_("Name"))
    configuration = forms.ChoiceField(label=_("Data set and systems"))
    purpose = forms.ChoiceField(
        choices=Batch.Purpose.choices,
        initial=Batch.Purpose.RATING,
        required=False,
        label=_("What the answers are for"),
        help_text=_(
            "A qualification and hidden checks take instances whose gold prefers one of the two systems, "
            "and go to every rater."
        ),
    )
    pairs = forms.IntegerField(min_value=1, initial=5, label=_("Pairs per HIT"))
    raters = forms.IntegerField(
        min_value=1,
        max_value=MOST_RATERS,
        initial=3,
        label=_("Raters per HIT"),
        help_text=_("Of a batch for ratings."),
    )
    select = forms.CharField(
        initial="all",
        label=_("Which instances"),
        help_text=_("all, random:N, top:N, stratified:BxN (N from each of B bins of separability), or importance:N."),
    )
    similarity = forms.ChoiceField(
        required=False,
        choices=[("", _("computed last")), *((name, name) for name in similarities.names())],
        label=_("Similarity"),
        help_text=_("Whose separability to choose by."),
    )
    gold_rate = forms.FloatField(
        min_value=0,
        max_value=MOST_CHECKS,
        initial=0,
        required=False,
        label=_("Hidden gold HITs"),
        help_text=_(
            "Share of a rater’s HITs, as 0.1; of a batch for ratings. They come from the study’s gold batches."
        ),
    )
    repeat_rate = forms.FloatField(
        min_value=0,
        max_value=MOST_CHECKS,
        initial=0,
        required=False,
        label=_("Hidden repeats"),
        help_text=_(
            "Share of a rater’s HITs that are an earlier one once more, sides swapped. Both together: 0.5 at most."
        ),
    )
    lease_minutes = forms.IntegerField(
        min_value=1,
        max_value=LONGEST_LEASE,
        initial=60,
        required=False,
        label=_("Minutes for a HIT"),
        help_text=_("So long it stays claimed without a sign of its rater; then others may have it."),
    )
    seed = forms.IntegerField(
        min_value=0, max_value=2**31 - 1, required=False, label=_("Seed"), help_text=_("Drawn when left empty.")
    )

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.known: list[Configuration] = configurations(study)
        places = [(str(place), str(one)) for place, one in enumerate(self.known)]
        self.fields["configuration"] = forms.ChoiceField(choices=places, label=_("Data set and systems"))

    def clean_configuration(self) -> Configuration:
        """Return the chosen configuration itself."""
        return self.known[int(self.cleaned_data["configuration"])]


class ReturnForm(forms.Form):
    """Why a HIT is given back."""

    reason = forms.ChoiceField(
        choices=Assignment.ReturnReason.choices, widget=forms.RadioSelect, label=_("Why do you give it back?")
    )
    comment = forms.CharField(
        required=False,
        max_length=LONGEST_COMMENT,
        widget=forms.Textarea(attrs={"rows": 3}),
        label=_("Anything that the researcher should know? (optional)"),
    )


class FlagForm(forms.Form):
    """A pair reported as broken, or a row of its comparison table as not supported by the texts."""

    pair_key = forms.CharField(max_length=64)
    row = forms.IntegerField(required=False, min_value=0, max_value=MOST_ROWS)
    take_back = forms.BooleanField(required=False)
    kind = forms.ChoiceField(required=False, choices=PAIR_FLAGS)
    comment = forms.CharField(required=False, max_length=LONGEST_COMMENT)

    def clean(self) -> dict[str, Any]:
        """Ask what is wrong with a pair, unless it is about a row."""
        cleaned = super().clean() or {}
        if cleaned.get("row") is None and not self.errors and not cleaned.get("kind"):
            self.add_error("kind", _("Please say what is wrong with the pair."))
        return cleaned
