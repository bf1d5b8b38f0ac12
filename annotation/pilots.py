"""What a plan starts from: what is wanted, and the spread of votes, measured in a pilot or stated as assumptions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from django.utils.translation import gettext as _

from analysis.consistency import rating_sets
from analysis.planning import LEAST_INSTANCES
from analysis.types import Outcomes
from analysis.variance import (
    Components,
    assumed_components,
    consistency_components,
    crossed_components,
    verdict_variance,
)
from annotation.configurations import Configuration
from annotation.errors import NotChosen, Unacceptable, UnknownName
from annotation.models import Annotator, Batch, Study
from annotation.tables import people, select

PAIRS = (1, 3, 5)
RATERS = (1, 2, 3, 5)
MOST_NUMBERS = 12  # of pairs, and of raters, in one plan
LARGEST = 1000
BY_SEPARABILITY = ("top", "stratified", "importance")  # ways to choose instances that no random sample is like


class Measure(StrEnum):
    """What the interval is about."""

    WIN_RATE = "win-rate"
    CONSISTENCY = "consistency"


# Of the variance of one verdict, and of one rating set's consistency: rounded means over the two studies of
# Ghosh et al. 2024, Compare without Despair (50 instances, 5 pairs, 3 raters each).
SHARES: Mapping[str, Mapping[str, float]] = {
    Measure.WIN_RATE: {"instance": 0.1, "pair": 0.05, "rater": 0.35},
    Measure.CONSISTENCY: {"instance": 0.2, "pair": 0.0, "rater": 0.8},
}


@dataclass(frozen=True)
class Assumptions:
    """What stands in for a pilot. Shares are of the variance of one value, and those left out have their defaults.

    win_rate, tie_share : of single verdicts; by default the pair with the greatest variance
    consistency_sd      : standard deviation of the consistency of single rating sets, over instances and raters
    instance, pair, rater : intra-class correlations; a consistency has no pairs, and its rest is the raters'
    """

    win_rate: float = 0.5
    tie_share: float = 0.0
    consistency_sd: float = 0.45
    instance: float | None = None
    pair: float | None = None
    rater: float | None = None

    def components(self, measure: Measure) -> Components:
        """Return the variance components that are assumed.

        Raises: UnknownValue for values that don't go together.
        """
        shares = self.shares(measure)
        if measure == Measure.CONSISTENCY:
            return assumed_components(self.consistency_sd**2, instance=shares["instance"], rater=shares["rater"])
        return assumed_components(verdict_variance(self.win_rate, self.tie_share), **shares)

    def shares(self, measure: Measure) -> dict[str, float]:
        """Return the shares with the defaults filled in."""
        given = {name: getattr(self, name) for name in SHARES[measure]}
        filled = {name: SHARES[measure][name] if value is None else value for name, value in given.items()}
        if measure == Measure.CONSISTENCY:
            filled |= {"pair": 0.0, "rater": 1 - filled["instance"]}
        return filled


@dataclass(frozen=True)
class Wish:
    """What is to be planned.

    dataset, systems : needed where the study has more than one configuration
    pairs            : N to look at; () for 1, 3 and 5, or for consistency, of which N is a part, the pilot's or study's
    finite           : the study's instances are all there are, no sample of more
    pilot_batches    : whose votes to estimate from; () for all of the configuration, where nothing is assumed
    assumptions      : instead of a pilot
    prices           : fields of `Rates` that differ from what the study says
    """

    width: float
    measure: Measure = Measure.WIN_RATE
    level: float = 0.95
    dataset: str | None = None
    systems: tuple[str, str] | None = None
    pairs: tuple[int, ...] = ()
    raters: tuple[int, ...] = RATERS
    finite: bool = False
    pilot_batches: tuple[str, ...] = ()
    assumptions: Assumptions | None = None
    prices: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Variance:
    """Variance components by number of pairs, and where they come from.

    pilot       : what was measured; None where it was assumed
    assumptions : what was assumed; None where it was measured
    """

    components: Mapping[int, Components]
    pilot: dict[str, Any] | None = None
    assumptions: dict[str, Any] | None = None


def variance_of(study: Study, named: Configuration | None, wish: Wish) -> Variance:
    """Estimate the variance from the votes of the pilot; from assumptions where they are stated, or there is no pilot.

    Raises: UnknownName for a batch the study doesn't have; Unacceptable for a named pilot without votes on two
    instances; AnalysisError for assumptions that don't go together, and pairs that no pilot has.
    """
    if wish.assumptions is None and named is not None:
        batches = _batches(study, wish.pilot_batches)
        rated_pairs = people(select(named, batches), batches)
        votes = first_of_each(rated_pairs.outcomes)
        rated = np.unique(votes.instance[~np.isnan(votes.verdict)])
        if len(rated) >= LEAST_INSTANCES:
            about = _about_pilot(named, batches, rated_pairs.raters)
            return _from_pilot(votes, wish, about, np.random.default_rng(study.seed))
        if wish.pilot_batches:
            raise Unacceptable(
                _("The pilot has votes on %(count)d instances; a variance between instances needs two or more.")
                % {"count": len(rated)}
            )
    elif wish.pilot_batches:
        raise NotChosen(_("The study has no instances, and so no pilot."))
    return _from_assumptions(study, wish)


def _batches(study: Study, names: tuple[str, ...]) -> list[Batch] | None:
    if not names:
        return None
    known = {batch.name: batch for batch in study.batches.for_rating()}
    if strangers := [name for name in names if name not in known]:
        listed = ", ".join(known) or "none"
        raise UnknownName(f"study {study.slug} has no batch {', '.join(strangers)} for rating; it has {listed}")
    return [known[name] for name in dict.fromkeys(names)]


def first_of_each(outcomes: Outcomes) -> Outcomes:
    """Keep a rater's first vote on a pair, as findings do; with several batches there may be a second."""
    keys = np.stack([outcomes.instance, outcomes.pair, outcomes.rater], axis=1)
    rows = np.sort(np.unique(keys, axis=0, return_index=True)[1])
    columns = ("instance", "pair", "a", "b", "verdict", "rater", "weight")
    return Outcomes(**{name: getattr(outcomes, name)[rows] for name in columns})


def _about_pilot(named: Configuration, batches: list[Batch] | None, codes: Sequence[str]) -> dict[str, Any]:
    """Tell what makes a pilot unlike the study to come: programs among its raters, instances not taken at random."""
    study = named.study
    own = {"dataset": named.dataset, "system_a": named.system_a, "system_b": named.system_b}
    used = study.batches.for_rating().filter(**own) if batches is None else batches
    scripted = study.annotators.filter(kind=Annotator.Kind.SCRIPTED, code__in=codes)
    return {
        "batches": None if batches is None else [batch.name for batch in batches],
        "scripted": scripted.exists(),
        "by_separability": any(str(one.selection.get("spec", "")).startswith(BY_SEPARABILITY) for one in used),
    }


def _from_pilot(votes: Outcomes, wish: Wish, about: dict[str, Any], rng: np.random.Generator) -> Variance:
    known = ~np.isnan(votes.verdict)
    pilot: dict[str, Any] = {
        **about,
        "instances": len(np.unique(votes.instance[known])),
        "raters": len(np.unique(votes.rater[known])),
        "ratings": int(known.sum()),
        "tie_share": float((votes.verdict[known] == 0).mean()),
    }
    if wish.measure == Measure.WIN_RATE:
        scores = (1 - votes.verdict) / 2  # a win of A is 1, a tie 1/2
        found = crossed_components(scores, votes.instance, votes.pair, votes.rater)
        return Variance(dict.fromkeys(wish.pairs or PAIRS, found), {**pilot, "mean": float(scores[known].mean())})
    sets = rating_sets(votes)
    (n_pairs,) = wish.pairs or (int(np.bincount(sets.present[sets.present > 0]).argmax()),)
    steady = consistency_components(sets, n_pairs, rng=rng)
    pilot |= {"mean": steady.mean, "rating_sets": steady.n, "pairs": n_pairs, "instances": steady.instances}
    return Variance({n_pairs: steady.components}, pilot)


def _from_assumptions(study: Study, wish: Wish) -> Variance:
    assumed = wish.assumptions or Assumptions()
    found = assumed.components(wish.measure)
    stated: dict[str, Any] = {"stated": wish.assumptions is not None, "shares": assumed.shares(wish.measure)}
    if wish.measure == Measure.WIN_RATE:
        stated |= {"win_rate": assumed.win_rate, "tie_share": assumed.tie_share}
        return Variance(dict.fromkeys(wish.pairs or PAIRS, found), assumptions=stated)
    return Variance(
        dict.fromkeys(wish.pairs or (study.pairs_per_hit,), found),
        assumptions={**stated, "consistency_sd": assumed.consistency_sd},
    )
