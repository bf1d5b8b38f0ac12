"""Views of studies and their jobs."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count, F, OuterRef, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django_htmx.http import HttpResponseClientRefresh

from annotation.core.actions import filled
from annotation.core.errors import AmendmentNeeded, InvalidSelection, SettingFixed
from annotation.core.http import attempt
from annotation.importing.forms import CopyStudyForm
from annotation.importing.new_studies import copy_study
from annotation.jobs.work import find_job, stop_job
from annotation.members.permissions import (
    FORM,
    MANAGERS,
    POST,
    READERS,
    account_of,
    groups_of_copy,
    groups_of_new_study,
    may_manage,
    reader_view,
    study_view,
)
from annotation.models import Assignment, Batch, Event, Hit, Instance, Slot, Study
from annotation.monitoring.reports import kind_counts, returned_submissions
from annotation.planning.frozen_plans import frozen_plan
from annotation.quality.qualification import too_few_hits
from annotation.separability.forms import ComputeSeparability
from annotation.separability.jobs import separability_state, start_separability
from annotation.separability.services import latest_runs
from annotation.studies.configurations import configurations, matchup_counts
from annotation.studies.data_sets import data_sets
from annotation.studies.log import about, changes_of, events_of, stops_of
from annotation.studies.presets import ORIGINS, batch_defaults
from annotation.studies.services import archive_study, restore_study, save_settings
from annotation.studies.settings_form import StudySettingsForm, reason_field
from judging.core.fields import ResumeForm
from judging.jobs.bounds import resume_job
from reporting.study_pages.checklist import checklist

COUNTED_TEXTS = 500  # of a data set, for one page
EVENTS_A_PAGE = 50
MATCHUPS_A_PAGE = 10  # of an instance, with their texts


@reader_view()
def studies(request: HttpRequest) -> HttpResponse:
    """List the user's active or archived studies, or offer to create the first."""
    visible = Study.objects.visible_to(request.user, *READERS)
    if not visible.exists():
        return render(request, "reporting/study_pages/first_study.html")
    in_archive = request.GET.get("archived") == "1"
    rows = visible.exclude(archived_at=None) if in_archive else visible.active()
    studies_on_page = list(
        rows.annotate(instance_count=_count_of(Instance.objects.all()), batch_count=_count_of(Batch.objects.all()))
    )
    context = {
        "studies": studies_on_page,
        "in_archive": in_archive,
        "archived_count": visible.exclude(archived_at=None).count(),
    }
    return render(request, "reporting/study_pages/studies.html", context)


@reader_view(POST)
def example(request: HttpRequest) -> HttpResponse:
    """Load the example study."""
    # Here, for it brings the importers of all its files, which no other page needs.
    from annotation.importing.example import load_example

    user = account_of(request)
    study = load_example(group=groups_of_new_study(user)[0], by=user)
    messages.success(request, "The example study is loaded. Its next step is marked.")
    return redirect("annotation:study", study.slug)


@study_view(*READERS)
def study_page(request: HttpRequest, study: Study) -> HttpResponse:
    """Show a study's steps and contents. htmx polls the state of a computation, then reloads the page."""
    return _show(request, study)


def _show(request: HttpRequest, study: Study, **refused: forms.Form) -> HttpResponse:
    """Show the page of a study. `refused`: the form whose action was refused, with its errors."""
    state = separability_state(study)
    if request.headers.get("HX-Target") == "separability" and not state["busy"]:
        return HttpResponseClientRefresh()
    counts, runs = matchup_counts(study), latest_runs(study)
    rows = [
        {"configuration": configuration, "matchups": counts[configuration.key], "run": runs.get(configuration.key)}
        for configuration in configurations(study)
    ]
    context: dict[str, Any] = {
        "study": study,
        "rows": rows,
        **state,
        "separability_form": ComputeSeparability(auto_id="separability_%s"),
        "archive_form": ArchiveForm(auto_id="archive_%s"),
        **refused,
        "may_manage": may_manage(request.user, study),
    }
    if request.headers.get("HX-Target") == "separability":
        return render(request, "reporting/study_pages/_separability_state.html", context)
    context |= {
        "instance_count": study.instances.count(),
        "systems": study.systems.all(),
        "batches": _with_progress(study.batches.all()),
        "imports": study.imports.exclude(kind__in=ORIGINS),
        "origin": study.imports.filter(kind__in=ORIGINS).order_by("pk").first(),
        "plan": batch_defaults(study),
        "frozen_plan": frozen_plan(study),
        "stopped": stops_of(study),
        "amendment_count": study.events.filter(kind=Event.Kind.AMENDMENT).count(),
        "scripted": study.annotators.filter(kind="scripted").count(),
        **_report_counts(study),
    }
    context["steps"] = checklist(study, context)
    return render(request, "reporting/study_pages/study.html", context, status=422 if refused else 200)


@study_view(*READERS, methods=POST)
def separability(request: HttpRequest, study: Study) -> HttpResponse:
    """Queue a computation of separability."""
    form = ComputeSeparability(request.POST, auto_id="separability_%s")
    if not form.is_valid() or not attempt(
        form, lambda: start_separability(study, form.request(), by=account_of(request))
    ):
        return _show(request, study, separability_form=form)
    messages.info(request, "Separability is being computed and will appear below.")
    return redirect("annotation:study", study.slug)


@study_view(*READERS)
def instances(request: HttpRequest, study: Study) -> HttpResponse:
    """List a study's instances, with figures of its data sets."""
    page = Paginator(study.instances.all(), 50).get_page(request.GET.get("page"))
    context: dict[str, Any] = {"study": study, "page": page, "counted": COUNTED_TEXTS}
    context["may_manage"] = may_manage(request.user, study)
    context["data_sets"] = data_sets(study, sample_size=COUNTED_TEXTS) if page.number == 1 else []
    return render(request, "reporting/study_pages/instances.html", context)


@study_view(*READERS)
def instance_page(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """Show one instance: its source, pairs with texts, and comparison tables."""
    instance = get_object_or_404(Instance, study=study, pk=pk)
    matchups = instance.matchups.select_related("system_a", "system_b").prefetch_related(
        "pairs__generation_a", "pairs__generation_b", "pairs__tables", "alignments__run"
    )
    page = Paginator(matchups, MATCHUPS_A_PAGE).get_page(request.GET.get("page"))
    context = {
        "study": study,
        "instance": instance,
        "page": page,
        "systems": study.systems.filter(generations__instance=instance, generations__index=0),
        "texts": (texts := instance.generations.select_related("system").order_by("system__position", "index")),
        "alone": [] if page.paginator.count else texts,
        "may_manage": may_manage(request.user, study),
    }
    return render(request, "reporting/study_pages/instance.html", context)


def _count_of(rows: Any, group: str = "study") -> Coalesce:
    """Count related rows in a subquery. Joining several relations would multiply the counts."""
    counted = rows.filter(**{group: OuterRef("pk")}).order_by().values(group).annotate(n=Count("pk"))
    return Coalesce(Subquery(counted.values("n")), 0)


def _with_progress(batches: Any) -> Any:
    """Annotate batches with counts of HITs and slots. Slots neither free nor claimed are filled."""
    counted = batches.select_related("system_a", "system_b").annotate(
        hit_count=_count_of(Hit.objects.all(), "batch"),
        slot_count=_count_of(Slot.objects.all(), "batch"),
        free_count=_count_of(Slot.objects.free(), "batch"),
        claimed_count=_count_of(Assignment.objects.claimed(), "slot__batch"),
    )
    return counted.annotate(filled_count=F("slot_count") - F("free_count") - F("claimed_count"))


def _report_counts(study: Study) -> dict[str, int]:
    kinds = kind_counts(study)
    blocked = study.annotators.present().exclude(blocked_at=None).count()
    return {
        "flag_count": kinds[0][2],
        "returned_count": kinds[-1][2],
        "blocked_count": blocked,
        "returned_afterward_count": len(returned_submissions(study)),
    }


@study_view(*MANAGERS, methods=FORM)
def study_settings(request: HttpRequest, study: Study) -> HttpResponse:
    """Change a study's settings. Once rating has begun, this is an amendment with a reason."""
    form = StudySettingsForm(request.POST if request.method == "POST" else None, instance=study)
    if form.is_valid() and _save(request, study, form):
        messages.success(request, "Saved.")
        if notice := too_few_hits(Study.objects.get(pk=study.pk)):
            messages.warning(request, notice)
        return redirect("annotation:study", study.slug)
    context = {"form": form, "study": study, "notice": too_few_hits(study)}
    return render(request, "reporting/study_pages/study_settings.html", context, status=422 if form.is_bound else 200)


def _save(request: HttpRequest, study: Study, form: StudySettingsForm) -> bool:
    """Save a valid form. Show domain errors at their fields."""
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
    """Create a study with the settings of this one, and optionally its instances."""
    user = account_of(request)
    groups = groups_of_copy(user, study)
    form = CopyStudyForm(request.POST if request.method == "POST" else None, study=study, groups=groups)
    if form.is_valid() and (created := attempt(form, lambda: copy_study(study=study, by=user, **form.cleaned_data))):
        messages.success(request, f"Study {created.slug} was created with the settings of {study.slug}.")
        return redirect("annotation:study", created.slug)
    context = {"form": form, "study": study, "choose_group": len(groups) > 1}
    return render(request, "reporting/study_pages/copy_study.html", context, status=422 if form.is_bound else 200)


class ArchiveForm(forms.Form):
    """Archive or restore a study, and why."""

    reason = reason_field(label="Why? (optional)", help_text="Kept in the study’s log.")
    confirmed = forms.BooleanField(
        required=False, label="Yes, archive it", widget=forms.CheckboxInput(attrs={"required": True})
    )
    restore = forms.BooleanField(required=False, widget=forms.HiddenInput)

    def clean(self) -> None:
        """Require the confirmation of an archived study."""
        if not self.cleaned_data["restore"] and not self.cleaned_data["confirmed"]:
            self.add_error("confirmed", "Tick the box to archive the study. Nothing was changed.")


@study_view(*MANAGERS, methods=POST)
def archive(request: HttpRequest, study: Study) -> HttpResponse:
    """Archive a study, after a confirmation, or restore it."""
    form = ArchiveForm(request.POST, auto_id="archive_%s")
    if not form.is_valid():
        return _show(request, study, archive_form=form)
    if form.cleaned_data["restore"]:
        restore_study(study=study, by=account_of(request), reason=form.cleaned_data["reason"])
        messages.success(request, "The study was restored. HITs of its open batches are given out again.")
    else:
        archive_study(study=study, by=account_of(request), reason=form.cleaned_data["reason"])
        messages.success(request, "The study was archived. It gives out no more HITs.")
    return redirect("annotation:study", study.slug)


@study_view(*READERS)
def study_log(request: HttpRequest, study: Study) -> HttpResponse:
    """Show a study's log, the latest entry first."""
    page = Paginator(events_of(study), EVENTS_A_PAGE).get_page(request.GET.get("page"))
    rows = [{"event": event, "about": about(event), "changes": changes_of(event)} for event in page]
    return render(request, "reporting/study_pages/study_log.html", {"study": study, "page": page, "rows": rows})


@study_view(*READERS, methods=POST)
def stop(request: HttpRequest, study: Study, *, kind: str, pk: int) -> HttpResponse:
    """Stop a job."""
    job = find_job(study, kind, pk)
    stop_job(job)
    return redirect(job.page, study.slug)


@study_view(*READERS, methods=POST)
def resume(request: HttpRequest, study: Study, *, kind: str, pk: int) -> HttpResponse:
    """Queue a job that stopped, within another cap."""
    job = find_job(study, kind, pk)
    is_queued = resume_job(job, filled(ResumeForm, request.POST).cleaned_data["max_cost"])
    messages.success(
        request, "It starts as soon as a worker is free." if is_queued else "It has ended, or is under way already."
    )
    return redirect(job.page, study.slug)
