"""Stopping batches whose stop rule holds, by findings that hold at every look."""

import logging

from django.db import OperationalError

from annotation.batches.services import set_batch_status
from annotation.batches.stop_rules import BUDGET, DECIDED, JUDGE, StopRule, submitted_hits, why_spent
from annotation.models import Batch
from annotation.studies.questions import question_named
from reporting.findings.computing import findings_under
from reporting.findings.data.inputs import Filters
from reporting.findings.judges.verdicts import MAY_REPLACE

log = logging.getLogger(__name__)
LEAST_GROWTH = 0.02  # of the submitted HITs, after which a batch is looked at again


def why_settled(batch: Batch) -> str:
    """Return why a batch has collected enough by its stop rule, or an empty string while it has not."""
    rule = StopRule.parse(batch.stop_rule)
    if rule.kind == BUDGET:
        return why_spent(batch, rule)
    judges = (rule.judge,) if rule.kind == JUDGE else ()
    main = question_named(batch.study, "")
    findings = findings_under(batch.study, Filters(batches=(batch.name,), judges=judges, rounds=1, question=main))
    if rule.kind == JUDGE:
        verdicts = (row["verdict"] for row in findings["replacement"] if row["judge"] == rule.judge)
        return next((str(row["text"]) for row in verdicts if row["rule"] in (*MAY_REPLACE, "worse")), "")
    [rates] = [row for row in findings["rankings"] if (row["rater"], row["measure"]) == ("people", "win_rate")]
    rate = rates["systems"][0]
    low, high = rate["low"], rate["high"]
    if low is None:
        return ""
    holds = not low <= 0.5 <= high if rule.kind == DECIDED else high - low <= rule.value
    return f"{rate['system']} wins {rate['value']:.1%} [{low:.1%}, {high:.1%}] of ratings." if holds else ""


def stop_settled_batches(looked_at: dict[tuple[int, str], int]) -> None:
    """Close the open batches whose stop rule holds. The log of the study says why.

    looked_at : submitted HITs of each batch and stop rule when it was last looked at; updated
    """
    for batch in Batch.objects.open().exclude(stop_rule="").select_related("study"):
        submitted = submitted_hits(batch)
        look = batch.pk, batch.stop_rule
        before = looked_at.get(look, 0)
        is_cheap = StopRule.parse(batch.stop_rule).kind == BUDGET
        if not is_cheap and submitted <= before + LEAST_GROWTH * before:
            continue
        try:
            why = why_settled(batch)
            rule = batch.stop_rule
            batch.refresh_from_db(fields=["status", "stop_rule"])  # findings take a while
            if why and batch.status == Batch.Status.OPEN and batch.stop_rule == rule:
                reason = f"Stop rule {rule}: {why}"
                set_batch_status(batch=batch, status=Batch.Status.CLOSED, reason=reason, is_settled=True)
                log.info("batch %s is closed by its stop rule", batch.pk)
        except OperationalError:  # the next round looks again
            log.warning("the stop rule of batch %s could not be looked at", batch.pk, exc_info=True)
            continue
        except Exception:  # one batch must not keep others open
            log.exception("the stop rule of batch %s failed", batch.pk)
        looked_at[look] = submitted
