"""Comparison tables of a study to what `analysis.table_checks` takes, and its findings to figures for each variant."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from django.db.models import Count, F, QuerySet

from analysis.table_checks import CELLS, SUPPORTED, TableCheck, check_table
from annotation.models import ComparisonTable, Display, Flag, Pair, Study
from judging.models import TableCheck as VectorFinding
from judging.shares import Share, share

A_VARIANT, FEWEST, ALTOGETHER = 200, 20, 1000  # tables whose texts are checked for one page
TEXTS = ("pair__matchup__instance", "pair__generation_a", "pair__generation_b")
LONGEST_SHOWN = 200


@dataclass(frozen=True)
class ModelFigure:
    """What one model's vectors say of a variant's tables.

    thresholds : those that were applied; of several the share means nothing
    """

    model: str
    supported: Share
    thresholds: tuple[float, ...]


@dataclass(frozen=True)
class VariantFigures:
    """The tables of one variant: how many, who made them, what the checks and the raters say.

    pairs      : with a table of this variant
    checked    : tables whose words were looked at: all, or a sample drawn with the study's seed
    same, varying : of `made_by`, what holds for all checked tables, and the names of what differs among them
    supported  : share of cells with a support of `SUPPORTED` or more; cells that say nothing are left out and counted
    coverage   : mean over tables of the share of both texts' content words that they have
    overlap    : mean over only-cells beside a `both` cell of the share of their words that stand there as well
    odd        : numbers of cells, by what is odd about them
    shown, flags, flagged : times that people saw a table beside its own pair; standing flags of rows there; flagged tables
    """

    variant: str
    tables: int
    pairs: int
    checked: int
    same: Mapping[str, str]
    varying: Sequence[str]
    supported: Share
    coverage: Share
    overlap: Share
    odd: Mapping[str, int]
    vectors: Sequence[ModelFigure]
    shown: int
    flags: int
    flagged: int

    @property
    def any_odd(self) -> bool:
        """Whether there is a cell for a person to look at."""
        return any(self.odd.values())


@dataclass
class _Sums:
    """What adds up over a variant's tables, a row for each."""

    instance: list[int] = field(default_factory=list)
    supported: list[tuple[float, float]] = field(default_factory=list)
    coverage: list[tuple[float, float]] = field(default_factory=list)
    overlap: list[tuple[float, float]] = field(default_factory=list)
    missing: int = 0
    odd: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("wrong_side", "copied", "names_side", "long"), 0)
    )

    def add(self, instance: int, check: TableCheck) -> None:
        """Add one table."""
        found = check.summary
        self.instance.append(instance)
        self.supported.append(((found.supported or 0.0) * found.n, found.n))
        self.coverage.append((found.coverage or 0.0, found.coverage is not None))
        self.overlap.append(((found.overlap_mean or 0.0) * found.overlaps, found.overlaps))
        self.missing += found.cells - found.n
        for name in self.odd:
            self.odd[name] += getattr(found, name)


def rows_of(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return a table's rows with every cell a text: one that was stored otherwise may hold a list, or nothing."""
    return [{name: _text(row.get(name)) for name in ("aspect", *CELLS)} for row in rows]


def _text(cell: Any) -> str:
    if isinstance(cell, list):
        return "; ".join(map(_text, cell))
    return "" if cell is None else str(cell)


def with_texts(tables: QuerySet[ComparisonTable]) -> QuerySet[ComparisonTable]:
    """Load tables with everything that they are checked against, and what names their pair."""
    return tables.select_related(*TEXTS, "pair__matchup__system_a", "pair__matchup__system_b")


def check_pair(rows: Iterable[Mapping[str, Any]], pair: Pair, *, threshold: float = SUPPORTED) -> TableCheck:
    """Check a table's rows against the texts of its pair."""
    source = pair.matchup.instance.source
    return check_table(rows_of(rows), pair.generation_a.text, pair.generation_b.text, source, threshold=threshold)


def standing_flags(study: Study) -> QuerySet[Flag]:
    """Return flags of rows that stand: not taken back, nor of somebody who has withdrawn.

    Only those that were raised beside the table's own pair: a placebo's rows are not supported, and are not meant to be.
    """
    return Flag.objects.filter(
        table__study=study,
        kind=Flag.Kind.UNSUPPORTED_ROW,
        taken_back_at=None,
        display__pair=F("table__pair"),
        display__assignment__annotator__withdrawn_at=None,
    )


def shown_beside_own_pair(study: Study) -> QuerySet[Display]:
    """Return the times that somebody, who has not withdrawn, was shown a table beside its own pair."""
    return Display.objects.filter(
        table__study=study,
        pair=F("table__pair"),
        second_shown_at__isnull=False,
        assignment__annotator__withdrawn_at=None,
    )


def figures_by_variant(study: Study) -> list[VariantFigures]:
    """Return the figures of every variant of a study, by name; a fixed number of queries however many tables."""
    tables = ComparisonTable.objects.filter(study=study).order_by()
    counts = {
        name: (rows, pairs)
        for name, rows, pairs in tables.values("variant")
        .annotate(rows_=Count("pk"), pairs_=Count("pair", distinct=True))
        .values_list("variant", "rows_", "pairs_")
    }
    sample = _sample(study, tables, len(counts))
    checked = _checked(sample)
    vectors = _vectors(study)
    flags = {
        name: (raised, on)
        for name, raised, on in standing_flags(study)
        .order_by()
        .values("table__variant")
        .annotate(raised=Count("pk"), on=Count("table", distinct=True))
        .values_list("table__variant", "raised", "on")
    }
    shown = dict(shown_beside_own_pair(study).order_by().values_list("table__variant").annotate(Count("pk")))
    return [
        _figures(name, counts[name], *checked[name], vectors[name], shown.get(name, 0), flags.get(name, (0, 0)))
        for name in sorted(counts)
    ]


def _sample(study: Study, tables: QuerySet[ComparisonTable], variants: int) -> list[int]:
    """Draw the tables that are checked with the study's seed: of the same pairs where variants are of the same pairs."""
    most = max(FEWEST, min(A_VARIANT, ALTOGETHER // max(variants, 1)))
    by_variant: dict[str, list[int]] = defaultdict(list)
    for pk, variant in tables.order_by("pair", "pk").values_list("pk", "variant"):
        by_variant[variant].append(pk)
    drawn: list[int] = []
    for keys in by_variant.values():
        rng = np.random.default_rng([study.seed])
        drawn += keys if len(keys) <= most else [int(pk) for pk in rng.choice(keys, most, replace=False)]
    return drawn


def _checked(sample: Sequence[int]) -> dict[str, tuple[_Sums, list[Mapping[str, Any]]]]:
    found: dict[str, tuple[_Sums, list[Mapping[str, Any]]]] = defaultdict(lambda: (_Sums(), []))
    tables = ComparisonTable.objects.filter(pk__in=sample).select_related(*TEXTS)
    # One pair's texts after another's: they are split into words once for all variants. No figure looks at the source.
    for table in tables.defer("pair__matchup__instance__source").order_by("pair", "pk"):
        sums, makers = found[table.variant]
        texts = table.pair.generation_a.text, table.pair.generation_b.text
        sums.add(table.pair.matchup.instance_id, check_table(rows_of(table.rows), *texts))
        makers.append(table.made_by)
    return found


def vector_figures(study: Study, *, model: str, variant: str = "") -> dict[str, Share]:
    """Return by variant the share of cells that one model's vectors support."""
    figures = {
        name: one.supported for name, several in _vectors(study).items() for one in several if one.model == model
    }
    return {name: found for name, found in figures.items() if not variant or name == variant}


def _vectors(study: Study) -> dict[str, list[ModelFigure]]:
    """Sum up what was stored by `check_tables`: of all tables, for nothing has to be computed."""
    rows = (
        VectorFinding.objects.filter(table__study=study)
        .order_by("model", "table")
        .values_list(
            *("table__variant", "model", "table__pair__matchup__instance"),
            *("found__supported", "found__n", "found__missing", "found__threshold"),
        )
    )
    by_key: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for variant, model, *rest in rows:
        by_key[variant, model].append(rest)
    found: dict[str, list[ModelFigure]] = defaultdict(list)
    for (variant, model), several in by_key.items():
        sums = [((supported or 0.0) * n, n) for _instance, supported, n, _missing, _threshold in several]
        left_out = sum(one[3] for one in several)
        instances = [one[0] for one in several]
        thresholds = tuple(sorted({one[4] for one in several}))
        shares = share(sums, instances, f"{variant} {model} supported", left_out=left_out)
        found[variant].append(ModelFigure(model, shares, thresholds))
    return found


def _figures(
    name: str,
    counts: tuple[int, int],
    sums: _Sums,
    makers: Sequence[Mapping[str, Any]],
    vectors: Sequence[ModelFigure],
    shown: int,
    flags: tuple[int, int],
) -> VariantFigures:
    same, varying = common(makers)
    undefined = len(sums.coverage) - int(sum(known for _, known in sums.coverage))
    return VariantFigures(
        variant=name,
        tables=counts[0],
        pairs=counts[1],
        checked=len(sums.instance),
        same=same,
        varying=varying,
        supported=share(sums.supported, sums.instance, f"{name} supported", left_out=sums.missing),
        coverage=share(sums.coverage, sums.instance, f"{name} coverage", left_out=undefined),
        overlap=share(sums.overlap, sums.instance, f"{name} overlap"),
        odd=sums.odd,
        vectors=vectors,
        shown=shown,
        flags=flags[0],
        flagged=flags[1],
    )


def common(makers: Sequence[Mapping[str, Any]]) -> tuple[dict[str, str], list[str]]:
    """Return what all of several descriptions say, as texts, and the names of what differs among them."""
    known = [{name: _written(value) for name, value in one.items() if value is not None} for one in makers]
    names = list(dict.fromkeys(name for one in known for name in one))
    told = {name: {one.get(name) for one in known} for name in names}
    same = {name: value for name, values in told.items() if len(values) == 1 for value in values if value is not None}
    return same, [name for name in names if name not in same]


def _written(value: Any) -> str:
    written = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return written if len(written) <= LONGEST_SHOWN else f"{written[:LONGEST_SHOWN]}…"
