"""Writing answers and results in one transaction."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from analysis.judges.prompt_tokens import expected_tokens
from annotation.core.database.bulk_sql import chunked, insert_rows, update_rows
from judging.calls.cases import StoredAnswer, Usage
from judging.calls.made_tables import TablePublication, publication_of, store_makings
from judging.calls.presentations import in_study_order, task_for
from judging.calls.requests import cache_key
from judging.calls.results import Reading
from judging.endpoints.chat_answers import UNUSABLE
from judging.jobs import leases
from judging.methods import Method, Reply, Setting
from judging.models import Completion, JudgeRun, Judgment

LINKS = Judgment.completions.through
ORIGIN = {"served_model": "model", "fingerprint": "system_fingerprint", "provider": "provider"}  # by response's field
LONGEST_ORIGIN = 200
COMPLETION = (
    *("cache_key", "base_url", "request", "sample", "kind", "text", "finish_reason", "response"),
    *("prompt_tokens", "completion_tokens", "cost", "latency_ms", "created_at"),
    *("list_price", "expected_prompt_tokens", *ORIGIN),
)
REPLY_FIELDS = ("text", "finish_reason", "response")
USAGE_FIELDS = ("prompt_tokens", "completion_tokens", "cost")
READING = ("status", "verdict", "p_b", "score_a", "score_b", "token_mass", "rationale", "failure")
RESULT = (
    *(*READING, "calls", "cached"),
    *USAGE_FIELDS,
    *("cause", "failure_code", "prompt_version", "parser_version", "judged_at", "worker"),
)


@dataclass(slots=True)
class Result:
    """The result of a cell.

    calls : answers used or paid for; `cached` : those of them that this cell did not pay for
    used  : the answers to link
    prompt_version : of what was asked; empty where nothing is
    """

    pk: int
    order: str
    reading: Reading
    calls: int = 0
    cached: int = 0
    usage: Usage = field(default_factory=Usage)
    used: Sequence[StoredAnswer] = ()
    prompt_version: str = ""


@dataclass(slots=True)
class PendingWrites:
    """The rows written by one transaction.

    answers : new ones
    results : of cells that ended
    bills   : calls and usage of cells that continue, or have ended before, by the cells' primary keys
    links   : cells and the answers that they paid for
    """

    answers: list[StoredAnswer] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    bills: dict[int, tuple[int, Usage]] = field(default_factory=dict)
    links: list[tuple[int, StoredAnswer]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.answers or self.results or self.bills or self.links)


@dataclass(frozen=True)
class Stamp:
    """The common fields of a run's results.

    worker : only its cells are written to, while it has the lease of this primary key; `None`: any
    tables : where tables that are made are published; `None`: they aren't
    """

    parser_version: str
    worker: int | None = None
    tables: TablePublication | None = None


def stamp_of(run: JudgeRun, method: Method, setting: Setting, *, worker: int | None = None) -> Stamp:
    """Return what all results of a run have in common."""
    task = task_for(run.judge, run.study.task_kind)
    version = method.prompt_version(task, setting)
    return Stamp(method.parser_version, worker, publication_of(run, version))


def write(writes: PendingWrites, stamp: Stamp) -> None:
    """Store pending writes: answers first, since results refer to them.

    Of a worker that lost its lease only the answers are stored, without a cell to bear their cost.
    """
    with transaction.atomic():
        write_answers(writes.answers)
        if stamp.worker is not None and not leases.lock_worker(stamp.worker):
            return  # another worker may have taken over the cells, with the usage that they had
        write_results(writes.results, stamp)
        bills = ([calls, *usage_row(usage), pk] for pk, (calls, usage) in writes.bills.items())
        update_rows(Judgment, ("calls", *USAGE_FIELDS), bills)
        links = {(result.pk, used.pk) for result in writes.results for used in result.used}
        links |= {(pk, stored.pk) for pk, stored in writes.links}
        insert_rows(LINKS, ("judgment", "completion"), sorted(links))


def write_answers(answers: Sequence[StoredAnswer]) -> None:
    """Store answers and set their primary keys.

    An answer that must not be reused has no cache key; nor has one whose key another worker has just stored, because
    results refer to the answer that was read.
    """
    now = timezone.now()
    named = {stored.key: stored for stored in answers if not stored.refused}
    rows = [completion_row(stored, now) for stored in named.values()]
    for key, pk in insert_rows(Completion, COMPLETION, rows, returning=("cache_key", "id")):
        named[key].pk = pk
    for stored in answers:
        if stored.pk is None:
            values = dict(zip(COMPLETION, completion_row(stored, now), strict=True))
            stored.pk = Completion.objects.create(**{**values, "cache_key": None}).pk


def write_results(results: Sequence[Result], stamp: Stamp) -> None:
    """Store the results of cells, in study order."""
    now = timezone.now()
    where = ("id",) if stamp.worker is None else ("id", "worker")
    ids = [] if stamp.worker is None else [stamp.worker]
    rows = ([*result_row(result, stamp, now), result.pk, *ids] for result in results)
    update_rows(Judgment, RESULT, rows, where=where)
    makings = [(result.pk, result.order, result.reading.made) for result in results if result.reading.made is not None]
    store_makings(makings, stamp.tables)


def cached_rows(keys: Iterable[str], *fields: str) -> Iterator[tuple[Any, ...]]:
    """Yield key and fields of the answers in the cache under some keys."""
    for part in chunked(list(dict.fromkeys(keys))):
        yield from Completion.objects.filter(cache_key__in=part).order_by().values_list("cache_key", *fields)


def stored_answers(completions: QuerySet[Completion]) -> Iterator[StoredAnswer]:
    """Yield usable answers with their cache keys, computed since refusals have none stored."""
    rows = completions.exclude(cache_key=None, finish_reason=UNUSABLE).order_by()
    for base_url, request, sample, pk, *reply in rows.values_list("base_url", "request", "sample", "pk", *REPLY_FIELDS):
        yield StoredAnswer(cache_key(base_url, request, sample), Reply(*reply), pk)


def completion_row(stored: StoredAnswer, now: datetime) -> list[Any]:
    """Return the values of an answer, in the order of `COMPLETION`."""
    request, reply, usage = stored.request, stored.reply, stored.usage
    if request is None:
        raise TypeError("an answer from the cache is not stored again")
    return [
        *(stored.key, request.base_url, request.body, request.sample, request.kind, reply.text, reply.finish_reason),
        *(reply.response, usage.prompt_tokens, usage.completion_tokens, usage.cost, stored.latency_ms, now),
        *(stored.list_price, expected_prompt_tokens(request.body), *origin_of(reply.response)),
    ]


def expected_prompt_tokens(body: Mapping[str, Any]) -> int:
    """Estimate the prompt tokens of a request from its messages."""
    return round(expected_tokens("\n".join(str(message.get("content") or "") for message in body["messages"])))


def origin_of(response: Mapping[str, Any]) -> list[str]:
    """Return who gave an answer, by its response: the values of `ORIGIN`, empty where it doesn't say."""
    named = (response.get(name) for name in ORIGIN.values())
    return [name.strip()[:LONGEST_ORIGIN] if isinstance(name, str) else "" for name in named]


def result_row(result: Result, stamp: Stamp, now: datetime) -> list[Any]:
    """Return the values of a result, in the order of `RESULT`."""
    return [
        *(*result_values(result), result.calls, result.cached, *usage_row(result.usage)),
        *(result.reading.cause, result.reading.code, result.prompt_version, stamp.parser_version, now, None),
    ]


def result_values(result: Result) -> list[Any]:
    """Return the reading of a cell, in study order and in the order of `READING`."""
    reading, outcome = result.reading, result.reading.outcome
    verdict, p_b, score_a, score_b = in_study_order(outcome, result.order) if outcome else (None, None, None, None)
    rationale = outcome.rationale if outcome else ""
    return [reading.status, verdict, p_b, score_a, score_b, reading.token_mass, rationale, reading.failure]


def usage_row(usage: Usage) -> list[Any]:
    """Return the values of a usage, in the order of `USAGE_FIELDS`."""
    return [usage.prompt_tokens, usage.completion_tokens, usage.cost]
