"""What a tuning has cost."""

from decimal import Decimal

from django.db.models import Sum

from judging.models import JudgeRun, JudgeTuning, Judgment


def cost_of_tuning(tuning: JudgeTuning, *, but: JudgeRun | None = None) -> Decimal | None:
    """Return the known cost of a tuning's candidates; `None` before the first call with a price."""
    judged = Judgment.objects.filter(run__judge__tuned__candidate_of=tuning.name)
    if but is not None:
        judged = judged.exclude(run=but)
    found: Decimal | None = judged.aggregate(sum=Sum("cost"))["sum"]
    return found
