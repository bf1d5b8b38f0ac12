"""Asking a judge what an audit asks, by the engine of runs. Doing it again resumes, and repeats no answered call."""

from typing import Any

from django.db import transaction
from django.utils import timezone

from annotation.core.database.bulk_sql import update_rows
from annotation.core.tasks.stopping import StopFlag
from annotation.jobs.work import held
from judging.audits.stress import Status, asking_method, cells_of, endpoint_of
from judging.calls.adhoc import BilledSession, ProcedureUsage
from judging.calls.cases import Case
from judging.calls.presentations import prompt_version
from judging.calls.requests import Requests, setting_of
from judging.calls.store import READING, PendingWrites, result_values
from judging.calls.store import Result as CellResult
from judging.endpoints.retrying import MakeClient, retrying_client
from judging.jobs.progress import OnProgress, ignore_progress, noted_by
from judging.models import AuditAnswer, JudgeAudit

VERSIONS = ("prompt_version", "parser_version", "judged_at")
ANSWER = ("status", "verdict", "p_b", "rationale", "failure", *VERSIONS)


def ask(
    audit: JudgeAudit,
    *,
    stop: StopFlag | None = None,
    on_progress: OnProgress = ignore_progress,
    make_client: MakeClient = retrying_client,
) -> ProcedureUsage:
    """Ask for the missing answers of an audit and return what that took.

    Raises: BadSettings for a cap that can't be enforced; JobBusy if another process asks; RunStopped if it can't continue;
    Interrupted if `stop` was set; CapReached
    """
    with held(audit, stop) as hold:
        session = AuditSession(audit, stop=hold.stop, on_progress=noted_by(hold, on_progress))
        try:
            session.work(make_client)
        finally:
            hold.note(session.progress.done, session.progress.total)
    return session.usage


class AuditSession(BilledSession[JudgeAudit]):
    """The open answers of an audit, each a procedure of the judge's method."""

    def __init__(self, audit: JudgeAudit, **settings: Any) -> None:
        self.method, self.setting = asking_method(audit), setting_of(audit.judge)
        super().__init__(audit, endpoint_of(audit.judge), Requests(audit.judge, self.method), **settings)
        self._last = 0  # primary key of the answer that was started last
        self.progress.total = audit.answers.count()
        self.progress.done = audit.answers.exclude(status=Status.PENDING).count()

    def start_cases(self, limit: int) -> list[Case]:
        """Start the procedures of the next open answers."""
        pending = self.row.answers.filter(status=Status.PENDING, pk__gt=self._last).order_by("pk")
        answers = list(pending.only("pk", "pair_id", "change", "order", "side", "text")[:limit])
        self.exhausted = len(answers) < limit
        if answers:
            self._last = answers[-1].pk
        return self.pool.add_cases(
            [Case(cell, self.method.ask(cell.shown, self.setting)) for cell in cells_of(self.row, answers)]
        )

    def store(self, writes: PendingWrites) -> Exception | None:
        """Store the endpoint's answers, then the verdicts read from them, and bill the audit."""
        stopped = super().store(writes)
        ended, self.pool.ended = self.pool.ended, []
        if ended or writes.answers:
            at = timezone.now()
            # Of a process that was taken for dead, only what no other has stored meanwhile.
            rows = [[*self._values(case, at), Status.PENDING] for case in ended]
            with transaction.atomic():
                update_rows(AuditAnswer, ANSWER, rows, where=("id", "status"))
                row = JudgeAudit.objects.select_for_update().get(pk=self.row.pk)
                self.bill(row, at)
                row.save()
        self.progress.done += len(ended)
        self.progress.ended.update(case.reading.status for case in ended if case.reading)
        return stopped

    def _values(self, case: Case, at: Any) -> list[Any]:
        """Return the values of an answer, in the order of `ANSWER`, and its primary key."""
        if case.reading is None:
            raise TypeError("a case that has not ended has no result")
        values = dict(zip(READING, result_values(CellResult(case.cell.pk, case.cell.order, case.reading)), strict=True))
        read = [values[name] for name in ANSWER[: -len(VERSIONS)]]
        version = prompt_version(self.method, self.setting, case.cell.shown)
        return [*read, version, self.method.parser_version, at, case.cell.pk]
