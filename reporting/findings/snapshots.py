"""Findings that are kept: small studies are computed when they are asked for, others by the worker.

A request computes and reads no findings of a large study: it shows the snapshot that there is, and queues a task that looks
whether the data have changed since and then computes it again. Where there is none yet, the task first keeps estimates without
intervals, which it has in a fraction of the time.
"""

import hashlib
import json
import zlib
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, cast

from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import QueryDict
from django.utils import timezone
from django_tasks import task
from django_tasks.base import TaskResultStatus
from django_tasks_db.models import DBTaskResult

from annotation.core.errors import UnknownName
from annotation.models import Rating, Study
from judging.models import Judgment
from reporting.core.data_version import version_of
from reporting.core.raters import departures
from reporting.findings.data.asked import filters_of, query_of
from reporting.findings.data.inputs import Filters
from reporting.findings.data.reading import read_study
from reporting.models import FindingsSnapshot

SMALL = 2_000  # ratings and judgments together: 0.2 s for one configuration, 0.6 s for twelve
RENEW_AFTER = timedelta(seconds=10)
RETRY_AFTER = timedelta(minutes=1)  # after an error
DEAD_AFTER = timedelta(minutes=10)  # a task that has run for so long lost its worker
MOST_KEPT = 20  # of a study


@dataclass(frozen=True)
class Snapshot:
    """Findings as they were computed last.

    kept    : None until the worker has computed them for the first time
    pending : whether a task is queued that looks for changes and computes them
    failed  : whether such a task has just ended with an error
    """

    kept: FindingsSnapshot | None
    pending: bool = False
    failed: bool = False

    @cached_property
    def numbers(self) -> dict[str, Any] | None:
        """The findings. Parsed when they are asked for, as those of many configurations take a quarter of a second."""
        return None if self.kept is None else json.loads(self.as_json)

    @property
    def as_json(self) -> bytes:
        """The findings as JSON, or an empty string for nothing."""
        return zlib.decompress(self.kept.numbers) if self.kept else b""

    @property
    def read_at(self) -> datetime | None:
        """When the data were read."""
        return self.kept.read_at if self.kept else None

    @property
    def is_first_pass(self) -> bool:
        """True if these are estimates, without intervals."""
        return self.kept is not None and not self.kept.version

    @property
    def version(self) -> str:
        """Name what is shown, so that a page can tell whether there is something newer, or an empty string for nothing."""
        return f"{self.read_at.isoformat()}{'-estimates' * self.is_first_pass}" if self.read_at else ""


def snapshot_of(study: Study, filters: Filters) -> Snapshot:
    """Return the findings under some filters: of a small study as they are now, else as they were computed last."""
    query = query_of(filters)
    stored = _kept(study, query).first()
    if is_small(study):
        now, version = timezone.now(), version_of(study)
        if stored is None or stored.version != version:
            stored = _compute(study, query, filters, version, now)
        return Snapshot(stored)
    if stored is not None and stored.departed != departures(study):
        stored.delete()
        stored = None
    tasks = _tasks(study, query)
    failed = tasks.filter(status=TaskResultStatus.FAILED, finished_at__gt=timezone.now() - RETRY_AFTER).exists()
    if not failed and (stored is None or stored.checked_at < timezone.now() - RENEW_AFTER):
        queue_snapshot(study, query)
    pending = tasks.filter(_is_under_way()).exists()
    return Snapshot(stored, pending, failed)


def is_small(study: Study) -> bool:
    """Tell whether a request may compute a study's findings."""
    rated = Rating.objects.filter(display__assignment__hit__batch__study=study)
    judged = Judgment.objects.filter(run__study=study)
    counts = (rows.order_by()[: SMALL + 1].count() for rows in (rated, judged))
    return sum(counts) <= SMALL


def _compute(study: Study, query: str, filters: Filters, version: str, read_at: datetime) -> FindingsSnapshot:
    """Compute findings and keep them, unless ones of later data are kept already. Return what is kept.

    version, read_at : of the data, taken before they are read here: a rating that comes meanwhile makes them outdated
    """
    from reporting.findings.computing import findings_under  # late: most requests show what is kept

    departed = departures(study)
    findings = findings_under(study, filters)
    return _keep(study, query, findings, version=version, departed=departed, read_at=read_at)


def _estimate(study: Study, query: str, filters: Filters) -> None:
    """Compute estimates without intervals and keep them. They read less."""
    from reporting.findings.computing import compute_estimates

    now, first = timezone.now(), replace(filters, estimates_only=True)
    departed = departures(study)
    _keep(study, query, compute_estimates(read_study(study, first), first), departed=departed, read_at=now)


@transaction.atomic
def _keep(
    study: Study, query: str, computed: dict[str, Any], *, departed: str, read_at: datetime, version: str = ""
) -> FindingsSnapshot:
    numbers = zlib.compress(json.dumps(computed, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode())
    # One after another, and not while the study is deleted.
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    stored = _kept(study, query).first() or FindingsSnapshot(study=study, query=query, key=_key(query), read_at=read_at)
    if stored.read_at <= read_at:
        stored.version, stored.departed, stored.numbers = version, departed, numbers
        stored.read_at, stored.checked_at = read_at, timezone.now()
        stored.save()
    newest = study.findings_snapshots.order_by("-read_at", "-pk").values_list("pk", flat=True)
    study.findings_snapshots.filter(pk__in=list(newest[MOST_KEPT:])).delete()
    return stored


@task()
def renew_snapshot(study_id: int, query: str) -> bool:
    """Compute findings whose data have changed and return whether they had. Running it twice at once is harmless."""
    study = Study.objects.filter(pk=study_id).first()
    if study is None:
        return False
    study.refuse_reading()
    stored = _kept(study, query).first()
    try:
        filters = filters_of(study, QueryDict(query))
        if stored is None:
            _estimate(study, query, filters)
        now, version = timezone.now(), version_of(study)
        if stored is not None and stored.version == version:
            FindingsSnapshot.objects.filter(pk=stored.pk).update(checked_at=now)
            return False
        _compute(study, query, filters, version, now)
    except UnknownName:  # what it names is gone
        _kept(study, query).delete()
        return False
    except Study.DoesNotExist:  # deleted meanwhile
        return False
    return True


def queue_snapshot(study: Study, query: str) -> None:
    """Queue `renew_snapshot` unless it is under way. Forget its earlier results."""
    tasks = _tasks(study, query)
    if not tasks.filter(_is_under_way()).exists():
        tasks.delete()
        renew_snapshot.enqueue(study.pk, query)


def remove_snapshots(study: Study) -> None:
    """Delete all findings that are kept of a study."""
    study.findings_snapshots.all().delete()


def _tasks(study: Study, query: str) -> QuerySet[DBTaskResult[Any, Any]]:
    path = renew_snapshot.module_path
    results = DBTaskResult.objects.filter(task_path=path, args_kwargs__args__0=study.pk, args_kwargs__args__1=query)
    return cast("QuerySet[DBTaskResult[Any, Any]]", results)


def _is_under_way() -> Q:
    running = Q(status=TaskResultStatus.RUNNING, started_at__gt=timezone.now() - DEAD_AFTER)
    return Q(status=TaskResultStatus.READY) | running


def _kept(study: Study, query: str) -> QuerySet[FindingsSnapshot]:
    return FindingsSnapshot.objects.filter(study=study, key=_key(query))


def _key(query: str) -> str:
    return hashlib.sha256(query.encode()).hexdigest()
