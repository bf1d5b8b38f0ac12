"""Asking a judge what an audit asks, by the engine of runs. Doing it again resumes, and repeats no answered call."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils import timezone

from judging.audits.requests import asking_method, requests_of
from judging.audits.stress import Status, cells_of, endpoint_of
from judging.calls.adhoc_runner import IN_FLIGHT, AdhocSession, Interrupted, ProcedureUsage
from judging.calls.cases import Case, Usage
from judging.calls.engine import carry_out
from judging.calls.presentations import prompt_version
from judging.calls.requests import setting_of
from judging.calls.store import PendingWrites, result_values
from judging.calls.store import Result as CellResult
from judging.core.bulk_sql import update_rows
from judging.core.constants import MAX_IN_FLIGHT
from judging.core.errors import BadSettings, JudgingError, RunBusy
from judging.core.pricing import check_cap
from judging.endpoints.client_factory import MakeClient, checked, retrying_client
from judging.generation.store import add_usage, subtract_usage
from judging.jobs import leases
from judging.jobs.leases import HeartbeatReply
from judging.jobs.progress import OnProgress, ignore_progress
from judging.jobs.stopping import StopFlag
from judging.models import AuditAnswer, JudgeAudit

ANSWER = ("status", "verdict", "p_b", "rationale", "failure", "prompt_version", "parser_version", "judged_at")
SETTLED = ("calls", "cached", "prompt_tokens", "completion_tokens", "cost", "message", "counted_until", "ended_at")


def ask(
    audit: JudgeAudit,
    *,
    in_flight: int = IN_FLIGHT,
    max_cost: Decimal | None = None,
    stop: StopFlag | None = None,
    on_progress: OnProgress = ignore_progress,
    make_client: MakeClient = retrying_client,
) -> ProcedureUsage:
    """Ask for the missing answers of an audit; return what that took.

    max_cost : of the whole audit, its cost so far included, in the endpoint's currency
    Raises: BadSettings for a cap that can't be enforced; RunBusy if another process asks; RunStopped if it can't continue;
    Interrupted if `stop` was set; CapReached
    """
    endpoint = endpoint_of(audit.judge)
    if not 1 <= in_flight <= MAX_IN_FLIGHT:
        raise BadSettings(f"calls in flight must be between 1 and {MAX_IN_FLIGHT}, got {in_flight}")
    tables = audit.judge.table_endpoint
    check_cap(max_cost, endpoint, tables)
    if max_cost is not None and audit.cost is None:
        raise BadSettings("the cost can't be capped: what was spent so far is unknown, for there were no prices then")
    _begin(audit)
    message = ""
    try:
        session = AuditSession(
            audit, in_flight=in_flight, max_cost=max_cost, stop=stop or StopFlag(), on_progress=on_progress
        )
        with checked(endpoint, tables):
            carry_out(session, endpoint, make_client, tables=tables)
        if session.pool.under_way or not session.exhausted:
            raise Interrupted
    except JudgingError as error:
        message = str(error)
        raise
    finally:
        _end(audit, message)
    return session.usage


def _begin(audit: JudgeAudit) -> None:
    now, row = timezone.now(), JudgeAudit.objects.filter(pk=audit.pk)
    # After an end nothing is left to be counted; after a kill, what was stored since the last count is.
    if not (
        row.filter(heartbeat_at=None).update(heartbeat_at=now, counted_until=now, message="")
        or row.filter(heartbeat_at__lt=now - leases.LEASE).update(heartbeat_at=now, message="")
    ):
        raise RunBusy(f"another process asks for {audit}; if it has died, try again in {leases.LEASE.seconds} seconds")
    audit.refresh_from_db(fields=SETTLED)


def _end(audit: JudgeAudit, message: str) -> None:
    is_open = audit.answers.filter(status=Status.PENDING).exists()
    JudgeAudit.objects.filter(pk=audit.pk).update(
        message=message, heartbeat_at=None, ended_at=None if is_open else timezone.now()
    )
    audit.refresh_from_db(fields=SETTLED)


class AuditSession(AdhocSession):
    """The open answers of an audit, each a procedure of the judge's method."""

    def __init__(self, audit: JudgeAudit, **settings: Any) -> None:
        before = audit.cost or Decimal(0)
        endpoint = endpoint_of(audit.judge)
        super().__init__(endpoint, requests_of(audit), since=audit.counted_until, spent_before=before, **settings)
        self.audit = audit
        self.method, self.setting = asking_method(audit), setting_of(audit.judge)
        self._last = 0  # primary key of the answer that was started last
        self._billed = (0, 0, Usage())  # calls, cached answers and usage that the audit's row includes
        self.progress.total = audit.answers.count()
        self.progress.done = audit.answers.exclude(status=Status.PENDING).count()

    def start_cases(self, limit: int) -> list[Case]:
        """Start the procedures of the next open answers."""
        pending = self.audit.answers.filter(status=Status.PENDING, pk__gt=self._last).order_by("pk")
        answers = list(pending.only("pk", "pair_id", "change", "order", "side", "text")[:limit])
        self.exhausted = len(answers) < limit
        if answers:
            self._last = answers[-1].pk
        return self.pool.add_cases(
            [Case(cell, self.method.ask(cell.shown, self.setting)) for cell in cells_of(self.audit, answers)]
        )

    def store(self, writes: PendingWrites) -> Exception | None:
        """Store the endpoint's answers, then the verdicts read from them, and bill the audit."""
        stopped = super().store(writes)
        ended, self.pool.ended = self.pool.ended, []
        if ended or writes.answers:
            self._store_verdicts(ended)
        self.progress.done += len(ended)
        self.progress.ended.update(case.reading.status for case in ended if case.reading)
        return stopped

    def _store_verdicts(self, ended: Sequence[Case]) -> None:
        at, usage = timezone.now(), self.usage
        before, self._billed = self._billed, (usage.calls, usage.cached, replace(usage.total))
        with transaction.atomic():
            update_rows(AuditAnswer, ANSWER, [self._row(case, at) for case in ended])
            row = JudgeAudit.objects.select_for_update().get(pk=self.audit.pk)
            add_usage(row, usage.calls - before[0], usage.cached - before[1], subtract_usage(usage.total, before[2]))
            row.counted_until = row.heartbeat_at = at
            row.save()

    def _row(self, case: Case, at: Any) -> list[Any]:
        """Return the values of an answer, in the order of `ANSWER`, and its primary key."""
        if case.reading is None:
            raise TypeError("a case that has not ended has no result")
        status, verdict, p_b, _a, _b, rationale, failure = result_values(
            CellResult(case.cell.pk, case.cell.order, case.reading)
        )
        version = prompt_version(self.method, self.setting, case.cell.shown)
        return [status, verdict, p_b, rationale, failure, version, self.method.parser_version, at, case.cell.pk]

    def send_heartbeat(self, *, in_flight: int, outstanding: Decimal) -> HeartbeatReply:
        """Renew the audit's heartbeat too."""
        JudgeAudit.objects.filter(pk=self.audit.pk).update(heartbeat_at=timezone.now())
        return super().send_heartbeat(in_flight=in_flight, outstanding=outstanding)
