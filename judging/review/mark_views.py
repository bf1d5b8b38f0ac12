"""Marking a judgment's rationale as sound or not."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.views.decorators.http import require_POST

from annotation.members.permissions import READERS, account_of, study_view
from annotation.models import Study
from judging.models import Judgment
from judging.review import marks
from judging.review.forms import MarkForm


@require_POST
@study_view(*READERS)
def mark(request: HttpRequest, study: Study, judgment_id: int) -> HttpResponse:
    """Store or remove the user's mark on a rationale."""
    judgment = get_object_or_404(Judgment, run__study=study, pk=judgment_id)
    form = MarkForm(request.POST, auto_id="mark-%s")
    context = {"study": study, "judgment": judgment}
    is_card = request.htmx  # type: ignore[attr-defined]
    if "take_back" in request.POST:
        marks.remove_mark(judgment=judgment, marker=account_of(request))
    elif form.is_valid():
        marks.mark_rationale(judgment=judgment, marker=account_of(request), at=timezone.now(), **form.cleaned_data)
    else:
        template = "judging/review/_rationale_mark.html" if is_card else "judging/review/mark.html"
        return TemplateResponse(request, template, {**context, "mark_form": form}, status=422)
    if not is_card:
        return redirect("judging:judgment", study.slug, judgment.pk)
    return TemplateResponse(request, "judging/review/_rationale_mark.html", context)
