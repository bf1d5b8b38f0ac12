"""Views of one batch's progress and raters, polled by htmx."""

from datetime import timedelta
from hashlib import sha256
from time import perf_counter
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone

from annotation.annotators.messages import recipients, send_to_batch
from annotation.batches.designs import batches_of_design, design_of
from annotation.batches.forms import SetBatch
from annotation.batches.sampling import shown_selection
from annotation.batches.services import notices_of
from annotation.core.counting import number_of
from annotation.core.http import attempt, is_htmx
from annotation.hits.idle import LEAST_MINUTES, idle_claims
from annotation.members.permissions import FORM, MANAGERS, READERS, account_of, may_manage, study_view
from annotation.models import Assignment, Batch, Slot, Study
from annotation.monitoring.batch_annotators import MOST_SORTED, glance_at, raters_of
from annotation.monitoring.batch_status import Slots, batch_status, figures_of, slots_of, timeline_of
from annotation.monitoring.forms import MessageForm, ReleaseIdleForm
from annotation.monitoring.reports import counts_of
from annotation.quality.exclusion import release_idle

HITS_A_PAGE = 100
MOST_RATERS = 200
MOST_INLINE = 100_000  # ratings; larger batches get their figures in a second request
LIVE_SECONDS, FIGURES_SECONDS, LONGEST_SECONDS = 5, 10, 600
SHARE_OF_TIME = 20  # counting takes at most a twentieth of the server's time


@study_view(*READERS)
def batch_page(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """Show one batch."""
    batch = _find(study, pk)
    slots = slots_of(batch, timezone.now())
    large = slots.filled * batch.pairs_per_hit > MOST_INLINE and "figures" not in request.GET
    flag_count, returned_count = counts_of(batch)
    hits = batch.hits.select_related("matchup__instance").order_by("matchup__instance__position", "pk")
    page = Paginator(hits, HITS_A_PAGE).get_page(request.GET.get("page"))
    by_hit = Slot.objects.filter(hit__in=list(page)).order_by().values("hit")
    counts = by_hit.annotate(
        total=Count("pk"),
        filled=Count("pk", filter=Q(assignment__state="submitted")),
        claimed=Count("pk", filter=Q(assignment__state="claimed")),
    )
    slots_of_hits, none = {row["hit"]: row for row in counts}, {"total": 0, "filled": 0, "claimed": 0}
    progress = "annotation/monitoring/_batch_progress.html"
    context = {
        "study": study,
        "batch": batch,
        "left_out": shown_selection(batch.selection).get("left_out", {}),
        "live": _live(request, batch, slots)[0],
        "figures": _wrapped(request, "figures", progress, {"batch": batch}, "load, wake")[0]
        if large
        else _figures(request, batch, slots)[0],
        "hits": page,
        "rows": [(hit, slots_of_hits.get(hit.pk, none)) for hit in page],
        "may_manage": may_manage(request.user, study),
        "notices": notices_of(batch),
        "stop_form": SetBatch(initial={"stop_rule": batch.stop_rule}),
        "is_rated": slots.filled > 0,
        "design": {"name": name, "batches": len(batches_of_design(study, name))}
        if (name := design_of(batch))
        else None,
        "flag_count": flag_count,
        "returned_count": returned_count,
    }
    return render(request, "annotation/monitoring/batch.html", context)


@study_view(*READERS)
def batch_live(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """Return the progress of a batch, in one query, or 204 when it is unchanged."""
    batch = _find(study, pk)
    if not is_htmx(request):
        return redirect("annotation:batch", study.slug, pk)
    return _response(request, *_live(request, batch, slots_of(batch, timezone.now())))


@study_view(*READERS)
def batch_figures(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """Return time, money, raters and ratings per pair, or 204 when they are unchanged."""
    batch = _find(study, pk)
    if not is_htmx(request):
        return redirect(f"{reverse('annotation:batch', args=[study.slug, pk])}?figures=1")
    return _response(request, *_figures(request, batch, slots_of(batch, timezone.now())))


@study_view(*MANAGERS, methods=FORM)
def batch_message(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """Send a message to all who have, or had, a HIT of the batch."""
    batch = _find(study, pk)
    form = MessageForm(request.POST if request.method == "POST" else None)
    now, by = timezone.now(), account_of(request)
    if form.is_valid() and (
        count := attempt(form, lambda: send_to_batch(batch=batch, by=by, at=now, **form.cleaned_data))
    ):
        messages.success(request, f"Sent to {number_of(count, 'rater')}.")
        return redirect("annotation:batch", study.slug, pk)
    context = {"study": study, "batch": batch, "form": form, "count": recipients(batch).count()}
    return render(request, "annotation/monitoring/batch_message.html", context, status=422 if form.is_bound else 200)


@study_view(*MANAGERS, methods=FORM)
def batch_idle(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """List the idle claims of the batch, and release them. `?minutes=` sets the least idle time."""
    batch, now = _find(study, pk), timezone.now()
    data = request.POST if request.method == "POST" else request.GET
    form = ReleaseIdleForm(data or None)
    if form.is_valid() and request.method == "POST":
        after, reason = timedelta(minutes=form.cleaned_data["minutes"]), form.cleaned_data["reason"]
        settings: dict[str, Any] = {"after": after, "reason": reason, "by": account_of(request), "at": now}
        if (count := attempt(form, lambda: release_idle(batch=batch, **settings))) is not None:
            messages.success(request, f"{number_of(count, 'HIT')} {'was' if count == 1 else 'were'} released.")
            return redirect("annotation:batch", study.slug, pk)
    minutes = form.cleaned_data["minutes"] if form.is_valid() else LEAST_MINUTES
    context = {
        "study": study,
        "batch": batch,
        "form": form,
        "minutes": minutes,
        "idle": idle_claims(batch, now, timedelta(minutes=minutes)),
    }
    refused = form.is_bound and not form.is_valid()
    return render(request, "annotation/monitoring/batch_idle.html", context, status=422 if refused else 200)


def _find(study: Study, pk: int) -> Batch:
    return get_object_or_404(study.batches.select_related("study", "system_a", "system_b"), pk=pk)


def _live(request: HttpRequest, batch: Batch, slots: Slots) -> tuple[str, str]:
    context: dict[str, Any] = {"batch": batch, "slots": slots}
    if batch.purpose != Batch.Purpose.RATING:
        submitted = Assignment.objects.present().filter(hit__batch=batch, state=Assignment.State.SUBMITTED)
        context |= {"submitted_count": submitted.count(), "hit_count": batch.hits.count()}
    trigger = f"every {LIVE_SECONDS}s, wake" if _is_live(batch, slots) else ""
    return _wrapped(request, "live", "annotation/monitoring/_batch_live.html", context, trigger)


def _figures(request: HttpRequest, batch: Batch, slots: Slots) -> tuple[str, str]:
    began, now = perf_counter(), timezone.now()
    thorough = slots.filled * batch.pairs_per_hit <= MOST_SORTED
    raters = raters_of(batch, now, thorough=thorough)
    figures = figures_of(batch, slots, raters, now)
    context = {
        "study": batch.study,
        "batch": batch,
        "slots": slots,
        "status": batch_status(batch, now) if thorough else None,
        "figures": figures,
        "timeline": timeline_of(batch, slots.total, figures.finish),
        "glance": glance_at(batch, raters),
        "raters": raters[:MOST_RATERS],
        "more": max(len(raters) - MOST_RATERS, 0),
        "pays": batch.study.pays,
    }
    took = perf_counter() - began
    every = max(FIGURES_SECONDS, min(LONGEST_SECONDS, round(took * SHARE_OF_TIME)))
    trigger = f"every {every}s, wake" if _is_live(batch, slots) else ""
    return _wrapped(request, "figures", "annotation/monitoring/_batch_figures.html", context, trigger)


def _is_live(batch: Batch, slots: Slots) -> bool:
    """Tell whether the numbers can still change."""
    at_work = batch.status in (Batch.Status.OPEN, Batch.Status.PAUSED)
    return at_work and batch.origin == Batch.Origin.COLLECTED and not slots.complete


def _wrapped(request: HttpRequest, name: str, template: str, context: dict[str, Any], trigger: str) -> tuple[str, str]:
    """Return a partial about the batch of the context that polls itself, and a digest of its content."""
    batch = context["batch"]
    content = render_to_string(template, context, request)
    etag = sha256(f"{bool(trigger)}{content}".encode()).hexdigest()[:16]
    around = {
        "id": f"batch-{name}",
        "address": reverse(f"annotation:batch-{name}", args=[batch.study.slug, batch.pk]),
        "seen": etag,
        "trigger": trigger,
        "content": content,
    }
    return render_to_string("annotation/monitoring/_polled.html", around, request), etag


def _response(request: HttpRequest, part: str, etag: str) -> HttpResponse:
    if request.GET.get("seen") == etag:
        return HttpResponse(status=204)
    return HttpResponse(part)
