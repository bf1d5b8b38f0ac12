"""Parsing stored answers again with a newer parser, without any call."""

from collections.abc import Iterable, Iterator, Sequence

from django.db import transaction
from django.utils import timezone

from judging.calls.cases import Case, StoredAnswer
from judging.calls.made_tables import store_makings
from judging.calls.procedure_pool import JudgmentPool
from judging.calls.requests import Requests, setting_of
from judging.calls.results import unparsed
from judging.calls.store import Result, Stamp, result_values, stamp_of, stored_answers
from judging.core.bulk_sql import update_rows
from judging.methods import AskingMethod
from judging.models import Completion, JudgeRun, Judgment
from judging.runs.claims import load

CHUNK = 500
REPARSED = (
    *("status", "verdict", "p_b", "score_a", "score_b", "rationale", "failure"),
    *("prompt_version", "parser_version", "judged_at"),
)


def reparse_run(run: JudgeRun, method: AskingMethod) -> int:
    """Parse a run's answers again where an older parser did; returns how many cells were updated.

    Their cost and number of calls stay as they are.
    """
    setting = setting_of(run.judge)
    requests = Requests(run.judge, method)
    stamp = stamp_of(run, method, setting)
    old = run.judgments.of_every_question().exclude(status__in=[Judgment.Status.PENDING, Judgment.Status.ERROR])
    old = old.exclude(calls=0).exclude(parser_version=method.parser_version)
    ids = list(old.order_by("pk").values_list("pk", flat=True))
    count = 0
    for start in range(0, len(ids), CHUNK):
        chunk = ids[start : start + CHUNK]
        results = reparse_cells(JudgmentPool(method, setting, requests, replaying=True), run, chunk)
        save(results, stamp)
        count += len(results)
    return count


def reparse_cells(pool: JudgmentPool, run: JudgeRun, ids: Sequence[int]) -> list[Result]:
    """Replay cells with their stored answers, refusals included."""
    pool.add_answers(answers_of(ids))
    cases = pool.start(load(run, ids))
    pool.advance(cases)
    for case in cases:
        end_unreadable(case)
    pool.advance(cases)
    return pool.take_writes().results


def answers_of(ids: Iterable[int]) -> Iterator[StoredAnswer]:
    """Return the answers behind cells, refusals included."""
    return stored_answers(Completion.objects.filter(judgments__in=list(ids)).distinct())


def end_unreadable(case: Case) -> None:
    """End a case whose stored answers can't be parsed any more, rather than attempt another call.

    A case that waits for a first attempt stays as the older parser read it.
    """
    waiting = [state for state in case.call_states if state.waiting]
    if not case.ended and waiting and all(state.attempt for state in waiting):
        last = case.used[-1].reply if case.used else None
        case.end(unparsed(last, "no readable answer among those that are stored"))


def save(results: Sequence[Result], stamp: Stamp) -> None:
    """Store the new readings."""
    now = timezone.now()
    rows = ([*result_values(result), result.prompt_version, stamp.parser_version, now, result.pk] for result in results)
    made = [(result.pk, result.order, result.reading.made) for result in results if result.reading.made is not None]
    with transaction.atomic():
        update_rows(Judgment, REPARSED, rows)
        store_makings(made, stamp.tables)
