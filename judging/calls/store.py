"""Writing answers and results in one transaction, and the comparison tables that judges make."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from analysis.judges.prompt_tokens import expected_tokens
from annotation.core.database.bulk_sql import chunked, insert_rows, update_rows
from annotation.core.version import VERSION
from annotation.models import ComparisonTable, Pair
from annotation.questions.questions import MAIN
from judging.calls.cases import StoredAnswer, Usage
from judging.calls.presentations import AB, IDENTITY_FIELDS, identity_of, in_study_order, task_for
from judging.calls.requests import Reading, cache_key
from judging.core.errors import BadSettings
from judging.endpoints.chat_answers import UNUSABLE
from judging.jobs import leases
from judging.methods import Method, Reply, Setting
from judging.methods.sc2.record import Record, TableRow, is_record, swap_sides, winning_rows
from judging.models import Completion, Judge, JudgeRun, Judgment, TableMaking

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


@dataclass(frozen=True)
class TablePublication:
    """The study and variant to which a run's tables are published, with notes on their making."""

    study: int
    variant: str
    made_by: Mapping[str, Any]


def publication_of(run: JudgeRun, prompt_version: str) -> TablePublication | None:
    """Return where a run's tables are published, or `None` if they aren't."""
    if not run.tables_as:
        return None
    endpoint = run.judge.table_endpoint or run.judge.endpoint
    made_by = {
        "judge": run.judge.name,
        "method": run.judge.method,
        "model": endpoint.model if endpoint else "",
        "prompt_version": prompt_version,
        "seed": run.judge.seed,
        "software_version": VERSION,
    }
    return TablePublication(run.study_id, run.tables_as, made_by)


def store_makings(results: Sequence["Result"], publication: TablePublication | None) -> None:
    """Store how tables were made, in study order, replacing earlier records of the same judgments."""
    rows = [
        TableMaking(judgment_id=result.pk, record=made if result.order == AB else swap_sides(cast(Record, made)))
        for result in results
        if (made := result.reading.made) is not None and is_record(made)
    ]
    if not rows:
        return
    TableMaking.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["judgment"], update_fields=["record"], batch_size=500
    )
    if publication is not None:
        for part in chunked([row.judgment_id for row in rows]):
            _publish(part, publication)


@transaction.atomic
def publish_tables(run: JudgeRun) -> int:
    """Publish the tables that a run has made for the main question. Return how many are published in all.

    Raises: BadSettings if the variant has tables of another judge.
    """
    version = (
        run.judgments.for_question(MAIN).exclude(prompt_version="").values_list("prompt_version", flat=True).first()
    )
    publication = publication_of(run, version or "")
    if publication is None:
        return 0
    refuse_other_makers(publication)
    waiting = TableMaking.objects.filter(judgment__run=run, judgment__question=MAIN, table=None).order_by()
    for part in chunked(list(waiting.values_list("judgment_id", flat=True))):
        _publish(part, publication)
    return TableMaking.objects.filter(judgment__run=run, table__isnull=False).values("table").distinct().count()


def refuse_other_makers(publication: TablePublication) -> None:
    """Refuse a variant that holds tables of another judge: an arm would show tables of two kinds.

    Raises: BadSettings
    """
    tables = ComparisonTable.objects.filter(study=publication.study, variant=publication.variant).order_by()
    makers = set(
        tables.values_list("made_by__judge", flat=True).distinct()
    )  # None: imported from a file that doesn't name a judge
    if makers - {publication.made_by["judge"]}:
        raise BadSettings(
            f"variant {publication.variant} has tables by another judge than {publication.made_by['judge']}; "
            "choose another variant"
        )


def _publish(judgments: Iterable[int], publication: TablePublication) -> None:
    """Create a study's table from the winner of each making for the main question. One per pair, however often it was judged."""
    makings = TableMaking.objects.filter(
        judgment__in=list(judgments), judgment__question=MAIN, judgment__repeat=0
    ).select_related("judgment")
    by_pair = {making.judgment.pair_id: making for making in makings.order_by("judgment__order", "judgment__negated")}
    pairs = Pair.objects.filter(pk__in=by_pair).order_by("pk").values_list("pk", *IDENTITY_FIELDS)
    ids = {pk: table_id_of(publication.variant, identity_of(*fields)) for pk, *fields in pairs}
    tables = [_table(by_pair[pair], pair, table_id, publication) for pair, table_id in ids.items()]
    ComparisonTable.objects.bulk_create(tables, ignore_conflicts=True)
    existing = dict(
        ComparisonTable.objects.filter(study=publication.study, table_id__in=ids.values()).values_list("pair_id", "pk")
    )
    for making in makings:
        making.table_id = existing.get(making.judgment.pair_id)
    TableMaking.objects.bulk_update(makings, ["table"])


def _table(making: TableMaking, pair: int, table_id: str, publication: TablePublication) -> ComparisonTable:
    record: Record = making.record
    origin = {name: record[name] for name in ("scheme", "coins", "calls")}
    samples = {"samples": len(record["samples"]), "lost": sum("lost" in sample for sample in record["samples"])}
    aspects = {"aspects": record["aspects"]["how"], "budget": record["budget"]}
    return ComparisonTable(
        study_id=publication.study,
        table_id=table_id,
        pair_id=pair,
        variant=publication.variant,
        aspects=record["aspects"]["chosen"],
        rows=winning_rows(record),
        made_by={**publication.made_by, **origin, **samples, **aspects},
    )


def tables_shown(judge: Judge, pairs: Iterable[int]) -> dict[int, list[TableRow]]:
    """Return the stored tables that a judge is shown, by pair: the first by its id of several of a variant."""
    if not judge.table_variant:
        return {}
    result: dict[int, list[TableRow]] = {}
    for part in chunked(sorted(set(pairs))):
        stored = ComparisonTable.objects.filter(pair__in=part, variant=judge.table_variant, study__importer="")
        stored = stored.order_by("-table_id")
        result.update(stored.values_list("pair_id", "rows"))
    return result


def table_id_of(variant: str, identity: str) -> str:
    """Derive a table's id from the pair's identity, so that the same study, created again, gets the same ids."""
    digest = hashlib.sha256(f"{variant}\x00{identity}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"{variant}-{digest[:16]}"


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
        now = timezone.now()
        where = ("id",) if stamp.worker is None else ("id", "worker")
        ids = [] if stamp.worker is None else [stamp.worker]
        rows = (
            [
                *(*result_values(result), result.calls, result.cached, *usage_row(result.usage)),
                *(result.reading.cause, result.reading.code, result.prompt_version, stamp.parser_version, now, None),
                *(result.pk, *ids),
            ]
            for result in writes.results
        )
        update_rows(Judgment, RESULT, rows, where=where)
        store_makings(writes.results, stamp.tables)
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


def result_values(result: Result) -> list[Any]:
    """Return the reading of a cell, in study order and in the order of `READING`."""
    reading, outcome = result.reading, result.reading.outcome
    verdict, p_b, score_a, score_b = in_study_order(outcome, result.order) if outcome else (None, None, None, None)
    rationale = outcome.rationale if outcome else ""
    return [reading.status, verdict, p_b, score_a, score_b, reading.token_mass, rationale, reading.failure]


def usage_row(usage: Usage) -> list[Any]:
    """Return the values of a usage, in the order of `USAGE_FIELDS`."""
    return [usage.prompt_tokens, usage.completion_tokens, usage.cost]
