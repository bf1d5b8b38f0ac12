"""The page that compares two raters pair by pair, disagreements first."""

from collections.abc import Sequence
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from annotation.members.permissions import READERS, study_view
from annotation.models import Study
from judging.models import Judge
from judging.review.comparing import PEOPLE, Comparison, compare, judged_pairs, votes_on
from judging.review.forms import CompareForm

A_PAGE = 20


@require_safe
@study_view(*READERS)
def comparison(request: HttpRequest, study: Study) -> HttpResponse:
    """Compare a judge with another one or with people; without a choice, show the form only."""
    judges = list(Judge.objects.filter(runs__study=study).distinct().order_by("name"))
    datasets = sorted(study.instances.order_by().values_list("dataset", flat=True).distinct())
    chosen = "first" in request.GET
    form = CompareForm(request.GET if chosen else None, judges=judges, people=PEOPLE, datasets=datasets)
    context: dict[str, Any] = {"study": study, "form": form, "judges": judges}
    if not form.is_bound:
        return TemplateResponse(request, "judging/review/compare.html", context)
    if not form.is_valid():
        return TemplateResponse(request, "judging/review/compare.html", context, status=422)
    first, second = form.by_name[form.cleaned_data["first"]], form.by_name.get(form.cleaned_data["second"])
    found = compare(study, first, second, dataset=form.cleaned_data["dataset"])
    shown = found.order[: found.disagreements] if form.cleaned_data["only"] else found.order
    page = Paginator(shown.tolist(), A_PAGE).get_page(request.GET.get("page"))
    query = request.GET.copy()
    query.pop("page", None)
    context |= {
        "found": found,
        "first": first,
        "second": second,
        "page": page,
        "query": query.urlencode(),
        "rows": _rows(study, first, second, found, list(page.object_list)),
    }
    return TemplateResponse(request, "judging/review/compare.html", context)


def _rows(
    study: Study, first: Judge, second: Judge | None, found: Comparison, places: Sequence[int]
) -> list[dict[str, Any]]:
    """Return the pairs of one page with texts, verdicts, judgments and votes."""
    keys = [int(found.pair[place]) for place in places]
    pairs = judged_pairs(study, [judge for judge in (first, second) if judge], keys)
    votes = votes_on(study, keys) if second is None else {}
    return [
        {
            "pair": pair,
            "verdicts": (found.first[place], found.second[place]),
            "differ": abs(found.first[place] - found.second[place]) > 0,
            "said": [one for one in pair.said if one.run.judge_id == first.pk],  # type: ignore[attr-defined]
            "beside": [one for one in pair.said if second and one.run.judge_id == second.pk],  # type: ignore[attr-defined]
            "votes": votes.get(pair.pk, []),
        }
        for pair, place in zip(pairs, places, strict=True)
    ]
