"""Asking for an ablation: the judges of its configurations, what they would take, and a run of each."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_DOWN, Decimal
from typing import Any

from django.db import transaction

from annotation.models import Batch, Study
from annotation.services.studies import validate
from judging.ablations import PAPER, ROUNDS, Axes, Configuration, configurations, judge_of
from judging.errors import BadSettings
from judging.judges.tasks import task_of
from judging.models import Endpoint, Judge, JudgeRun
from judging.services.aspect_sets import latest_aspects
from judging.services.checks import require_same
from judging.services.estimates import Estimate, KindOfCall, Shared, estimate
from judging.services.judges import MOST_REPEATS, check_judge
from judging.services.pair_filters import EVERY_PAIR, PairFilter
from judging.services.pricing import total_cost
from judging.services.runs import check, pairs_of, queue_run, start_run
from judging.spending import spent_by_run

SEED = 1  # that of judges which make tables: an ablation finds their answers in the cache
DEFAULT_AXES = Axes()
CALLS, FEWER_CALLS = 12_000, 5_000  # made, about, to estimate the others: by a command, and while a page waits
MOST_OF_A_ROW = 300  # presentations whose calls are made
MOST_QUEUED = 100_000  # presentations that a page sets up while somebody waits
CENT = Decimal("0.000001")  # as a run stores its cap


@dataclass(frozen=True)
class Ablation:
    """What is to be asked: configurations, by parts and axes, at one endpoint, on a study or a part of it.

    rounds : how often each pair is asked, each time with other seeds
    seed   : of all judges alike, so that they show a pair in the same order and share what they have in common
    """

    study: Study
    endpoint: Endpoint
    parts: tuple[str, ...] = PAPER
    axes: Axes = DEFAULT_AXES
    rounds: int = ROUNDS
    seed: int = SEED
    batch: Batch | None = None
    only: PairFilter = EVERY_PAIR

    @property
    def on(self) -> dict[str, Any]:
        """Which pairs, as the services take them."""
        return {"study": self.study, "batch": self.batch, "only": self.only}


@dataclass(frozen=True)
class Row:
    """One configuration and its judge, which need not be stored yet."""

    configuration: Configuration
    judge: Judge


@dataclass(frozen=True)
class Expected:
    """What an ablation would take; each row's calls are those that no row before it makes."""

    rows: tuple[tuple[Row, Estimate], ...]
    total: Estimate


def rows_of(ablation: Ablation) -> list[Row]:
    """List the configurations with their judges, stored ones where there are some; refuses what can't be asked.

    Raises: BadSettings
    """
    if not 1 <= ablation.rounds <= MOST_REPEATS:
        raise BadSettings(f"rounds must be between 1 and {MOST_REPEATS}, got {ablation.rounds}")
    held = latest_aspects(group=ablation.study.group, task=task_of(ablation.study.task_kind))
    made = [
        Row(one, judge_of(
            one, endpoint=ablation.endpoint, rounds=ablation.rounds, seed=ablation.seed,
            aspects=None if held is None else held.aspects,
        ))
        for one in configurations(ablation.parts, ablation.axes)
    ]  # fmt: skip
    if not made:
        raise BadSettings("nothing is to be asked: name a part, and something that it varies")
    for row in made:
        check_judge(row.judge)
        check(ablation.study, row.judge)
    stored = Judge.objects.select_related("endpoint").in_bulk([row.judge.name for row in made], field_name="name")
    return [replace(row, judge=_same(stored.get(row.judge.name), row.judge)) for row in made]


def _same(stored: Judge | None, wanted: Judge) -> Judge:
    """Return the stored judge of a name, if it is what is wanted; else the wanted one."""
    if stored is None:
        return wanted
    fields = ("method", "endpoint", "order", "combine", "repeats", "negated", "task", "prompt_file", "params", "seed")
    require_same(f"judge {wanted.name}", stored, {field: getattr(wanted, field) for field in fields})
    return stored


def expect(ablation: Ablation, *, calls: int = CALLS) -> Expected:
    """Estimate what an ablation would take, call by call shared between its rows; makes nothing and asks nobody.

    calls : made, about, to estimate the others; of the same instances for every row
    Raises: BadSettings, UnknownName
    """
    shared, rows = Shared(), rows_of(ablation)
    sample = max(1, min(MOST_OF_A_ROW, calls // sum(row.configuration.calls for row in rows)))
    found = [(row, estimate(judge=row.judge, **ablation.on, sample=sample, shared=shared)) for row in rows]
    return Expected(tuple(found), _total([one for _, one in found]))


def _total(found: Sequence[Estimate]) -> Estimate:
    kinds: dict[str, KindOfCall] = {}
    for kind in (kind for one in found for kind in one.kinds):
        held = kinds.get(kind.kind, KindOfCall(kind.kind, 0, 0, 0, 0))
        numbers = ("calls", "cached", "prompt_tokens", "completion_tokens")
        kinds[kind.kind] = replace(held, **{name: getattr(held, name) + getattr(kind, name) for name in numbers})
    sums = ("presentations", "pending", "calls", "cached", "prompt_tokens", "completion_tokens")
    return Estimate(
        **{name: sum(getattr(one, name) for one in found) for name in sums},
        cost=total_cost(one.cost for one in found),
        currency=found[0].currency,
        sampled=sum(one.sampled for one in found),
        learned_from=min(one.learned_from for one in found),
        kinds=tuple(kinds.values()),
    )


@transaction.atomic
def start_row(
    row: Row,
    ablation: Ablation,
    *,
    among: Sequence[Row],
    in_flight: int | None = None,
    max_cost: Decimal | None = None,
) -> JudgeRun:
    """Store the judge of a row if it is new, and start its run, which whoever calls this is to work on.

    max_cost : of all rows (`among`) together, with what they have cost so far
    Raises: BadSettings, UnknownName
    """
    cap = None
    if max_cost is not None:
        others = [spent for name, spent in _spent(ablation, among).items() if name != row.judge.name]
        cap = max(Decimal(0), max_cost - sum(others, Decimal(0)))
    return start_run(judge=_stored(row.judge), **ablation.on, in_flight=in_flight, max_cost=cap)


def _spent(ablation: Ablation, rows: Sequence[Row]) -> dict[str, Decimal]:
    """Return what the run of each row has cost so far, as far as that is known, by the judges' names."""
    names = [row.judge.name for row in rows]
    runs = JudgeRun.objects.filter(study=ablation.study, batch=ablation.batch, filter_key=ablation.only.key)
    spent = spent_by_run(ablation.study)
    known = runs.filter(judge__name__in=names).order_by().values_list("pk", "judge__name")
    return {name: spent[pk].priced for pk, name in known if pk in spent}


def _stored(judge: Judge) -> Judge:
    """Store a judge that is new."""
    if judge.pk:
        return judge
    # Not by `add_judge`, which gives a judge with repeats a temperature: here a single answer stays at 0.
    fields = ("method", "endpoint", "order", "repeats", "params", "seed")
    found, is_new = Judge.objects.get_or_create(
        name=judge.name, defaults={field: getattr(judge, field) for field in fields}
    )
    if is_new:
        validate(found)
    return _same(found, judge)


@transaction.atomic
def queue_ablation(
    ablation: Ablation, *, in_flight: int | None = None, max_cost: Decimal | None = None
) -> list[JudgeRun]:
    """Start a run of each configuration and leave the work to workers.

    max_cost : from now on, of all together; dealt out by what each is expected to cost, so that the sum is kept
               whichever of them are worked on at the same time
    Raises: BadSettings when that is less than what is expected, or when there is too much to set up at once.
    """
    rows = rows_of(ablation)
    pairs = pairs_of(ablation.study, ablation.batch, ablation.only).count()
    if (presentations := pairs * ablation.rounds * len(rows)) > MOST_QUEUED:
        raise BadSettings(
            f"{presentations:,} presentations are too many to be set up at once, at most {MOST_QUEUED:,}: ask for "
            f"fewer parts or rounds, or start it with manage.py sc2_ablation {ablation.study.slug}"
        )
    caps = _caps(ablation, max_cost) if max_cost is not None else {}
    return [
        queue_run(judge=_stored(row.judge), **ablation.on, in_flight=in_flight, max_cost=caps.get(row.judge.name))
        for row in rows
    ]


def _caps(ablation: Ablation, max_cost: Decimal) -> dict[str, Decimal]:
    """Deal a sum of money out among the rows: what each is expected to cost, and of the rest half evenly.

    The cap of a run is about all that it ever spends.
    """
    expected = expect(ablation, calls=FEWER_CALLS)
    total = expected.total.cost
    if total is None:
        raise BadSettings(
            f"the cost can't be capped: the prices of endpoint {ablation.endpoint} are unknown; a site admin can enter them"
        )
    if total > max_cost:
        raise BadSettings(
            f"about {total:.4f} {expected.total.currency} are expected, more than {max_cost}: ask for fewer parts, rounds "
            "or pairs"
        )
    spent = _spent(ablation, [row for row, _ in expected.rows])
    surplus, even = max_cost - total, Decimal(1) / len(expected.rows)
    caps = {}
    for row, found in expected.rows:
        cost = found.cost or Decimal(0)
        share = (even + cost / total) / 2 if total else even
        cap = spent.get(row.judge.name, Decimal(0)) + cost + surplus * share
        caps[row.judge.name] = cap.quantize(CENT, rounding=ROUND_DOWN)
    return caps
