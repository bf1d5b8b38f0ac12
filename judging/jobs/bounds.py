"""The bounds of jobs that ask models, calls in flight and the cap. Resuming a job within another cap."""

from decimal import Decimal

from django.db import transaction

from annotation.jobs.work import is_taken, queue_job
from annotation.models.jobs import Job
from judging.core.errors import BadSettings
from judging.core.pricing import check_cap
from judging.models.jobs import AskingJob, BilledJob


def set_bounds(job: AskingJob, *, in_flight: int, max_cost: Decimal | None) -> None:
    """Store the bounds of a stored job. `max_cost`: of all of it, its cost so far included, in the endpoints' currency.

    Raises: as `check_bounds`
    """
    job.in_flight, job.max_cost = in_flight, max_cost
    check_bounds(job)
    job.save(update_fields=["in_flight", "max_cost"])


@transaction.atomic
def resume_job(job: Job, max_cost: Decimal | None) -> bool:
    """Queue a job that is unfinished, or False if it has ended, is queued or at work.

    max_cost : the cap from now on of a job that asks models
    Raises: BadSettings for a cap that can't be enforced
    """
    if job.ended_at is not None or is_taken(job):
        return False
    if isinstance(job, AskingJob):
        set_bounds(job, in_flight=job.in_flight, max_cost=max_cost)
    return queue_job(job)


def check_bounds(job: AskingJob) -> None:
    """Refuse bounds that can't be kept.

    Raises: BadSettings
    """
    check_cap(job.max_cost, *job.endpoints)
    if job.max_cost is not None and isinstance(job, BilledJob) and job.cost is None:
        raise BadSettings("the cost can't be capped: what was spent so far is unknown, for there were no prices then")
