"""Watching one batch: its progress every few seconds, its raters somewhat less often, without a page being loaded again."""

from collections.abc import Mapping
from hashlib import sha256
from time import perf_counter
from typing import Any

from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_safe

from annotation.access import MANAGERS, READERS, account_of, study_view
from annotation.batch_figures import figures_of
from annotation.batch_raters import MOST_SORTED, raters_of
from annotation.batch_status import Slots, batch_status, slots_of
from annotation.models import Assignment, Batch, Hit, Slot, Study
from annotation.reports import counts_of
from annotation.services.batches import lacks_gold
from annotation.services.messages import reached_by, send_to_batch
from annotation.steering_forms import MessageForm

HITS_A_PAGE = 100
MOST_RATERS = 200
MOST_INLINE = 100_000  # ratings: of larger batches the page comes first, and the figures when they are counted
LIVE_SECONDS, FIGURES_SECONDS, LONGEST_SECONDS = 5, 10, 600
SHARE_OF_TIME = 20  # counting takes at most a twentieth of the server's time, however large the batch is


@study_view(*READERS)
@require_safe
def batch_page(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """Watch one batch."""
    batch = _find(study, pk)
    slots = slots_of(batch, timezone.now())
    large = slots.filled * batch.pairs_per_hit > MOST_INLINE and "figures" not in request.GET
    flag_count, returned_count = counts_of(batch)
    hits = batch.hits.select_related("matchup__instance").order_by("matchup__instance__position", "pk")
    page = Paginator(hits, HITS_A_PAGE).get_page(request.GET.get("page"))
    context = {
        "study": study,
        "batch": batch,
        "live": _live(request, batch, slots)[0],
        "figures": _placeholder(request, batch) if large else _figures(request, batch, slots)[0],
        "hits": page,
        "rows": _with_slots(page),
        "may_manage": Study.objects.seen_by(request.user, *MANAGERS).filter(pk=study.pk).exists(),
        "states": Batch.Status.choices,
        "lacks_gold": lacks_gold(batch),
        "flag_count": flag_count,
        "returned_count": returned_count,
    }
    return render(request, "annotation/batch.html", context)


@study_view(*READERS)
@require_safe
def batch_live(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """Return the progress of a batch, in one query; 204 when it is as the page shows it."""
    batch = _find(study, pk)
    if not getattr(request, "htmx", False):
        return redirect("annotation:batch", study.slug, pk)
    return _answer(request, *_live(request, batch, slots_of(batch, timezone.now())))


@study_view(*READERS)
@require_safe
def batch_figures(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """Return time, money, raters and ratings per pair; 204 when they are as the page shows them."""
    batch = _find(study, pk)
    if not getattr(request, "htmx", False):
        return redirect(f"{reverse('annotation:batch', args=[study.slug, pk])}?figures=1")
    return _answer(request, *_figures(request, batch, slots_of(batch, timezone.now())))


@study_view(*MANAGERS)
@require_http_methods(["GET", "HEAD", "POST"])
def batch_message(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """Write a line to everybody who has, or had, a HIT of the batch."""
    batch = _find(study, pk)
    form = MessageForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        text = form.cleaned_data["text"]
        count = send_to_batch(batch=batch, text=text, by=account_of(request), at=timezone.now())
        told = ngettext("Sent to %d rater.", "Sent to %d raters.", count) % count
        messages.success(request, told)
        return redirect("annotation:batch", study.slug, pk)
    context = {"study": study, "batch": batch, "form": form, "count": reached_by(batch).count()}
    return render(request, "annotation/batch_message.html", context, status=422 if form.is_bound else 200)


def _find(study: Study, pk: int) -> Batch:
    return get_object_or_404(study.batches.select_related("study", "system_a", "system_b"), pk=pk)


def _live(request: HttpRequest, batch: Batch, slots: Slots) -> tuple[str, str]:
    context: dict[str, Any] = {"batch": batch, "slots": slots}
    if batch.purpose != Batch.Purpose.RATING:
        submitted = Assignment.objects.present().filter(hit__batch=batch, state=Assignment.State.SUBMITTED)
        context |= {"submitted_count": submitted.count(), "hit_count": batch.hits.count()}
    every = LIVE_SECONDS if _goes_on(batch, slots) else None
    return _polled(request, "live", "annotation/_batch_live.html", context, every)


def _figures(request: HttpRequest, batch: Batch, slots: Slots) -> tuple[str, str]:
    began, now = perf_counter(), timezone.now()
    thorough = slots.filled * batch.pairs_per_hit <= MOST_SORTED
    raters = raters_of(batch, now, thorough=thorough)
    context = {
        "study": batch.study,
        "batch": batch,
        "status": batch_status(batch, now) if thorough else None,
        "figures": figures_of(batch, slots, raters, now),
        "raters": raters[:MOST_RATERS],
        "more": max(len(raters) - MOST_RATERS, 0),
        "pays": batch.study.pay_per_hit is not None,
    }
    took = perf_counter() - began
    every = max(FIGURES_SECONDS, min(LONGEST_SECONDS, round(took * SHARE_OF_TIME)))
    return _polled(
        request, "figures", "annotation/_batch_figures.html", context, every if _goes_on(batch, slots) else None
    )


def _goes_on(batch: Batch, slots: Slots) -> bool:
    """Tell whether anything may still change by itself."""
    at_work = batch.status in (Batch.Status.OPEN, Batch.Status.PAUSED)
    return at_work and batch.origin == Batch.Origin.COLLECTED and not slots.complete


def _placeholder(request: HttpRequest, batch: Batch) -> str:
    return _wrapped(request, "figures", batch, "annotation/_batch_counting.html", {}, "load, wake")[0]


def _polled(
    request: HttpRequest, name: str, template: str, context: Mapping[str, Any], every: int | None
) -> tuple[str, str]:
    trigger = f"every {every}s, wake" if every else ""
    return _wrapped(request, name, context["batch"], template, context, trigger)


def _wrapped(
    request: HttpRequest, name: str, batch: Batch, template: str, context: Mapping[str, Any], trigger: str
) -> tuple[str, str]:
    """Return a part of the page that asks for itself again, and what tells one version of it from another."""
    content = render_to_string(template, dict(context), request)
    seen = sha256(f"{bool(trigger)}{content}".encode()).hexdigest()[:16]
    around = {
        "id": f"batch-{name}",
        "address": reverse(f"annotation:batch-{name}", args=[batch.study.slug, batch.pk]),
        "seen": seen,
        "trigger": trigger,
        "content": content,
    }
    return render_to_string("annotation/_polled.html", around, request), seen


def _answer(request: HttpRequest, part: str, seen: str) -> HttpResponse:
    if request.GET.get("seen") == seen:
        return HttpResponse(status=204)
    return HttpResponse(part)


def _with_slots(page: Page[Hit]) -> list[tuple[Hit, Mapping[str, int]]]:
    """Put the counts of their slots beside the HITs of one page."""
    hits, none = list(page), {"total": 0, "filled": 0, "claimed": 0}
    counts: dict[int, Mapping[str, int]] = {
        row["hit"]: {"total": row["total"], "filled": row["filled"], "claimed": row["claimed"]}
        for row in Slot.objects.filter(hit__in=[hit.pk for hit in hits])
        .order_by()
        .values("hit")
        .annotate(
            total=Count("pk"),
            filled=Count("pk", filter=Q(assignment__state="submitted")),
            claimed=Count("pk", filter=Q(assignment__state="claimed")),
        )
    }
    return [(hit, counts.get(hit.pk, none)) for hit in hits]
