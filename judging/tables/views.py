"""The pages of a study's comparison tables: the list with checks, one table with its making, the file, and making them."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Count, Prefetch, Q, QuerySet
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse

from analysis.judges.table_checks import CELLS, SUPPORTED, Cell
from annotation.core.http import as_download, attempt
from annotation.importing.tables import table_lines
from annotation.members.permissions import FORM, POST, READERS, study_view
from annotation.models import ComparisonTable, Flag, Pair, Study
from annotation.questions.questions import MAIN
from judging.aspects.aspect_sets import current_aspects
from judging.core.estimating import estimate_page
from judging.methods.sc2.record import KINDS, shown_record
from judging.models import JudgeRun, Judgment, TableCheck, TableMaking
from judging.tables.checked_tables import (
    TABLES_PER_VARIANT,
    check_pair,
    common_values,
    figures_by_variant,
    rows_of,
    standing_flags,
    with_texts,
)
from judging.tables.figures import makings_of
from judging.tables.forms import MakeTablesForm, TableFilterForm

A_PAGE = 50
MOST_OTHERS = 20
LINES_AT_ONCE = 100
PARTS: Mapping[Cell, tuple[str, str]] = {"only_a": ("Only A", "a"), "both": ("Both", "both"), "only_b": ("Only B", "b")}
IN_ORDER = (
    *("pair__matchup__instance__position", "pair__matchup__system_a__position", "pair__matchup__system_b__position"),
    *("pair__index", "variant", "table_id"),
)


@study_view(*READERS)
def tables(request: HttpRequest, study: Study) -> HttpResponse:
    """List a study's comparison tables with their checks, and the figures of each variant."""
    figures = figures_by_variant(study)
    form = TableFilterForm(request.GET, study=study, variants=[figure.variant for figure in figures])
    rows = form.narrow(with_texts(study.tables.all())).order_by(*IN_ORDER)
    page = Paginator(rows, A_PAGE).get_page(request.GET.get("page"))
    query = request.GET.copy()
    query.pop("page", None)
    listed = list(page)
    counts = standing_flags(study).filter(table__in=[item.pk for item in listed]).order_by()
    flags = dict(counts.values_list("table").annotate(Count("pk")))
    context = {
        "study": study,
        "figures": figures,
        "most_checked": TABLES_PER_VARIANT,
        "models": sorted({item.model for each in figures for item in each.by_model}),
        "form": form,
        "page": page,
        "rows": [(item, check_pair(item.rows, item.pair).summary, flags.get(item.pk, 0)) for item in listed],
        "query": query.urlencode(),
        "runs": _runs(study),
    }
    return TemplateResponse(request, "judging/tables/tables.html", context)


@study_view(*READERS)
def table(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """Show one table with its texts, checks, raters' flags, and its making if a judge made it."""
    row = get_object_or_404(with_texts(study.tables.all()), pk=pk)
    makings = TableMaking.objects.filter(table=row).order_by("judgment")
    making = makings.select_related("judgment__run__judge").first()
    turned = request.GET.get("turned") == "1"
    context = {
        "study": study,
        "table": row,
        "pair": row.pair,
        "turned": turned,
        "made_by": common_values([row.made_by])[0],
        "shown": show_table(row, turned=turned),
        "made": show_making(making, row.pair, turned=turned) if making else None,
        "others": _judgments(makings.exclude(pk=making.pk)) if making else [],
        "siblings": study.tables.filter(pair=row.pair).exclude(pk=row.pk).order_by("variant", "table_id"),
        "checks": row.checks.select_related("endpoint").order_by("model"),
    }
    return TemplateResponse(request, "judging/tables/table.html", context)


@study_view(*READERS)
def judgment_table(request: HttpRequest, study: Study, judgment_id: int) -> HttpResponse:
    """Show the table behind one judgment and its making, published or not."""
    makings = TableMaking.objects.select_related(
        *("table", "judgment__run__judge", "judgment__pair__matchup__instance", "judgment__pair__generation_a"),
        *("judgment__pair__generation_b", "judgment__pair__matchup__system_a", "judgment__pair__matchup__system_b"),
    )
    row = get_object_or_404(makings, judgment__run__study=study, judgment=judgment_id)
    turned = request.GET.get("turned") == "1"
    making = show_making(row, row.judgment.pair, turned=turned)
    context = {
        "study": study,
        "judgment": row.judgment,
        "handed_on": row.table,
        "pair": row.judgment.pair,
        "turned": turned,
        "shown": making["winner"]["table"],
        "made": making,
    }
    return TemplateResponse(request, "judging/tables/table.html", context)


@study_view(*READERS)
def tables_file(request: HttpRequest, study: Study) -> Any:
    """Stream a study's tables, or those of one variant, as `export_tables` writes them."""
    variant = request.GET.get("variant", "")
    more = makings_of if request.GET.get("makings") == "1" else None
    lines = table_lines(study=study, variant=variant, more=more)
    response = StreamingHttpResponse(_pieces(lines), content_type="application/jsonl; charset=utf-8")
    return as_download(response, f"{study.slug}-tables.jsonl")


def _pieces(lines: Iterator[str]) -> Iterator[str]:
    """Join lines into larger chunks."""
    while chunk := list(islice(lines, LINES_AT_ONCE)):
        yield "".join(chunk)


def _runs(study: Study) -> QuerySet[JudgeRun]:
    """Return the runs that made tables for the main question, with the numbers of made and published tables."""
    main = Q(judgments__question=MAIN)
    runs = study.judge_runs.annotate(
        made=Count("judgments__making", filter=main), handed_on=Count("judgments__making__table", filter=main)
    )
    return runs.filter(made__gt=0).select_related("judge", "batch").order_by("created_at", "pk")


def _judgments(makings: QuerySet[TableMaking]) -> list[Judgment]:
    related = Prefetch("judgment", Judgment.objects.select_related("run__judge"))
    return [item.judgment for item in makings.only("judgment").prefetch_related(related)[:MOST_OTHERS]]


def show_table(table: ComparisonTable, *, turned: bool) -> dict[str, Any]:
    """Return a stored table with its checks and the raters' flags on its rows."""
    flags: dict[int, list[Flag]] = {}
    standing = standing_flags(table.study).filter(table=table)
    for flag in standing.select_related("display__assignment__annotator").order_by("flagged_at", "pk"):
        flags.setdefault(flag.row or 0, []).append(flag)
    return show_rows(table.rows, table.pair, turned=turned, flags=flags, checks=list(table.checks.order_by("model")))


def show_rows(
    stored: Sequence[Mapping[str, Any]],
    pair: Pair,
    *,
    turned: bool,
    flags: Mapping[int, Sequence[Flag]] | None = None,
    checks: Sequence[TableCheck] = (),
) -> dict[str, Any]:
    """Return the rows of a table in study order, or turned (B on the left), with their checks against the pair's texts.

    Columns are the parts of the Venn-like view, without missing cells.
    """
    check = check_pair(stored, pair)
    order = CELLS[::-1] if turned else CELLS

    def show_cell(number: int, cell: Cell, text: str) -> dict[str, Any]:
        cell_check = check.rows[number][cell]
        scores = [(stored_check.model, stored_check.found["cells"][number][cell]) for stored_check in checks]
        return {
            "label": PARTS[cell][0],
            "text": text,
            "check": cell_check,
            "unsupported": cell_check.support is not None and cell_check.support < SUPPORTED,
            "other_side": "B" if cell == "only_a" else "A",
            "scores": [(model, score) for model, score in scores if score is not None],
        }

    rows: list[dict[str, Any]] = [
        {
            "aspect": row["aspect"],
            "cells": [show_cell(number, cell, row[cell]) for cell in order],
            "flags": (flags or {}).get(number, []),
        }
        for number, row in enumerate(rows_of(stored))
    ]
    columns = []
    for index, cell in enumerate(order if rows else ()):
        cells = [(row["aspect"], row["cells"][index]) for row in rows]
        entries = [(aspect, item["text"]) for aspect, item in cells if not item["check"].missing]
        columns.append({"label": PARTS[cell][0], "side": PARTS[cell][1], "entries": entries})
    return {
        "rows": rows,
        "labels": [PARTS[cell][0] for cell in order],
        "columns": columns,
        "summary": check.summary,
        "turned": turned,
    }


def show_making(making: TableMaking, pair: Pair, *, turned: bool) -> dict[str, Any]:
    """Return how a table was made: the drawn tables by number from 1, the matches by round, the winner."""
    record = shown_record(making.record)
    samples: list[dict[str, Any]] = [
        {
            "number": index + 1,
            "wins": record["wins"][index],
            "won": index == record["winner"],
            "lost": sample.get("lost", ""),
            "table": show_rows(sample["rows"], pair, turned=turned) if "rows" in sample else None,
        }
        for index, sample in enumerate(record["samples"])
    ]
    ranked = [sample for sample in samples if sample["wins"] is not None]
    return {
        "making": making,
        "record": record,
        "rounds": [(number, list(matches)) for number, matches in groupby(record["bracket"], key=itemgetter("round"))],
        "samples": samples,
        "winner": samples[record["winner"]],
        "rejected": [sample for sample in samples if sample["table"] and not sample["won"]],
        "lost": [sample for sample in samples if sample["table"] is None],
        "standings": sorted(ranked, key=lambda sample: -sample["wins"]),
        "calls": sorted(record["calls"].items(), key=lambda call: (*KINDS, call[0]).index(call[0])),
    }


@study_view(*READERS, methods=FORM)
def make(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the form, and for a submitted one the estimate. No call is made."""
    if request.method != "POST":
        return _making_page(request, study, form=MakeTablesForm(study=study))
    form = MakeTablesForm(request.POST, study=study)
    return estimate_page(request, form, study, _making_page, "judging/tables/make_tables.html#start")


@study_view(*READERS, methods=POST)
def start(request: HttpRequest, study: Study) -> HttpResponse:
    """Queue the run, new or again."""
    form = MakeTablesForm(request.POST, study=study)
    if form.is_valid() and (run := attempt(form, form.queue)):
        return redirect("judging:run", study.slug, run.pk)
    return _making_page(request, study, form=form, status=422)


def _making_page(
    request: HttpRequest, study: Study, *, form: MakeTablesForm, estimate: Any = None, status: int = 200
) -> HttpResponse:
    aspects, name = current_aspects(study)
    context = {"study": study, "form": form, "estimate": estimate, "aspects": aspects, "aspects_name": name}
    return TemplateResponse(request, "judging/tables/make_tables.html", context, status=status)
