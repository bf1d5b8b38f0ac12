"""Views of a new study: its files and template, and a look at files whose form is not known."""

from typing import TYPE_CHECKING, Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.response import TemplateResponse
from django_htmx.http import HttpResponseClientRedirect, HttpResponseClientRefresh

from annotation.core.http import MOST_SHOWN, attempt, is_htmx
from annotation.importing.formats.public_forms import AUTO
from annotation.importing.forms import StudyOfFilesForm, StudyOfKeptFilesForm, how_to_import
from annotation.importing.new_studies import create_study, settings_of
from annotation.members.permissions import FORM, account_of, groups_of_new_study, reader_view
from annotation.models import Study, Upload
from annotation.studies.presets import BLANK, INSTRUCTIONS, TEMPLATES
from reporting.study_pages.upload_views import after_upload, look_context, show_upload
from reporting.uploads.jobs import (
    UNDER_WAY,
    begin,
    discard,
    keep,
    keep_values,
    kept,
    look,
    refusal_of_new_study,
    sent_with,
)

if TYPE_CHECKING:
    from reporting.uploads.look import Look

OF_INSTRUCTIONS = ("outputs", "alpacaeval", "battles")  # kinds of files


@reader_view(FORM)
def new_study(request: HttpRequest) -> HttpResponse:
    """Create a study, from files or without. Files of no known form are looked at first."""
    groups = groups_of_new_study(account_of(request))
    form = StudyOfFilesForm(request.POST or None, request.FILES or None, groups=groups)
    if form.is_valid() and (response := _create(request, form)):
        return response
    context = {
        "form": form,
        "templates": TEMPLATES.values(),
        "selected": form["template"].value() or BLANK,
        "choose_group": len(groups) > 1,
    }
    return render(request, "reporting/study_pages/new_study.html", context, status=422 if form.is_bound else 200)


def _create(request: HttpRequest, form: StudyOfFilesForm) -> HttpResponse | None:
    """Create a study from a valid form. Return None for a refusal, which is at the form."""
    user, files = account_of(request), form.cleaned_data["file"]
    if not files:
        study = attempt(form, lambda: _study_of(request, form))
        return None if study is None else redirect("annotation:study", study.slug)
    key = attempt(form, lambda: keep(None, files, by=user.pk, form=form.values), field="file")
    if key is None:
        return None
    preview = attempt(form, lambda: _look(form, key), field="file")
    if preview is None:
        discard(key)
        return None
    # Sources alone are no pairs: that is shown before a study is made of them.
    is_known = (
        (preview.form and preview.kind != "sources")
        or form.cleaned_data["mapping"]
        or form.cleaned_data["kind"] != AUTO
    )
    if is_known and not preview.problems and attempt(form, lambda: _begin(request, form, key, preview)) is None:
        return None
    return redirect("annotation:new-study-files", key)


def _look(form: StudyOfFilesForm, key: str) -> "Look":
    """Look at kept files as those of a study that is not there yet."""
    return look(study=None, key=key, slug=form.cleaned_data["slug"], **how_to_import(form))


def _begin(request: HttpRequest, form: StudyOfFilesForm, key: str, preview: "Look") -> Upload:
    """Create a study, and begin the import of its files. An import that is refused takes the study away again."""
    keep_values(key, form=form.values)
    how = {**how_to_import(form), "by": account_of(request)}
    return begin(study=None, key=key, **how, new_study=lambda: _study_of(request, form, preview.kind))


def _study_of(request: HttpRequest, form: StudyOfFilesForm, kind: str = "") -> Study:
    """Create the study that a valid form asks for.

    kind : of its files; those of instructions decide the template where none is chosen
    """
    named = form.cleaned_data
    template = named["template"]
    if template.name == BLANK and kind in OF_INSTRUCTIONS:
        template = TEMPLATES[INSTRUCTIONS]
    settings = {**settings_of(template.study()), "title": named["title"]}
    arguments = {"slug": named["slug"], "group": named["group"], "settings": settings, "template": template}
    return create_study(**arguments, by=account_of(request))[0]


@reader_view(FORM)
def study_of_files(request: HttpRequest, key: str) -> HttpResponse:
    """Show what files would become in a new study and create it, or how far that is, or why it was refused."""
    user = account_of(request)
    groups = groups_of_new_study(user)
    if upload := Upload.objects.filter(key=key, asked_by=user).select_related("study").first():
        if upload.status in UNDER_WAY:
            return show_upload(request, upload)
        response = after_upload(request, upload)
        return HttpResponseClientRedirect(response.headers["Location"]) if is_htmx(request) else response
    if is_htmx(request):  # the import was refused meanwhile
        return HttpResponseClientRefresh()
    sent = sent_with(key, study=None, by=user.pk)
    data = request.POST if request.method == "POST" else sent["form"]
    form = StudyOfKeptFilesForm(data, groups=groups, file_names=sent["names"])
    context: dict[str, Any] = {"form": form, "upload": kept(None, key)}
    if form.is_valid() and (preview := attempt(form, lambda: _look(form, key))):
        wants_import = "import" in request.POST and not preview.problems
        if wants_import and attempt(form, lambda: _begin(request, form, key, preview)) is not None:
            return redirect("annotation:new-study-files", key)
        context |= look_context(preview, form, form.cleaned_data["template"].study())
    if request.method != "POST":
        context["refused"], bad_lines = refusal_of_new_study(key)
        context["bad_lines"] = bad_lines[:MOST_SHOWN]
    template = "reporting/study_pages/upload_look.html"
    return TemplateResponse(request, template, context, status=200 if form.is_valid() else 422)
