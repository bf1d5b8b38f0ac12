"""Importing and exporting comparison tables."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from django.db.models import QuerySet

from annotation.core.errors import MOST_BAD_LINES, BadFile, BadLine
from annotation.core.files import lines
from annotation.core.files.lines import FileData, text_problem, unstorable_key
from annotation.core.names import trim
from annotation.core.reasons import Reason
from annotation.core.refusals import refusal
from annotation.importing.staging import Target, open_import
from annotation.models import ComparisonTable, Pair, Study

_CELLS = ("only_a", "both", "only_b")
_NAMES = ("table_id", "instance_id", "system_a", "system_b", "variant")
_LONGEST_CELL, _MOST_ROWS = 4000, 100  # larger tables can't be read beside two texts


def import_tables(*, data: FileData, name: str, slug: str) -> tuple[Study, int, int]:
    """Import comparison tables, whole or not at all. Return the study and how many were added and unchanged.

    Raises: BadFile listing the bad lines; UnknownStudy.
    """
    if lines.is_csv(name):  # as it is exported
        _, cells, bad = lines.read_csv(data)
        records = lines.with_json_cells(cells, ("pair_index", "aspects", "rows", "made_by"), bad)
    else:
        records, bad = lines.read_json(data)
    good = []
    absent = lines.AbsentFields("comparison tables")
    for number, record in absent.watch(records):
        if len(bad) >= MOST_BAD_LINES:
            break
        record = {
            key: trim(value) if key in _NAMES and isinstance(value, str) else value for key, value in record.items()
        }
        if problems := _problems(record):
            bad.extend(BadLine(number, problem) for problem in problems)
        else:
            good.append((number, record))
    return _store(good, absent.summarised(bad), data=data, name=name, slug=slug)


def _store(
    records: Sequence[lines.Record], bad: list[BadLine], *, data: FileData, name: str, slug: str
) -> tuple[Study, int, int]:
    with open_import(slug, rows=len(records)) as target:
        fresh, unchanged = _fresh(target, records, bad)
        lines.refuse(name, bad)
        if not fresh and not unchanged:
            raise BadFile(name, [BadLine(1, refusal("no_rows", what="tables"))])
        target.create(fresh)
        if fresh:
            target.record(kind="tables", name=name, data=data, counts={"added": len(fresh)})
    return target.study, len(fresh), unchanged


def _fresh(target: Target, records: Iterable[lines.Record], bad: list[BadLine]) -> tuple[list[ComparisonTable], int]:
    """Return the new tables and the number of stored ones. Add the lines that contradict these or each other to `bad`."""
    pairs = _pairs(target.study)
    existing = {table.table_id: table for table in target.study.tables.all()}
    fresh: dict[str, ComparisonTable] = {}
    unchanged = 0
    for number, record in records:
        if len(bad) >= MOST_BAD_LINES:
            break
        pair, swapped = _find(pairs, record)
        if pair is None:
            bad.append(BadLine(number, refusal("no_such_pair")))
            continue
        if record["table_id"] in fresh:
            bad.append(BadLine(number, refusal("repeated", field="table_id", value=repr(record["table_id"]))))
            continue
        table = _table(target.staged, pair, record, swapped)
        stored = existing.get(table.table_id)
        if stored is None:
            fresh[table.table_id] = table
        elif all(getattr(stored, name) == getattr(table, name) for name in ("pair_id", "variant", "aspects", "rows")):
            unchanged += 1
        else:
            bad.append(BadLine(number, refusal("other_table", table=repr(table.table_id))))
    return list(fresh.values()), unchanged


def _pairs(study: Study) -> dict[tuple[str, str, str, int], Pair]:
    rows = Pair.objects.filter(matchup__instance__study=study).select_related(
        "matchup__instance", "matchup__system_a", "matchup__system_b"
    )
    return {
        (p.matchup.instance.instance_id, p.matchup.system_a.name, p.matchup.system_b.name, p.index): p
        for p in rows.defer("matchup__instance__source")
    }


def _find(pairs: dict[tuple[str, str, str, int], Pair], record: dict[str, Any]) -> tuple[Pair | None, bool]:
    instance, a, b, index = (record[key] for key in ("instance_id", "system_a", "system_b", "pair_index"))
    if pair := pairs.get((instance, a, b, index)):
        return pair, False
    return pairs.get((instance, b, a, index)), True


def _table(study: Study, pair: Pair, record: dict[str, Any], swapped: bool) -> ComparisonTable:
    """Build a table in the study's A and B, with the outer columns swapped if the record has them the other way."""
    rows = [
        {
            "aspect": row["aspect"],
            "only_a": row["only_b" if swapped else "only_a"],
            "both": row["both"],
            "only_b": row["only_a" if swapped else "only_b"],
        }
        for row in record["rows"]
    ]
    return ComparisonTable(
        study=study,
        table_id=record["table_id"],
        pair=pair,
        variant=record["variant"],
        aspects=record.get("aspects") or [row["aspect"] for row in rows],
        rows=rows,
        made_by=record.get("made_by") or {},
    )


def _problems(record: dict[str, Any]) -> list[Reason]:
    results = [
        problem if key in record else refusal("missing", field=key)
        for key, longest in (
            ("table_id", 200),
            ("instance_id", 200),
            ("system_a", 200),
            ("system_b", 200),
            ("variant", 40),
        )
        if (problem := text_problem(record.get(key), key, longest=longest))
    ]
    index = record.get("pair_index")
    if not isinstance(index, int) or isinstance(index, bool) or index < 0:
        unfit = refusal("not_kind", field="pair_index", kind="a whole number from 0 on", value=repr(index))
        results.append(unfit if "pair_index" in record else refusal("missing", field="pair_index"))
    rows = record.get("rows")
    if not isinstance(rows, list) or not rows:
        unfit = refusal("not_a", field="rows", kind="a list of one or more rows")
        results.append(unfit if "rows" in record else refusal("missing", field="rows"))
        rows = []
    if len(rows) > _MOST_ROWS:
        results.append(refusal("too_many_rows", number=len(rows), most=_MOST_ROWS))
    for number, row in enumerate(rows[:_MOST_ROWS], start=1):
        if not isinstance(row, dict) or text_problem(row.get("aspect")):
            results.append(refusal("no_aspect", row=number))
            continue
        for cell in _CELLS:
            named = f"row {number}: {cell}"
            if cell not in row:
                results.append(refusal("missing", field=named))
            elif problem := text_problem(row[cell], named, longest=_LONGEST_CELL, may_be_blank=True):
                results.append(problem)
    aspects, made_by = record.get("aspects") or [], record.get("made_by") or {}
    if not isinstance(aspects, list) or any(text_problem(aspect) for aspect in aspects):
        results.append(refusal("not_a", field="aspects", kind="a list of texts"))
    if not isinstance(made_by, dict):
        results.append(refusal("not_a", field="made_by", kind="a JSON object"))
    elif broken := unstorable_key(made_by):
        results.append(refusal("unstorable_in", field="made_by", key=repr(broken)))
    return results


AT_ONCE = 200  # tables
# Takes primary keys of tables, and returns additional values of their lines.
More = Callable[[Sequence[int]], Mapping[int, Mapping[str, Any]]]


def table_lines(*, study: Study, variant: str = "", more: More | None = None) -> Iterator[str]:
    """Yield a line of JSON for each table, in the order of the pairs, with the study's A and B.

    Importing the lines into the same study changes nothing; the import ignores what `more` adds.
    """
    rows = _tables(study, variant).iterator(chunk_size=AT_ONCE)
    while some := list(islice(rows, AT_ONCE)):
        added = more([table.pk for table in some]) if more else {}
        for table in some:
            record = {**_record(table), **added.get(table.pk, {})}
            yield json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"


def _tables(study: Study, variant: str) -> QuerySet[ComparisonTable]:
    tables = study.tables.filter(variant=variant) if variant else study.tables.all()
    related = ("pair__matchup__instance", "pair__matchup__system_a", "pair__matchup__system_b")
    ordered = tables.select_related(*related).order_by(
        "pair__matchup__instance__position",
        "pair__matchup__system_a__position",
        "pair__matchup__system_b__position",
        "pair__index",
        "variant",
        "table_id",
    )
    return ordered.defer("pair__matchup__instance__source")


def _record(table: ComparisonTable) -> dict[str, Any]:
    matchup = table.pair.matchup
    return {
        "table_id": table.table_id,
        "instance_id": matchup.instance.instance_id,
        "system_a": matchup.system_a.name,
        "system_b": matchup.system_b.name,
        "pair_index": table.pair.index,
        "variant": table.variant,
        "aspects": table.aspects,
        "rows": table.rows,
        "made_by": table.made_by,
    }
