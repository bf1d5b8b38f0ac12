"""Forecast a batch, or an extension of one, by the code that creates it, without storing anything."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from analysis.planning.workload import SelectionByBin, Workload, combined, selection_by_bin, workload
from annotation.batches.changes import extension_spec, refuse_extension
from annotation.batches.sampling import BatchSpec, Choice, SelectionSpec, choose_instances
from annotation.core.reasons import Reason
from annotation.models import Batch, SeparabilityRun
from annotation.separability.services import latest_run, separabilities

BINS = 10
NO_FEE = Decimal(0)


@dataclass(frozen=True)
class Bar:
    """One bin of the histogram: counts, and the widths of its bars in percent of the longest bin."""

    low: float | None
    high: float | None
    closed: bool
    chosen: int
    left: int
    longest: int

    @property
    def chosen_width(self) -> str:
        """For SVG, so not localized."""
        return f"{100 * self.chosen / self.longest:.2f}%"

    @property
    def left_width(self) -> str:
        """As `chosen_width`."""
        return f"{100 * self.left / self.longest:.2f}%"


@dataclass(frozen=True)
class BatchForecast:
    """Size and cost of a batch before it is made.

    pool, chosen : numbers of instances that can be selected, and that are
    left_out     : reason why others can't be rated → how many
    instance_ids : the selected ones, in the order of the study
    work         : None for a qualification or hidden checks, whose HITs go to every rater
    similarity   : label of the run whose separability the histogram shows; None when none is computed
    by_systems   : of a design, each pair of systems with its number of HITs
    """

    seed: int
    pool: int
    chosen: int
    left_out: dict[Reason, int]
    instance_ids: Sequence[str]
    hits: int
    pairs: int
    work: Workload | None
    currency: str
    similarity: str | None
    bars: Sequence[Bar]
    by_systems: Sequence[tuple[str, int]] = ()

    @property
    def left(self) -> int:
        """Number of instances that can be selected and are not."""
        return self.pool - self.chosen

    @property
    def as_json(self) -> dict[str, Any]:
        """The forecast for the API and commands. Money is text, to stay exact."""
        return {
            **{name: getattr(self, name) for name in ("seed", "pool", "chosen")},
            "left_out": {why.text: number for why, number in self.left_out.items()},
            **{name: getattr(self, name) for name in ("hits", "pairs")},
            "instance_ids": list(self.instance_ids),
            **_work_as_json(self.work, self.currency),
            **({"by_systems": dict(self.by_systems)} if self.by_systems else {}),
            "similarity": self.similarity,
            "histogram": [
                {"low": bar.low, "high": bar.high, "chosen": bar.chosen, "left": bar.left} for bar in self.bars
            ],
        }


def forecast(spec: BatchSpec, *, fee_percent: Decimal = NO_FEE) -> BatchForecast:
    """Forecast a batch. Made with the same seed it has the same instances.

    Raises: InvalidSelection saying why it can't be made.
    """
    choice = choose_instances(spec)
    return _forecast(spec, choice, work_of(spec, len(choice.sample.places), spec.raters, fee_percent))


@dataclass(frozen=True)
class ExtensionForecast:
    """Size and cost of an extension: raters on existing HITs, further HITs, or both."""

    work: Workload | None
    hits: BatchForecast | None
    currency: str

    @property
    def as_json(self) -> dict[str, Any]:
        """As `BatchForecast.as_json`."""
        work = self.work
        of_raters = work and {"hits": work.hits, "pairs": work.pairs, **_work_as_json(work, self.currency)}
        return {"more_raters": of_raters, "more_hits": self.hits.as_json if self.hits else None}


def extension_forecast(
    batch: Batch, more_raters: int, selection: SelectionSpec | None, seed: int | None, *, fee_percent: Decimal = NO_FEE
) -> ExtensionForecast:
    """Forecast an extension as `extend_batch` creates it.

    Raises: InvalidSelection saying why it can't be made.
    """
    spec = None if selection is None else extension_spec(batch, selection, more_raters, seed)
    refuse_extension(batch, more_raters, spec)
    work = hits = None
    if more_raters:
        present = extension_spec(batch, SelectionSpec(), 0, batch.seed)
        work = work_of(present, batch.hits.count(), more_raters, fee_percent)
    if spec is not None:
        choice = choose_instances(spec, batch)
        hits = _forecast(spec, choice, work_of(spec, len(choice.sample.places), spec.raters, fee_percent))
    return ExtensionForecast(work, hits, batch.study.currency)


def raters_needed(batches: Sequence[Batch]) -> int:
    """Return how many raters batches of a study take at the least. Those that go to every rater take none."""
    works = [
        work_of(extension_spec(batch, SelectionSpec(), 0, batch.seed), batch.hits.count(), batch.raters_per_hit, NO_FEE)
        for batch in batches
    ]
    return combined(list(filter(None, works)), most_in_study=batches[0].study.most_hits_per_rater).raters


def _forecast(spec: BatchSpec, choice: Choice, work: Workload | None) -> BatchForecast:
    pool, sample = choice.pool, choice.sample
    run = sample.run or latest_run(pool.configuration, spec.selection.similarity)
    return BatchForecast(
        seed=spec.seed,
        pool=len(pool.matchup_ids),
        chosen=len(sample.places),
        left_out=pool.left_out,
        instance_ids=[pool.instance_ids[position] for position in sorted(sample.places)],
        hits=len(sample.places),
        pairs=len(sample.places) * spec.pairs,
        work=work,
        currency=pool.configuration.study.currency,
        similarity=run.label if run else None,
        bars=_bars(choice, run, spec.selection.bins or BINS) if run else (),
    )


def work_of(spec: BatchSpec, hits: int, raters: int, fee_percent: Decimal) -> Workload | None:
    """Return the work on so many HITs, or None for a qualification or hidden checks."""
    if not spec.for_rating:
        return None
    study = spec.configuration.study
    return workload(
        hits=hits,
        pairs_per_hit=spec.pairs,
        raters_per_hit=raters,
        most_hits_per_rater=spec.most_hits_per_rater,
        most_in_study=study.most_hits_per_rater,
        check_share=spec.gold_rate + spec.repeat_rate,
        fee_percent=fee_percent,
        minutes_per_hit=study.minutes_per_hit,
        pay_per_hit=study.pay_per_hit,
    )


def _bars(choice: Choice, run: SeparabilityRun, bins: int) -> list[Bar]:
    """Count the selected and the other instances of the pool by bin, undefined ones last."""
    counted: SelectionByBin = selection_by_bin(
        separabilities(choice.pool.matchup_ids, run), np.array(choice.sample.places, dtype=np.int64), bins
    )
    longest = max([1, *(counted.chosen + counted.left), counted.chosen_undefined + counted.left_undefined])
    last = len(counted.edges) - 2
    bars = [
        Bar(low, high, position == last, int(selected), int(remaining), int(longest))
        for position, (low, high, selected, remaining) in enumerate(
            zip(counted.edges[:-1].tolist(), counted.edges[1:].tolist(), counted.chosen, counted.left, strict=True)
        )
    ]
    if counted.chosen_undefined or counted.left_undefined:
        bars.append(Bar(None, None, True, counted.chosen_undefined, counted.left_undefined, int(longest)))
    return bars


def _work_as_json(work: Workload | None, currency: str) -> dict[str, Any]:
    return {
        "ratings": work.ratings if work else None,
        "assignments": work.assignments if work else None,
        "hidden_checks": work.checks if work else None,
        "raters_needed": work.raters if work else None,
        "hours": work.hours if work else None,
        "pay": _money(work.pay) if work else None,
        "fee": _money(work.fee) if work else None,
        "cost": _money(work.cost) if work else None,
        "currency": currency or None,
    }


def _money(amount: Decimal | None) -> str | None:
    return None if amount is None else f"{amount:.2f}"
