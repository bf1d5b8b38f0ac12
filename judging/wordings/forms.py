"""The forms of the prompts' pages."""

from pathlib import Path
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile

from annotation.core.names import ShortNameField
from annotation.models import Pair, Study
from judging.core.errors import BadPrompt
from judging.wordings.checks import PARSER_HELP, READERS, problems_of
from judging.wordings.prompt_text import LONGEST, LONGEST_FILE, PromptText, read_prompt, split_prompt, too_long

NEITHER = "Choose a file, or paste a text."
BOTH = "Choose a file or paste a text, not both."


class PromptForm(forms.Form):
    """A prompt, pasted or as a file. `given` holds the parsed one if it is valid."""

    name = ShortNameField(
        required=False,
        max_length=80,
        label="Name",
        help_text="An existing name gets its next version. Default: the name in the head of the text, or of the file.",
    )
    parser = forms.ChoiceField(
        required=False,
        choices=[],
        label="Parser",
        help_text="How the verdict is read. Default: the parser in the head of the text.",
    )
    file = forms.FileField(
        required=False, label="File", widget=forms.ClearableFileInput(attrs={"accept": ".txt,text/plain"})
    )
    text = forms.CharField(
        required=False,
        strip=False,
        max_length=LONGEST,
        label="Text",
        widget=forms.Textarea(attrs={"rows": 16, "spellcheck": "false"}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offered = [(name, f"{name}: {PARSER_HELP[name]}" if name in PARSER_HELP else name) for name in READERS]
        fields: dict[str, Any] = self.fields
        fields["parser"].choices = [("", "—"), *offered]
        self.given = PromptText("")

    def clean_file(self) -> "UploadedFile[Any] | None":
        """Refuse a large file before reading it."""
        file: UploadedFile[Any] | None = self.cleaned_data["file"]
        if file and (file.size or 0) > LONGEST_FILE:
            raise forms.ValidationError(too_long())
        return file

    def clean(self) -> dict[str, Any]:
        """Parse the prompt and add its problems to the field that it came from."""
        cleaned = super().clean() or {}
        if self.errors:
            return cleaned
        file, text = cleaned["file"], cleaned["text"]
        if bool(file) == bool(text.strip()):
            raise forms.ValidationError(BOTH if file else NEITHER)
        try:
            self.given = read_prompt(file.read()) if file else split_prompt(text)
        except BadPrompt as error:
            self.add_error("file" if file else "text", error.problems)
            return cleaned
        cleaned["name"] = cleaned["name"] or self.given.name or (Path(file.name or "").stem if file else "")
        cleaned["parser"] = cleaned["parser"] or self.given.parser
        if problems := problems_of(self.given.text, cleaned["parser"]):
            self.add_error("file" if file else "text", problems)
        return cleaned


class PairForm(forms.Form):
    """The pair of a study for the preview, by default the first. `pair` is its primary key."""

    instance = forms.CharField(required=False, max_length=200, label="Instance", help_text="Default: the first one.")
    number = forms.IntegerField(required=False, min_value=1, max_value=32_767, label="Pair")

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.study = study
        self.pair: int | None = None

    def clean(self) -> dict[str, Any]:
        """Find the pair."""
        cleaned = super().clean() or {}
        pairs = Pair.objects.filter(matchup__instance__study=self.study)
        if cleaned.get("instance"):
            pairs = pairs.filter(matchup__instance__instance_id=cleaned["instance"])
        if cleaned.get("number"):
            pairs = pairs.filter(index=cleaned["number"] - 1)
        ordered = pairs.order_by("matchup__instance__position", "matchup", "index")
        self.pair = ordered.values_list("pk", flat=True).first()
        if self.pair is None and not self.errors and any(cleaned.values()):
            raise forms.ValidationError("The study has no such pair.")
        return cleaned
