"""Procedures whose cost is kept in a row, over all processes: that of an audit, or of the sampling of a system's texts."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any, Generic, TypeVar

from django.db.models import QuerySet
from django.utils import timezone

from annotation.core.tasks.processes import is_gone, this_process
from judging.calls.adhoc_runner import AdhocSession, ProcedureUsage
from judging.calls.engine import carry_out
from judging.calls.requests import Requests
from judging.calls.store import USAGE_FIELDS
from judging.core.checks import check_in_flight
from judging.core.errors import BadSettings, Interrupted, JudgingError, RunBusy, StatusChanged
from judging.core.pricing import check_cap
from judging.endpoints.client_factory import MakeClient, checked
from judging.jobs import leases
from judging.jobs.leases import HeartbeatReply
from judging.models import Endpoint
from judging.models.billing import BilledWork

Row = TypeVar("Row", bound=BilledWork)
BILLED = ("calls", "cached", *USAGE_FIELDS, "message", "counted_until", "heartbeat_at", "executor", "ended_at")
TAKEN_OVER = "another process has taken this over, since this one was not heard of for too long; nothing more was asked"


def check_bounds(row: BilledWork, in_flight: int, max_cost: Decimal | None, *endpoints: Endpoint | None) -> None:
    """Refuse bounds that can't be kept; the cap is on all that the row has cost.

    Raises: BadSettings
    """
    check_in_flight(in_flight)
    check_cap(max_cost, *endpoints)
    if max_cost is not None and row.cost is None:
        raise BadSettings("the cost can't be capped: what was spent so far is unknown, for there were no prices then")


def take_lease(row: BilledWork) -> None:
    """Hold a row for this process, so that no other asks for the same.

    Raises: RunBusy while another process holds it
    """
    rows, executor = type(row)._default_manager.filter(pk=row.pk), this_process()
    holder = rows.values_list("executor", flat=True).get()
    died = (
        rows.filter(executor=holder) if is_gone(holder) else rows.filter(heartbeat_at__lt=timezone.now() - leases.LEASE)
    )
    held = {"heartbeat_at": timezone.now(), "executor": executor, "message": ""}
    # After an end nothing is left to be counted; after a kill, what was stored since the last count is.
    if not (rows.filter(heartbeat_at=None).update(**held, counted_until=timezone.now()) or died.update(**held)):
        raise RunBusy(f"another process asks for {row}; if it has died, try again in {leases.LEASE.seconds} seconds")


class BilledSession(AdhocSession, Generic[Row]):
    """Procedures of one process, whose row keeps what they cost, and a heartbeat while the process works on them.

    Once another process has taken the lease, nothing more is asked, and the row is that one's: it counts the answers that
    are stored and not billed yet.

    fields : of the row, that a session changes
    """

    fields: Sequence[str] = BILLED

    def __init__(self, row: Row, endpoint: Endpoint, requests: Requests, **settings: Any) -> None:
        super().__init__(endpoint, requests, since=row.counted_until, spent_before=row.cost or Decimal(0), **settings)
        self.row = row
        self._billed = ProcedureUsage()

    def work(self, make_client: MakeClient, *, tables: Endpoint | None = None) -> None:
        """Carry out the procedures until all have ended, and note in the row why they did not.

        Raises: RunStopped if the work can't continue; Interrupted if `stop` was set; CapReached
        """
        message = ""
        try:
            try:
                with checked(self.endpoint, tables):
                    carry_out(self, self.endpoint, make_client, tables=tables)
            finally:
                self.store_ended()
            if self.pool.under_way or not self.exhausted:
                raise Interrupted
        except JudgingError as error:
            message = str(error)
            raise
        finally:
            self._held().update(message=message, heartbeat_at=None, executor="", ended_at=self.ended_at())
            self.row.refresh_from_db(fields=self.fields)

    def store_ended(self) -> None:
        """Store what is held back, if anything is."""

    def ended_at(self) -> datetime | None:
        """Return when the work has ended: now."""
        return timezone.now()

    def bill(self, row: Row, at: datetime) -> None:
        """Add what was taken since the last time to the locked row, which the caller saves; `at`: until when it is counted.

        Raises: StatusChanged if another process holds the row
        """
        if row.executor != self.row.executor:
            raise StatusChanged(TAKEN_OVER)  # with the transaction in which the caller stores what it bills
        before, self._billed = self._billed, replace(self.usage, total=replace(self.usage.total))
        row.calls += self.usage.calls - before.calls
        row.cached += self.usage.cached - before.cached
        for name in USAGE_FIELDS:
            so_far, now = getattr(row, name), getattr(self.usage.total, name)
            known = so_far is not None and now is not None
            setattr(row, name, so_far + now - (getattr(before.total, name) or 0) if known else None)
        row.counted_until, row.heartbeat_at = at, timezone.now()

    def send_heartbeat(self, *, in_flight: int, outstanding: Decimal, needed: Decimal) -> HeartbeatReply:
        """Renew the lease too."""
        if not self._held().update(heartbeat_at=timezone.now()):
            return HeartbeatReply(TAKEN_OVER)
        return super().send_heartbeat(in_flight=in_flight, outstanding=outstanding, needed=needed)

    def _held(self) -> QuerySet[Row]:
        """Return the row unless another process holds it."""
        return type(self.row)._default_manager.filter(pk=self.row.pk, executor=self.row.executor)
