"""Previews of a form of settings before it is saved: the questions, the pay for an hour, the rater's page."""

from csp.constants import SELF
from csp.decorators import csp_replace
from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.response import TemplateResponse
from django.utils import timezone
from django.views.decorators.clickjacking import xframe_options_sameorigin

from annotation.members.permissions import MANAGERS, POST, account_of, reader_view, study_view
from annotation.models import Study
from annotation.rating.preview import page_of_settings
from annotation.rating.vote_context import asked_questions
from annotation.studies.hourly_pay import hourly_pay_of
from annotation.studies.settings_form import PayForm, QuestionsForm, StudySettingsForm


@reader_view(POST)
def question_preview(request: HttpRequest) -> HttpResponse:
    """Show the questions of a form of settings as raters see them, or what is wrong with them."""
    form = QuestionsForm(request.POST, instance=Study())
    problems = _problems(form)
    context = {
        "problems": problems,
        "first_reason": form.instance.first_reason,
        "questions": [] if problems else asked_questions(form.instance),
    }
    return TemplateResponse(request, "reporting/study_pages/_question_preview.html", context)


@reader_view(POST)
def pay_preview(request: HttpRequest) -> HttpResponse:
    """Show the pay for an hour that a form of settings gives."""
    form = PayForm(request.POST, instance=Study())
    hourly = hourly_pay_of(form.instance) if form.is_valid() else None
    return render(request, "annotation/studies/_hourly_pay.html", {"hourly": hourly})


@study_view(*MANAGERS, methods=POST)
def settings_preview(request: HttpRequest, study: Study) -> HttpResponse:
    """Show a HIT's page, for a frame, as raters would see it with a form's settings, without storing anything."""
    form = StudySettingsForm(request.POST, instance=study)
    problems = _problems(form)  # valid fields are set on the study now
    page = page_of_settings(study, viewer=account_of(request), at=timezone.now())
    context = {**page, "base": "frame.html", "problems": problems}
    response = render(request, "reporting/study_pages/settings_preview.html", context)
    policy = csp_replace({"frame-ancestors": [SELF]})
    xframe_options_sameorigin(policy(lambda _request: response))(request)
    return response


def _problems(form: forms.BaseForm) -> list[str]:
    """Return the mistakes of a form, each after the label of its field."""
    return [
        f"{form[name].label}: {' '.join(map(str, errors))}"
        for name, errors in form.errors.items()
        if name in form.fields
    ]
