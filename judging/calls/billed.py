"""Procedures whose cost is kept in a row, over all processes: that of an audit, or of the sampling of a system's texts."""

from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any, Generic, TypeVar

from annotation.core.errors import Interrupted
from annotation.core.reasons import reason
from judging.calls.adhoc_runner import AdhocSession, ProcedureUsage
from judging.calls.engine import carry_out
from judging.calls.requests import Requests
from judging.calls.store import USAGE_FIELDS
from judging.core.errors import StatusChanged
from judging.endpoints.retrying import MakeClient, checked
from judging.jobs.bounds import check_bounds
from judging.models import Endpoint
from judging.models.jobs import BilledJob

Row = TypeVar("Row", bound=BilledJob)
TAKEN_OVER = "taken_over"


class BilledSession(AdhocSession, Generic[Row]):
    """Procedures of one process that holds a job, whose row keeps what they cost.

    Once another process has taken the lease, nothing more is asked, and the row is that one's: it counts the answers that
    are stored and not billed yet.
    """

    def __init__(self, row: Row, endpoint: Endpoint, requests: Requests, **settings: Any) -> None:
        check_bounds(row)
        bounds: dict[str, Any] = {"in_flight": row.in_flight, "max_cost": row.max_cost}
        counted: dict[str, Any] = {"since": row.counted_until, "spent_before": row.cost or Decimal(0)}
        super().__init__(endpoint, requests, **bounds, **counted, **settings)
        self.row = row
        self._billed = ProcedureUsage()

    def work(self, make_client: MakeClient) -> None:
        """Carry out the procedures until all have ended.

        Raises: RunStopped if the work can't continue; Interrupted if `stop` was set; CapReached
        """
        tables = self.pool.requests.tables
        try:
            with checked(self.endpoint, tables):
                carry_out(self, self.endpoint, make_client, tables=tables)
        finally:
            self.store_ended()
        if self.pool.under_way or not self.exhausted:
            raise Interrupted

    def store_ended(self) -> None:
        """Store what is held back, if anything is."""

    def bill(self, row: Row, at: datetime) -> None:
        """Add what was taken since the last time to the locked row, which the caller saves. `at`: until when it is counted.

        Raises: StatusChanged if another process holds the row
        """
        if row.executor != self.row.executor:
            raise StatusChanged(reason(TAKEN_OVER))  # with the transaction in which the caller stores what it bills
        before, self._billed = self._billed, replace(self.usage, total=replace(self.usage.total))
        row.calls += self.usage.calls - before.calls
        row.cached += self.usage.cached - before.cached
        for name in USAGE_FIELDS:
            so_far, now = getattr(row, name), getattr(self.usage.total, name)
            is_known = so_far is not None and now is not None
            setattr(row, name, so_far + now - (getattr(before.total, name) or 0) if is_known else None)
        row.counted_until = at
