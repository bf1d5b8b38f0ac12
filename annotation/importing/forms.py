"""Forms with which studies are made, copied and filled."""

import itertools
import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from django import forms
from django.conf import settings
from django.utils.text import slugify

from annotation.core.counting import counted
from annotation.core.errors import Unacceptable
from annotation.core.files.file_bounds import command_for
from annotation.core.files.mapping import HELP as MAPPING_HELP
from annotation.core.files.mapping import parse_mapping
from annotation.core.names import ShortNameField, free_short_name
from annotation.importing.formats.public_forms import AUTO
from annotation.models import ResearchGroup, Study
from annotation.models.studies import RESERVED_SLUGS
from annotation.studies.presets import BLANK, TEMPLATES, StudyTemplate, find_template

MAPPED = (AUTO, "study", "sources", "ratings", "judgments")  # kinds that take a mapping
MOST_COPIED = 2000  # instances, within one request


class SeveralFilesInput(forms.ClearableFileInput):
    """Lets several files be chosen."""

    allow_multiple_selected = True


class FilesField(forms.FileField):
    """One or several files, as a list."""

    widget = SeveralFilesInput
    default_error_messages = {"empty": "The file is empty. An export without rows needs no import."}

    def clean(self, data: Any, initial: Any = None) -> list[Any]:
        """Check each file."""
        sent = data if isinstance(data, list | tuple) else [data]
        cleaned = [super(FilesField, self).clean(item, initial) for item in sent or [None]]
        return [item for item in cleaned if item]


class UploadForm(forms.Form):
    """Files to be read into a study."""

    KINDS = [
        (AUTO, "Recognise it by its fields"),
        ("study", "Study file: instances and generations (JSON Lines or CSV)"),
        ("labelled", "Two outputs and which is better (JSON): input, output_1, output_2, label"),
        ("preferences", "Preference pairs (JSON): prompt, chosen, rejected"),
        (
            "outputs",
            "AlpacaEval’s outputs of two or more systems (JSON): instruction, output, generator (if missing, the file’s name)",
        ),
        ("sources", "Source texts alone (JSON Lines or CSV): their generations are sampled later"),
        ("mturk", "MTurk batch results (CSV): instances and ratings"),
        ("ratings", "Ratings, long form (CSV or JSON Lines)"),
        ("judgments", "Judgments made elsewhere (CSV or JSON Lines)"),
        ("tables", "Comparison tables (CSV or JSON Lines)"),
        ("alpacaeval", "AlpacaEval’s annotations by judges (JSON): instances and judgments"),
        ("battles", "Arena battles with conversations (JSON): instances and votes"),
        ("label-studio", "Label Studio’s pairwise tasks (JSON): instances and votes"),
    ]
    WHOLE = [
        ("bundle", "Bundle (ZIP archive): a whole study, for an empty one"),
        ("bundle-check", "Bundle (ZIP archive) to verify: nothing is stored"),
    ]

    kind = forms.ChoiceField(choices=KINDS, label="What is in the file")
    file = FilesField(
        label="File",
        help_text=(
            "One or several files of one data set: JSON, JSON Lines, CSV, TSV, Excel or Parquet; or their folder as a ZIP archive. "
            f"Up to {settings.UPLOAD_MAX_BYTES // 2**20} MB."
        ),
    )
    dataset = forms.CharField(
        required=False, max_length=100, label="Data set", help_text="For MTurk results, or lines that name none."
    )
    system_1 = forms.CharField(
        required=False,
        max_length=200,
        label="System 1",
        help_text="MTurk results: whose Input.id is 1 (A). Outputs: the reference.",
    )
    system_2 = forms.CharField(
        required=False, max_length=200, label="System 2", help_text="MTurk results: whose Input.id is 2 (B)."
    )

    mapping = forms.CharField(
        required=False,
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 3, "placeholder": "source=prompt\ngenerations.gpt-4=answer_a"}),
        label="Mapping",
        help_text=(
            f"For study files, sources, ratings and judgments with columns of other names, a line each: {MAPPING_HELP}."
        ),
    )

    def __init__(self, *args: Any, is_whole: bool = False, **kwargs: Any) -> None:
        """Offer whole studies too, if the user may read them in."""
        super().__init__(*args, **kwargs)
        kinds: Any = self.fields["kind"]
        if is_whole:
            kinds.choices = [*self.KINDS, *self.WHOLE]
        allowed = ", ".join(name for name, _ in kinds.choices if name)
        kinds.error_messages["invalid_choice"] = f"Unknown kind of file “%(value)s”. Allowed: {allowed}."

    def clean_file(self) -> list[Any]:
        """Refuse files that are too large together, or too many."""
        files: list[Any] = self.cleaned_data["file"]
        if sum(file.size or 0 for file in files) > settings.UPLOAD_MAX_BYTES:
            limit, command = settings.UPLOAD_MAX_BYTES // 2**20, command_for(self.cleaned_data.get("kind", ""))
            raise forms.ValidationError(
                f"Larger than {limit} MB; split it, or import it with {settings.COMMAND} {command}."
            )
        return files

    def clean_mapping(self) -> str:
        """Check the mapping."""
        mapping: str = self.cleaned_data["mapping"].strip()
        try:
            parse_mapping(line for line in mapping.splitlines() if line.strip())
        except Unacceptable as error:
            raise forms.ValidationError(str(error)) from None
        return mapping

    def clean(self) -> dict[str, Any]:
        """Require the names that an MTurk file does not contain, and refuse a mapping for other forms of files."""
        cleaned = super().clean() or {}
        if cleaned.get("mapping") and (cleaned.get("kind") or "study") not in MAPPED:
            titles = "; ".join(title for kind, title in self.KINDS if kind in MAPPED)
            self.add_error("mapping", f"Only these kinds take a mapping: {titles}.")
        if cleaned.get("kind") == "mturk":
            for field in ("dataset", "system_1", "system_2"):
                if not cleaned.get(field):
                    self.add_error(field, "MTurk results need this.")
        return cleaned


class LookForm(UploadForm):
    """The options with which files are imported after a look."""

    file = None  # type: ignore[assignment]  # takes the field away

    field_order = ["kind", "mapping", "dataset", "system_1", "system_2"]


class NamesStudyForm(forms.Form):
    """Name and group of a new study."""

    slug = ShortNameField(
        max_length=80,
        label="Short name",
        help_text="Letters, digits, dashes and underscores: part of addresses.",
    )
    group = forms.ModelChoiceField(
        queryset=ResearchGroup.objects.none(),
        to_field_name="slug",
        required=False,
        empty_label=None,
        label="Group",
        help_text="Users with a role in the group see the study.",
    )

    def __init__(self, *args: Any, groups: Sequence[ResearchGroup], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.groups = groups
        group_field: Any = self.fields["group"]
        group_field.queryset = ResearchGroup.objects.filter(pk__in=[group.pk for group in groups])
        group_field.label_from_instance = lambda group: group.name
        self.initial.setdefault("group", groups[0].slug)

    def clean_slug(self) -> str:
        """Refuse the name of any study, also of those hidden from this user, and reserved names."""
        return free_short_name(Study, self.cleaned_data["slug"], RESERVED_SLUGS)

    def clean_group(self) -> ResearchGroup:
        """Default to the first group."""
        return self.cleaned_data["group"] or self.groups[0]


class NewStudyForm(NamesStudyForm):
    """Name, group and template of a new study."""

    template = forms.ChoiceField(
        choices=[(template.name, template.title) for template in TEMPLATES.values()],
        required=False,
        initial=BLANK,
        label="Template",
    )

    def clean_template(self) -> StudyTemplate:
        """Return the template object."""
        return find_template(self.cleaned_data["template"] or BLANK)


class StudyOfFilesForm(NewStudyForm, UploadForm):
    """The page of a new study. The files, if any, give its names where none are filled in."""

    KINDS = [kind for kind in UploadForm.KINDS if kind[0] not in ("ratings", "judgments", "tables")]

    slug = ShortNameField(max_length=80, required=False, label="Short name", help_text="Part of addresses.")
    title = forms.CharField(max_length=200, required=False, label="Title")
    kind = forms.ChoiceField(choices=KINDS, required=False, initial=AUTO, label="What is in the file")
    file = FilesField(required=False, label="Files", help_text=UploadForm.base_fields["file"].help_text)

    def clean(self) -> dict[str, Any]:
        """Check the upload fields only if there are files, and fill in names."""
        files = self.cleaned_data.get("file", ())
        if files:
            super().clean()
        return self.with_names([str(file.name) for file in files])

    def with_names(self, file_names: Sequence[str]) -> dict[str, Any]:
        """Fill in a title and a free short name by the names of files."""
        cleaned, errors = self.cleaned_data, self.errors
        stems = dict.fromkeys(PurePath(name).stem for name in file_names)
        named = cleaned.get("title") or " vs ".join([*stems][:2])[:200] or "Study"
        # One file tells the subject, several tell systems.
        cleaned["title"] = cleaned.get("title") or (_readable(named) if len(stems) == 1 else named)
        if not cleaned.get("slug") and "slug" not in errors:
            cleaned["slug"] = _free_slug(slugify(named.replace(".", "-"))[:70] or "study")
        return cleaned

    @property
    def values(self) -> dict[str, str]:
        """The values of a valid form, with which it can be shown again."""
        cleaned = {**self.cleaned_data, "file": ""}
        cleaned |= {"group": cleaned["group"].slug, "template": cleaned["template"].name}
        return {name: str(value) for name, value in cleaned.items() if value}


class StudyOfKeptFilesForm(StudyOfFilesForm):
    """A new study of files that were sent."""

    file = None  # type: ignore[assignment]  # takes the field away

    field_order = ["kind", "mapping", "template", "title", "slug", "group", "dataset", "system_1", "system_2"]

    def __init__(self, *args: Any, file_names: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.file_names = file_names
        if len(self.groups) == 1:
            self.fields["group"].widget = forms.HiddenInput()

    def clean(self) -> dict[str, Any]:
        """Check the upload fields, and fill in names."""
        UploadForm.clean(self)
        return self.with_names(self.file_names)


def _readable(name: str) -> str:
    """Return a title for the name of a file: blanks for dashes and underscores, but not between digits as in dates."""
    words = re.sub(r"(?<!\d)[-_]+|[-_]+(?!\d)", " ", name).strip()
    return words[:1].upper() + words[1:] or name


def _free_slug(name: str) -> str:
    """Return a short name that no study has, which begins with `name`."""
    names = (name if number == 1 else f"{name}-{number}" for number in itertools.count(1))
    return next(
        slug for slug in names if slug not in RESERVED_SLUGS and not Study.objects.filter(slug__iexact=slug).exists()
    )


class CopyStudyForm(NamesStudyForm):
    """A copy of a study."""

    title = forms.CharField(max_length=200, required=False, label="Title", help_text="Default: the same title.")
    with_instances = forms.BooleanField(
        required=False,
        label="With its instances",
        help_text="Systems, texts, pairs and comparison tables. Ratings, batches and raters are never copied.",
    )

    field_order = ["slug", "title", "group", "with_instances"]

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.study = study

    def clean_with_instances(self) -> bool:
        """Refuse more instances than a web request can copy."""
        with_instances: bool = self.cleaned_data["with_instances"]
        if with_instances and (count := self.study.instances.count()) > MOST_COPIED:
            command = f"{settings.COMMAND} copy_study {self.study.slug} --to NAME --with-instances"
            raise forms.ValidationError(f"It has {counted(count, 'instances')}; copy it with {command}.")
        return with_instances


def how_to_import(form: forms.Form) -> dict[str, Any]:
    """Return the kind and the options of an import from a valid form."""
    cleaned = form.cleaned_data
    options = {key: cleaned[key] for key in ("dataset", "system_1", "system_2")}
    if cleaned["mapping"]:
        options["mapping"] = cleaned["mapping"]
    return {"kind": cleaned["kind"] or "study", "options": options}
