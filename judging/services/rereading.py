"""A newer parser reads stored answers again: the procedure is gone through with them, and no call is made."""

from collections.abc import Iterable, Sequence

from django.db import transaction
from django.utils import timezone

from judging.judges import AskingMethod, Reply
from judging.models import Completion, JudgeRun, Judgment
from judging.services.board import Board
from judging.services.cases import Case, Stored
from judging.services.claims import load
from judging.services.reading import unparsed
from judging.services.requests import Requests, cache_key, setting_of
from judging.services.statements import update_rows
from judging.services.store import Result, Stamp, result_values, stamp_of
from judging.services.tables import keep_makings

CHUNK = 500
REREAD = (
    *("status", "verdict", "p_b", "score_a", "score_b", "rationale", "failure"),
    *("prompt_version", "parser_version", "judged_at"),
)
KEPT = ("base_url", "request", "sample", "pk", "text", "finish_reason", "response")


def reread(run: JudgeRun, method: AskingMethod) -> int:
    """Read a run's answers again where an older parser did. Returns how many cells could be read.

    What they cost and how many calls they took stays as it is.
    """
    setting = setting_of(run.judge)
    requests = Requests(run.judge, method)
    stamp = stamp_of(run, method, setting, requests.base_url)
    old = run.judgments.exclude(status__in=[Judgment.Status.PENDING, Judgment.Status.ERROR])
    old = old.exclude(calls=0).exclude(parser_version=method.parser_version)
    ids = list(old.order_by("pk").values_list("pk", flat=True))
    count = 0
    for start in range(0, len(ids), CHUNK):
        chunk = ids[start : start + CHUNK]
        results = read_again(Board(method, setting, requests), run, chunk)
        save(results, stamp)
        count += len(results)
    return count


def read_again(board: Board, run: JudgeRun, ids: Sequence[int]) -> list[Result]:
    """Go through cells with the answers that are stored, those included that are never reused."""
    board.know(answers_of(ids))
    cases = board.begin(load(run.judge, ids))
    board.proceed(cases)
    for case in cases:
        give_up(case)
    board.proceed(cases)
    return board.take_group().results


def answers_of(ids: Iterable[int]) -> Iterable[Stored]:
    """Return the answers behind cells under the names of their requests: a refusal has none in the cache."""
    completions = Completion.objects.filter(judgments__in=list(ids)).distinct().order_by()
    for base_url, request, sample, pk, text, finish_reason, response in completions.values_list(*KEPT):
        yield Stored(cache_key(base_url, request, sample), Reply(text, finish_reason, response), pk)


def give_up(case: Case) -> None:
    """End a case whose answer can't be read any more and which was never asked again; no further attempt is made.

    One whose very question was never asked in this form stays as the older parser read it.
    """
    waiting = [ask for ask in case.asks if ask.waiting]
    if not case.ended and waiting and all(ask.attempt for ask in waiting):
        last = case.used[-1].reply if case.used else None
        case.end(unparsed(last, "no readable answer among those that are stored"))


def save(results: Sequence[Result], stamp: Stamp) -> None:
    """Store how cells were read now."""
    now = timezone.now()
    rows = ([*result_values(result), stamp.prompt_version, stamp.parser_version, now, result.pk] for result in results)
    made = [(result.pk, result.order, result.reading.made) for result in results if result.reading.made is not None]
    with transaction.atomic():
        update_rows(Judgment, REREAD, rows)
        keep_makings(made, stamp.tables)
