"""Checks of a study's comparison tables by `analysis.judges.table_checks`, aggregated by variant."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import Count, F, QuerySet

from analysis.judges.table_checks import CELLS, SUPPORTED, Summary, TableCheckResult, check_table
from annotation.models import ComparisonTable, Display, Flag, Pair, Study
from judging.core.proportions import Proportion, mean_proportion, proportion
from judging.models import TableCheck

TABLES_PER_VARIANT, MIN_TABLES, MAX_TABLES = 200, 20, 1000  # tables whose texts are checked for one page
TEXTS = ("pair__matchup__instance", "pair__generation_a", "pair__generation_b")
LONGEST_SHOWN = 200
ODD = ("wrong_side", "copied", "names_side", "long")  # kinds of suspicious cells
Checked = tuple[int, Summary, Mapping[str, Any]]  # instance, checks and maker of a table


@dataclass(frozen=True)
class ModelFigure:
    """The check of a variant's tables by one model's scores.

    entailment : mean over tables of the mean score of their cells
    coverage   : mean over tables of the mean score of both texts' sentences
    """

    model: str
    entailment: Proportion
    coverage: Proportion


@dataclass(frozen=True)
class VariantFigures:
    """The tables of one variant: their number, makers, checks and raters' flags.

    pairs      : with a table of this variant
    checked    : tables in the word checks: all, or a sample drawn with the study's seed
    same, varying : of `made_by`, entries equal in all checked tables, and names of the others
    supported  : share of cells with a support of at least `SUPPORTED`; empty cells are left out and counted
    coverage   : mean over tables of the share of both texts' content words that they contain
    overlap    : mean over only-cells with a `both` cell of the share of their words that are in it too
    odd        : numbers of suspicious cells by kind
    shown, flags, flagged : times that a table was shown beside its own pair; its standing row flags; tables with flags
    """

    variant: str
    tables: int
    pairs: int
    checked: int
    same: Mapping[str, str]
    varying: Sequence[str]
    supported: Proportion
    coverage: Proportion
    overlap: Proportion
    odd: Mapping[str, int]
    by_model: Sequence[ModelFigure]
    shown: int
    flags: int
    flagged: int

    @property
    def any_odd(self) -> bool:
        """True if there are suspicious cells."""
        return any(self.odd.values())


def rows_of(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return a table's rows with all cells as text. Imported ones may be lists or null."""
    return [{name: _text(row.get(name)) for name in ("aspect", *CELLS)} for row in rows]


def _text(cell: Any) -> str:
    if isinstance(cell, list):
        return "; ".join(map(_text, cell))
    return "" if cell is None else str(cell)


def with_texts(tables: QuerySet[ComparisonTable]) -> QuerySet[ComparisonTable]:
    """Select the related rows for checking tables and naming their pairs."""
    return tables.select_related(*TEXTS, "pair__matchup__system_a", "pair__matchup__system_b")


def check_pair(rows: Iterable[Mapping[str, Any]], pair: Pair, *, threshold: float = SUPPORTED) -> TableCheckResult:
    """Check a table's rows against the texts of its pair."""
    source = pair.matchup.instance.source
    return check_table(rows_of(rows), pair.generation_a.text, pair.generation_b.text, source, threshold=threshold)


def standing_flags(study: Study) -> QuerySet[Flag]:
    """Return row flags that were not taken back, without those of withdrawn annotators.

    Only flags beside the table's own pair: a placebo's rows are not meant to be supported.
    """
    return Flag.objects.filter(
        table__study=study,
        kind=Flag.Kind.UNSUPPORTED_ROW,
        taken_back_at=None,
        display__pair=F("table__pair"),
        display__assignment__annotator__withdrawn_at=None,
    )


def shown_beside_own_pair(study: Study) -> QuerySet[Display]:
    """Return displays of a table beside its own pair, without those of withdrawn annotators."""
    return Display.objects.filter(
        table__study=study,
        pair=F("table__pair"),
        second_shown_at__isnull=False,
        assignment__annotator__withdrawn_at=None,
    )


def figures_by_variant(study: Study) -> list[VariantFigures]:
    """Return the figures of a study's variants, sorted by name, in a constant number of queries."""
    tables = ComparisonTable.objects.filter(study=study).order_by()
    counts = {
        name: (rows, pairs)
        for name, rows, pairs in tables.values("variant")
        .annotate(rows_=Count("pk"), pairs_=Count("pair", distinct=True))
        .values_list("variant", "rows_", "pairs_")
    }
    checked = _checked(_sample(study, tables, len(counts)))
    by_model = _by_model(study)
    flags = {
        name: (raised, on)
        for name, raised, on in standing_flags(study)
        .order_by()
        .values("table__variant")
        .annotate(raised=Count("pk"), on=Count("table", distinct=True))
        .values_list("table__variant", "raised", "on")
    }
    displayed_counts = dict(shown_beside_own_pair(study).order_by().values_list("table__variant").annotate(Count("pk")))
    return [
        _figures(
            name, counts[name], checked[name], by_model[name], displayed_counts.get(name, 0), flags.get(name, (0, 0))
        )
        for name in sorted(counts)
    ]


def _sample(study: Study, tables: QuerySet[ComparisonTable], variants: int) -> list[int]:
    """Draw the tables to check with the study's seed: the same pairs for variants with the same pairs."""
    limit = max(MIN_TABLES, min(TABLES_PER_VARIANT, MAX_TABLES // max(variants, 1)))
    by_variant: dict[str, list[int]] = defaultdict(list)
    for pk, variant in tables.order_by("pair", "pk").values_list("pk", "variant"):
        by_variant[variant].append(pk)
    drawn: list[int] = []
    for keys in by_variant.values():
        rng = np.random.default_rng([study.seed])
        drawn += keys if len(keys) <= limit else [int(pk) for pk in rng.choice(keys, limit, replace=False)]
    return drawn


def _checked(sample: Sequence[int]) -> dict[str, list[Checked]]:
    result: dict[str, list[Checked]] = defaultdict(list)
    tables = ComparisonTable.objects.filter(pk__in=sample).select_related(*TEXTS)
    # Sorted by pair: its texts are tokenised once for all variants. No figure needs the source.
    for table in tables.defer("pair__matchup__instance__source").order_by("pair", "pk"):
        check = check_table(rows_of(table.rows), table.pair.generation_a.text, table.pair.generation_b.text)
        result[table.variant].append((table.pair.matchup.instance_id, check.summary, table.made_by))
    return result


def model_figures(study: Study, *, model: str, variant: str = "") -> dict[str, ModelFigure]:
    """Return the check by one model, by variant."""
    figures = {name: item for name, several in _by_model(study).items() for item in several if item.model == model}
    return {name: figure for name, figure in figures.items() if not variant or name == variant}


def _by_model(study: Study) -> dict[str, list[ModelFigure]]:
    """Aggregate the stored checks by models over all tables."""
    columns = ("table__variant", "model", "table__pair__matchup__instance", "found__support", "found__coverage")
    by_key: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for variant, model, *values in (
        TableCheck.objects.filter(table__study=study).order_by("model", "table").values_list(*columns)
    ):
        by_key[variant, model].append(values)
    result: dict[str, list[ModelFigure]] = defaultdict(list)
    for (variant, model), rows in by_key.items():
        instances, support, coverage = map(list, zip(*rows, strict=True))
        figure = ModelFigure(model, _mean_of_tables(support, instances), _mean_of_tables(coverage, instances))
        result[variant].append(figure)
    return result


def _mean_of_tables(values: Sequence[float | None], instances: Sequence[int]) -> Proportion:
    """Return the mean over tables, without those where it is undefined."""
    existing = [(value or 0.0, float(value is not None)) for value in values]
    return mean_proportion(existing, instances, left_out=values.count(None))


def _figures(
    name: str,
    counts: tuple[int, int],
    checked: Sequence[Checked],
    by_model: Sequence[ModelFigure],
    shown: int,
    flags: tuple[int, int],
) -> VariantFigures:
    same, varying = common_values([maker for _instance, _summary, maker in checked])
    instances, summaries = [table[0] for table in checked], [table[1] for table in checked]
    supported = [((summary.supported or 0.0) * summary.n, summary.n) for summary in summaries]
    overlaps = [((summary.overlap_mean or 0.0) * summary.overlaps, summary.overlaps) for summary in summaries]
    missing = sum(summary.cells - summary.n for summary in summaries)
    return VariantFigures(
        variant=name,
        tables=counts[0],
        pairs=counts[1],
        checked=len(checked),
        same=same,
        varying=varying,
        supported=proportion(supported, instances, left_out=missing),
        coverage=_mean_of_tables([summary.coverage for summary in summaries], instances),
        overlap=mean_proportion(overlaps, instances),
        odd={kind: sum(getattr(summary, kind) for summary in summaries) for kind in ODD},
        by_model=by_model,
        shown=shown,
        flags=flags[0],
        flagged=flags[1],
    )


def common_values(makers: Sequence[Mapping[str, Any]]) -> tuple[dict[str, str], list[str]]:
    """Return the entries that several dictionaries have in common, as text, and the names of the others."""
    existing = [{name: _written(value) for name, value in maker.items() if value is not None} for maker in makers]
    names = list(dict.fromkeys(name for item in existing for name in item))
    same = {name: existing[0][name] for name in names if len({item.get(name) for item in existing}) == 1}
    return same, [name for name in names if name not in same]


def _written(value: Any) -> str:
    written = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return written if len(written) <= LONGEST_SHOWN else f"{written[:LONGEST_SHOWN]}…"
