"""The pages about judgments: one with its messages and readings, marks on its rationale, two raters side by side."""

from collections.abc import Sequence
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.utils import timezone

from annotation.core.http import is_htmx
from annotation.members.permissions import POST, READERS, account_of, study_view
from annotation.models import Study
from annotation.studies.questions import named_questions
from judging.models import Judge, Judgment, TableMaking
from judging.outcomes.provenance import completions_with_cut_prompts
from judging.review import marks
from judging.review.comparing import GOLD, PEOPLE, RatersCompared, compare, draw_wrong, judged_pairs, votes_on
from judging.review.forms import CompareForm, MarkForm
from judging.review.replaying import replay

A_PAGE = 20


@study_view(*READERS)
def comparison(request: HttpRequest, study: Study) -> HttpResponse:
    """Compare a judge with another one or with people. Without a choice, show the form only."""
    ran = Judge.objects.filter(runs__study=study).distinct().order_by("name")
    judges = [judge for judge in ran if not judge.is_candidate]
    datasets = sorted(study.instances.order_by().values_list("dataset", flat=True).distinct())
    is_chosen, gold = "first" in request.GET, study.instances.filter(gold__isnull=False).exists()
    offered: dict[str, Any] = {
        "judges": judges,
        "beside": {PEOPLE: "people", **({GOLD: "gold labels"} if gold else {})},
        "datasets": datasets,
        "questions": named_questions(study),
    }
    form = CompareForm(request.GET if is_chosen else None, **offered)
    context: dict[str, Any] = {"study": study, "form": form, "judges": judges}
    if not form.is_bound:
        return TemplateResponse(request, "judging/review/compare.html", context)
    if not form.is_valid():
        return TemplateResponse(request, "judging/review/compare.html", context, status=422)
    first, named = form.by_name[form.cleaned_data["first"]], form.cleaned_data["second"]
    second = form.by_name.get(named, named)
    question = form.cleaned_data["question"]
    compared = compare(study, first, second, dataset=form.cleaned_data["dataset"], question=question)
    rows = compared.order[: compared.disagreements] if form.cleaned_data["only"] else compared.order
    if form.cleaned_data["drawn"]:
        rows = draw_wrong(compared, seed=form.cleaned_data["seed"] or 0)
    page = Paginator(rows.tolist(), A_PAGE).get_page(request.GET.get("page"))
    query = request.GET.copy()
    query.pop("page", None)
    context |= {
        "found": compared,
        "first": first,
        "beside": offered["beside"].get(named, named),
        "second": second if isinstance(second, Judge) else None,
        "people": named == PEOPLE,
        "page": page,
        "query": query.urlencode(),
        "rows": _rows(study, first, second, compared, list(page.object_list), question),
    }
    return TemplateResponse(request, "judging/review/compare.html", context)


def _rows(
    study: Study, first: Judge, second: Judge | str, compared: RatersCompared, indexes: Sequence[int], question: int
) -> list[dict[str, Any]]:
    """Return the pairs of one page with texts, verdicts, judgments and votes."""
    keys = [int(compared.pair[index]) for index in indexes]
    pairs = judged_pairs(
        study, [judge for judge in (first, second) if isinstance(judge, Judge)], keys, question=question
    )
    votes = votes_on(study, keys, question=question) if second == PEOPLE else {}
    beside = second.pk if isinstance(second, Judge) else None
    return [
        {
            "pair": pair,
            "verdicts": (compared.first[index], compared.second[index]),
            "differ": abs(compared.first[index] - compared.second[index]) > 0,
            "said": [row for row in pair.judgments.all() if row.run.judge_id == first.pk],
            "beside": [row for row in pair.judgments.all() if row.run.judge_id == beside],
            "votes": votes.get(pair.pk, []),
        }
        for pair, index in zip(pairs, indexes, strict=True)
    ]


RELATED = (
    *("run__study", "run__judge__endpoint", "run__judge__prompt_file", "run__batch", "pair__matchup__instance__study"),
    *("pair__matchup__system_a", "pair__matchup__system_b", "pair__generation_a", "pair__generation_b"),
)


@study_view(*READERS)
def judgment(request: HttpRequest, study: Study, judgment_id: int) -> HttpResponse:
    """Show one judgment with the exact messages sent, each completion, and how it was read."""
    row = get_object_or_404(Judgment.objects.select_related(*RELATED), run__study=study, pk=judgment_id)
    context = {
        "study": study,
        "judgment": row,
        "judge": row.run.judge,
        "currency": row.run.judge.endpoint.currency if row.run.judge.endpoint else "",
        "replay": replay(row),
        "cut": completions_with_cut_prompts([row.run_id]) if row.run.judge.endpoint else set(),
        "has_table": TableMaking.objects.filter(judgment=row).exists(),
        "asked": named_questions(study).get(row.question),
        "votes": votes_on(study, [row.pair_id], question=row.question).get(row.pair_id, []),
        "others": row.run.judgments.for_question(row.question)
        .filter(pair=row.pair_id)
        .exclude(pk=row.pk)
        .order_by("repeat", "negated", "order"),
    }
    return TemplateResponse(request, "judging/review/judgment.html", context)


@study_view(*READERS, methods=POST)
def mark(request: HttpRequest, study: Study, judgment_id: int) -> HttpResponse:
    """Store or remove the user's mark on a rationale."""
    judgment = get_object_or_404(Judgment.objects.all(), run__study=study, pk=judgment_id)
    form = MarkForm(request.POST, auto_id="mark-%s")
    context = {"study": study, "judgment": judgment}
    is_card = is_htmx(request)
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
