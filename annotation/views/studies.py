"""The researcher's and the study admin's pages: studies, files, separability, batches, texts."""

from collections.abc import Callable
from typing import Any, TypeVar

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from analysis import similarity
from annotation.access import MANAGERS, READERS, account_of, group_of_new_study, holds_any, study_view
from annotation.configurations import configurations, matchup_counts
from annotation.errors import AnnotationError, NotChosen, SettingFixed
from annotation.forms import BatchForm, NewStudyForm, UploadForm
from annotation.middleware import shown
from annotation.models import Assignment, Batch, Instance, Study
from annotation.reports import counts_of, kind_counts
from annotation.services.accounts import keep_creator
from annotation.services.batches import create_batch, lacks_gold, set_batch_status
from annotation.services.separability import latest_runs
from annotation.services.studies import save_settings
from annotation.services.uploads import read_upload
from annotation.settings_form import StudySettingsForm
from annotation.tasks import compute_separability_of, separability_state

T = TypeVar("T")


@login_required
@require_safe
def studies(request: HttpRequest) -> HttpResponse:
    """List the studies that the user may read."""
    if not holds_any(request.user, *READERS):
        raise PermissionDenied
    rows = Study.objects.seen_by(request.user, *READERS).annotate(
        instance_count=Count("instances", distinct=True), batch_count=Count("batches", distinct=True)
    )
    return render(request, "annotation/studies.html", {"studies": rows})


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new_study(request: HttpRequest) -> HttpResponse:
    """Make a study from its first file."""
    if not holds_any(request.user, *READERS):
        raise PermissionDenied
    form = NewStudyForm(request.POST or None, request.FILES or None)
    if form.is_valid() and (
        read := _try(
            form,
            lambda: read_upload(must_be_new=True, group=group_of_new_study(account_of(request)), **_new_study(form)),
        )
    ):
        keep_creator(user=account_of(request), study=read[0])
        messages.success(request, read[1])
        return redirect("annotation:study", read[0].slug)
    return render(request, "annotation/upload.html", {"form": form}, status=422 if form.is_bound else 200)


@study_view(*READERS)
@require_http_methods(["GET", "HEAD", "POST"])
def upload(request: HttpRequest, study: Study) -> HttpResponse:
    """Read a further file into a study."""
    form = UploadForm(request.POST or None, request.FILES or None)
    if form.is_valid() and (read := _try(form, lambda: read_upload(slug=study.slug, **_file_of(form)))):
        messages.success(request, read[1])
        return redirect("annotation:study", study.slug)
    context = {"form": form, "study": study}
    return render(request, "annotation/upload.html", context, status=422 if form.is_bound else 200)


@study_view(*READERS)
@require_safe
def study_page(request: HttpRequest, study: Study) -> HttpResponse:
    """Show what a study holds and what can be done next."""
    page = "annotation/study.html#separability" if request.headers.get("HX-Target") == "separability" else None
    busy, failure = separability_state(study)
    counts, runs = matchup_counts(study), latest_runs(study)
    rows = [
        {"configuration": one, "matchups": counts[one.key], "run": runs.get(one.key)} for one in configurations(study)
    ]
    context: dict[str, Any] = {
        "study": study,
        "rows": rows,
        "busy": busy,
        "failure": failure,
        "similarities": similarity.names(),
        "may_manage": Study.objects.seen_by(request.user, *MANAGERS).filter(pk=study.pk).exists(),
    }
    if page is None:
        context |= {
            "instance_count": study.instances.count(),
            "systems": study.systems.all(),
            "batches": _with_progress(study.batches.all()),
            "imports": study.imports.all(),
            "scripted": study.annotators.filter(kind="scripted").count(),
            **_report_counts(study),
        }
    return render(request, page or "annotation/study.html", context)


@study_view(*MANAGERS)
@require_http_methods(["GET", "HEAD", "POST"])
def study_settings(request: HttpRequest, study: Study) -> HttpResponse:
    """Change what raters are told and asked."""
    form = StudySettingsForm(request.POST or None, instance=study)
    if request.method != "POST" or not form.is_valid():
        status = 422 if request.method == "POST" else 200
        return render(request, "annotation/study_settings.html", {"form": form, "study": study}, status=status)
    try:
        save_settings(study=study, **form.cleaned_data)
    except SettingFixed as error:
        for field in error.fields:
            form.add_error(field, error.why)
    except NotChosen as error:  # tables that the arms would show are missing
        form.add_error("arms", str(error))
    if form.errors:
        return render(request, "annotation/study_settings.html", {"form": form, "study": study}, status=422)
    messages.success(request, _("Saved."))
    return redirect("annotation:study", study.slug)


@study_view(*READERS)
@require_POST
def start_separability(request: HttpRequest, study: Study) -> HttpResponse:
    """Have the worker compute separability."""
    name = request.POST.get("similarity", "rouge1")
    if name not in similarity.names():
        raise Http404(f"no similarity {name}")
    if not separability_state(study)[0]:
        compute_separability_of.enqueue(study.pk, name, "configuration")
    messages.info(request, _("Separability is being computed; it shows below when it is done."))
    return redirect("annotation:study", study.slug)


@study_view(*MANAGERS)
@require_http_methods(["GET", "HEAD", "POST"])
def new_batch(request: HttpRequest, study: Study) -> HttpResponse:
    """Make a batch."""
    form = BatchForm(request.POST or None, study=study)
    if form.is_valid() and (done := _try(form, lambda: create_batch(study=study, **_batch_of(form)))):
        batch, made = done
        told = _("Batch %(name)s made.") if made else _("Batch %(name)s was there already, made the same way.")
        messages.success(request, told % {"name": batch.name})
        return redirect("annotation:batch", study.slug, batch.pk)
    context = {"form": form, "study": study}
    return render(request, "annotation/new_batch.html", context, status=422 if form.is_bound else 200)


@study_view(*READERS)
@require_http_methods(["GET", "HEAD", "POST"])
def batch_page(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """Watch one batch; a study admin opens, pauses and closes it."""
    batch = get_object_or_404(_with_progress(study.batches.filter(pk=pk)))
    may_manage = Study.objects.seen_by(request.user, *MANAGERS).filter(pk=study.pk).exists()
    if request.method == "POST":
        if not may_manage:
            raise PermissionDenied
        set_batch_status(batch=batch, status=request.POST.get("status", ""))
        return redirect("annotation:batch", study.slug, pk)
    hits = batch.hits.select_related("matchup__instance").order_by("matchup__instance__position")
    page = Paginator(_with_slots(hits), 100).get_page(request.GET.get("page"))
    flag_count, returned_count = counts_of(batch)
    submitted = Assignment.objects.present().filter(hit__batch=batch, state=Assignment.State.SUBMITTED)
    context = {
        "study": study,
        "batch": batch,
        "hits": page,
        "may_manage": may_manage,
        "states": Batch.Status.choices,
        "lacks_gold": lacks_gold(batch),
        "submitted_count": submitted.count(),
        "flag_count": flag_count,
        "returned_count": returned_count,
    }
    return render(request, "annotation/batch.html", context)


@study_view(*READERS)
@require_safe
def instances(request: HttpRequest, study: Study) -> HttpResponse:
    """List a study's instances."""
    page = Paginator(study.instances.all(), 50).get_page(request.GET.get("page"))
    return render(request, "annotation/instances.html", {"study": study, "page": page})


@study_view(*READERS)
@require_safe
def instance_page(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """Show one instance: source, every pair with its texts, and the comparison tables."""
    instance = get_object_or_404(Instance, study=study, pk=pk)
    matchups = instance.matchups.select_related("system_a", "system_b").prefetch_related(
        "pairs__generation_a", "pairs__generation_b", "pairs__tables", "alignments__run"
    )
    return render(request, "annotation/instance.html", {"study": study, "instance": instance, "matchups": matchups})


def _try(form: forms.Form, attempt: Callable[[], T]) -> T | None:
    """Do what a form asks for; what is wrong with it is shown at the form, which keeps what was filled in."""
    try:
        return attempt()
    except AnnotationError as error:
        form.add_error(None, shown(error))
        return None


def _new_study(form: NewStudyForm) -> dict[str, Any]:
    settings = {key: form.cleaned_data[key] for key in ("title", "task_kind", "question") if form.cleaned_data[key]}
    return {"slug": form.cleaned_data["slug"], **_file_of(form), **settings}


def _batch_of(form: BatchForm) -> dict[str, Any]:
    chosen = form.cleaned_data["configuration"]
    names = {key: form.cleaned_data[key] for key in ("name", "pairs", "raters", "seed")}
    names["purpose"] = form.cleaned_data["purpose"] or Batch.Purpose.RATING
    names |= {key: form.cleaned_data[key] or 0.0 for key in ("gold_rate", "repeat_rate")}
    names["lease_minutes"] = form.cleaned_data["lease_minutes"] or 60
    names["similarity"] = form.cleaned_data["similarity"] or None
    systems = (chosen.system_a.name, chosen.system_b.name)
    return {**names, "dataset": chosen.dataset, "systems": systems, "select": form.cleaned_data["select"].strip()}


def _file_of(form: UploadForm) -> dict[str, Any]:
    cleaned = form.cleaned_data
    names = {key: cleaned[key] for key in ("dataset", "system_1", "system_2")}
    return {"kind": cleaned["kind"], "data": cleaned["file"].read(), "name": cleaned["file"].name, **names}


def _with_progress(batches: Any) -> Any:
    """Count each batch's slots by state, in one query."""
    submitted = Q(hits__slots__assignment__state="submitted")
    return batches.select_related("system_a", "system_b").annotate(
        hit_count=Count("hits", distinct=True),
        slot_count=Count("hits__slots", distinct=True),
        filled_count=Count("hits__slots", filter=submitted, distinct=True),
        claimed_count=Count("hits__slots", filter=Q(hits__slots__assignment__state="claimed"), distinct=True),
    )


def _report_counts(study: Study) -> dict[str, int]:
    kinds = kind_counts(study)
    blocked = study.annotators.present().exclude(blocked_at=None).count()
    return {"flag_count": kinds[0][2], "returned_count": kinds[-1][2], "blocked_count": blocked}


def _with_slots(hits: Any) -> Any:
    return hits.annotate(
        slot_count=Count("slots"),
        filled_count=Count("slots", filter=Q(slots__assignment__state="submitted")),
        claimed_count=Count("slots", filter=Q(slots__assignment__state="claimed")),
    )
