"""Storing the comparison tables that judges make, and publishing them for the second stage."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from django.db import transaction

from annotation.core.database.bulk_sql import chunked
from annotation.core.version import VERSION
from annotation.models import ComparisonTable, Pair
from annotation.questions.questions import MAIN
from judging.calls.presentations import AB, IDENTITY_FIELDS, identity_of
from judging.core.errors import BadSettings
from judging.methods.sc2.record import Record, TableRow, is_record, swap_sides, winning_rows
from judging.models import Judge, JudgeRun, TableMaking

Made = tuple[int, str, Mapping[str, Any]]  # a judgment's primary key and order, and the record in screen order


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


def store_makings(makings: Sequence[Made], publication: TablePublication | None) -> None:
    """Store how tables were made, in study order, replacing earlier records of the same judgments."""
    rows = [
        TableMaking(judgment_id=pk, record=record if order == AB else swap_sides(cast(Record, record)))
        for pk, order, record in makings
        if is_record(record)
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
