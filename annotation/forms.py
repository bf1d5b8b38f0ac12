"""Forms of the pages: they check what was sent and hand clean values to services."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext_lazy as _

from annotation.models import Assignment, Flag, ResearchGroup, Study
from annotation.models.study import RESERVED_SLUGS
from annotation.services.sending import Sent
from annotation.study_templates import BLANK, TEMPLATES, StudyTemplate, find_template

LONGEST_COMMENT = 2000
MOST_COPIED = 2000  # instances, within one request
MOST_ROWS = 32_767  # what the column holds
PAIR_FLAGS = tuple((kind.value, kind.label) for kind in Flag.Kind if kind != Flag.Kind.UNSUPPORTED_ROW)


class VoteForm(forms.Form):
    """One choice on one pair of a HIT, and what the page says about it."""

    SAID = ("page", "version", "chosen_at", "active_seconds", "wall_seconds")

    _NO_CHOICE = _("Please choose one of the answers.")

    pair_key = forms.CharField(max_length=64)
    # Which choices there are is the study's affair: `record` refuses any other.
    choice = forms.CharField(error_messages={"required": _NO_CHOICE, "null_characters_not_allowed": _NO_CHOICE})
    page = forms.CharField(required=False, max_length=32)
    version = forms.IntegerField(required=False, min_value=0)
    chosen_at = forms.DateTimeField(required=False)
    active_seconds = forms.FloatField(required=False, min_value=0)
    wall_seconds = forms.FloatField(required=False, min_value=0)

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
        ("labelled", _("Two outputs and which is better (JSON): input, output_1, output_2, label")),
        ("preferences", _("Preference pairs (JSON): prompt, chosen, rejected")),
        ("sources", _("Source texts alone (JSON Lines or CSV): their generations are sampled later")),
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

    def clean_file(self) -> UploadedFile | None:
        """Refuse a file too large to be read within a web request."""
        file: UploadedFile | None = self.cleaned_data["file"]
        if file and (file.size or 0) > settings.UPLOAD_MAX_BYTES:
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


class NamesStudyForm(forms.Form):
    """What a study that is made is called, and which group it belongs to."""

    slug = forms.SlugField(
        max_length=80, label=_("Short name"), help_text=_("Letters, digits and dashes: part of addresses.")
    )
    group = forms.ModelChoiceField(
        queryset=ResearchGroup.objects.none(),
        to_field_name="slug",
        required=False,
        empty_label=None,
        label=_("Group"),
        help_text=_("Whoever has a role in it sees the study."),
    )

    def __init__(self, *args: Any, groups: Sequence[ResearchGroup], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.groups = groups
        chosen: Any = self.fields["group"]
        chosen.queryset = ResearchGroup.objects.filter(pk__in=[group.pk for group in groups])
        chosen.label_from_instance = lambda group: group.name
        self.initial.setdefault("group", groups[0].slug)

    def clean_slug(self) -> str:
        """Refuse a name that is taken: by any study, also one that this user may not see; and those of pages."""
        slug: str = self.cleaned_data["slug"]
        if Study.objects.filter(slug=slug).exists() or slug in RESERVED_SLUGS:
            raise forms.ValidationError(_("This name is taken."))
        return slug

    def clean_group(self) -> ResearchGroup:
        """Return the first group where none is named."""
        return self.cleaned_data["group"] or self.groups[0]


class NewStudyForm(NamesStudyForm, UploadForm):
    """A new study: its name, what it begins from, and its first file, which may come later."""

    KINDS = UploadForm.KINDS[:5]

    kind = forms.ChoiceField(choices=KINDS, required=False, label=_("What is in the file"))
    file = forms.FileField(
        required=False,
        label=_("File of instances and generations"),
        help_text=_("May come later. It is read whole or not at all."),
    )
    template = forms.ChoiceField(
        choices=[(one.name, one.title) for one in TEMPLATES.values()],
        required=False,
        initial=BLANK,
        label=_("Begin from"),
        widget=forms.HiddenInput,
    )

    field_order = ["template", "slug", "group", "kind", "file", "dataset", "system_1", "system_2"]

    def clean_template(self) -> StudyTemplate:
        """Return the template itself."""
        return find_template(self.cleaned_data["template"] or BLANK)

    def clean(self) -> dict[str, Any]:
        """Ask for the names that an MTurk file does not hold, where there is one."""
        return super().clean() if self.cleaned_data.get("file") else self.cleaned_data

    @property
    def read(self) -> dict[str, Any] | None:
        """What `read_upload` takes of a valid form's file, if there is one."""
        return file_of(self) if self.cleaned_data["file"] else None


class CopyStudyForm(NamesStudyForm):
    """A copy of a study."""

    title = forms.CharField(max_length=200, required=False, label=_("Title"), help_text=_("Empty: the same one."))
    with_instances = forms.BooleanField(
        required=False,
        label=_("With its instances"),
        help_text=_("Systems, texts, pairs and comparison tables. Ratings, batches and raters are never copied."),
    )

    field_order = ["slug", "title", "group", "with_instances"]

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.study = study

    def clean_with_instances(self) -> bool:
        """Refuse to copy within a web request what takes long."""
        wanted: bool = self.cleaned_data["with_instances"]
        if wanted and (count := self.study.instances.count()) > MOST_COPIED:
            told = _(
                "It has %(count)d instances; copy it with manage.py copy_study %(slug)s --to NAME --with-instances."
            )
            raise forms.ValidationError(told, params={"count": count, "slug": self.study.slug})
        return wanted


def file_of(form: forms.Form) -> dict[str, Any]:
    """Return what `read_upload` takes of a valid form with a file."""
    cleaned = form.cleaned_data
    names = {key: cleaned[key] for key in ("dataset", "system_1", "system_2")}
    return {"kind": cleaned["kind"] or "study", "data": cleaned["file"].read(), "name": cleaned["file"].name, **names}


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
