"""Views of uploads: the form, the progress and result of an import, its errors as a file."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse

from annotation.core.files.spreadsheet import csv_lines
from annotation.core.http import MOST_SHOWN, as_download, attempt, is_htmx
from annotation.core.refusals import restored
from annotation.importing.forms import UploadForm, sent_in
from annotation.members.permissions import FORM, READERS, account_of, is_site_admin, study_view
from annotation.models import Study, Upload
from reporting.uploads.jobs import MOST_LISTED, UNDER_WAY, progress_of, take_in


@study_view(*READERS, methods=FORM)
def upload(request: HttpRequest, study: Study) -> HttpResponse:
    """Import more files into a study."""
    form = UploadForm(request.POST or None, request.FILES or None, whole=is_site_admin(request.user))
    if form.is_valid():
        by = account_of(request)
        if created := attempt(form, lambda: take_in(study=study, **sent_in(form), by=by), field="file"):
            return after_upload(request, created)
    context = {"form": form, "study": study, "uploads": study.uploads.select_related("asked_by")[:MOST_LISTED]}
    template = "reporting/study_pages/upload.html"
    return TemplateResponse(request, template, context, status=422 if form.is_bound else 200)


def after_upload(request: HttpRequest, upload: Upload) -> HttpResponse:
    """Redirect to the study if the file has been imported, else to the page of the upload."""
    if upload.status == Upload.Status.DONE:
        added, *notices = upload.message.splitlines()
        messages.success(request, added)
        for notice in notices:
            messages.warning(request, notice)
        return redirect("annotation:study", upload.study.slug)
    return redirect("annotation:upload-page", upload.study.slug, upload.key)


@study_view(*READERS)
def upload_page(request: HttpRequest, study: Study, *, key: str) -> HttpResponse:
    """Show the progress of an import, and its result."""
    row = get_object_or_404(study.uploads, key=key)
    context = {
        "study": study,
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
