"""Ratings → preferences between the texts of each instance, by people, judges or both."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.types import BoolArray, FloatArray, IntArray
from annotation.core.database.columns import number_columns
from annotation.core.errors import UnknownName
from annotation.models import Generation, Pair, Study
from annotation.studies.configurations import Configuration, configurations
from annotation.studies.outcomes import Selection, human_answers_on_each, select_each
from annotation.studies.rated_pairs import RatedPairs
from judging.models import JudgeRun
from judging.outcomes.judgments import judges_of, judgments_on_each
from reporting.core.votes import drop_repeats
from reporting.logic.presentations import Texts, as_shown

PEOPLE = "people"
JUDGE = "judge:"


@dataclass(frozen=True, eq=False)
class Chosen:
    """Whose ratings are used, and of what.

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
        """Whether a verdict is no tie: (n,)."""
        decided: BoolArray = self.verdict != 0
        return decided


def read_preferences(study: Study, chosen: Chosen) -> Preferences:
    """Read the chosen raters' verdicts: people's counted votes, one a person and pair, and judges' presentations.

    A judge that was asked in both orders gives two verdicts on a pair.

    Raises: UnknownName for a rater or a data set that the study does not have.
    """
    runs = _runs(study, chosen)
    selections = select_each(study, _configurations(study, chosen))
    on_each = zip(*_rated(study, selections, runs, chosen), strict=True)
    raters = (*(f"{JUDGE}{run.judge.name}" for run in runs), *([PEOPLE] if PEOPLE in chosen.raters else []))
    columns = [
        _columns(rated, texts, rater)
        for texts, of_raters in zip(_texts(study, selections), on_each, strict=True)
        for rater, rated in enumerate(of_raters)
    ]
    rows = np.concatenate([np.zeros((0, 6)), *columns])
    known = ~np.isnan(rows[:, 2])
    items = read_texts(study).items(rows[known, :2].astype(np.int64))
    return Preferences(
        generation=items.generation,
        instance=items.instance,
        instances=items.instances,
        first=items.shown[:, 0],
        second=items.shown[:, 1],
        verdict=rows[known, 2],
        missing=int((~known).sum()),
        sided=rows[known, 3] > 0,
        strength=rows[known, 4],
        rater=rows[known, 5].astype(np.int64),
        raters=raters,
    )


def _runs(study: Study, chosen: Chosen) -> list[JudgeRun]:
    """Find a run of each chosen judge."""
    runs = {f"{JUDGE}{run.judge.name}": run for run in judges_of(study, question=chosen.question)}
    if strangers := [name for name in chosen.raters if name != PEOPLE and name not in runs]:
        known = ", ".join([PEOPLE, *runs])
        raise UnknownName(f"study {study.slug} has no ratings by {', '.join(strangers)}; it has those of {known}")
    return [runs[name] for name in dict.fromkeys(chosen.raters) if name != PEOPLE]


def _configurations(study: Study, chosen: Chosen) -> list[Configuration]:
    known = configurations(study, checks=False)
    found = [one for one in known if chosen.dataset in ("", one.dataset)]
    if chosen.dataset and not found:
        listed = ", ".join(dict.fromkeys(one.dataset for one in known)) or "none"
        raise UnknownName(f"study {study.slug} has no data set {chosen.dataset}; it has {listed}")
    return [one for one in found if {*chosen.systems} <= {one.system_a.name, one.system_b.name}]


def _rated(
    study: Study, selections: Sequence[Selection], runs: Sequence[JudgeRun], chosen: Chosen
) -> list[list[RatedPairs]]:
    """Return each rater's verdicts on each selection."""
    judged = judgments_on_each(study, selections, [run.judge for run in runs], question=chosen.question)
    found = [[one.shown for one in on_each] for on_each in judged]
    if PEOPLE in chosen.raters:
        people = human_answers_on_each(study, selections, stage=chosen.stage, question=chosen.question)
        found.append([drop_repeats(one.rated)[0] for one in people])
    return found


def _texts(study: Study, selections: Sequence[Selection]) -> list[dict[tuple[int, int], tuple[int, int]]]:
    """Return the two generations of each selection's pairs, by the code of their instance there and their index."""
    at = {pk: (of, code) for of, one in enumerate(selections) for code, pk in enumerate(one.matchup_ids)}
    found: list[dict[tuple[int, int], tuple[int, int]]] = [{} for _ in selections]
    pairs = Pair.objects.filter(matchup__instance__study=study).order_by()
    for matchup, index, a, b in pairs.values_list("matchup_id", "index", "generation_a_id", "generation_b_id"):
        if matchup in at:
            of, code = at[matchup]
            found[of][code, index] = (a, b)
    return found


def _columns(rated: RatedPairs, texts: dict[tuple[int, int], tuple[int, int]], rater: int) -> FloatArray:
    """(n, 6) of `as_shown`, the strength and the rater."""
    return np.column_stack([as_shown(rated, texts), rated.strength, np.full(len(rated.strength), float(rater))])


def read_texts(study: Study) -> Texts:
    """Read the texts of a study, in its order."""
    ordered = Generation.objects.filter(instance__study=study).order_by(
        "instance__position", "system__position", "index"
    )
    return Texts(*number_columns(ordered, "pk", "instance_id").astype(np.int64))
