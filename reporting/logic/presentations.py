"""Models → arrays: every answer of a judge, or of people, with its order, repeat and negation."""

from dataclasses import dataclass

import numpy as np

from analysis.types import BoolArray, FloatArray, IntArray
from annotation.models import Instance, Pair, Study
from annotation.studies.gold import gold_verdict
from judging.models import Judge, Judgment
from judging.outcomes.judgments import verdicts_by_pair
from judging.outcomes.tuned import tuned_pairs
from reporting.logic.preferences import Chosen, Preferences, items_of, read_preferences

PENDING = Judgment.Status.PENDING
Target = dict[tuple[int, int], float]


@dataclass(frozen=True, eq=False)
class Presentations:
    """Answers of one rater. Items are the texts that it was shown, in the study's order, as in `Preferences`.

    generation, instance, instances : as of `Preferences`
    dataset                         : (n_instances,) codes into `datasets`
    first, second                   : (n,) items, the one that was shown first first
    repeat, negated                 : (n,) which repeat of the question, and whether it was the negated one
    verdict                         : (n,) -1 the first is preferred, 0 a tie, +1 the second (also by a negated question);
                                      NaN where there is none
    probability                     : (n,) that the first is better, where the endpoint gave it; else NaN
    target                          : (n,) as `verdict`, by gold, else by the majority of the people; NaN where there is neither
    pooled                          : whether they are votes of several people, whose sides were drawn for each
    ordered                         : whether the text that stands first was shown first; not by a jury, whose verdicts are on pairs
    """

    generation: IntArray
    instance: IntArray
    instances: IntArray
    dataset: IntArray
    datasets: tuple[str, ...]
    first: IntArray
    second: IntArray
    repeat: IntArray
    negated: BoolArray
    verdict: FloatArray
    probability: FloatArray
    target: FloatArray
    pooled: bool
    ordered: bool = True


def targets(study: Study, *, question: int = 0) -> Target:
    """Return what judges are compared with: gold, else the majority of people's first votes, by two generations in order."""
    return _majority(read_preferences(study, Chosen(question=question))) | _gold(study)


def judge_presentations(study: Study, judge: Judge, target: Target, *, question: int = 0) -> Presentations:
    """Read all answers of a judge on a study; of several runs the latest answer to the same presentation."""
    stored = (
        Judgment.objects.of_question(question)
        .filter(run__judge=judge, run__study=study)
        .exclude(status=PENDING)
        .order_by("run__created_at", "run_id", "pk")
        .values_list("pair_id", "order", "repeat", "negated", "verdict", "p_b")
    )
    latest = {row[:4]: row[4:] for row in stored}
    if judge.is_jury:  # on pairs, which have no order: as if A were first
        said = verdicts_by_pair(study, judge, question=question)
        latest = {(pair, Judgment.Order.AB, 0, False): (verdict, None) for pair, verdict in said.items()}
    pairs = Pair.objects.filter(matchup__instance__study=study).order_by()
    texts = {pk: (a, b) for pk, a, b in pairs.values_list("pk", "generation_a_id", "generation_b_id")}
    rows, used = [], set(tuned_pairs(study, judge).tolist())
    for (pair, order, repeat, negated), (verdict, p_b) in latest.items():
        if pair in used:
            continue
        a, b = texts[pair]
        place, p = (np.nan if value is None else value for value in (verdict, p_b))
        a_first = order == Judgment.Order.AB
        shown = (a, b, repeat, negated, place, 1 - p) if a_first else (b, a, repeat, negated, -place, p)
        rows.append(shown)
    table = np.array(rows, dtype=np.float64).reshape(-1, 6)
    return _presentations(study, table, target, pooled=False, ordered=not judge.is_jury)


def people_presentations(study: Study, *, question: int = 0) -> Presentations:
    """Read people's first votes; votes on two texts in one order count as repeats of one question."""
    given = read_preferences(study, Chosen(question=question))
    shown = np.stack([given.generation[given.first], given.generation[given.second]], axis=1)
    order = np.lexsort((shown[:, 1], shown[:, 0]))
    starts = np.flatnonzero(np.any(np.diff(shown[order], axis=0, prepend=-1) != 0, axis=1))
    repeat = np.zeros(len(shown), dtype=np.int64)
    repeat[order] = np.arange(len(shown)) - np.repeat(starts, np.diff([*starts.tolist(), len(shown)]))
    rows = np.column_stack([shown, repeat, np.zeros(len(shown)), given.verdict, np.full(len(shown), np.nan)])
    return _presentations(study, rows.reshape(-1, 6), _gold(study), pooled=True)


def _presentations(
    study: Study, rows: FloatArray, target: Target, *, pooled: bool, ordered: bool = True
) -> Presentations:
    """Build the arrays from (n, 6) rows of two generations, repeat, negated, verdict and probability."""
    shown = rows[:, :2].astype(np.int64)
    generation, instance, instances = items_of(study, set(shown.ravel().tolist()))
    order = np.argsort(generation)
    items = order[np.searchsorted(generation, shown, sorter=order)].reshape(-1, 2)
    names = dict(Instance.objects.filter(study=study).values_list("pk", "dataset"))
    of_instance = [names[pk] for pk in instances.tolist()]
    datasets = tuple(dict.fromkeys(of_instance))
    return Presentations(
        generation=generation,
        instance=instance,
        instances=instances,
        dataset=np.array([datasets.index(name) for name in of_instance], dtype=np.int64),
        datasets=datasets,
        first=items[:, 0],
        second=items[:, 1],
        repeat=rows[:, 2].astype(np.int64),
        negated=rows[:, 3].astype(bool),
        verdict=rows[:, 4] + 0.0,
        probability=rows[:, 5],
        target=np.array([target.get((one, other), np.nan) for one, other in shown.tolist()], dtype=np.float64),
        pooled=pooled,
        ordered=ordered,
    )


def _gold(study: Study) -> Target:
    """Return the gold verdict of each pair that has one, by its two generations in both orders."""
    rows = Pair.objects.filter(matchup__instance__study=study, matchup__instance__gold__isnull=False).order_by()
    names = ("matchup__instance__gold", "matchup__system_a__name", "matchup__system_b__name")
    found: Target = {}
    for one, other, gold, a, b in rows.values_list("generation_a_id", "generation_b_id", *names):
        if (verdict := gold_verdict(gold, a, b)) is not None:
            found |= {(one, other): float(verdict), (other, one): -float(verdict)}
    return found


def _majority(given: Preferences) -> Target:
    """Return the majority of the votes on each two generations, in both orders; an even split is a tie."""
    balance: Target = {}
    columns = (given.generation[given.first], given.generation[given.second], given.verdict)
    for one, other, verdict in zip(*(column.tolist() for column in columns), strict=True):
        for key, value in (((one, other), verdict), ((other, one), -verdict)):
            balance[key] = balance.get(key, 0.0) + value
    return {key: float(np.sign(value)) for key, value in balance.items()}
