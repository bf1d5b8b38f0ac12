"""Views of studies: list, overview, uploads, separability, instances."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import Count, F, OuterRef, Subquery
from django.db.models.functions import Coalesce
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from analysis import similarity
from annotation.core.errors import AnnotationError
from annotation.core.http import attempt
from annotation.importing.forms import UploadForm, file_of
from annotation.importing.uploads import read_upload
from annotation.members.permissions import FORM, POST, READERS, account_of, has_any_role, may_manage, study_view
from annotation.models import Assignment, Batch, Event, Hit, Instance, Slot, Study
from annotation.monitoring.reports import kind_counts
from annotation.separability.forms import SeparabilityForm
from annotation.separability.queue import start_separability
from annotation.separability.services import latest_runs
from annotation.separability.tasks import separability_jobs, separability_notice, separability_state
from annotation.studies.configurations import configurations, matchup_counts
from annotation.studies.presets import ORIGINS, batch_defaults


@login_required
@require_safe
def studies(request: HttpRequest) -> HttpResponse:
    """List the studies that the user may read: active or archived ones."""
    if not has_any_role(request.user, *READERS):
        raise PermissionDenied
    seen = Study.objects.visible_to(request.user, *READERS)
    in_archive = request.GET.get("archived") == "1"
    rows = seen.exclude(archived_at=None) if in_archive else seen.active()
    context = {
        "studies": rows.annotate(
            instance_count=_count_of(Instance.objects.all()), batch_count=_count_of(Batch.objects.all())
        ),
        "in_archive": in_archive,
        "archived_count": seen.exclude(archived_at=None).count(),
    }
    return render(request, "annotation/study_pages/studies.html", context)


@study_view(*READERS, methods=FORM)
def upload(request: HttpRequest, study: Study) -> HttpResponse:
    """Import a further file into a study."""
    form = UploadForm(request.POST or None, request.FILES or None)
    if form.is_valid() and (read := attempt(form, lambda: read_upload(slug=study.slug, **file_of(form)))):
        messages.success(request, read[1])
        return redirect("annotation:study", study.slug)
    context = {"form": form, "study": study}
    return render(request, "annotation/study_pages/upload.html", context, status=422 if form.is_bound else 200)


@study_view(*READERS)
def study_page(request: HttpRequest, study: Study) -> HttpResponse:
    """Show a study's contents and its next steps."""
    page = (
        "annotation/study_pages/study.html#separability" if request.headers.get("HX-Target") == "separability" else None
    )
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
        "jobs": separability_jobs(study) if busy else [],
        "notice": "" if busy else separability_notice(study),
        "separability_form": SeparabilityForm(auto_id="separability_%s"),
        "may_manage": may_manage(request.user, study),
    }
    if page is None:
        context |= {
            "instance_count": study.instances.count(),
            "systems": study.systems.all(),
            "batches": _with_progress(study.batches.all()),
            "imports": study.imports.exclude(kind__in=ORIGINS),
            "origin": study.imports.filter(kind__in=ORIGINS).order_by("pk").first(),
            "plan": batch_defaults(study),
            "amendment_count": study.events.filter(kind=Event.Kind.AMENDMENT).count(),
            "scripted": study.annotators.filter(kind="scripted").count(),
            **_report_counts(study),
        }
    return render(request, page or "annotation/study_pages/study.html", context)


@study_view(*READERS, methods=POST)
def separability(request: HttpRequest, study: Study) -> HttpResponse:
    """Queue a computation of separability."""
    if request.POST.get("similarity", "") not in ("", *similarity.names()):
        raise Http404(f"no similarity {request.POST['similarity']}")
    form = SeparabilityForm(request.POST)
    if not form.is_valid():
        problems = [f"{form[name].label}: {' '.join(map(str, errors))}" for name, errors in form.errors.items()]
        raise AnnotationError("; ".join(problems))
    start_separability(study, form.request(), by=account_of(request))
    messages.info(request, _("Separability is being computed; it shows below when it is done."))
    return redirect("annotation:study", study.slug)


@study_view(*READERS)
def instances(request: HttpRequest, study: Study) -> HttpResponse:
    """List a study's instances."""
    page = Paginator(study.instances.all(), 50).get_page(request.GET.get("page"))
    return render(request, "annotation/study_pages/instances.html", {"study": study, "page": page})


@study_view(*READERS)
def instance_page(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """Show one instance: its source, pairs with texts, and comparison tables."""
    instance = get_object_or_404(Instance, study=study, pk=pk)
    matchups = instance.matchups.select_related("system_a", "system_b").prefetch_related(
        "pairs__generation_a", "pairs__generation_b", "pairs__tables", "alignments__run"
    )
    context = {
        "study": study,
        "instance": instance,
        "matchups": matchups,
        "systems": study.systems.filter(generations__instance=instance, generations__index=0),
        "alone": []
        if matchups
        else instance.generations.select_related("system").order_by("system__position", "index"),
    }
    return render(request, "annotation/study_pages/instance.html", context)


def _count_of(rows: Any, group: str = "study") -> Coalesce:
    """Count related rows in a subquery; joining several relations would multiply the counts."""
    counted = rows.filter(**{group: OuterRef("pk")}).order_by().values(group).annotate(n=Count("pk"))
    return Coalesce(Subquery(counted.values("n")), 0)


def _with_progress(batches: Any) -> Any:
    """Annotate batches with counts of HITs and slots; slots neither free nor claimed are filled, which needs no join."""
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
    return {"flag_count": kinds[0][2], "returned_count": kinds[-1][2], "blocked_count": blocked}
