"""A batch for MTurk's requester site by file, from the channel's page: what to upload there, and the results back."""

import io
import zipfile
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.core.http import as_download, attempt
from annotation.members.permissions import FORM, MANAGERS, study_view
from annotation.models import Batch, Channel, Study
from annotation.recruitment.mturk.export import export_batch
from annotation.recruitment.mturk.launch import project_of
from annotation.recruitment.mturk.offline_results import import_results
from annotation.recruitment.mturk.panel_forms import ByFileForm


@study_view(*MANAGERS, methods=FORM)
def by_file(request: HttpRequest, study: Study, channel_key: str) -> HttpResponse:
    """Download a batch's files for the requester site; a POST reads its results, whole or not at all."""
    channel = get_object_or_404(study.channels.select_related("study"), key=channel_key, kind=Channel.Kind.MTURK)
    form = ByFileForm(request.POST if request.method == "POST" else request.GET, request.FILES, study=study)
    if not form.is_valid():
        messages.error(request, _("Choose a batch that is a draft, paused or closed."))
    elif request.method != "POST":
        return _files(channel, form.cleaned_data["batch"])
    elif (file := form.cleaned_data["file"]) is None:
        messages.error(request, _("Choose the file with the results."))
    elif told := attempt(form, lambda: _read(study, form.cleaned_data["batch"], file)):
        messages.success(request, told)
    for problem in form.non_field_errors():
        messages.error(request, str(problem))
    return redirect("annotation:channel", study.slug, channel.key)


def _files(channel: Channel, batch: Batch) -> HttpResponse:
    sheet = export_batch(study=channel.study, name=batch.name)
    project = "".join(f"{label}: {value}\r\n" for label, value in project_of(channel, sheet.assignments))
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in (("hits.csv", sheet.csv), ("template.html", sheet.page), ("project.txt", project.encode())):
            archive.writestr(name, data)
    response = HttpResponse(content.getvalue(), content_type="application/zip")
    return as_download(response, f"mturk-{channel.key}-{batch.pk}.zip")


def _read(study: Study, batch: Batch, file: Any) -> str:
    counts = import_results(data=file.read(), file_name=file.name, slug=study.slug, name=batch.name, at=timezone.now())
    told = ngettext("%(count)d assignment added.", "%(count)d assignments added.", counts.added) % {
        "count": counts.added
    }
    others = {
        _("read before"): counts.unchanged,
        _("beyond the places of their HIT"): counts.surplus,
        _("rejected since"): counts.rejected,
        _("rejected before"): counts.skipped,
        _("without consent"): counts.without_consent,
        _("of a worker who had the HIT"): counts.repeated,
        _("of deleted workers"): counts.erased,
    }
    return " ".join([told, *(f"{count} {label}." for label, count in others.items() if count)])
