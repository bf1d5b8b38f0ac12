"""Choosing instances for a batch, and laying out its HITs: reads and arithmetic, nothing is written here."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from django.db.models import Count, Q, QuerySet

from analysis import selection
from analysis.errors import AnalysisError
from annotation.configurations import Configuration
from annotation.errors import NotChosen
from annotation.gold import gold_verdict
from annotation.models import Batch, Hit, Matchup, Pair, SeparabilityRun
from annotation.services.separability import needed_run
from annotation.tables import Selection, separabilities

MOST_RATERS = 1000
MOST_PAIRS = 1000
MOST_HITS = 1_000_000_000
LONGEST_LEASE = 24 * 60  # minutes
MOST_CHECKS = 0.5  # of a rater's HITs, both kinds of hidden checks together
MOST_SEED = 2**31 - 1
_SPEC = re.compile(
    r"all|ids|(?P<kind>random|top|importance):(?P<count>[1-9][0-9]{0,8})|stratified:(?P<bins>[1-9][0-9]{0,3})x(?P<per_bin>[1-9][0-9]{0,8})"
)


@dataclass(frozen=True)
class Asked:
    """How instances are to be chosen.

    spec : all, random:N, top:N, stratified:BxN (N from each of B equal-width bins of separability), importance:N, or
           ids (with `instance_ids`); `similarity` names whose separability, the latest computed when it is None
    """

    spec: str = "all"
    instance_ids: Sequence[str] = ()
    similarity: str | None = None

    @property
    def stored(self) -> dict[str, Any]:
        """What a batch keeps of it."""
        return {"spec": self.spec, "instance_ids": sorted(self.instance_ids), "similarity": self.similarity}

    @property
    def match(self) -> re.Match[str]:
        """The parts of the spec.

        Raises: NotChosen.
        """
        match = _SPEC.fullmatch(self.spec)
        if match is None:
            raise NotChosen(
                f"selection is {self.spec!r}; it must be all, random:N, top:N, stratified:BxN, importance:N or ids:FILE"
            )
        return match

    @property
    def bins(self) -> int | None:
        """Into how many bins a stratified choice divides separability; None for any other."""
        bins = self.match["bins"]
        return int(bins) if bins else None


@dataclass(frozen=True)
class Wanted:
    """A batch that is asked for; `raters` means nothing but to one for rating."""

    configuration: Configuration
    pairs: int
    raters: int
    seed: int
    asked: Asked = field(default_factory=Asked)
    purpose: str = Batch.Purpose.RATING
    gold_rate: float = 0.0
    repeat_rate: float = 0.0
    lease_minutes: int = 60
    most_hits_per_rater: int | None = None

    @property
    def for_rating(self) -> bool:
        """Tell whether its ratings enter findings."""
        return self.purpose == Batch.Purpose.RATING


@dataclass(frozen=True)
class Pool:
    """Matchups that a HIT can be made of, in the order of the instances, and how many can't and why."""

    configuration: Configuration
    matchup_ids: tuple[int, ...]
    instance_ids: tuple[str, ...]
    left_out: dict[str, int]


@dataclass(frozen=True)
class Chosen:
    """Places in the pool, with each one's chance of being there where that is known.

    probabilities : None as well for what extends a batch: it was drawn from what an earlier draw had left
    """

    places: Sequence[int]
    probabilities: Sequence[float] | None = None
    run: SeparabilityRun | None = None

    @property
    def by(self) -> dict[str, Any]:
        """What a batch keeps of the numbers that it was chosen by: a run's may be other ones later."""
        run = self.run
        if run is None:
            return {"similarity": None, "separability": None}
        kept = {
            "measure": run.label,
            "model_fingerprint": run.model_fingerprint,
            "normalisation": {"group": run.group, "min": run.low, "max": run.high},
            "texts_sha256": run.texts_sha256,
        }
        return {"similarity": run.similarity, "separability": kept}


@dataclass(frozen=True)
class Choice:
    """What was chosen from which pool; `rng` has drawn the choice, and goes on to draw order and pairs."""

    pool: Pool
    chosen: Chosen
    rng: np.random.Generator


@dataclass(frozen=True)
class LaidOut:
    """A HIT to be made: its place in the queue, counted from 0, and its sample of pairs."""

    matchup_id: int
    place: int
    probability: float | None
    pair_ids: Sequence[int]


def choose(wanted: Wanted, extended: Batch | None = None) -> Choice:
    """Choose the instances of a batch; its seed fixes which. Of a batch to be `extended`, those not in it yet.

    Raises: NotChosen saying why not.
    """
    refuse_wrong(wanted)
    pool, rng = pool_of(wanted, extended), np.random.default_rng(wanted.seed)
    chosen = _chosen(pool, wanted.asked, rng)
    return Choice(pool, chosen if extended is None else replace(chosen, probabilities=None), rng)


def refuse_wrong(wanted: Wanted) -> None:
    """Refuse what no batch can have.

    Raises: NotChosen naming the value.
    """
    _refuse_purpose(wanted.purpose, wanted.gold_rate, wanted.repeat_rate)
    if not 1 <= wanted.pairs <= MOST_PAIRS:
        raise NotChosen(f"{wanted.pairs} pairs a HIT; it must be 1 or more, and {MOST_PAIRS} at most")
    if not 1 <= wanted.raters <= MOST_RATERS:
        raise NotChosen(f"{wanted.raters} raters a HIT; it must be from 1 to {MOST_RATERS}")
    if not 1 <= wanted.lease_minutes <= LONGEST_LEASE:
        raise NotChosen(f"a HIT stays claimed for {wanted.lease_minutes} min; it must be from 1 to {LONGEST_LEASE}")
    if not 0 <= wanted.seed <= MOST_SEED:
        raise NotChosen(f"the seed is {wanted.seed}; it must be from 0 to {MOST_SEED}")
    most = wanted.most_hits_per_rater
    if most is not None and not 1 <= most <= MOST_HITS:
        raise NotChosen(f"at most {most} HITs a rater; it must be 1 or more")


def _refuse_purpose(purpose: str, gold_rate: float, repeat_rate: float) -> None:
    if purpose not in Batch.Purpose.values:
        raise NotChosen(f"the purpose is {purpose!r}; it must be one of {', '.join(Batch.Purpose.values)}")
    for name, rate in (("gold", gold_rate), ("repeat", repeat_rate)):
        if not 0 <= rate <= MOST_CHECKS:
            raise NotChosen(f"the {name} rate is {rate}; it must be from 0 to {MOST_CHECKS}")
    if gold_rate + repeat_rate > MOST_CHECKS:
        total = round(gold_rate + repeat_rate, 6)
        raise NotChosen(f"the gold and the repeat rate make {total}; together they may be {MOST_CHECKS} at most")
    if purpose != Batch.Purpose.RATING and (gold_rate or repeat_rate):
        raise NotChosen(f"a batch for {purpose} has no hidden checks; leave the gold and the repeat rate at 0")


def pool_of(wanted: Wanted, extended: Batch | None = None) -> Pool:
    """Find the matchups that a rater can be shown: with a source text, enough pairs, and gold where that is needed.

    Raises: NotChosen when there is none, counting what was left out and why.
    """
    configuration = wanted.configuration
    matchups = configuration.matchups()
    counted = matchups.exclude(instance__source="").annotate(available=Count("pairs"))
    left_out = {
        "without source text": matchups.filter(instance__source="").count(),
        f"with fewer than {wanted.pairs} pairs": counted.filter(available__lt=wanted.pairs).count(),
    }
    rows = list(counted.filter(available__gte=wanted.pairs).values_list("pk", "instance__instance_id"))
    for reason, taken in _taken(wanted, extended):
        left_out[reason] = sum(row[0] in taken for row in rows)
        rows = [row for row in rows if row[0] not in taken]
    if not wanted.for_rating:
        golds = dict(matchups.values_list("pk", "instance__gold"))
        problems = [_gold_problem(configuration, golds[pk]) for pk, _ in rows]
        left_out |= Counter(problem for problem in problems if problem)
        rows = [row for row, problem in zip(rows, problems, strict=True) if not problem]
    left_out = {reason: count for reason, count in left_out.items() if count}
    if not rows:
        reasons = "; ".join(f"{count} {reason}" for reason, count in left_out.items())
        raise NotChosen(f"no instance of {configuration} can be rated: {reasons or 'there is none'}")
    return Pool(configuration, tuple(row[0] for row in rows), tuple(row[1] for row in rows), left_out)


def _taken(wanted: Wanted, extended: Batch | None) -> Iterator[tuple[str, set[int]]]:
    """Yield the matchups that can't be had, by reason.

    Those asked for the other purpose: one seen in a check can't be rated unknowing, or after. And those in the batch.
    """
    rating = Q(batch__purpose=Batch.Purpose.RATING)
    placed = Hit.objects.filter(batch__study=wanted.configuration.study, matchup__in=of(wanted.configuration))
    others = placed.filter(~rating if wanted.for_rating else rating, batch__origin=Batch.Origin.COLLECTED)
    reason = "on HITs of a qualification or of hidden checks" if wanted.for_rating else "on HITs for rating"
    yield reason, set(others.values_list("matchup_id", flat=True))
    if extended is not None:
        yield "in the batch already", set(placed.filter(batch=extended).values_list("matchup_id", flat=True))


def _gold_problem(configuration: Configuration, gold: dict[str, Any] | None) -> str | None:
    """Say why raters can't be held to an instance's gold."""
    verdict = gold_verdict(gold, configuration.system_a.name, configuration.system_b.name)
    if verdict is None:
        return "without a gold preference for these systems"
    if verdict == 0 and not configuration.study.ties_allowed:
        return "whose gold is a tie, which this study does not offer"
    return None


def _chosen(pool: Pool, asked: Asked, rng: np.random.Generator) -> Chosen:
    match = asked.match
    if asked.spec == "all":
        return Chosen(range(len(pool.matchup_ids)))
    if asked.spec == "ids":
        return Chosen(_by_id(pool, asked.instance_ids))
    try:
        return _by_rule(pool, match, asked.similarity, rng)
    except AnalysisError as error:
        raise NotChosen(f"{asked.spec} of {pool.configuration}: {error}") from None


def _by_rule(pool: Pool, match: re.Match[str], similarity: str | None, rng: np.random.Generator) -> Chosen:
    if match["kind"] == "random":
        return Chosen(selection.choose_random(len(pool.matchup_ids), int(match["count"]), rng).tolist())
    run = needed_run(pool.configuration, similarity)
    values = values_of(pool, run)
    if match["kind"] == "top":
        return Chosen(selection.choose_top(values, int(match["count"])).tolist(), run=run)
    if match["kind"] == "importance":
        sample = selection.choose_importance(values, int(match["count"]), rng)
    else:
        sample = selection.choose_stratified(values, int(match["bins"]), int(match["per_bin"]), rng)
    return Chosen(sample.indices.tolist(), sample.probabilities.tolist(), run)


def values_of(pool: Pool, run: SeparabilityRun) -> np.ndarray:
    """Return the separability of a pool's matchups, NaN where it is undefined or missing."""
    return separabilities(Selection(pool.configuration, pool.matchup_ids, pool.instance_ids, frozenset()), run)


def _by_id(pool: Pool, instance_ids: Sequence[str]) -> list[int]:
    places = {instance_id: place for place, instance_id in enumerate(pool.instance_ids)}
    if unknown := [instance_id for instance_id in instance_ids if instance_id not in places]:
        shown = ", ".join(unknown[:10])
        raise NotChosen(f"{len(unknown)} of the ids can't be rated or are not in {pool.configuration}: {shown}")
    if not instance_ids:
        raise NotChosen("the list of ids is empty")
    return [places[instance_id] for instance_id in dict.fromkeys(instance_ids)]


def lay_out(choice: Choice, pairs_per_hit: int) -> list[LaidOut]:
    """Put the chosen instances into a seeded random order, each with a sample of its pairs without replacement."""
    chosen, pool, rng = choice.chosen, choice.pool, choice.rng
    probabilities: Sequence[float | None] = chosen.probabilities or [None] * len(chosen.places)
    order = rng.permutation(len(chosen.places))
    pairs: dict[int, list[int]] = {}
    rows = Pair.objects.filter(matchup__in=of(pool.configuration)).order_by("matchup_id", "index")
    for matchup_id, pair_id in rows.values_list("matchup_id", "pk"):
        pairs.setdefault(matchup_id, []).append(pair_id)
    hits = []
    for place, probability, position in zip(chosen.places, probabilities, order, strict=True):
        available = pairs[pool.matchup_ids[place]]
        sample = sorted(rng.choice(len(available), size=pairs_per_hit, replace=False))
        hits.append(LaidOut(pool.matchup_ids[place], int(position), probability, [available[one] for one in sample]))
    return hits


def of(configuration: Configuration) -> QuerySet[Matchup]:
    """Return a configuration's matchups in a form that another query takes as a whole."""
    return Matchup.objects.filter(pk__in=configuration.matchups().order_by().values("pk"))


def ids_of(text: str) -> list[str]:
    """Read a list of instance ids, one a line; empty lines are nothing."""
    return [line.strip() for line in re.split(r"\r\n|\r|\n", text) if line.strip()]
