"""What an audit would take, without a call."""

from collections.abc import Sequence
from decimal import Decimal

from judging.audits.requests import requests_of
from judging.audits.stress import Status, StressTest, cells_of, draw_pairs, planned_answers, stored_like
from judging.models import AuditAnswer, JudgeAudit
from judging.runs.estimates import SAMPLE, RunEstimate, estimate_of_cells


def estimate_stress(test: StressTest) -> RunEstimate:
    """Estimate a stress test; nothing is stored. All changes of the first drawn pairs are in the dry run.

    Raises: as `StressTest.as_audit` and `draw_pairs`
    """
    audit = test.as_audit()
    known = stored_like(audit)
    answers = list(planned_answers(audit, draw_pairs(audit)))
    filled = set(known.answers.exclude(status__in=OPEN).values_list("pair_id", "change")) if known else set()
    return _estimate(audit, known, [one for one in answers if (one.pair_id, one.change) not in filled], len(answers))


OPEN = (Status.PENDING, Status.ERROR)


def _estimate(
    audit: JudgeAudit, known: JudgeAudit | None, answers: Sequence[AuditAnswer], presentations: int
) -> RunEstimate:
    cells = [(cell.repeat, cell.shown) for cell in cells_of(audit, answers[:SAMPLE])]
    return estimate_of_cells(
        audit.judge,
        cells,
        requests_of(audit),
        presentations=presentations,
        pending=len(answers),
        spent=known.cost or Decimal(0) if known else Decimal(0),
    )
