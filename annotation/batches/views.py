"""Views of batches."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache

from annotation.batches.changes import refuse_growth, spec_of
from annotation.batches.designs import design_of
from annotation.batches.forecast import raters_needed
from annotation.batches.forms import BatchForm, ExtendForm, SelectionForm, SetBatch, initial_from_query, initial_of
from annotation.core.actions import checked
from annotation.core.errors import AnnotationError, UnknownName
from annotation.core.http import attempt, is_htmx, page_text
from annotation.members.permissions import FORM, MANAGERS, POST, READERS, account_of, study_view
from annotation.models import Batch, Study
from annotation.rating import preview
from annotation.recruitment.channels import address_for_raters, make_first_links
from annotation.studies.configurations import configurations

LINKS = "links"  # the choice of recruitment
NEW, EXTEND = "annotation/batches/new_batch.html", "annotation/batches/extend_batch.html"
CHOICE = "annotation/batches/_batch_forecast.html#forecast"


@study_view(*MANAGERS, methods=FORM)
def new_batch(request: HttpRequest, study: Study) -> HttpResponse:
    """Create a batch, with a forecast beside the form. A link's query may preset the selection."""
    if request.method != "POST":
        form = BatchForm(study=study, initial=initial_from_query(request.GET.dict(), configurations(study)))
        return render(request, NEW, {"study": study, "form": form, **_initial_forecast(form, study)})
    form = BatchForm(request.POST, request.FILES, study=study)
    if form.is_valid() and (done := attempt(form, lambda: form.run(by=account_of(request)))):
        batches, created = done
        messages.success(request, _outcome(form, batches, created))
        is_design_draft = form.asked_design and batches[0].status == Batch.Status.DRAFT
        return redirect("annotation:study", study.slug) if is_design_draft else _after_launch(request, batches)
    return render(request, NEW, {"study": study, "form": form}, status=422)


def _outcome(form: BatchForm, batches: Sequence[Batch], is_new: bool) -> str:
    name, is_open = form.cleaned_data["name"], batches[0].status == Batch.Status.OPEN
    if form.asked_design:
        outcome = f"Design {name} was created; batches: {len(batches)}."
        return outcome if is_new else f"Design {name} exists already with the same settings."
    outcome = "is launched" if is_open else "is a draft"
    return f"Batch {name} {outcome if is_new else 'exists already with the same settings'}."


@study_view(*MANAGERS, methods=FORM)
def choice(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the forecast for the form's present values: as a partial for htmx, or on the whole page."""
    data = request.POST if request.method == "POST" else request.GET
    form = BatchForm(data, request.FILES, study=study)
    context = {"study": study, "form": form}
    return _show_forecast(request, form, NEW, context, lambda: _forecast(form), partial(BatchForm, study=study))


@study_view(*MANAGERS)
def copy(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """Show the form for a new batch, with the settings of another."""
    batch = _batch(study, pk)
    name = f"{batch.name}, copy"
    initial = {**initial_of(spec_of(batch), configurations(study)), "name": name[:200]}
    form = BatchForm(study=study, initial=initial)
    return render(request, NEW, {"study": study, "form": form, "pattern": batch, **_initial_forecast(form, study)})


@study_view(*MANAGERS, methods=FORM)
def extend(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """Show a forecast, then give a batch more raters or more HITs."""
    batch = _batch(study, pk)
    form = ExtendForm(request.POST or None, request.FILES or None, batch=batch)
    context = {"study": study, "batch": batch, "form": form, "refused": _refused(batch)}
    if request.method != "POST":
        return render(request, EXTEND, context)
    if is_htmx(request) or "show" in request.POST:
        return _show_forecast(
            request, form, EXTEND, context, lambda: _extension(batch, form), partial(ExtendForm, batch=batch)
        )
    done = attempt(form, lambda: form.run(batch, by=account_of(request))) if form.is_valid() else None
    if done is not None:
        messages.success(request, f"Batch {batch.name} extended.")
        return redirect("annotation:batch", study.slug, batch.pk)
    return render(request, EXTEND, context, status=422)


def _refused(batch: Batch) -> str:
    """Return why a batch can't be extended at all, or an empty string if it can."""
    try:
        refuse_growth(batch)
    except AnnotationError as error:
        return page_text(error)
    return ""


def _show_forecast(
    request: HttpRequest,
    form: SelectionForm,
    page: str,
    context: dict[str, Any],
    forecast: Callable[[], dict[str, Any]],
    new_form: Callable[..., SelectionForm],
) -> HttpResponse:
    """Show the forecast for the form's present values: as a partial for htmx, or on the whole page."""
    form.for_preview()
    context |= _forecast_context(form, forecast)
    if is_htmx(request):  # with 200: a half-filled form is no error
        return render(request, CHOICE, {**context, **_seed_drawn(form)})
    for name in form.OPTIONAL_IN_PREVIEW:  # in the preview alone
        form.fields[name].required = True
    if form.is_valid():
        context["form"] = new_form(initial=form.redisplay_values)
    return render(request, page, context, status=422 if "problems" in context else 200)


def _forecast(form: BatchForm) -> dict[str, Any]:
    return {"forecast": form.forecast()}


def _extension(batch: Batch, form: ExtendForm) -> dict[str, Any]:
    if not form.more and form.selection is None:
        return {}
    expected = form.forecast(batch)
    return {"more_work": expected.work, "forecast": expected.hits}


@study_view(*MANAGERS, methods=POST)
def change_status(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """Launch, pause, close or open a batch again, or change its stop rule; of all of its design if asked."""
    batch = _batch(study, pk)
    was_draft = batch.status == Batch.Status.DRAFT
    form = SetBatch(request.POST)
    if "stop_rule" not in request.POST:
        checked(form)
        batches: list[Batch] | None = form.run(batch, by=account_of(request))
    else:
        batches = attempt(form, lambda: form.run(batch, by=account_of(request))) if form.is_valid() else None
    if batches is None:
        context = {"study": study, "batch": batch, "form": form}
        return render(request, "annotation/batches/stop_rule.html", context, status=422)
    if form.cleaned_data["design"]:
        message = f"All {len(batches)} batches of design {design_of(batch)} were changed."
        messages.success(request, message)
    return _after_launch(request, batches) if was_draft else redirect("annotation:batch", study.slug, batch.pk)


def _after_launch(request: HttpRequest, batches: Sequence[Batch]) -> HttpResponse:
    """Lead from launched batches to their raters, by links that are made now if the form asked for them."""
    batch = batches[0]
    if batch.status != Batch.Status.OPEN or batch.purpose != Batch.Purpose.RATING:
        return redirect("annotation:batch", batch.study.slug, batch.pk)
    if request.POST.get("raters_from") == LINKS:
        make_first_links(study=batch.study, count=raters_needed(batches), at=timezone.now())
    return redirect(address_for_raters(batch.study))


@study_view(*READERS)
@never_cache
def preview_page(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """Show a HIT of a batch as its rater would see it, with disabled controls. Nothing is recorded."""
    batch = _batch(study, pk)
    number = _number(request.GET.get("hit", "1"))
    arm = request.GET.get("arm", "")
    at, viewer = timezone.now(), account_of(request)
    hit = preview.previewed_hit(batch, number)
    if arm:
        context = preview.second_stage(hit, number=number, viewer=viewer, at=at, arm=arm)
    else:
        context = preview.first_stage(hit, number=number, viewer=viewer, at=at)
    preview_context = {
        "batch": batch,
        "number": number,
        "hit_count": batch.hits.count(),
        "arms": preview.arms_of(batch),
        "arm": arm,
    }
    return render(request, "annotation/batches/preview.html", {**context, "preview": preview_context})


def _number(data: str) -> int:
    if not (data.isascii() and data.isdigit() and len(data) <= 9):
        raise UnknownName(f"{data[:20]!r} is no HIT's place; HITs are counted from 1")
    return int(data)


def _batch(study: Study, pk: int) -> Batch:
    batch = get_object_or_404(study.batches.select_related("system_a", "system_b"), pk=pk)
    batch.study = study
    return batch


def _initial_forecast(form: BatchForm, study: Study) -> dict[str, Any]:
    """Return the forecast for a form's initial values."""
    values = {name: form.get_initial_for_field(field, name) for name, field in form.fields.items()}
    values["configuration"] = values["configuration"] or "0"
    filled = BatchForm(values, study=study)
    return _forecast_context(filled, lambda: _forecast(filled))


def _forecast_context(form: SelectionForm, forecast: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the partial's context: a forecast, or the problems."""
    if not form.is_valid():
        return {
            "problems": [f"{_label(form, name)}{' '.join(map(str, errors))}" for name, errors in form.errors.items()]
        }
    try:
        return forecast()
    except AnnotationError as error:
        return {"problems": [page_text(error)]}


def _label(form: forms.Form, name: str) -> str:
    return f"{form.fields[name].label}: " if name in form.fields else ""


def _seed_drawn(form: SelectionForm) -> dict[str, Any]:
    """Return the seed's field, filled with the drawn seed if it was left empty: the batch then equals its forecast."""
    if form["seed"].value() or not form.is_valid():
        return {}
    attributes: dict[str, str | bool] = {"hx-swap-oob": "true"}
    drawn = type(form).base_fields["seed"].get_bound_field(forms.Form({"seed": str(form.drawn_seed)}), "seed")
    return {"seed_field": drawn.as_widget(attrs=attributes)}
