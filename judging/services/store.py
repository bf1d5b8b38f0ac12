"""Writing answers and results, a group in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from judging.judges import Method, Setting
from judging.models import Completion, JudgeRun, Judgment
from judging.services.cases import Spent, Stored
from judging.services.presentations import in_study_order, task_for
from judging.services.reading import Reading
from judging.services.statements import insert_rows, update_rows
from judging.services.tables import HandingOn, handing_on, keep_makings

LINKS = Judgment.completions.through
COMPLETION = (
    *("cache_key", "base_url", "request", "sample", "kind", "text", "finish_reason", "response"),
    *("prompt_tokens", "completion_tokens", "cost", "latency_ms", "created_at"),
)
SPENT = ("prompt_tokens", "completion_tokens", "cost")
RESULT = (
    *("status", "verdict", "p_b", "score_a", "score_b", "rationale", "failure", "calls", "cached"),
    *SPENT,
    *("prompt_version", "parser_version", "judged_at", "worker"),
)


@dataclass(slots=True)
class Result:
    """What came of a cell.

    calls : answers used; `cached` : those of them that this cell did not pay for
    used  : the answers, to be linked
    """

    pk: int
    order: str
    reading: Reading
    calls: int = 0
    cached: int = 0
    spent: Spent = field(default_factory=Spent)
    used: Sequence[Stored] = ()


@dataclass(slots=True)
class Group:
    """Everything that one transaction writes.

    answers : new ones
    results : of cells that ended
    bills   : what cells that go on have spent so far, by their primary keys
    links   : cells and the answers that were paid for them
    """

    answers: list[Stored] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    bills: dict[int, Spent] = field(default_factory=dict)
    links: list[tuple[int, Stored]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.answers or self.results or self.bills or self.links)


@dataclass(frozen=True)
class Stamp:
    """What every result of a run carries.

    worker : only cells that it holds are written to; `None`: any
    tables : how tables that are made on the way are handed on to people; `None`: they aren't
    """

    base_url: str
    prompt_version: str
    parser_version: str
    worker: int | None = None
    tables: HandingOn | None = None


def stamp_of(
    run: JudgeRun, method: Method, setting: Setting, base_url: str = "", *, worker: int | None = None
) -> Stamp:
    """Return what every result of a run carries."""
    task = task_for(run.judge, run.study.task_kind)
    version = method.prompt_version(task, setting)
    return Stamp(base_url, version, method.parser_version, worker, handing_on(run, version))


def write(group: Group, stamp: Stamp) -> None:
    """Store a group: answers first, for results refer to them."""
    with transaction.atomic():
        write_answers(group.answers, stamp.base_url)
        write_results(group.results, stamp)
        update_rows(Judgment, SPENT, ([*spent_row(spent), pk] for pk, spent in group.bills.items()))
        links = {(result.pk, used.pk) for result in group.results for used in result.used}
        links |= {(pk, stored.pk) for pk, stored in group.links}
        insert_rows(LINKS, ("judgment", "completion"), sorted(links))


def write_answers(answers: Sequence[Stored], base_url: str) -> None:
    """Store answers and give them their primary keys.

    One that is never to be reused has no name, and one whose name another worker has just taken is kept without one:
    results refer to what was read.
    """
    now = timezone.now()
    named = {stored.key: stored for stored in answers if not stored.refused}
    rows = [completion_row(stored, base_url, now) for stored in named.values()]
    for key, pk in insert_rows(Completion, COMPLETION, rows, wanted=("cache_key", "id")):
        named[key].pk = pk
    for stored in answers:
        if stored.pk is None:
            values = dict(zip(COMPLETION, completion_row(stored, base_url, now), strict=True))
            stored.pk = Completion.objects.create(**{**values, "cache_key": None}).pk


def write_results(results: Sequence[Result], stamp: Stamp) -> None:
    """Store what came of cells, in study order."""
    now = timezone.now()
    where = ("id",) if stamp.worker is None else ("id", "worker")
    ids = [] if stamp.worker is None else [stamp.worker]
    rows = ([*result_row(result, stamp, now), result.pk, *ids] for result in results)
    update_rows(Judgment, RESULT, rows, where=where)
    made = [(result.pk, result.order, result.reading.made) for result in results if result.reading.made is not None]
    keep_makings(made, stamp.tables)


def completion_row(stored: Stored, base_url: str, now: datetime) -> list[Any]:
    """Return the values of an answer, in the order of `COMPLETION`."""
    request, reply, spent = stored.request, stored.reply, stored.spent
    if request is None:
        raise TypeError("an answer from the cache is not stored again")
    return [
        *(stored.key, base_url, request.body, request.sample, request.kind, reply.text, reply.finish_reason),
        *(reply.response, spent.prompt_tokens, spent.completion_tokens, spent.cost, stored.latency_ms, now),
    ]


def result_row(result: Result, stamp: Stamp, now: datetime) -> list[Any]:
    """Return the values of a result, in the order of `RESULT`."""
    return [
        *(*result_values(result), result.calls, result.cached, *spent_row(result.spent)),
        *(stamp.prompt_version, stamp.parser_version, now, None),
    ]


def result_values(result: Result) -> list[Any]:
    """Return how a cell was read, in study order."""
    outcome = result.reading.outcome
    verdict, p_b, score_a, score_b = in_study_order(outcome, result.order) if outcome else (None, None, None, None)
    rationale = outcome.rationale if outcome else ""
    return [result.reading.status, verdict, p_b, score_a, score_b, rationale, result.reading.failure]


def spent_row(spent: Spent) -> list[Any]:
    """Return the values of what was spent, in the order of `SPENT`."""
    return [spent.prompt_tokens, spent.completion_tokens, spent.cost]
