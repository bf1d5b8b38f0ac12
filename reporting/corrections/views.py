"""The page of a correction: its form, what it affects, and the confirmation."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from annotation.core.http import attempt
from annotation.members.permissions import FORM, MANAGERS, account_of, study_view
from annotation.models import Study
from reporting.corrections.batches import DeleteBatch
from reporting.corrections.declarations import Correction
from reporting.corrections.deleting import DeleteStudy
from reporting.corrections.merging import MergeRaters
from reporting.corrections.renaming import Rename
from reporting.corrections.replacing import ReplaceText
from reporting.corrections.taking_back import TakeBack

KINDS: tuple[type[Correction], ...] = (Rename, ReplaceText, TakeBack, MergeRaters, DeleteBatch, DeleteStudy)
CORRECTIONS = {kind.action: kind for kind in KINDS}


@study_view(*MANAGERS, methods=FORM)
def correct(request: HttpRequest, study: Study, *, action: str) -> HttpResponse:
    """Show a correction, list what it affects, and make it once that is confirmed."""
    kind = CORRECTIONS.get(action)
    if kind is None:
        raise Http404(f"no correction {action}")
    form = _form(kind, request, study)
    effects = form.effects() if kind.lists_first else None
    if form.is_valid():
        if form.cleaned_data["preview"]:
            effects = attempt(form, form.effects)
        elif (message := attempt(form, lambda: form.run(by=account_of(request)))) is not None:
            messages.success(request, message)
            return redirect(form.page)
    context = {"study": study, "form": form, "effects": effects, "shown": kind.lists_first or effects is None}
    status = 422 if request.method == "POST" and form.errors else 200
    return render(request, "reporting/corrections/correction.html", context, status=status)


def _form(kind: type[Correction], request: HttpRequest, study: Study) -> Correction:
    """Return the form with what was sent. A link may name all it needs, and is a preview."""
    if request.method == "POST":
        return kind(request.POST, study=study)
    values = request.GET.dict()
    if kind.by_link and values:
        return kind({**values, "preview": "on"}, study=study)
    return kind(initial=values, study=study)
