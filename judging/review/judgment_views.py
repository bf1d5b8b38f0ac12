"""The page of one judgment: messages, completions, their readings, and people's votes on the pair."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from annotation.members.permissions import READERS, study_view
from annotation.models import Study
from judging.models import Judgment, TableMaking
from judging.review.comparing import votes_on
from judging.review.replaying import replay

RELATED = (
    *("run__judge__endpoint", "run__judge__prompt_file", "run__batch", "pair__matchup__instance__study"),
    *("pair__matchup__system_a", "pair__matchup__system_b", "pair__generation_a", "pair__generation_b"),
)


@require_safe
@study_view(*READERS)
def judgment(request: HttpRequest, study: Study, judgment_id: int) -> HttpResponse:
    """Show one judgment with the exact messages sent, each completion, and how it was read."""
    found = get_object_or_404(Judgment.objects.select_related(*RELATED), run__study=study, pk=judgment_id)
    context = {
        "study": study,
        "judgment": found,
        "judge": found.run.judge,
        "currency": found.run.judge.endpoint.currency if found.run.judge.endpoint else "",
        "replay": replay(found),
        "has_table": TableMaking.objects.filter(judgment=found).exists(),
        "votes": votes_on(study, [found.pair_id]).get(found.pair_id, []),
        "others": found.run.judgments.filter(pair=found.pair_id)
        .exclude(pk=found.pk)
        .order_by("repeat", "negated", "order"),
    }
    return TemplateResponse(request, "judging/review/judgment.html", context)
