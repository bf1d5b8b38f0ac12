"""Estimating and starting an ablation: a run for each of its configurations."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_DOWN, Decimal
from typing import Any

from django.conf import settings
from django.db import transaction

from annotation.models import Batch, Study
from annotation.questions.questions import MAIN
from annotation.studies.services import validate
from judging.ablation.judge_configurations import PAPER, ROUNDS, Axes, JudgeConfiguration, configurations
from judging.ablation.judges import judge_of
from judging.aspects.aspect_sets import latest_aspects
from judging.calls.dry_run import CallKindEstimate
from judging.core.checks import require_same
from judging.core.errors import BadSettings
from judging.core.pricing import total_cost
from judging.methods.task_files import task_of
from judging.models import Endpoint, Judge, JudgeRun
from judging.runs.estimates import RunEstimate, SharedCalls, estimate
from judging.runs.judges import MOST_REPEATS, check_judge, fitted_params
from judging.runs.pair_filters import EVERY_PAIR, PairFilter
from judging.runs.services import check, pairs_of, queue_run, start_run
from judging.runs.usage import usage_by_run

SEED = 1  # as of the judges that make tables, whose cached answers an ablation reuses
DEFAULT_AXES = Axes()
CALLS, FEWER_CALLS = 12_000, 5_000  # in the dry run, about: of a command, and of a page
MOST_OF_A_ROW = 300  # presentations in the dry run of a row
MOST_QUEUED = 100_000  # presentations that a page can set up
CENT = Decimal("0.000001")  # as a run stores its cap


@dataclass(frozen=True)
class Ablation:
    """An ablation: configurations by parts and axes, at one endpoint, on a study or a part of it.

    table_endpoint : another one, where SC² makes its tables
    rounds : how often each pair is asked, with different seeds
    seed   : of all judges, so that they show a pair in the same order and share cached answers
    """

    study: Study
    endpoint: Endpoint
    table_endpoint: Endpoint | None = None
    parts: tuple[str, ...] = PAPER
    axes: Axes = DEFAULT_AXES
    rounds: int = ROUNDS
    seed: int = SEED
    batch: Batch | None = None
    only: PairFilter = EVERY_PAIR

    @property
    def on(self) -> dict[str, Any]:
        """The pairs, as keyword arguments of the services."""
        return {"study": self.study, "batch": self.batch, "only": self.only}


@dataclass(frozen=True)
class AblationRow:
    """One configuration and its judge, perhaps unsaved."""

    configuration: JudgeConfiguration
    judge: Judge


@dataclass(frozen=True)
class AblationEstimate:
    """What an ablation would take; a row's calls exclude those of earlier rows."""

    rows: tuple[tuple[AblationRow, RunEstimate], ...]
    total: RunEstimate


def rows_of(ablation: Ablation) -> list[AblationRow]:
    """List and validate the configurations with their judges, stored ones where they exist.

    Raises: BadSettings
    """
    if not 1 <= ablation.rounds <= MOST_REPEATS:
        raise BadSettings(f"rounds must be between 1 and {MOST_REPEATS}, got {ablation.rounds}")
    held = latest_aspects(group=ablation.study.group, task=task_of(ablation.study.task_kind))
    made = [
        AblationRow(one, judge_of(
            one, endpoint=ablation.endpoint, table_endpoint=ablation.table_endpoint, rounds=ablation.rounds, seed=ablation.seed,
            aspects=None if held is None else held.aspects,
        ))
        for one in configurations(ablation.parts, ablation.axes)
    ]  # fmt: skip
    if not made:
        raise BadSettings("nothing is to be asked: name a part, and something that it varies")
    for row in made:
        check_judge(row.judge)
        check(ablation.study, row.judge)
    stored = Judge.objects.select_related("endpoint", "table_endpoint").in_bulk(
        [row.judge.name for row in made], field_name="name"
    )
    for row in made:
        row.judge.params = fitted_params(row.judge, stored.get(row.judge.name))
    return [replace(row, judge=_same(stored.get(row.judge.name), row.judge)) for row in made]


def _same(stored: Judge | None, wanted: Judge) -> Judge:
    """Return the stored judge, which must equal the wanted one; or the wanted one if there is none."""
    if stored is None:
        return wanted
    fields = (
        *("method", "endpoint", "table_endpoint", "order", "combine", "repeats", "negated", "task", "prompt_file"),
        *("params", "seed", "table_variant"),
    )
    require_same(f"judge {wanted.name}", stored, {field: getattr(wanted, field) for field in fields})
    return stored


def estimate_ablation(ablation: Ablation, *, calls: int = CALLS) -> AblationEstimate:
    """Estimate an ablation, counting calls that rows share once; no call is made.

    calls : in the dry run, about; of the same instances for every row
    Raises: BadSettings, UnknownName
    """
    shared, rows = SharedCalls(), rows_of(ablation)
    sample = max(1, min(MOST_OF_A_ROW, calls // sum(row.configuration.calls for row in rows)))
    found = [(row, estimate(judge=row.judge, **ablation.on, sample=sample, shared=shared)) for row in rows]
    return AblationEstimate(tuple(found), _total([one for _, one in found]))


def _total(found: Sequence[RunEstimate]) -> RunEstimate:
    kinds: dict[str, CallKindEstimate] = {}
    for kind in (kind for one in found for kind in one.kinds):
        held = kinds.get(kind.kind, CallKindEstimate(kind.kind, 0, 0, 0, 0))
        numbers = ("calls", "cached", "prompt_tokens", "completion_tokens")
        kinds[kind.kind] = replace(held, **{name: getattr(held, name) + getattr(kind, name) for name in numbers})
    sums = ("presentations", "pending", "calls", "cached", "prompt_tokens", "completion_tokens")
    return RunEstimate(
        **{name: sum(getattr(one, name) for one in found) for name in sums},
        cost=total_cost(one.cost for one in found),
        currency=found[0].currency,
        sampled=sum(one.sampled for one in found),
        learned_from=min(one.learned_from for one in found),
        kinds=tuple(kinds.values()),
    )


@transaction.atomic
def start_row(
    row: AblationRow,
    ablation: Ablation,
    *,
    among: Sequence[AblationRow],
    in_flight: int | None = None,
    max_cost: Decimal | None = None,
) -> JudgeRun:
    """Store the judge of a row if it is new, and start its run, for the caller to execute.

    max_cost : of all rows (`among`) together, their cost so far included
    Raises: BadSettings, UnknownName
    """
    cap = None
    if max_cost is not None:
        others = [spent for name, spent in _spent(ablation, among).items() if name != row.judge.name]
        cap = max(Decimal(0), max_cost - sum(others, Decimal(0)))
    return start_run(judge=_stored(row.judge), **ablation.on, in_flight=in_flight, max_cost=cap)


def _spent(ablation: Ablation, rows: Sequence[AblationRow]) -> dict[str, Decimal]:
    """Return the known cost of each row's run so far, by the judge's name."""
    names = [row.judge.name for row in rows]
    runs = JudgeRun.objects.filter(
        study=ablation.study, batch=ablation.batch, filter_key=ablation.only.key, questions=[MAIN]
    )
    spent = usage_by_run(ablation.study)
    known = runs.filter(judge__name__in=names).order_by().values_list("pk", "judge__name")
    return {name: spent[pk].priced for pk, name in known if pk in spent}


def _stored(judge: Judge) -> Judge:
    """Store a judge if it is new."""
    if judge.pk:
        return judge
    # Not `add_judge`, which sets a temperature for repeats: here methods with a single answer stay at 0.
    fields = ("method", "endpoint", "table_endpoint", "table_variant", "order", "repeats", "params", "seed")
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
    """Queue a run of each configuration.

    max_cost : of all runs together from now on; divided by their expected costs, since they may run at the same time
    Raises: BadSettings if that is less than the expected cost, or if there are too many presentations.
    """
    rows = rows_of(ablation)
    pairs = pairs_of(ablation.study, ablation.batch, ablation.only).count()
    if (presentations := pairs * ablation.rounds * len(rows)) > MOST_QUEUED:
        raise BadSettings(
            f"{presentations:,} presentations are too many to be set up at once, at most {MOST_QUEUED:,}: ask for "
            f"fewer parts or rounds, or start it with {settings.COMMAND} sc2_ablation {ablation.study.slug}"
        )
    caps = _caps(ablation, max_cost) if max_cost is not None else {}
    return [
        queue_run(judge=_stored(row.judge), **ablation.on, in_flight=in_flight, max_cost=caps.get(row.judge.name))
        for row in rows
    ]


def _caps(ablation: Ablation, max_cost: Decimal) -> dict[str, Decimal]:
    """Divide a sum among the rows: each gets its expected cost, and of the surplus half evenly, half in proportion.

    A run's cap includes its cost so far.
    """
    expected = estimate_ablation(ablation, calls=FEWER_CALLS)
    total = expected.total.cost
    if total is None:
        raise BadSettings(
            f"the cost can't be capped: the prices of endpoint {ablation.endpoint}"
            f"{f' or {ablation.table_endpoint}' if ablation.table_endpoint else ''} are unknown; a site admin can enter them"
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
