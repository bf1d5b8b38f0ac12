"""Cells and costs of a tuning's candidates."""

from decimal import Decimal

from django.db.models import QuerySet, Sum

from judging.models import JudgeRun, JudgeTuning, Judgment


def asked_of_tuning(tuning: JudgeTuning, *, but: JudgeRun | None = None) -> int:
    """Count the answered presentations of a tuning's candidates."""
    return _cells_of(tuning, but).exclude(status=Judgment.Status.PENDING).count()


def cost_of_tuning(tuning: JudgeTuning, *, but: JudgeRun | None = None) -> Decimal | None:
    """Return the known cost of a tuning's candidates, or `None` before the first call with a price."""
    cost: Decimal | None = _cells_of(tuning, but).aggregate(sum=Sum("cost"))["sum"]
    return cost


def _cells_of(tuning: JudgeTuning, but: JudgeRun | None) -> QuerySet[Judgment]:
    cells = Judgment.objects.filter(run__judge__tuned__candidate_of=tuning.name)
    return cells.exclude(run=but) if but else cells
