"""Audits in a worker process: the task, queueing it, and its status."""

from decimal import Decimal
from typing import Any

from django.db import transaction
from django_tasks import task

from annotation.core.errors import AnnotationError
from annotation.core.tasks.task_queue import TaskStatus, is_under_way, statuses_in_study
from annotation.models import Study
from judging.core.errors import Interrupted
from judging.core.pricing import check_cap
from judging.jobs import leases
from judging.jobs.stopping import WORKER_STOP
from judging.models import JudgeAudit

is_dead = leases.dead_by_heartbeat(JudgeAudit)


@task()
def ask_audit(study_id: int, audit_id: int, in_flight: int, max_cost: str | None) -> dict[str, Any]:
    """Ask for the missing answers of an audit. Doing it again repeats no answered call.

    study_id : finds the tasks of a study
    """
    # Web processes import this module to enqueue, and must not load the HTTP client of endpoints.
    from judging.audits.asking import ask

    related = JudgeAudit.objects.select_related(
        "study", "judge__endpoint", "judge__table_endpoint", "judge__prompt_file"
    )
    audit = related.get(pk=audit_id)
    try:
        ask(
            audit,
            in_flight=in_flight,
            max_cost=None if max_cost is None else Decimal(max_cost),
            stop=WORKER_STOP,
        )
    except Interrupted:
        raise SystemExit(0) from None
    except AnnotationError as error:
        return {"error": str(error)}
    return {"calls": audit.calls}


@transaction.atomic
def queue_audit(audit: JudgeAudit, *, in_flight: int, max_cost: Decimal | None = None) -> bool:
    """Queue the asking of an audit; False if that is queued or running.

    Raises: BadSettings for a cap that can't be enforced
    """
    check_cap(max_cost, *audit.judge.endpoints)
    if is_under_way(ask_audit.module_path, is_dead, args__1=audit.pk):
        return False
    ask_audit.enqueue(audit.study_id, audit.pk, in_flight, None if max_cost is None else str(max_cost))
    return True


def status_by_audit(study: Study) -> dict[int, TaskStatus]:
    """Return the status of the last task of each of a study's audits, by the audit's primary key."""
    return statuses_in_study(ask_audit.module_path, study.pk)
