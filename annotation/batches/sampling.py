"""Select the instances of a batch and plan its HITs, without storing anything."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from django.db.models import Count, Max, Q
from django.template.defaultfilters import pluralize

from analysis.errors import AnalysisError
from analysis.planning.selection import choose_importance, choose_random, choose_stratified, choose_top
from annotation.batches.judged import choose_active, disputed_matchups
from annotation.batches.stop_rules import BUDGET, StopRule
from annotation.core.counting import counted
from annotation.core.database.aggregates import grouped
from annotation.core.errors import InvalidSelection
from annotation.core.reasons import Reason, reason, restored
from annotation.models import Batch, Hit, Pair, SeparabilityRun
from annotation.separability.services import require_run, separabilities
from annotation.studies.configurations import Configuration
from annotation.studies.instances import gold_verdict

MOST_RATERS = 1000
MOST_PAIRS = 1000
MOST_HITS = 1_000_000_000
LONGEST_LEASE = 24 * 60  # minutes
MOST_CHECKS = 0.5  # of a rater's HITs, both kinds of hidden checks together
MOST_SEED = 2**31 - 1
SELECTIONS = "all, random:N, top:N, stratified:BxN, importance:N, active:N, disagree:N"
ONE_DRAW = ("importance", "active")  # kinds of selections whose chances belong to one draw
UNEQUAL_CHANCES = ("stratified", *ONE_DRAW)  # kinds that prefer some instances, and record by how much
_SPEC = re.compile(
    r"all|ids|(?P<kind>random|top|importance|active|disagree):(?P<count>[1-9][0-9]{0,8})|stratified:(?P<bins>[1-9][0-9]{0,3})x(?P<per_bin>[1-9][0-9]{0,8})"
)


@dataclass(frozen=True)
class SelectionSpec:
    """A selection of instances.

    spec       : all, random:N, top:N, stratified:BxN (N from each of B equal-width bins of separability),
                 importance:N, active:N (by how unsure judges are), disagree:N (at random from those on which judges
                 disagree), or ids (with `instance_ids`)
    similarity : whose separability; None for the latest computed
    """

    spec: str = "all"
    instance_ids: Sequence[str] = ()
    similarity: str | None = None

    @property
    def as_json(self) -> dict[str, Any]:
        """The selection as a batch stores it."""
        return {"spec": self.spec, "instance_ids": sorted(self.instance_ids), "similarity": self.similarity}

    @property
    def match(self) -> re.Match[str]:
        """The parts of the spec.

        Raises: InvalidSelection.
        """
        match = _SPEC.fullmatch(self.spec)
        if match is None:
            raise InvalidSelection(f"selection is {self.spec!r}; it must be {SELECTIONS} or ids:FILE")
        return match

    @property
    def bins(self) -> int | None:
        """Number of bins of a stratified selection, or None for any other."""
        bins = self.match["bins"]
        return int(bins) if bins else None


@dataclass(frozen=True)
class BatchSpec:
    """The settings of a batch to be made. `raters` applies to batches for rating only."""

    configuration: Configuration
    pairs: int
    raters: int
    seed: int
    selection: SelectionSpec = field(default_factory=SelectionSpec)
    purpose: str = Batch.Purpose.RATING
    most_hits_per_rater: int | None = None
    gold_rate: float = 0.0
    repeat_rate: float = 0.0
    lease_minutes: int = 60
    stop_rule: str = ""

    @property
    def for_rating(self) -> bool:
        """Tell whether its ratings enter findings."""
        return self.purpose == Batch.Purpose.RATING


# Names of the settings that are a number, a rate or a word.
SETTINGS = [item.name for item in fields(BatchSpec) if item.name not in ("configuration", "seed", "selection")]


def own_settings(batch: BatchSpec | Batch) -> dict[str, Any]:
    """Return the settings that a batch has under the same names as its specification."""
    return {name: getattr(batch, name) for name in SETTINGS if name not in ("pairs", "raters")}


@dataclass(frozen=True)
class Pool:
    """Matchups that can become HITs, in the order of the instances, and how many can't, by reason."""

    configuration: Configuration
    matchup_ids: tuple[int, ...]
    instance_ids: tuple[str, ...]
    left_out: dict[Reason, int]

    @property
    def stored_left_out(self) -> list[dict[str, Any]]:
        """How many were left out, with code and values of each reason, as a batch stores it."""
        return [{**why.stored(), "number": number} for why, number in self.left_out.items()]


def shown_selection(selection: Mapping[str, Any]) -> dict[str, Any]:
    """Return how a batch's instances were selected, with the reasons in English why others were left out."""
    readable = dict(selection)
    if isinstance(left_out := readable.get("left_out"), list):  # bundles of earlier versions have the texts
        readable["left_out"] = {restored(item).text: item["number"] for item in left_out}
    if "extensions" in readable:
        readable["extensions"] = [shown_selection(extension) for extension in readable["extensions"]]
    return readable


@dataclass(frozen=True)
class InstanceSample:
    """Indices of the selected instances in the pool, with their inclusion probabilities where known.

    probabilities : None also for an extension, which is drawn from the remainder of an earlier draw
    recorded      : what else the draw was made from, as a batch stores it
    """

    places: Sequence[int]
    probabilities: Sequence[float] | None = None
    run: SeparabilityRun | None = None
    recorded: Mapping[str, Any] = field(default_factory=dict)

    @property
    def provenance(self) -> dict[str, Any]:
        """The values that the selection used, as a batch stores them: they may change later."""
        run = self.run
        if run is None:
            return {"similarity": None, "separability": None, **self.recorded}
        record = {
            "measure": run.label,
            "model_fingerprint": run.model_fingerprint,
            "normalisation": {"group": run.group, "min": run.low, "max": run.high},
            "texts_sha256": run.texts_sha256,
        }
        return {"similarity": run.similarity, "separability": record}


@dataclass(frozen=True)
class Choice:
    """A pool and the sample from it. `rng` has drawn the sample, and draws order and pairs next."""

    pool: Pool
    sample: InstanceSample
    rng: np.random.Generator


@dataclass(frozen=True)
class HitPlan:
    """A HIT to be made: its position in the queue, from 0, and its sample of pairs."""

    matchup_id: int
    place: int
    probability: float | None
    pair_ids: Sequence[int]


def choose_instances(spec: BatchSpec, extended: Batch | None = None) -> Choice:
    """Select the instances of a batch by its seed, and for an `extended` one from those not in it yet.

    Raises: InvalidSelection saying why not.
    """
    validate_spec(spec)
    pool, rng = pool_of(spec, extended), np.random.default_rng(spec.seed)
    sample = _choose_sample(pool, spec.selection, rng)
    return Choice(pool, sample if extended is None else replace(sample, probabilities=None), rng)


def validate_spec(spec: BatchSpec) -> None:
    """Refuse settings that don't fit together. `BatchSettings` refuses a value by itself.

    Raises: InvalidSelection.
    """
    refuse_rule_of_draw(spec.stop_rule, spec.selection.spec)
    purpose, rates = spec.purpose, spec.gold_rate + spec.repeat_rate
    if not rates <= MOST_CHECKS:
        raise InvalidSelection(
            f"the gold and the repeat rate make {round(rates, 6)}; together they may be {MOST_CHECKS} at most"
        )
    if purpose != Batch.Purpose.RATING and rates:
        raise InvalidSelection(f"a batch for {purpose} has no hidden checks; leave the gold and the repeat rate at 0")


def refuse_rule_of_draw(text: str, selection: str) -> None:
    """Refuse a stop rule that would count instances alike which were drawn with different chances.

    Raises: InvalidSelection.
    """
    kind = selection.partition(":")[0]
    if text and kind in UNEQUAL_CHANCES and StopRule.parse(text).kind != BUDGET:
        raise InvalidSelection(
            f"The stop rule {text} counts all drawn instances alike, but {kind} prefers some of them. "
            "Set budget:AMOUNT or none, or draw with random:N."
        )


def pool_of(spec: BatchSpec, extended: Batch | None = None) -> Pool:
    """Find the matchups that can be rated: with a source text, enough pairs, and gold where that is needed.

    Raises: InvalidSelection when there is none, with counts by reason.
    """
    configuration = spec.configuration
    matchups = configuration.matchups()
    with_source = matchups.exclude(instance__source="").annotate(available=Count("pairs"))
    left_out = {
        reason("without_source"): matchups.filter(instance__source="").count(),
        reason("with_few_pairs", pairs=spec.pairs): with_source.filter(available__lt=spec.pairs).count(),
    }
    rows = list(with_source.filter(available__gte=spec.pairs).values_list("pk", "instance__instance_id"))
    for why, unavailable in _unavailable(spec, extended):
        left_out[why] = sum(row[0] in unavailable for row in rows)
        rows = [row for row in rows if row[0] not in unavailable]
    if not spec.for_rating:
        golds = dict(matchups.values_list("pk", "instance__gold"))
        problems = [_gold_problem(configuration, golds[pk]) for pk, _ in rows]
        left_out |= Counter(problem for problem in problems if problem)
        rows = [row for row, problem in zip(rows, problems, strict=True) if not problem]
    left_out = {why: count for why, count in left_out.items() if count}
    if not rows:
        reasons = "; ".join(f"{count} {why}" for why, count in left_out.items())
        limit = with_source.aggregate(most=Max("available"))["most"] or spec.pairs
        advice = f". There {'is' if limit == 1 else 'are'} {limit}: set pairs to {limit}" if limit < spec.pairs else ""
        raise InvalidSelection(f"no instance of {configuration} can be rated: {reasons or 'there is none'}{advice}")
    return Pool(configuration, tuple(row[0] for row in rows), tuple(row[1] for row in rows), left_out)


def _unavailable(spec: BatchSpec, extended: Batch | None) -> Iterator[tuple[Reason, set[int]]]:
    """Yield the matchups that are in use, by reason: for the other purpose, or in the batch to be extended.

    A matchup with known answers, in a qualification or check, must not be rated as well, or the other way round.
    """
    rating = Q(batch__purpose=Batch.Purpose.RATING)
    placed = Hit.objects.filter(
        batch__study=spec.configuration.study, matchup__in=spec.configuration.matchups().order_by()
    )
    matchups = placed.filter(~rating if spec.for_rating else rating, batch__origin=Batch.Origin.COLLECTED)
    why = reason("on_check_hits" if spec.for_rating else "on_rating_hits")
    yield why, set(matchups.values_list("matchup_id", flat=True))
    if spec.for_rating and spec.selection.match["kind"] == "active":  # whose votes its chances may be made from
        yield reason("rated_already"), set(placed.filter(rating).values_list("matchup_id", flat=True))
    if extended is not None:
        yield reason("in_batch_already"), set(placed.filter(batch=extended).values_list("matchup_id", flat=True))


def _gold_problem(configuration: Configuration, gold: dict[str, Any] | None) -> Reason | None:
    """Return why an instance's gold can't be used as the expected answer, or None if it can."""
    verdict = gold_verdict(gold, configuration.system_a.name, configuration.system_b.name)
    if verdict is None:
        return reason("without_gold")
    if verdict == 0 and not configuration.study.ties_allowed:
        return reason("gold_is_tie")
    return None


def _choose_sample(pool: Pool, selection: SelectionSpec, rng: np.random.Generator) -> InstanceSample:
    match = selection.match
    if selection.spec == "all":
        return InstanceSample(range(len(pool.matchup_ids)))
    if selection.spec == "ids":
        return InstanceSample(places_of(selection.instance_ids, pool.instance_ids, pool.configuration))
    try:
        return _by_rule(pool, match, selection.similarity, rng)
    except AnalysisError as error:
        raise InvalidSelection(f"{selection.spec} of {pool.configuration}: {error}") from None


def _by_rule(pool: Pool, match: re.Match[str], similarity: str | None, rng: np.random.Generator) -> InstanceSample:
    if match["kind"] == "random":
        return InstanceSample(choose_random(len(pool.matchup_ids), int(match["count"]), rng).tolist())
    if match["kind"] == "disagree":
        disputed = disputed_matchups(pool.configuration)
        positions = [position for position, pk in enumerate(pool.matchup_ids) if pk in disputed]
        drawn = choose_random(len(positions), int(match["count"]), rng)
        return InstanceSample([positions[index] for index in drawn], recorded={"drawn_from": len(positions)})
    if match["kind"] == "active":
        ids = pool.matchup_ids, pool.instance_ids
        sample, made_from = choose_active(pool.configuration, *ids, int(match["count"]), similarity, rng)
        return InstanceSample(sample.indices.tolist(), sample.probabilities.tolist(), recorded={"active": made_from})
    run = require_run(pool.configuration, similarity)
    values = separabilities(pool.matchup_ids, run)
    if match["kind"] == "top":
        return InstanceSample(choose_top(values, int(match["count"])).tolist(), run=run)
    if match["kind"] == "importance":
        sample = choose_importance(values, int(match["count"]), rng)
    else:
        sample = choose_stratified(values, int(match["bins"]), int(match["per_bin"]), rng)
    return InstanceSample(sample.indices.tolist(), sample.probabilities.tolist(), run)


def places_of(instance_ids: Sequence[str], available: Sequence[str], of: object) -> list[int]:
    """Return the places of these ids among the available ones, each once.

    Raises: InvalidSelection naming those that are not there; or if there is no id
    """
    positions = {instance_id: position for position, instance_id in enumerate(available)}
    if unknown := [instance_id for instance_id in instance_ids if instance_id not in positions]:
        listed = ", ".join(unknown[:10])
        raise InvalidSelection(f"{len(unknown)} of the ids can't be rated or are not in {of}: {listed}")
    if not instance_ids:
        raise InvalidSelection("the list of ids is empty")
    return [positions[instance_id] for instance_id in dict.fromkeys(instance_ids)]


def plan_hits(choice: Choice, pairs_per_hit: int, order: Sequence[int] | None = None) -> list[HitPlan]:
    """Sample the pairs of each selected instance without replacement, for HITs in this order, at random when left out."""
    sample, pool, rng = choice.sample, choice.pool, choice.rng
    probabilities: Sequence[float | None] = sample.probabilities or [None] * len(sample.places)
    order = rng.permutation(len(sample.places)).tolist() if order is None else order
    rows = Pair.objects.filter(matchup__in=pool.configuration.matchups().order_by()).order_by("matchup_id", "index")
    pairs = grouped(rows.values_list("matchup_id", "pk"))
    hits = []
    for instance_index, probability, position in zip(sample.places, probabilities, order, strict=True):
        available = pairs[pool.matchup_ids[instance_index]]
        pairs_of_hit = sorted(rng.choice(len(available), size=pairs_per_hit, replace=False))
        hits.append(
            HitPlan(
                pool.matchup_ids[instance_index], position, probability, [available[index] for index in pairs_of_hit]
            )
        )
    return hits


def ids_of(text: str) -> list[str]:
    """Read a list of instance ids, one a line. Empty lines are ignored."""
    return [line.strip() for line in re.split(r"\r\n|\r|\n", text) if line.strip()]


def chosen_in_words(spec: str) -> str:
    """Say how a selection, written as for `create_batch --select`, chooses instances, or "" for one that is unknown."""
    kind, _colon, number = spec.partition(":")
    bins, _x, per_bin = number.partition("x")
    drawn = per_bin or number
    instances = counted(int(drawn), "instances") if drawn.isdecimal() else ""
    words = {
        "all": "all instances",
        "ids": "instances of a list",
        "random": f"{instances} at random",
        "top": f"the {drawn} instance{pluralize(drawn)} of highest separability",
        "importance": f"{instances}, drawn the more likely the higher their separability",
        "active": f"{instances}, drawn the more likely the less sure judges are",
        "disagree": f"{instances} at random, on which judges disagree",
        "stratified": f"from each of {bins} bins of separability {instances}",
    }
    return words.get(kind, "")
