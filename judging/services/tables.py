"""Keeping comparison tables that judges make on their way, and handing them on to people's second stage."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from django.db import transaction

from annotation.models import ComparisonTable, Pair
from annotation.version import VERSION
from judging.errors import BadSettings
from judging.judges.sc2.record import Record, is_record, turned, winning_rows
from judging.models import JudgeRun, TableMaking
from judging.services.presentations import AB, IDENTITY_FIELDS, identity_of
from judging.services.statements import parts

Made = tuple[int, str, Mapping[str, Any]]  # a judgment's primary key, its order, and what was made, in screen order


@dataclass(frozen=True)
class HandingOn:
    """How a run's tables reach people: in which study, under which variant, and who made them."""

    study: int
    variant: str
    made_by: Mapping[str, Any]


def handing_on(run: JudgeRun, prompt_version: str) -> HandingOn | None:
    """Return how a run's tables are handed on; `None` when they aren't."""
    if not run.tables_as:
        return None
    endpoint = run.judge.endpoint
    made_by = {
        "judge": run.judge.name,
        "method": run.judge.method,
        "model": endpoint.model if endpoint else "",
        "prompt_version": prompt_version,
        "seed": run.judge.seed,
        "software_version": VERSION,
    }
    return HandingOn(run.study_id, run.tables_as, made_by)


def keep_makings(made: Sequence[Made], handing: HandingOn | None) -> None:
    """Store how tables were made, in study order; one that is made again takes the earlier one's place."""
    rows = [
        TableMaking(judgment_id=pk, record=record if order == AB else turned(cast(Record, record)))
        for pk, order, record in made
        if is_record(record)
    ]
    if not rows:
        return
    TableMaking.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["judgment"], update_fields=["record"], batch_size=500
    )
    if handing is not None:
        for part in parts([row.judgment_id for row in rows]):
            _hand_on(part, handing)


@transaction.atomic
def hand_on(run: JudgeRun) -> int:
    """Hand on the tables that a run made before it was told to; returns how many people can be shown now.

    Raises: BadSettings when the variant has tables that were made otherwise.
    """
    handing = handing_on(run, _prompt_version(run))
    if handing is None:
        return 0
    refuse_other_makers(handing)
    waiting = TableMaking.objects.filter(judgment__run=run, table=None).order_by()
    for part in parts(list(waiting.values_list("judgment_id", flat=True))):
        _hand_on(part, handing)
    return TableMaking.objects.filter(judgment__run=run, table__isnull=False).values("table").distinct().count()


def refuse_other_makers(handing: HandingOn) -> None:
    """Refuse a variant that holds tables of another judge: what an arm shows would be of two kinds.

    Raises: BadSettings
    """
    known = ComparisonTable.objects.filter(study=handing.study, variant=handing.variant).order_by()
    makers = set(known.values_list("made_by__judge", flat=True).distinct())  # None: read from a file that doesn't say
    if makers - {handing.made_by["judge"]}:
        raise BadSettings(
            f"variant {handing.variant} has tables that judge {handing.made_by['judge']} did not make; "
            "name another one with --variant"
        )


def _prompt_version(run: JudgeRun) -> str:
    return str(run.judgments.exclude(prompt_version="").values_list("prompt_version", flat=True).first() or "")


def _hand_on(judgments: Iterable[int], handing: HandingOn) -> None:
    """Make a table that people can be shown of the winner of each making; one a pair, however often it was judged."""
    makings = TableMaking.objects.filter(judgment__in=list(judgments), judgment__repeat=0).select_related("judgment")
    by_pair = {making.judgment.pair_id: making for making in makings.order_by("judgment__order", "judgment__negated")}
    pairs = Pair.objects.filter(pk__in=by_pair).order_by("pk").values_list("pk", *IDENTITY_FIELDS)
    ids = {pk: table_id_of(handing.variant, identity_of(*fields)) for pk, *fields in pairs}
    tables = [_table(by_pair[pair], pair, table_id, handing) for pair, table_id in ids.items()]
    ComparisonTable.objects.bulk_create(tables, ignore_conflicts=True)
    known = dict(
        ComparisonTable.objects.filter(study=handing.study, table_id__in=ids.values()).values_list("pair_id", "pk")
    )
    for making in makings:
        making.table_id = known.get(making.judgment.pair_id)
    TableMaking.objects.bulk_update(makings, ["table"])


def _table(making: TableMaking, pair: int, table_id: str, handing: HandingOn) -> ComparisonTable:
    record: Record = making.record
    told = {name: record[name] for name in ("scheme", "coins", "calls")}
    samples = {"samples": len(record["samples"]), "lost": sum("lost" in one for one in record["samples"])}
    aspects = {"aspects": record["aspects"]["how"], "budget": record["budget"]}
    return ComparisonTable(
        study_id=handing.study,
        table_id=table_id,
        pair_id=pair,
        variant=handing.variant,
        aspects=record["aspects"]["chosen"],
        rows=winning_rows(record),
        made_by={**handing.made_by, **told, **samples, **aspects},
    )


def table_id_of(variant: str, identity: str) -> str:
    """Name the table of a pair by what the pair is, so that the same study made anew gets the same names."""
    digest = hashlib.sha256(f"{variant}\x00{identity}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"{variant}-{digest[:16]}"
