"""Parsing stored answers again with a newer parser, without any call."""

from collections.abc import Iterator, Sequence

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from annotation.core.database.bulk_sql import update_rows
from annotation.core.reasons import reason
from judging.calls.cases import Case
from judging.calls.made_tables import store_makings
from judging.calls.procedure_pool import JudgmentPool
from judging.calls.requests import Requests, setting_of
from judging.calls.results import unparsed
from judging.calls.store import READING, Result, Stamp, result_values, stamp_of, stored_answers
from judging.methods import AskingMethod
from judging.models import Completion, JudgeRun, Judgment
from judging.runs.claims import load

CHUNK = 500
REPARSED = (*READING, "prompt_version", "parser_version", "judged_at")


def reparse_run(run: JudgeRun, method: AskingMethod) -> int:
    """Parse a run's answers again where an older parser did and return how many cells were updated.

    Their cost and number of calls stay as they are.
    """
    stamp = stamp_of(run, method, setting_of(run.judge))
    old = run.judgments.exclude(status__in=[Judgment.Status.PENDING, Judgment.Status.ERROR])
    old = old.exclude(calls=0).exclude(parser_version=method.parser_version)
    count = 0
    for pool, cases in replayed(run, method, old):
        for case in cases:
            end_unreadable(case)
        pool.advance(cases)
        results = pool.take_writes().results
        save(results, stamp)
        count += len(results)
    return count


def replayed(
    run: JudgeRun, method: AskingMethod, cells: QuerySet[Judgment]
) -> Iterator[tuple[JudgmentPool, list[Case]]]:
    """Yield pools of a run's cells, as far as their stored answers, refusals included, take them today."""
    setting, requests = setting_of(run.judge), Requests(run.judge, method)
    ids = list(cells.order_by("pk").values_list("pk", flat=True))
    for start in range(0, len(ids), CHUNK):
        chunk = ids[start : start + CHUNK]
        pool = JudgmentPool(method, setting, requests, replaying=True)
        pool.add_answers(stored_answers(Completion.objects.filter(judgments__in=chunk).distinct()))
        cases = pool.start(load(run, chunk))
        pool.advance(cases)
        yield pool, cases


def end_unreadable(case: Case) -> None:
    """End a case whose stored answers can't be parsed any more, rather than attempt another call.

    A case that waits for a first attempt stays as the older parser read it.
    """
    waiting = [state for state in case.call_states if state.waiting]
    if not case.ended and waiting and all(state.attempt for state in waiting):
        last = case.used[-1].reply if case.used else None
        case.end(unparsed(last, reason("no_answer_stored")))


def save(results: Sequence[Result], stamp: Stamp) -> None:
    """Store the new readings."""
    now = timezone.now()
    rows = ([*result_values(result), result.prompt_version, stamp.parser_version, now, result.pk] for result in results)
    makings = [(result.pk, result.order, result.reading.made) for result in results if result.reading.made is not None]
    with transaction.atomic():
        update_rows(Judgment, REPARSED, rows)
        store_makings(makings, stamp.tables)
