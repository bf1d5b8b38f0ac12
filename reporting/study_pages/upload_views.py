"""Views of uploads: the form, the progress and result of an import, its errors as a file."""

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse

from annotation.core.files.spreadsheet import csv_lines
from annotation.core.http import MOST_SHOWN, as_download, attempt, is_htmx
from annotation.core.markdown import shown_text, shown_texts
from annotation.core.refusals import restored
from annotation.core.tables import DataTable, Row
from annotation.importing.formats.public_forms import AUTO
from annotation.importing.forms import LookForm, StudyOfKeptFilesForm, UploadForm, how_to_import
from annotation.members.permissions import FORM, READERS, account_of, is_site_admin, study_view
from annotation.models import Pair, Study, Upload
from annotation.questions.labels import side_name, translate_default
from annotation.questions.questions import choice_label
from reporting.uploads.jobs import MOST_LISTED, STUDY_IMPORTS, UNDER_WAY, begin, keep, kept, look, progress_of, take_in

if TYPE_CHECKING:
    from reporting.uploads.look import Look

UPLOAD = "reporting/study_pages/upload.html"


@study_view(*READERS, methods=FORM)
def upload(request: HttpRequest, study: Study) -> HttpResponse:
    """Import more files into a study."""
    form = UploadForm(request.POST or None, request.FILES or None, is_whole=is_site_admin(request.user))
    if form.is_valid():
        by = account_of(request)
        if "look" in request.POST and form.cleaned_data["kind"] not in STUDY_IMPORTS:
            if key := attempt(form, lambda: keep(study, form.cleaned_data["file"]), field="file"):
                how = {name: form.cleaned_data[name] for name in LookForm.base_fields if form.cleaned_data[name]}
                return redirect(f"{reverse('annotation:upload-look', args=[study.slug, key])}?{urlencode(how)}")
            return TemplateResponse(request, UPLOAD, {"form": form, "study": study}, status=422)
        if created := attempt(
            form,
            lambda: take_in(study=study, files=form.cleaned_data["file"], **how_to_import(form), by=by),
            field="file",
        ):
            return after_upload(request, created)
    context = {"form": form, "study": study, "uploads": study.uploads.select_related("asked_by")[:MOST_LISTED]}
    return TemplateResponse(request, UPLOAD, context, status=422 if form.is_bound else 200)


@study_view(*READERS, methods=FORM)
def upload_look(request: HttpRequest, study: Study, *, key: str) -> HttpResponse:
    """Show what files that were sent would become, and import them."""
    if study.uploads.filter(key=key).exists():  # the import has begun
        return redirect("annotation:upload-page", study.slug, key)
    form = LookForm({"kind": AUTO, **(request.POST or request.GET).dict()})
    context: dict[str, Any] = {"study": study, "form": form, "upload": kept(study, key)}
    if form.is_valid():
        how = how_to_import(form)
        if "import" in request.POST:
            return after_upload(request, begin(study=study, key=key, by=account_of(request), **how))
        context |= look_context(look(study=study, key=key, **how), form, study)
    template = "reporting/study_pages/upload_look.html"
    return TemplateResponse(request, template, context, status=200 if form.is_valid() else 422)


def look_context(preview: "Look", form: LookForm | StudyOfKeptFilesForm, study: Study) -> dict[str, Any]:
    """Return the context of a look: its form with the mapping that was guessed, and pairs as raters of `study` will see them."""
    columns = list(dict.fromkeys(name for row in preview.rows for name in row))
    cells: list[Row] = [
        ((), [json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value for value in values])
        for values in (map(row.get, columns) for row in preview.rows)
    ]
    names = {side: side_name(choice_label(side, *study.side_labels)) for side in ("left", "right")}
    shared = {"study": study, "source_label": translate_default(study.source_label), "side_names": names}
    context: dict[str, Any] = {
        "look": preview,
        "pairs": [
            {
                **shared,
                "source": shown_text(pair.matchup.instance.content, **study.text_options),
                "card": dict(zip(("left", "right"), _texts(pair, study), strict=True)),
            }
            for pair in preview.pairs
        ],
        "rows": DataTable("rows", "As they will be stored", columns, cells, css="stack"),
    }
    if not form.cleaned_data["mapping"] and preview.mapping:
        mapping = "\n".join(f"{name}={column}" for name, column in preview.mapping.items())
        form.data = {**form.data, "kind": preview.kind, "mapping": mapping}
    elif preview.kind == "mturk":  # which needs names that the form asks for
        form.data = {**form.data, "kind": preview.kind}
    return context


def _texts(pair: Pair, study: Study) -> list[str]:
    return shown_texts((pair.generation_a.content, pair.generation_b.content), **study.text_options)


def after_upload(request: HttpRequest, upload: Upload) -> HttpResponse:
    """Redirect to the study if the file has been imported, else to the page of the upload."""
    if upload.status == Upload.Status.DONE:
        added, *notices = upload.message.text.splitlines()
        messages.success(request, added)
        for notice in notices:
            messages.warning(request, notice)
        return redirect("annotation:study", upload.study.slug)
    return redirect("annotation:upload-page", upload.study.slug, upload.key)


@study_view(*READERS)
def upload_page(request: HttpRequest, study: Study, *, key: str) -> HttpResponse:
    """Show the progress of an import, and its result."""
    return show_upload(request, get_object_or_404(study.uploads, key=key))


def show_upload(request: HttpRequest, row: Upload) -> HttpResponse:
    """Show an upload, at an address that is asked again while it is under way."""
    context = {
        "study": row.study,
        "upload": row,
        "busy": row.status in UNDER_WAY,
        "progress": progress_of(row),
        "bad_lines": [restored(**line) for line in row.bad_lines[:MOST_SHOWN]],
    }
    template = "reporting/study_pages/upload_page.html"
    return TemplateResponse(request, f"{template}#upload" if is_htmx(request) else template, context)


@study_view(*READERS)
def errors(request: HttpRequest, study: Study, *, key: str) -> HttpResponse:
    """Send the bad lines of an upload as CSV."""
    row = get_object_or_404(study.uploads, key=key)
    rows = ({"line": line.number, "reason": line.text} for line in (restored(**stored) for stored in row.bad_lines))
    lines = csv_lines(rows, ("line", "reason"))
    return as_download(HttpResponse(lines, content_type="text/csv; charset=utf-8"), f"{study.slug}-errors.csv")
