"""Ratings → preferences between the texts of each instance, by people, judges or both."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.agreement.coefficients import VALUES, majority_of_counts
from analysis.types import BoolArray, FloatArray, IntArray
from annotation.core.database.columns import number_columns
from annotation.core.errors import UnknownName
from annotation.core.reasons import reason
from annotation.models import Generation, Pair, Study
from annotation.studies.configurations import Configuration, configurations
from annotation.studies.outcomes import Selection, human_answers_on_each, select_each
from judging.outcomes.judgments import judges_of, judgments_on_each
from reporting.core.raters import drop_repeats
from reporting.logic.presentations import Texts, as_shown

PEOPLE = "people"
JUDGE = "judge:"


@dataclass(frozen=True, eq=False)
class Chosen:
    """The raters, question and texts of preferences.

    raters  : "people", and names of judges as "judge:NAME"
    dataset : only this data set; all when empty
    systems : only pairs of these two; all when empty
    """

    raters: tuple[str, ...] = (PEOPLE,)
    question: int = 0
    stage: str = "first"
    dataset: str = ""
    systems: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Preferences:
    """Verdicts between texts. Items are the generations that were compared, in the study's order.

    generation    : (n_items,) primary keys; instance : (n_items,) code of each one's instance, from 0
    instances     : (n_instances,) primary keys
    first, second : (n,) the items of each verdict, the one that was shown first first
    verdict       : (n,) -1 the first was preferred, 0 a tie, +1 the second
    sided         : (n,) whether it is known which was shown first
    missing       : verdicts that could not be read, and pairs without a vote
    strength      : (n,) how much the preferred one is better, 1 slightly and 2 much; NaN where not known or not asked
    rater         : (n,) whose verdict it is, of `raters`: "people", or "judge:NAME"
    """

    generation: IntArray
    instance: IntArray
    instances: IntArray
    first: IntArray
    second: IntArray
    verdict: FloatArray
    missing: int
    sided: BoolArray
    strength: FloatArray
    rater: IntArray
    raters: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.verdict)

    @property
    def winners(self) -> IntArray:
        """The preferred item of each verdict that is no tie, in the order of the verdicts."""
        return np.where(self.verdict < 0, self.first, self.second)[self.decided]

    @property
    def losers(self) -> IntArray:
        """The other item of each verdict that is no tie."""
        return np.where(self.verdict < 0, self.second, self.first)[self.decided]

    @property
    def ties(self) -> IntArray:
        """The items of each tie: (t, 2)."""
        return np.stack([self.first, self.second], axis=1)[~self.decided]

    @property
    def decided(self) -> BoolArray:
        """True if a verdict is no tie: (n,)."""
        decided: BoolArray = self.verdict != 0
        return decided

    def majorities(self) -> "Preferences":
        """Return the verdict on each pair that has more votes than each other one, whose rater is "majority"."""
        ends = np.sort(np.stack([self.first, self.second], axis=1), axis=1)
        pairs, unit = np.unique(ends, axis=0, return_inverse=True)
        verdict = np.where(self.first == ends[:, 0], self.verdict, -self.verdict)
        counts = [np.bincount(unit.ravel(), verdict == value, minlength=len(pairs)) for value in VALUES]
        majority = majority_of_counts(np.stack(counts, axis=1))
        is_known = ~np.isnan(majority)
        n = int(is_known.sum())
        return replace(
            self,
            first=pairs[is_known, 0],
            second=pairs[is_known, 1],
            verdict=majority[is_known],
            sided=np.zeros(n, dtype=bool),
            strength=np.full(n, np.nan),
            rater=np.zeros(n, dtype=np.int64),
            raters=("majority",),
        )


def read_preferences(study: Study, choice: Chosen) -> Preferences:
    """Read the chosen raters' verdicts: people's counted votes, one a person and pair, and judges' presentations.

    A judge that was asked in both orders gives two verdicts on a pair.

    Raises: UnknownName for a rater or a data set that the study does not have.
    """
    existing = {f"{JUDGE}{run.judge.name}": run for run in judges_of(study, question=choice.question)}
    if strangers := [name for name in choice.raters if name != PEOPLE and name not in existing]:
        raise UnknownName(reason("no_ratings_by", study=study.slug, raters=strangers, existing=[PEOPLE, *existing]))
    runs = [existing[name] for name in dict.fromkeys(choice.raters) if name != PEOPLE]
    selections = select_each(study, _configurations(study, choice))
    judged = judgments_on_each(study, selections, [run.judge for run in runs], question=choice.question)
    by_rater = [[item.shown for item in on_each] for on_each in judged]
    if PEOPLE in choice.raters:
        people = human_answers_on_each(study, selections, stage=choice.stage, question=choice.question)
        by_rater.append([drop_repeats(person.rated)[0] for person in people])
    raters = (*(f"{JUDGE}{run.judge.name}" for run in runs), *([PEOPLE] if PEOPLE in choice.raters else []))
    columns = [  # (n, 6) of `as_shown`, the strength and the rater
        np.column_stack([as_shown(rated, texts), rated.strength, np.full(len(rated.strength), float(rater))])
        for texts, of_raters in zip(_texts(study, selections), zip(*by_rater, strict=True), strict=True)
        for rater, rated in enumerate(of_raters)
    ]
    rows = np.concatenate([np.zeros((0, 6)), *columns])
    is_known = ~np.isnan(rows[:, 2])
    items = read_texts(study).items(rows[is_known, :2].astype(np.int64))
    return Preferences(
        generation=items.generation,
        instance=items.instance,
        instances=items.instances,
        first=items.shown[:, 0],
        second=items.shown[:, 1],
        verdict=rows[is_known, 2],
        missing=int((~is_known).sum()),
        sided=rows[is_known, 3] > 0,
        strength=rows[is_known, 4],
        rater=rows[is_known, 5].astype(np.int64),
        raters=raters,
    )


def _configurations(study: Study, choice: Chosen) -> list[Configuration]:
    existing = configurations(study, checks=False)
    results = [item for item in existing if choice.dataset in ("", item.dataset)]
    if choice.dataset and not results:
        datasets = list(dict.fromkeys(item.dataset for item in existing)) or "none"
        raise UnknownName(reason("no_dataset", study=study.slug, dataset=choice.dataset, datasets=datasets))
    return [item for item in results if {*choice.systems} <= {item.system_a.name, item.system_b.name}]


def _texts(study: Study, selections: Sequence[Selection]) -> list[dict[tuple[int, int], tuple[int, int]]]:
    """Return the two generations of each selection's pairs, by the code of their instance there and their index."""
    at = {pk: (of, code) for of, selection in enumerate(selections) for code, pk in enumerate(selection.matchup_ids)}
    results: list[dict[tuple[int, int], tuple[int, int]]] = [{} for _ in selections]
    pairs = Pair.objects.filter(matchup__instance__study=study).order_by()
    for matchup, index, a, b in pairs.values_list("matchup_id", "index", "generation_a_id", "generation_b_id"):
        if matchup in at:
            of, code = at[matchup]
            results[of][code, index] = (a, b)
    return results


def read_texts(study: Study) -> Texts:
    """Read the texts of a study, in its order."""
    ordered = Generation.objects.filter(instance__study=study).order_by(
        "instance__position", "system__position", "index"
    )
    return Texts(*number_columns(ordered, "pk", "instance_id").astype(np.int64))
