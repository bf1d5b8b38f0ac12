"""Estimates of audits, without calls."""

from collections.abc import Sequence
from decimal import Decimal

from judging.audits.requests import requests_of
from judging.audits.stress import Status, StressTest, cells_of, draw_pairs, planned_answers, stored_like
from judging.models import AuditAnswer, JudgeAudit
from judging.runs.estimates import SAMPLE, RunEstimate, estimate_of_cells


def estimate_stress(test: StressTest) -> RunEstimate:
    """Estimate a stress test. Nothing is stored. All changes of the first drawn pairs are in the dry run.

    Raises: as `StressTest.as_audit` and `draw_pairs`
    """
    audit = test.as_audit()
    earlier = stored_like(audit)
    answers = list(planned_answers(audit, draw_pairs(audit)))
    filled = set(earlier.answers.exclude(status__in=OPEN).values_list("pair_id", "change")) if earlier else set()
    return _estimate(
        audit, earlier, [answer for answer in answers if (answer.pair_id, answer.change) not in filled], len(answers)
    )


OPEN = (Status.PENDING, Status.ERROR)


def _estimate(
    audit: JudgeAudit, earlier: JudgeAudit | None, answers: Sequence[AuditAnswer], presentations: int
) -> RunEstimate:
    cells = [(cell.repeat, cell.shown) for cell in cells_of(audit, answers[:SAMPLE])]
    return estimate_of_cells(
        audit.judge,
        cells,
        requests_of(audit),
        presentations=presentations,
        pending=len(answers),
        spent=earlier.cost or Decimal(0) if earlier else Decimal(0),
    )
