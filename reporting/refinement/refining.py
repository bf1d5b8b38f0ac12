"""The repair of a study's preferences, what it changed, and its result as training data."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from analysis.intervals.bootstrap import ratio
from analysis.logic.transitivity import coin_transitivity, complete_set_sums
from analysis.ranking.refinement import Method, Repaired, repair
from analysis.types import BoolArray, FloatArray, IntArray
from annotation.core.errors import AnnotationError
from annotation.core.reasons import Reason, reason
from annotation.models import Study
from annotation.studies.questions import find_question
from reporting.core.reasons import FEW_COMPLETE_SETS
from reporting.exports.elsewhere import WantedVerdicts
from reporting.logic.audit import LEAST_SETS
from reporting.logic.preferences import Chosen, Preferences, read_preferences
from reporting.refinement.training_files import Options, write_training_data

SIZES = (3, 4, 5)  # K of the transitivity
NO_PAIR = Reason("no_pair", "no pair")
UNDECIDED = Reason("undecided", "no pair has verdicts in both orders that are no ties")


@dataclass(frozen=True, eq=False)
class RepairedStudy:
    """A study's preferences, and what their ranking implies."""

    given: Preferences
    found: Repaired
    method: Method

    has_margins = True

    @property
    def how(self) -> str:
        """Say how the pairs were made, for the card of a data set."""
        preferences = int(self.given.decided.sum())
        return (
            f"They were implied by a ranking of each\ninstance's texts, which {preferences} preferences gave "
            f"(REPAIR of Liu et al. 2024, *Aligning with Logic*; scores: {self.method})."
        )

    @property
    def scores(self) -> FloatArray:
        """(n_items,) by which they are ranked."""
        return self.found.scores

    @property
    def pairs(self) -> IntArray:
        """(m, 2) items, the better one first, by instance."""
        return self.found.pairs[np.argsort(self.given.instance[self.found.pairs[:, 0]], kind="stable")]


def repair_study(preferences: Preferences, *, method: Method = "win_loss", seed: int = 0) -> RepairedStudy:
    """Rank the texts of each instance and imply preferences. `seed` draws the orders of Elo."""
    repaired = repair(
        preferences.winners,
        preferences.losers,
        n_items=len(preferences.generation),
        ties=preferences.ties,
        method=method,
        rng=np.random.default_rng(seed),
    )
    return RepairedStudy(preferences, repaired, method)


def report(repaired: RepairedStudy) -> dict[str, Any]:
    """Count what was given, reversed, dropped and added, with transitivity and commutativity before and after."""
    preferences, outcome = repaired.given, repaired.found.outcome
    majorities = _majorities(preferences)
    before, after = (_transitivity(preferences, *pairs.T) for pairs in (majorities, repaired.pairs))
    sizes = np.bincount(preferences.instance)
    possible = int((sizes * (sizes - 1) // 2).sum())
    low_first = preferences.first < preferences.second
    first, second = (np.sign(_balance(preferences, in_order)[1]) for in_order in (low_first, ~low_first))
    both = (first != 0) & (second != 0)
    same = np.stack([(first == second)[both], np.ones(int(both.sum()))], axis=1).astype(np.float64)
    return {
        "method": repaired.method,
        "equal_within": repaired.found.tolerance,
        "instances": len(preferences.instances),
        "texts": len(preferences.generation),
        "verdicts": len(preferences),
        "verdicts_missing": preferences.missing,
        "ties": int((~preferences.decided).sum()),
        "preferences": int(preferences.decided.sum()),
        "kept": int((outcome == 1).sum()),
        "reversed": int((outcome == -1).sum()),
        "dropped_as_equal": int((outcome == 0).sum()),
        "pairs": len(repaired.pairs),
        "added": int(repaired.found.added.sum()),
        "density": {
            name: {"value": len(pairs) / possible if possible else None, "n": possible, "of": "pairs"}
            for name, pairs in (("before", majorities), ("after", repaired.pairs))
        },
        "transitivity": {k: {"before": before[k], "after": after[k]} for k in before},
        "commutativity": {
            "before": _value(same),
            "after": {"value": 1.0 if len(repaired.pairs) else None, "n": len(repaired.pairs), "of": "pairs"}
            | ({} if len(repaired.pairs) else NO_PAIR.as_json()),
        },
    }


def _majorities(preferences: Preferences) -> IntArray:
    """(m, 2) items of each pair that most verdicts decide, the better one first."""
    pairs, balance = _balance(preferences, np.ones(len(preferences), dtype=bool))
    majorities: IntArray = np.where(balance[:, np.newaxis] > 0, pairs, pairs[:, ::-1])[balance != 0]
    return majorities


def _balance(preferences: Preferences, counted: BoolArray) -> tuple[IntArray, IntArray]:
    """Return all pairs of items that have a verdict, the lower one first, and verdicts for it less those for the other."""
    low, high = np.minimum(preferences.first, preferences.second), np.maximum(preferences.first, preferences.second)
    for_low = np.where(preferences.first == low, -preferences.verdict, preferences.verdict) * counted
    pairs, row = np.unique(np.stack([low, high], axis=1), axis=0, return_inverse=True)
    return pairs, np.bincount(row, weights=for_low, minlength=len(pairs)).astype(np.int64)


def _transitivity(preferences: Preferences, better: IntArray, worse: IntArray) -> dict[str, dict[str, Any]]:
    """Return the transitivity over complete sets of texts of all instances, with that of a coin."""
    sizes = np.bincount(preferences.instance, minlength=len(preferences.instances))
    position = np.arange(len(preferences.instance)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    sums = np.zeros((len(SIZES), 2))
    for size in np.unique(sizes[sizes >= min(SIZES)]).tolist():
        row = np.cumsum(sizes == size) - 1
        is_of_size = sizes[preferences.instance[better]] == size
        graph: BoolArray = np.zeros((int((sizes == size).sum()), size, size), dtype=bool)
        graph[
            row[preferences.instance[better[is_of_size]]], position[better[is_of_size]], position[worse[is_of_size]]
        ] = True
        sums += complete_set_sums(graph, SIZES).sum(axis=0)
    return {str(k): _share_of_sets(k, *sums[column].tolist()) for column, k in enumerate(SIZES)}


def _share_of_sets(k: int, acyclic: float, complete: float) -> dict[str, Any]:
    counted = {"n": int(complete), "of": "complete sets", "coin": coin_transitivity(k)}
    if complete < LEAST_SETS:
        why = FEW_COMPLETE_SETS.with_values(least=LEAST_SETS, k=k)
        return {"value": None, **counted, **why.as_json()}
    return {"value": acyclic / complete, **counted}


def _value(rows: FloatArray) -> dict[str, Any]:
    value = float(ratio(rows.sum(axis=0)))
    counted = {"n": len(rows), "of": "pairs"}
    return {"value": None, **counted, **UNDECIDED.as_json()} if np.isnan(value) else {"value": value, **counted}


@dataclass(frozen=True)
class Repair:
    """The verdicts to repair, and the scores to use. `seed` draws the orders of Elo."""

    wanted: WantedVerdicts
    method: Method = "win_loss"
    seed: int = 0

    def given(self, study: Study) -> Preferences:
        """Read the preferences.

        Raises: UnknownName.
        """
        wanted = self.wanted
        question = find_question(study, wanted.question).number
        return read_preferences(study, Chosen(tuple(wanted.raters), question, wanted.stage, wanted.dataset))


def write_refined(study: Study, out: Path, repair: Repair, options: Options) -> dict[str, Any]:
    """Rank each instance's texts, and write every implied preference. Return the changes and files.

    out : as of `write_training_data`
    Raises: UnknownName; AnnotationError where no ranking can be made; OSError.
    """
    repaired = repair_study(repair.given(study), method=repair.method, seed=repair.seed)
    raters = list(repair.wanted.raters)
    if not len(repaired.pairs):
        raise AnnotationError(reason("no_preferences_of", study=study.slug, raters=raters))
    question = find_question(study, repair.wanted.question).text
    written = write_training_data(repaired, out, title=study.title, question=question, options=options)
    return {"study": study.slug, "raters": raters, "seed": repair.seed, **report(repaired), "written": written}
