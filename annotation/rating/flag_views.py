"""Views where a rater flags a pair or a table row, and gives a HIT back."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.allocation import claims
from annotation.core.errors import Unacceptable
from annotation.core.http import is_htmx
from annotation.models import Display
from annotation.rating import flags
from annotation.rating.access import hit_form_view, own_assignment
from annotation.rating.forms import FlagForm, ReturnForm
from annotation.rating.hit_views import CLOSED_STATES
from annotation.rating.second_stage import shown_rows
from annotation.rating.vote_context import flag_choices


@hit_form_view
def flag(request: HttpRequest, assignment_key: str) -> HttpResponse:
    """Set or take back a flag on a pair, or on a row of the table beside it."""
    assignment = own_assignment(request, assignment_key)
    form = FlagForm(request.POST)
    if not form.is_valid():
        raise Unacceptable(" ".join(str(problem) for problems in form.errors.values() for problem in problems))
    data, now = form.cleaned_data, timezone.now()
    pair_key, row = data["pair_key"], data["row"]
    if row is None:
        values = {name: data[name] for name in ("kind", "comment", "take_back")}
        is_new = flags.flag_pair(assignment=assignment, pair_key=pair_key, **values, at=now)
    else:
        is_new = flags.flag_row(assignment=assignment, pair_key=pair_key, row=row, take_back=data["take_back"], at=now)
    if not is_htmx(request):
        return redirect(f"{reverse('annotation:hit', args=[assignment.key])}#pair-{pair_key}")
    display = Display.objects.select_related("pair", "table").get(pk=is_new.display_id)
    address = reverse("annotation:hit", args=[assignment.key])
    context: dict[str, Any] = {"here": address, "pair_key": display.pair.key}
    if row is not None:
        context["row"] = shown_rows(display)[row]
        return TemplateResponse(request, "annotation/rating/_row_flag.html", context)
    standing = display.flags.filter(row=None, taken_back_at=None)
    context |= {"place": display.position + 1, "flags": standing, "flag_choices": flag_choices()}
    context |= {"taken_back": is_new if is_new.taken_back_at else None}
    return TemplateResponse(request, "annotation/rating/_flag.html", context)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def return_hit(request: HttpRequest, assignment_key: str) -> HttpResponse:
    """Ask for a reason, and return a HIT."""
    assignment = own_assignment(request, assignment_key)
    if assignment.state in CLOSED_STATES and request.method != "POST":
        return redirect("annotation:rate")
    form = ReturnForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        claims.return_hit(assignment=assignment, **form.cleaned_data, at=timezone.now())
        messages.success(request, _("The HIT is returned. Thank you for telling us why."))
        return redirect("annotation:rate")
    context = {"assignment": assignment, "study": assignment.hit.batch.study, "form": form}
    return render(request, "annotation/rating/return.html", context, status=422 if request.method == "POST" else 200)
