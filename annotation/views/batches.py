"""Batches: choosing instances and seeing what that comes to, making, previewing, extending, copying, opening and closing."""

from collections.abc import Callable
from typing import Any, TypeVar

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation import preview
from annotation.access import MANAGERS, READERS, account_of, study_view
from annotation.batch_form import BatchForm, ChoiceForm, ChoosingForm, asked_for, initial_of
from annotation.configurations import configurations
from annotation.errors import AnnotationError, UnknownName
from annotation.extend_form import ExtendForm
from annotation.forecast import extension_forecast, forecast
from annotation.middleware import shown
from annotation.models import Batch, Study
from annotation.services.batch_changes import extend_batch, refuse_growth, settings_of
from annotation.services.batches import create_batch, set_batch_status

T = TypeVar("T")
NEW, CHOICE = "annotation/new_batch.html", "annotation/_choice.html"


@study_view(*MANAGERS)
@require_http_methods(["GET", "HEAD", "POST"])
def new_batch(request: HttpRequest, study: Study) -> HttpResponse:
    """Make a batch, and show beside the form what it comes to; a link may say how to choose."""
    if request.method != "POST":
        form = BatchForm(study=study, initial=asked_for(request.GET.dict(), configurations(study)))
        return render(request, NEW, {"study": study, "form": form, **_foreseen_at_first(form, study)})
    form = BatchForm(request.POST, request.FILES, study=study)
    status = request.POST.get("status") or Batch.Status.OPEN
    if form.is_valid() and (
        done := _try(form, lambda: create_batch(study=study, status=status, by=account_of(request), **form.settings))
    ):
        batch, made = done
        told = _("Batch %(name)s made.") if made else _("Batch %(name)s was there already, made the same way.")
        messages.success(request, told % {"name": batch.name})
        return redirect("annotation:batch", study.slug, batch.pk)
    return render(request, NEW, {"study": study, "form": form}, status=422)


@study_view(*MANAGERS)
@require_http_methods(["GET", "HEAD", "POST"])
def choice(request: HttpRequest, study: Study) -> HttpResponse:
    """Show what a batch of the form's present values comes to: as a part of the form's page, or as that page anew."""
    sent = request.POST if request.method == "POST" else request.GET
    form = ChoiceForm(sent, request.FILES, study=study)
    foreseen = _foreseen(form, lambda: forecast(form.wanted, fee_percent=form.fee_percent))
    if _wants_part(request):  # a form half filled in is no error
        return render(request, CHOICE, {"study": study, **foreseen, **_seed_drawn(form, sent)})
    code = 422 if "problems" in foreseen else 200
    page: ChoiceForm = BatchForm(sent, request.FILES, study=study)
    if form.is_valid():
        page = BatchForm(study=study, initial={**form.kept, "name": sent.get("name", "")})
    return render(request, NEW, {"study": study, "form": page, **foreseen}, status=code)


@study_view(*MANAGERS)
@require_safe
def copy(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """Show the form for a new batch, filled in after the pattern of another."""
    batch = _batch(study, pk)
    name = _("%(name)s, copy") % {"name": batch.name}
    initial = {**initial_of(settings_of(batch), configurations(study)), "name": name[:200]}
    form = BatchForm(study=study, initial=initial)
    return render(request, NEW, {"study": study, "form": form, "pattern": batch, **_foreseen_at_first(form, study)})


@study_view(*MANAGERS)
@require_http_methods(["GET", "HEAD", "POST"])
def extend(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """Give a batch more raters or more HITs; before that, show what they come to."""
    batch = _batch(study, pk)
    form = ExtendForm(request.POST or None, request.FILES or None, batch=batch)
    context = {"study": study, "batch": batch, "form": form, "refused": _refused(batch)}
    if request.method != "POST":
        return render(request, "annotation/extend_batch.html", context)
    if _wants_part(request) or "show" in request.POST:
        return _show_extension(request, batch, form, context)
    done = (
        _try(form, lambda: extend_batch(batch=batch, by=account_of(request), **form.settings))
        if form.is_valid()
        else None
    )
    if done is not None:
        messages.success(request, _("Batch %(name)s extended.") % {"name": batch.name})
        return redirect("annotation:batch", study.slug, batch.pk)
    return render(request, "annotation/extend_batch.html", context, status=422)


def _refused(batch: Batch) -> str:
    """Say why a batch can't be extended at all, before anybody fills in how."""
    try:
        refuse_growth(batch)
    except AnnotationError as error:
        return shown(error)
    return ""


def _show_extension(request: HttpRequest, batch: Batch, form: ExtendForm, context: dict[str, Any]) -> HttpResponse:
    form.fields["reason"].required = False
    foreseen = _foreseen(form, lambda: _extension(batch, form), more=True)
    if _wants_part(request):
        return render(request, CHOICE, {**context, **foreseen, **_seed_drawn(form, request.POST)})
    code = 422 if "problems" in foreseen else 200
    if code == 200:
        context["form"] = ExtendForm(batch=batch, initial=form.kept)
    return render(request, "annotation/extend_batch.html", {**context, **foreseen}, status=code)


def _extension(batch: Batch, form: ExtendForm) -> dict[str, Any]:
    asked = form.asked_more
    if not form.more and asked is None:
        return {}
    found = extension_forecast(batch, form.more, asked, form.drawn_seed, fee_percent=form.fee_percent)
    return {"more_work": found.work, "forecast": found.hits}


@study_view(*MANAGERS)
@require_POST
def change_status(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """Launch, pause, close or open a batch again."""
    batch = _batch(study, pk)
    set_batch_status(batch=batch, status=request.POST.get("status", ""), by=account_of(request))
    return redirect("annotation:batch", study.slug, batch.pk)


@study_view(*READERS)
@never_cache
@require_safe
def preview_page(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """Show a HIT of a batch as its rater would see it; nothing is recorded, and nothing on it can be used."""
    batch = _batch(study, pk)
    number = _number(request.GET.get("hit", "1"))
    arm = request.GET.get("arm", "")
    at, viewer = timezone.now(), account_of(request)
    hit = preview.previewed_hit(batch, number)
    if arm:
        context = preview.second_stage(hit, number=number, viewer=viewer, at=at, arm=arm)
    else:
        context = preview.first_stage(hit, number=number, viewer=viewer, at=at)
    told = {
        "batch": batch,
        "number": number,
        "hit_count": batch.hits.count(),
        "arms": preview.arms_of(batch),
        "arm": arm,
    }
    return render(request, "annotation/preview.html", {**context, "preview": told})


def _number(sent: str) -> int:
    if not (sent.isascii() and sent.isdigit() and len(sent) <= 9):
        raise UnknownName(f"{sent[:20]!r} is no HIT's place; HITs are counted from 1")
    return int(sent)


def _batch(study: Study, pk: int) -> Batch:
    batch = get_object_or_404(study.batches.select_related("system_a", "system_b"), pk=pk)
    batch.study = study
    return batch


def _wants_part(request: HttpRequest) -> bool:
    return bool(getattr(request, "htmx", False))


def _foreseen_at_first(form: BatchForm, study: Study) -> dict[str, Any]:
    """Say what the form comes to with the values that it is shown with."""
    values = {name: form.get_initial_for_field(field, name) for name, field in form.fields.items()}
    values["configuration"] = values["configuration"] or "0"
    filled = ChoiceForm({name: "" if value is None else value for name, value in values.items()}, study=study)
    return _foreseen(filled, lambda: forecast(filled.wanted, fee_percent=filled.fee_percent))


def _foreseen(form: ChoosingForm, attempt: Callable[[], Any], *, more: bool = False) -> dict[str, Any]:
    """Return what the part shows: a forecast, or why there is none."""
    if not form.is_valid():
        return {"problems": [f"{_label(form, name)}{' '.join(map(str, told))}" for name, told in form.errors.items()]}
    try:
        found = attempt()
    except AnnotationError as error:
        return {"problems": [shown(error)]}
    return {"foreseen": True, **(found if more else {"forecast": found})}


def _label(form: forms.Form, name: str) -> str:
    return f"{form.fields[name].label}: " if name in form.fields else ""


def _seed_drawn(form: ChoosingForm, sent: Any) -> dict[str, Any]:
    """Return the seed's field where it was left empty: what is shown is what is made only with the same seed."""
    if sent.get("seed") or not form.is_valid():
        return {}
    attributes: dict[str, str | bool] = {"hx-swap-oob": "true"}
    drawn = type(form).base_fields["seed"].get_bound_field(forms.Form({"seed": str(form.drawn_seed)}), "seed")
    return {"seed_field": drawn.as_widget(attrs=attributes)}


def _try(form: forms.Form, attempt: Callable[[], T]) -> T | None:
    """Do what a form asks for; what is wrong with it is shown at the form, which keeps what was filled in."""
    try:
        return attempt()
    except AnnotationError as error:
        form.add_error(None, shown(error))
        return None
