"""Starting the distilling of a study's aspects, and queueing it for a worker."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotation.core.errors import JobBusy
from annotation.core.version import VERSION
from annotation.jobs.work import is_taken, queue_job
from annotation.models import Study
from judging.aspects.aspect_sets import PAIRS, sample_of
from judging.calls.adhoc import AdhocRequests
from judging.jobs.bounds import set_bounds
from judging.models import Distillation, Endpoint


@transaction.atomic
def start_distilling(
    study: Study,
    *,
    endpoint: Endpoint,
    pairs: int = PAIRS,
    seed: int = 0,
    params: Mapping[str, Any] | None = None,
    in_flight: int = 8,
    max_cost: Decimal | None = None,
    by: str = "",
) -> Distillation:
    """Return a study's distillation with these settings, in place of those of the last one.

    Raises: BadSettings for a cap that can't be enforced, a reserved parameter, or a study without pairs; JobBusy if one is
    queued or at work
    """
    AdhocRequests(endpoint, params=params)
    sample_of(study, pairs=pairs, seed=seed)
    Study.objects.select_for_update().get(pk=study.pk)
    last = Distillation.objects.filter(study=study).first()
    if last is not None and is_taken(last):
        raise JobBusy(f"aspects of {study} are being distilled already")
    settings = {"endpoint": endpoint, "pairs": pairs, "seed": seed, "params": dict(params or {}), "by": by[:150]}
    begun = {"found": {}, "created_at": timezone.now(), "software_version": VERSION}
    job, _ = Distillation.objects.update_or_create(study=study, defaults={**settings, **begun})
    set_bounds(job, in_flight=in_flight, max_cost=max_cost)
    return job


@transaction.atomic
def queue_distilling(study: Study, **settings: Any) -> bool:
    """Queue the distilling of a study's aspects, or False if it is queued or at work. `settings`: as for `start_distilling`.

    Raises: as `start_distilling`
    """
    try:
        return queue_job(start_distilling(study, **settings))
    except JobBusy:
        return False
