"""What a batch, or an extension of one, would come to: worked out just as it is made, and nothing is stored."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from analysis.choice import Split, Workload, split, workload
from annotation.models import Batch, SeparabilityRun
from annotation.services.batch_changes import refuse_extension, wanted_more
from annotation.services.choosing import Asked, Choice, Wanted, choose, values_of
from annotation.services.separability import latest_run

BINS = 10
NO_FEE = Decimal(0)


@dataclass(frozen=True)
class Bar:
    """One bin of the histogram: counts, and the widths of its bars as parts of the longest one, in percent."""

    low: float | None
    high: float | None
    closed: bool
    chosen: int
    left: int
    longest: int

    @property
    def chosen_width(self) -> str:
        """Written for SVG, whatever a page's language makes of numbers."""
        return f"{100 * self.chosen / self.longest:.2f}%"

    @property
    def left_width(self) -> str:
        """As `chosen_width`."""
        return f"{100 * self.left / self.longest:.2f}%"


@dataclass(frozen=True)
class Forecast:
    """What would be made.

    pool, chosen : instances that could be chosen, and that are
    left_out     : why others can't be rated → how many
    instance_ids : the chosen ones, in the order of the study
    work         : None of a batch for a qualification or hidden checks: its HITs go to every rater
    hits, pairs  : of the batch, however many rate them
    similarity   : the label of the run whose separability the histogram shows; None when none is computed
    """

    seed: int
    pool: int
    chosen: int
    left_out: dict[str, int]
    instance_ids: Sequence[str]
    hits: int
    pairs: int
    work: Workload | None
    currency: str
    similarity: str | None
    bars: Sequence[Bar]

    @property
    def left(self) -> int:
        """Instances that could be chosen and are not."""
        return self.pool - self.chosen

    @property
    def as_json(self) -> dict[str, Any]:
        """What the API and commands say of it; money is text, so that no cent is lost."""
        return {
            **{name: getattr(self, name) for name in ("seed", "pool", "chosen", "left_out", "hits", "pairs")},
            "instance_ids": list(self.instance_ids),
            **_work_as_json(self.work, self.currency),
            "similarity": self.similarity,
            "histogram": [
                {"low": bar.low, "high": bar.high, "chosen": bar.chosen, "left": bar.left} for bar in self.bars
            ],
        }


def forecast(wanted: Wanted, *, fee_percent: Decimal = NO_FEE) -> Forecast:
    """Say what a batch would be: the same seed chooses the same when it is made.

    Raises: NotChosen saying why it can't be made.
    """
    choice = choose(wanted)
    return _forecast(wanted, choice, _work(wanted, len(choice.chosen.places), wanted.raters, fee_percent))


@dataclass(frozen=True)
class ExtensionForecast:
    """What would be added to a batch: raters on the HITs that are there, further HITs, or both."""

    work: Workload | None
    hits: Forecast | None
    currency: str

    @property
    def as_json(self) -> dict[str, Any]:
        """As `Forecast.as_json`."""
        work = self.work
        of_raters = work and {"hits": work.hits, "pairs": work.pairs, **_work_as_json(work, self.currency)}
        return {"more_raters": of_raters, "more_hits": self.hits.as_json if self.hits else None}


def extension_forecast(
    batch: Batch, more_raters: int, asked: Asked | None, seed: int | None, *, fee_percent: Decimal = NO_FEE
) -> ExtensionForecast:
    """Say what an extension comes to, as `extend_batch` would make it.

    Raises: NotChosen saying why it can't be made.
    """
    wanted = None if asked is None else wanted_more(batch, asked, more_raters, seed)
    refuse_extension(batch, more_raters, wanted)
    work = hits = None
    if more_raters:
        present = wanted_more(batch, Asked(), 0, batch.seed)
        work = _work(present, batch.hits.count(), more_raters, fee_percent)
    if wanted is not None:
        choice = choose(wanted, batch)
        hits = _forecast(wanted, choice, _work(wanted, len(choice.chosen.places), wanted.raters, fee_percent))
    return ExtensionForecast(work, hits, batch.study.currency)


def _forecast(wanted: Wanted, choice: Choice, work: Workload | None) -> Forecast:
    pool, chosen = choice.pool, choice.chosen
    run = chosen.run or latest_run(pool.configuration, wanted.asked.similarity)
    return Forecast(
        seed=wanted.seed,
        pool=len(pool.matchup_ids),
        chosen=len(chosen.places),
        left_out=pool.left_out,
        instance_ids=[pool.instance_ids[place] for place in sorted(chosen.places)],
        hits=len(chosen.places),
        pairs=len(chosen.places) * wanted.pairs,
        work=work,
        currency=pool.configuration.study.currency,
        similarity=run.label if run else None,
        bars=_bars(choice, run, wanted.asked.bins or BINS) if run else (),
    )


def _work(wanted: Wanted, hits: int, raters: int, fee_percent: Decimal) -> Workload | None:
    if not wanted.for_rating:
        return None
    study = wanted.configuration.study
    return workload(
        hits=hits,
        pairs_per_hit=wanted.pairs,
        raters_per_hit=raters,
        most_hits_per_rater=wanted.most_hits_per_rater,
        most_in_study=study.most_hits_per_rater,
        check_share=wanted.gold_rate + wanted.repeat_rate,
        fee_percent=fee_percent,
        minutes_per_hit=study.minutes_per_hit,
        pay_per_hit=study.pay_per_hit,
    )


def _bars(choice: Choice, run: SeparabilityRun, bins: int) -> list[Bar]:
    """Lay the chosen and the other instances of the pool over the bins; the undefined ones come last."""
    counted: Split = split(values_of(choice.pool, run), np.array(choice.chosen.places, dtype=np.int64), bins)
    longest = max([1, *(counted.chosen + counted.left), counted.chosen_undefined + counted.left_undefined])
    last = len(counted.edges) - 2
    bars = [
        Bar(low, high, place == last, int(chosen), int(left), int(longest))
        for place, (low, high, chosen, left) in enumerate(
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
