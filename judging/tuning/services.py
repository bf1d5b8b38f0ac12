"""Starting tunings, and what their candidates have taken so far."""

from decimal import Decimal

from django.db import transaction
from django.db.models import QuerySet, Sum

from annotation.core.version import VERSION
from annotation.models import Study
from annotation.studies.services import validate
from judging.core.checks import require_same
from judging.core.errors import BadSettings
from judging.jobs.bounds import set_bounds
from judging.models import Judge, JudgeRun, JudgeTuning, Judgment
from judging.tuning.planning import TuningSettings, make_plan

LONGEST_NAME = 70


@transaction.atomic
def start_tuning(
    tuning_settings: TuningSettings, *, name: str = "", in_flight: int | None = None, max_cost: Decimal | None = None
) -> JudgeTuning:
    """Return the tuning of these settings under a name, new with its plan or as it was begun. `max_cost` of all of it.

    The split, the examples and the rounds are fixed when it is begun: votes that come later change no part of it.
    Raises: as `make_plan`; BadSettings for other settings under a used name, or a cap that can't be enforced
    """
    name = name or f"{tuning_settings.judge.name[: LONGEST_NAME - 6]}-tuned"
    Study.objects.select_for_update().get(pk=tuning_settings.study.pk)
    fields = {
        "study": tuning_settings.study,
        "judge": tuning_settings.judge,
        "question": tuning_settings.question,
        "settings": tuning_settings.as_json(),
    }
    tuning = JudgeTuning.objects.select_related("study", "judge__endpoint").filter(name=name).first()
    if tuning is None:
        if Judge.objects.filter(name__iexact=name).exists():
            raise BadSettings(f"there is a judge {name} already: give the tuned one another name")
        tuning = JudgeTuning(name=name, software_version=VERSION, plan=make_plan(tuning_settings), **fields)
        validate(tuning)
        tuning.save()
    elif tuning.study != tuning_settings.study:  # of which the user may not see the settings
        raise BadSettings(f"there is a tuning {name} already: choose another name")
    else:
        require_same(f"tuning {name}", tuning, fields)
    in_flight, max_cost = in_flight or tuning.in_flight, tuning.max_cost if max_cost is None else max_cost
    set_bounds(tuning, in_flight=in_flight, max_cost=max_cost)
    return tuning


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
