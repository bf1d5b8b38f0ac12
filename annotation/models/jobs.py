"""The common part of jobs."""

from datetime import datetime, timedelta
from typing import ClassVar

from django.db import models
from django.utils import timezone

from annotation.core.reasons import ReasonField

LEASE = timedelta(seconds=30)


def lease_expired(since: datetime) -> bool:
    """Tell whether a lease that was last renewed at this time has expired."""
    return since < timezone.now() - LEASE


class Job(models.Model):
    """Long work that one process at a time holds by a lease. Each kind is a table with its settings and results.

    job_kind  : its name in addresses
    page      : name of the page of a study that shows it
    worked_by : path of the function that does the work
    """

    class Status(models.TextChoices):
        QUEUED = "queued", "Queued"
        RUNNING = "running", "Running"
        STOPPED = "stopped", "Stopped"
        DONE = "done", "Done"

    UNDER_WAY = (Status.QUEUED, Status.RUNNING)
    job_kind: ClassVar[str]
    page: ClassVar[str]
    worked_by: ClassVar[str]

    status = models.CharField(max_length=10, choices=Status.choices, default=Status.STOPPED)
    message = ReasonField(blank=True, help_text="Why it stopped.")
    created_at = models.DateTimeField(default=timezone.now)
    heartbeat_at = models.DateTimeField(null=True, blank=True, help_text="A process is at work while this is recent.")
    executor = models.CharField(
        max_length=200, blank=True, default="", db_default="", help_text="The process that holds it; empty: none."
    )
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    rate = models.FloatField(null=True, blank=True, help_text="Done a second, while a process is at work.")
    ended_at = models.DateTimeField(null=True, blank=True, help_text="When it was done.")
    software_version = models.CharField(max_length=40)

    class Meta:
        abstract = True

    @property
    def is_at_work(self) -> bool:
        """Tell whether a process works on it."""
        return self.heartbeat_at is not None and not lease_expired(self.heartbeat_at)

    @property
    def stops_itself(self) -> bool:
        """Tell whether it watches the worker's stop flag. Others are ended at once, and begin again."""
        return True

    @property
    def outcome(self) -> str:
        """The status, as the API of each kind names it."""
        return "failed" if self.status == self.Status.STOPPED else self.status

    @property
    def seconds_left(self) -> float | None:
        """The time that the rest takes at the present rate, or `None` if that is unknown."""
        return (self.total - self.done) / self.rate if self.rate and self.is_at_work else None

    @property
    def can_resume(self) -> bool:
        """Tell whether it is unfinished, and nothing works on it."""
        return self.ended_at is None and not self.is_busy

    @property
    def is_busy(self) -> bool:
        """Tell whether it is queued or a process works on it."""
        return self.status == self.Status.QUEUED or self.is_at_work
