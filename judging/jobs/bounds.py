"""The bounds of jobs that ask models: calls in flight, and the cap."""

from decimal import Decimal

from judging.core.checks import check_in_flight
from judging.core.errors import BadSettings
from judging.core.pricing import check_cap
from judging.models import Endpoint
from judging.models.jobs import AskingJob, BilledJob


def set_bounds(job: AskingJob, *endpoints: Endpoint | None, in_flight: int, max_cost: Decimal | None) -> None:
    """Store the bounds of a stored job; `max_cost`: of all of it, its cost so far included, in the endpoints' currency.

    Raises: as `check_bounds`
    """
    job.in_flight, job.max_cost = in_flight, max_cost
    check_bounds(job, *endpoints)
    job.save(update_fields=["in_flight", "max_cost"])


def check_bounds(job: AskingJob, *endpoints: Endpoint | None) -> None:
    """Refuse bounds that can't be kept.

    Raises: BadSettings
    """
    check_in_flight(job.in_flight)
    check_cap(job.max_cost, *endpoints)
    if job.max_cost is not None and isinstance(job, BilledJob) and job.cost is None:
        raise BadSettings("the cost can't be capped: what was spent so far is unknown, for there were no prices then")
