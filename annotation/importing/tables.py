"""Importing and exporting comparison tables."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from annotation.core.errors import MOST_BAD_LINES, BadFile, BadLine
from annotation.core.files import lines
from annotation.core.files.lines import FileData, text_problem, unstorable_key
from annotation.core.names import trim
from annotation.core.reasons import Reason
from annotation.core.refusals import refusal
from annotation.importing.staging import Target, open_import
from annotation.models import ComparisonTable, Pair, Study

_CELLS = ("only_a", "both", "only_b")
_NAMES = {"table_id": 200, "instance_id": 200, "system_a": 200, "system_b": 200, "variant": 40}  # with their longest
_LONGEST_CELL, _MOST_ROWS = 4000, 100  # larger tables can't be read beside two texts
_SYSTEMS = ("system_a", "system_b")
_PLACE = ("matchup__instance__instance_id", "matchup__system_a__name", "matchup__system_b__name", "index")


def import_tables(*, data: FileData, name: str, slug: str) -> tuple[Study, int, int]:
    """Import comparison tables, whole or not at all. Return the study and how many were added and unchanged.

    Raises: BadFile listing the bad lines; UnknownStudy.
    """
    records, bad = lines.read_file(data, name)
    if lines.is_csv(name):  # as it is exported
        records = lines.with_json_cells(records, ("pair_index", "aspects", "rows", "made_by"), bad)
    good = []
    for number, record in lines.watched(records, bad, "comparison tables"):
        record |= {key: trim(record[key]) for key in _NAMES if isinstance(record.get(key), str)}
        problems = _problems(record)
        bad.extend(BadLine(number, problem) for problem in problems)
        if not problems:
            good.append((number, record))
    with open_import(slug, rows=len(good)) as target:
        fresh, unchanged = _fresh(target, good, bad)
        lines.refuse(name, bad)
        if not fresh and not unchanged:
            raise BadFile(name, [BadLine(1, refusal("no_rows", what="tables"))])
        target.create(fresh)
        if fresh:
            target.record(kind="tables", name=name, data=data, counts={"added": len(fresh)})
    return target.study, len(fresh), unchanged


def _fresh(target: Target, records: Iterable[lines.Record], bad: list[BadLine]) -> tuple[list[ComparisonTable], int]:
    """Return the new tables and the number of stored ones. Add the lines that contradict these or each other to `bad`."""
    stored_pairs = Pair.objects.filter(matchup__instance__study=target.study).order_by().values_list("pk", *_PLACE)
    pairs = {tuple(key): pk for pk, *key in stored_pairs}
    existing = {table.table_id: table for table in target.study.tables.all()}
    fresh: dict[str, ComparisonTable] = {}
    unchanged = 0
    for number, record in records:
        if len(bad) >= MOST_BAD_LINES:
            break
        table_id, instance, a, b, index = (record[key] for key in ("table_id", "instance_id", *_SYSTEMS, "pair_index"))
        swapped = (instance, a, b, index) not in pairs  # the outer columns are, if the record has A and B the other way
        pair = pairs.get((instance, b, a, index) if swapped else (instance, a, b, index))
        if pair is None:
            bad.append(BadLine(number, refusal("no_such_pair")))
            continue
        if table_id in fresh:
            bad.append(BadLine(number, refusal("repeated", field="table_id", value=repr(table_id))))
            continue
        only_a, only_b = ("only_b", "only_a") if swapped else ("only_a", "only_b")
        rows = [
            {"aspect": row["aspect"], "only_a": row[only_a], "both": row["both"], "only_b": row[only_b]}
            for row in record["rows"]
        ]
        table = ComparisonTable(
            study=target.staged,
            table_id=table_id,
            pair_id=pair,
            variant=record["variant"],
            aspects=record.get("aspects") or [row["aspect"] for row in rows],
            rows=rows,
            made_by=record.get("made_by") or {},
        )
        stored = existing.get(table_id)
        if stored is None:
            fresh[table_id] = table
        elif all(getattr(stored, name) == getattr(table, name) for name in ("pair_id", "variant", "aspects", "rows")):
            unchanged += 1
        else:
            bad.append(BadLine(number, refusal("other_table", table=repr(table_id))))
    return list(fresh.values()), unchanged


def _problems(record: dict[str, Any]) -> list[Reason]:
    results = [
        problem if key in record else refusal("missing", field=key)
        for key, longest in _NAMES.items()
        if (problem := text_problem(record.get(key), key, longest=longest))
    ]

    def unfit(field: str, problem: Reason) -> None:
        results.append(problem if field in record else refusal("missing", field=field))

    index, rows = record.get("pair_index"), record.get("rows")
    if not isinstance(index, int) or isinstance(index, bool) or index < 0:
        kind = "a whole number from 0 on"
        unfit("pair_index", refusal("not_kind", field="pair_index", kind=kind, value=repr(index)))
    if not isinstance(rows, list) or not rows:
        unfit("rows", refusal("not_a", field="rows", kind="a list of one or more rows"))
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
    pair = "pair__matchup__"
    tables = study.tables.filter(variant=variant) if variant else study.tables.all()
    related = (f"{pair}instance", f"{pair}system_a", f"{pair}system_b")
    order = (*(f"{path}__position" for path in related), "pair__index", "variant", "table_id")
    rows = tables.select_related(*related).order_by(*order).defer(f"{pair}instance__source")
    remaining = rows.iterator(chunk_size=AT_ONCE)
    while some := list(islice(remaining, AT_ONCE)):
        added = more([table.pk for table in some]) if more else {}
        for table in some:
            matchup = table.pair.matchup
            record = {
                "table_id": table.table_id,
                "instance_id": matchup.instance.instance_id,
                "system_a": matchup.system_a.name,
                "system_b": matchup.system_b.name,
                "pair_index": table.pair.index,
                "variant": table.variant,
                "aspects": table.aspects,
                "rows": table.rows,
                "made_by": table.made_by,
                **added.get(table.pk, {}),
            }
            yield json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"
