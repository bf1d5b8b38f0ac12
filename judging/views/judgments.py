"""One judgment: what was sent, what came back, how it was read."""

from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from annotation.access import READERS, study_view
from annotation.models import Study
from judging.judges import PromptedMethod, find_method
from judging.models import Judgment
from judging.services.cells import RELATED
from judging.services.presentations import present
from judging.services.reading import read
from judging.services.requests import request_body


@require_safe
@study_view(*READERS)
def judgment(request: HttpRequest, study: Study, judgment_id: int) -> HttpResponse:
    """Show one judgment with the exact messages sent, each completion, and how it was read."""
    cells = Judgment.objects.select_related("run__judge__endpoint", "run__batch", *RELATED)
    found = cells.filter(run__study=study, pk=judgment_id).first()
    if found is None:
        raise Http404(f"no judgment {judgment_id} in {study.slug}")
    shown = present(found.pair, found.order)
    method = find_method(found.run.judge.method)
    context = {"study": study, "judgment": found, "judge": found.run.judge, "shown": shown, "steps": []}
    if isinstance(method, PromptedMethod):
        completions = list(found.completions.order_by("sample", "pk"))
        context["steps"] = [
            {"completion": one, "messages": one.request.get("messages", []), "reading": read(method, one)}
            for one in completions
        ]
        if not completions:
            context["would_send"] = request_body(found.run.judge, method, shown, sample=0)["messages"]
    return TemplateResponse(request, "judging/judgment.html", context)
