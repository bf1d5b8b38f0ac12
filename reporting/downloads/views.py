"""The page of all files of a study."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from annotation.core.actions import checked
from annotation.core.files import parquet
from annotation.core.http import as_download, is_htmx
from annotation.members.permissions import POST, READERS, account_of, study_view
from annotation.models import Study
from reporting.downloads.jobs import files_of, path_of, queue_file
from reporting.exports.elsewhere import WantedVerdicts
from reporting.exports.files import EXCEL, KINDS, PARQUET, READ_BACK
from reporting.models import MadeFile
from reporting.refinement.given_preferences import count_preferences
from reporting.refinement.preferences_form import PreferencesForm

FORMATS = {"csv": "CSV", EXCEL: "CSV for Excel", "jsonl": "JSON Lines", PARQUET: "Parquet"}


class BundleForm(forms.Form):
    """What a bundle has beside the numbers."""

    texts = forms.BooleanField(required=False, initial=True, label="Texts: sources, generations and comparison tables")
    completions = forms.BooleanField(
        required=False,
        initial=True,
        label="Raw answers and rationales of judges (only with texts, which they quote)",
    )
    reasons = forms.BooleanField(required=False, initial=True, label="What raters wrote: reasons and comments")


@study_view(*READERS)
def show(request: HttpRequest, study: Study) -> HttpResponse:
    """List what can be downloaded, and the files that are made or are being made."""
    return _page(request, study)


def _page(
    request: HttpRequest, study: Study, preferences: PreferencesForm | None = None, status: int = 200
) -> HttpResponse:
    files = files_of(study)
    latest = {file.kind: file.options for file in reversed(files)}
    preferences = preferences or PreferencesForm(study=study, initial=latest.get(MadeFile.Kind.PREFERENCES))
    context = {
        "study": study,
        "groups": (list(READ_BACK), [kind for kind in KINDS if kind not in READ_BACK]),
        "formats": {form: name for form, name in FORMATS.items() if form != PARQUET or parquet.is_available()},
        "preferences": preferences,
        "bundle": BundleForm(initial=latest.get(MadeFile.Kind.BUNDLE)),
        "files": files,
        "busy": any(file.is_busy for file in files),
    }
    template = "reporting/downloads/downloads.html"
    return TemplateResponse(request, f"{template}#files" if is_htmx(request) else template, context, status=status)


@study_view(*READERS, methods=POST)
def make_preferences(request: HttpRequest, study: Study) -> HttpResponse:
    """Queue a file of training data."""
    form = PreferencesForm(request.POST, study=study)
    if not form.is_valid():
        return _page(request, study, form, status=422)
    return _queue(request, study, MadeFile.Kind.PREFERENCES, form.cleaned_data)


@study_view(*READERS, methods=POST)
def count_rows(request: HttpRequest, study: Study) -> HttpResponse:
    """Return how many rows a file of training data would have."""
    form, context = PreferencesForm(request.POST, study=study), {}
    if form.is_valid():
        options = dict(form.cleaned_data)
        rows = count_preferences(study, options.pop("form"), WantedVerdicts(**options))
        context = {"rows": rows, "is_large": rows is None}
    return TemplateResponse(request, "reporting/downloads/downloads.html#count", context)


@study_view(*READERS, methods=POST)
def make_bundle(request: HttpRequest, study: Study) -> HttpResponse:
    """Queue a bundle of the study."""
    return _queue(request, study, MadeFile.Kind.BUNDLE, checked(BundleForm(request.POST)))


@study_view(*READERS, methods=POST)
def make_report(request: HttpRequest, study: Study) -> HttpResponse:
    """Queue a report of the study."""
    return _queue(request, study, MadeFile.Kind.REPORT, {})


def _queue(request: HttpRequest, study: Study, kind: str, options: dict[str, Any]) -> HttpResponse:
    _file, is_new = queue_file(study, kind, options, account_of(request))
    if not is_new:
        messages.info(request, "It is under way already.")
    return redirect("reporting:downloads", study.slug)


@study_view(*READERS)
def download(request: HttpRequest, study: Study, *, key: str) -> Any:
    """Send a file that was made."""
    return packed(study, find_file(study, key))


def find_file(study: Study, key: str) -> MadeFile:
    """Return one of the files that a study has, or raise Http404."""
    file = next((item for item in files_of(study) if item.key == key), None)
    if file is None:
        raise Http404(f"file {key} is not there")
    return file


def packed(study: Study, ready_file: MadeFile) -> HttpResponseBase:
    """Return a file that is done, to be saved, or raise Http404."""
    try:
        if ready_file.status != MadeFile.Status.DONE:
            raise FileNotFoundError
        file = path_of(ready_file).open("rb")
    except OSError:
        raise Http404(f"file {ready_file.key} is not there") from None
    return as_download(FileResponse(file, content_type="application/zip"), f"{study.slug}-{ready_file.kind}.zip")
