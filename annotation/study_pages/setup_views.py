"""Views that make, change, copy and archive a study, and show its log."""

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotation.core.errors import AmendmentNeeded, InvalidSelection, SettingFixed
from annotation.core.http import attempt
from annotation.importing.forms import CopyStudyForm, NewStudyForm
from annotation.importing.new_studies import copy_study, create_study
from annotation.members.permissions import (
    FORM,
    MANAGERS,
    POST,
    READERS,
    account_of,
    group_of_copy,
    groups_of_new_study,
    has_any_role,
    study_view,
)
from annotation.models import Study
from annotation.quality.qualification import too_few_hits
from annotation.studies.archive import archive_study, restore_study
from annotation.studies.log import about, changes_of, events_of
from annotation.studies.presets import BLANK, TEMPLATES, StudyTemplate
from annotation.studies.services import save_settings
from annotation.studies.settings_form import LONGEST_REASON, FirstSettingsForm, StudySettingsForm

EVENTS_A_PAGE = 50


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new_study(request: HttpRequest) -> HttpResponse:
    """Make a study, from a template or blank, optionally with its first file."""
    if not has_any_role(request.user, *READERS):
        raise PermissionDenied
    query = request.POST if request.method == "POST" else request.GET
    template = TEMPLATES.get(query.get("template", BLANK), TEMPLATES[BLANK])
    data, files = (request.POST, request.FILES) if request.method == "POST" else (None, None)
    groups = groups_of_new_study(account_of(request))
    form = NewStudyForm(data, files, groups=groups, initial={"template": template.name})
    settings = FirstSettingsForm(data, instance=template.study())
    if data is not None and all([form.is_valid(), settings.is_valid()]):
        made = _create(request, form, settings)
        if made is not None:
            return redirect("annotation:study", made.slug)
    context = {
        "form": form,
        "settings": settings,
        "templates": TEMPLATES.values(),
        "template": template,
        "choose_group": len(groups) > 1,
        "file_open": any(form[name].errors for name in ("dataset", "system_1", "system_2")),
    }
    return render(request, "annotation/study_pages/new_study.html", context, status=422 if data is not None else 200)


def _create(request: HttpRequest, form: NewStudyForm, settings: FirstSettingsForm) -> Study | None:
    """Make a study from two valid forms; show a domain error at the first."""
    names = form.cleaned_data
    template: StudyTemplate = names["template"]
    values = {**settings.settings, "title": settings.settings["title"] or names["slug"]}
    arguments = {"slug": names["slug"], "group": names["group"], "settings": values, "template": template}
    made = attempt(
        form,
        lambda: create_study(**arguments, by=account_of(request), file=form.read),
        field="file" if names["file"] else None,
    )
    if made is None:
        return None
    study, summary = made
    messages.success(request, summary or _("Study %(slug)s is made. Read its texts in next.") % {"slug": study.slug})
    return study


@study_view(*MANAGERS, methods=FORM)
def study_settings(request: HttpRequest, study: Study) -> HttpResponse:
    """Change a study's settings; once rating has begun, as an amendment with a reason."""
    form = StudySettingsForm(request.POST if request.method == "POST" else None, instance=study)
    if form.is_valid() and _save(request, study, form):
        messages.success(request, _("Saved."))
        if notice := too_few_hits(Study.objects.get(pk=study.pk)):
            messages.warning(request, notice)
        return redirect("annotation:study", study.slug)
    context = {"form": form, "study": study, "notice": too_few_hits(study)}
    return render(request, "annotation/study_pages/study_settings.html", context, status=422 if form.is_bound else 200)


def _save(request: HttpRequest, study: Study, form: StudySettingsForm) -> bool:
    """Save a valid form; show domain errors at their fields."""
    try:
        save_settings(study=study, by=account_of(request), reason=form.reason, **form.settings)
    except SettingFixed as error:
        for field in error.fields:
            form.add_error(field, error.why)
    except AmendmentNeeded as error:
        form.add_error("amendment_reason" if form.is_amending else None, str(error))
    except InvalidSelection as error:  # tables that the arms would show are missing
        form.add_error("arms", str(error))
    return not form.errors


@study_view(*READERS, methods=FORM)
def copy(request: HttpRequest, study: Study) -> HttpResponse:
    """Make a study with the settings of this one, and optionally its instances."""
    user = account_of(request)
    groups, first = groups_of_new_study(user), group_of_copy(user, study)
    groups = [first, *(group for group in groups if group.pk != first.pk)]
    form = CopyStudyForm(request.POST if request.method == "POST" else None, study=study, groups=groups)
    if form.is_valid() and (made := attempt(form, lambda: copy_study(study=study, by=user, **form.cleaned_data))):
        message = _("Study %(copy)s is made with the settings of %(study)s.")
        messages.success(request, message % {"copy": made.slug, "study": study.slug})
        return redirect("annotation:study", made.slug)
    context = {"form": form, "study": study, "choose_group": len(groups) > 1}
    return render(request, "annotation/study_pages/copy_study.html", context, status=422 if form.is_bound else 200)


class ArchiveForm(forms.Form):
    """Archive or restore a study, and why."""

    restore = forms.BooleanField(required=False)
    confirmed = forms.BooleanField(required=False)
    reason = forms.CharField(required=False, max_length=LONGEST_REASON)


@study_view(*MANAGERS, methods=POST)
def archive(request: HttpRequest, study: Study) -> HttpResponse:
    """Archive a study, after a confirmation, or restore it."""
    form = ArchiveForm(request.POST)
    if not form.is_valid():
        messages.error(request, " ".join(str(text) for texts in form.errors.values() for text in texts))
    elif form.cleaned_data["restore"]:
        restore_study(study=study, by=account_of(request), reason=form.cleaned_data["reason"])
        messages.success(request, _("The study is out of the archive. HITs of its open batches are given out again."))
    elif not form.cleaned_data["confirmed"]:
        messages.error(request, _("Nothing was done: please tick the box first."))
    else:
        archive_study(study=study, by=account_of(request), reason=form.cleaned_data["reason"])
        messages.success(request, _("The study is in the archive. Nothing of it is given out any more."))
    return redirect("annotation:study", study.slug)


@study_view(*READERS)
def study_log(request: HttpRequest, study: Study) -> HttpResponse:
    """Show a study's log, the latest entry first."""
    page = Paginator(events_of(study), EVENTS_A_PAGE).get_page(request.GET.get("page"))
    rows = [{"event": event, "about": about(event), "changes": changes_of(event)} for event in page]
    return render(request, "annotation/study_pages/study_log.html", {"study": study, "page": page, "rows": rows})
