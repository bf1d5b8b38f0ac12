"""Procedures whose cost a row of their own bears, over all processes: an audit's, or that of a system's texts."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any, Generic, TypeVar

from django.utils import timezone

from judging.calls.adhoc_runner import AdhocSession, Interrupted, ProcedureUsage
from judging.calls.engine import carry_out
from judging.calls.requests import Requests
from judging.calls.store import USAGE_FIELDS
from judging.core.checks import check_in_flight
from judging.core.errors import BadSettings, JudgingError
from judging.core.pricing import check_cap
from judging.endpoints.client_factory import MakeClient, checked
from judging.jobs.leases import HeartbeatReply
from judging.models import Endpoint
from judging.models.billing import BilledWork

Row = TypeVar("Row", bound=BilledWork)
BILLED = ("calls", "cached", *USAGE_FIELDS, "message", "counted_until", "heartbeat_at", "ended_at")


def check_bounds(row: BilledWork, in_flight: int, max_cost: Decimal | None, *endpoints: Endpoint | None) -> None:
    """Refuse bounds that can't be kept; the cap is on all that the row has cost.

    Raises: BadSettings
    """
    check_in_flight(in_flight)
    check_cap(max_cost, *endpoints)
    if max_cost is not None and row.cost is None:
        raise BadSettings("the cost can't be capped: what was spent so far is unknown, for there were no prices then")


class BilledSession(AdhocSession, Generic[Row]):
    """Procedures of one process, whose row keeps what they cost, and a heartbeat while the process is at them.

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
            self._update(message=message, heartbeat_at=None, ended_at=self.ended_at())
            self.row.refresh_from_db(fields=self.fields)

    def store_ended(self) -> None:
        """Store what is held back, if anything is."""

    def ended_at(self) -> datetime | None:
        """Return when the work has ended: now."""
        return timezone.now()

    def bill(self, row: Row, at: datetime) -> None:
        """Add what was taken since the last time to the locked row, which the caller saves; `at`: until when it is counted."""
        before, self._billed = self._billed, replace(self.usage, total=replace(self.usage.total))
        row.calls += self.usage.calls - before.calls
        row.cached += self.usage.cached - before.cached
        for name in USAGE_FIELDS:
            so_far, now = getattr(row, name), getattr(self.usage.total, name)
            known = so_far is not None and now is not None
            setattr(row, name, so_far + now - (getattr(before.total, name) or 0) if known else None)
        row.counted_until, row.heartbeat_at = at, timezone.now()

    def send_heartbeat(self, *, in_flight: int, outstanding: Decimal) -> HeartbeatReply:
        """Renew the row's heartbeat too."""
        self._update(heartbeat_at=timezone.now())
        return super().send_heartbeat(in_flight=in_flight, outstanding=outstanding)

    def _update(self, **values: Any) -> None:
        type(self.row)._default_manager.filter(pk=self.row.pk).update(**values)
