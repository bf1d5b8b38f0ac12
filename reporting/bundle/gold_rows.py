"""Judges beside the gold of the pairs in a bundle, by the rules of `judging.outcomes.gold`. No models."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from analysis.accuracy import A_FIRST, B_FIRST
from analysis.types import FloatArray, IntArray
from annotation.core.database.columns import places, places_of_two
from annotation.questions.questions import MAIN
from judging.outcomes.gold_arrays import GoldPairs, JudgedGold, Presentations
from reporting.bundle.judge_rows import JURY, ORDERS, PENDING, JudgeRows, read_judge_settings
from reporting.bundle.opening import Bundle
from reporting.bundle.structure import Structure, integers
from reporting.core.wordings import JudgeSettings

NUMBERED = ("run", "pair", "repeat", "negated")
SPENT = ("prompt_tokens", "completion_tokens")


def gold_pairs(structure: Structure) -> GoldPairs:
    """Return the pairs whose gold says something about their two systems."""
    instance = structure.instance[structure.pair_matchup]
    said = [structure.expected(pair) for pair in range(len(structure.pair))]
    gold = np.array([np.nan if one is None else one for one in said], dtype=np.float64)
    pairs = np.flatnonzero(~np.isnan(gold))
    pairs = pairs[np.lexsort((structure.index[pairs], structure.pair_matchup[pairs], instance[pairs]))]
    of = instance[pairs]
    datasets = [structure.datasets[place] for place in of.tolist()]
    tags = [structure.tags[place] for place in of.tolist()]
    named = sorted({tag for each in tags for tag in each})
    return GoldPairs(
        pair_ids=tuple(structure.pair[pairs].tolist()),
        instance=of,
        gold=gold[pairs],
        datasets={name: np.array([one == name for one in datasets]) for name in sorted(set(datasets))},
        tags={tag: np.array([tag in each for each in tags]) for tag in named},
    )


def judges_beside_gold(
    bundle: Bundle, structure: Structure, judges: Sequence[JudgeRows]
) -> tuple[GoldPairs, list[tuple[JudgeSettings, JudgedGold]]]:
    """Return the pairs with gold, and what each judge said of them.

    judges : as they were asked the main question
    """
    gold = gold_pairs(structure)
    if not len(gold):
        return gold, []
    settings, recorded = read_judge_settings(bundle), _Recorded(bundle, structure)
    place = np.full(len(structure.pair), -1)
    place[places(structure.pair, np.array(gold.pair_ids))] = np.arange(len(gold))
    found = []
    for judge in judges:
        at = place[integers(judge.cells[1])]
        is_jury = judge.settings["method"] == JURY
        kept = (at >= 0) & ~(is_jury & (judge.cells[3] == PENDING))
        said = recorded.presentations(judge.cells[:, kept], at[kept], is_jury=is_jury)
        found.append((settings[judge.settings["id"]], said.beside(gold, judge.settings["method"])))
    return gold, [(one, judged) for one, judged in found if (judged.status > 0).any()]


class _Recorded:
    """What presentations took and how their rationales were marked, from the records and the readable rows."""

    def __init__(self, bundle: Bundle, structure: Structure) -> None:
        asked = {row["key"]: float(row["number"]) for row in bundle.study["questions"]}
        named = {"question": asked.__getitem__} if len(asked) > 1 else {}
        self.shown, self.spent = _main(bundle, structure, "judgments", ("calls", *SPENT), named)
        columns = ("id", "cached", *SPENT)
        self.recorded, self.stored = _main(bundle, structure, "records/judgment", columns, {"question": float})
        marked, is_sound = bundle.numbers_in("records/rationalemark", "judgment", sound=float)
        judgment = integers(self.stored[0])
        by_key = np.argsort(judgment)
        at = places(judgment[by_key], marked)
        counts = [np.bincount(by_key[at[(at >= 0) & (is_sound == sound)]], minlength=len(by_key)) for sound in (1, 0)]
        self.marks = np.array(counts, dtype=np.float64)

    def presentations(self, cells: FloatArray, place: IntArray, *, is_jury: bool) -> Presentations:
        """Return presentations, as `JudgeRows` has them, of the pairs at these places."""
        order = np.where(cells[2] > 0, A_FIRST, B_FIRST)
        n = len(place)
        if is_jury:
            none, unknown = np.zeros(n), np.full((2, n), np.nan)
            numbers = none, none, unknown, unknown, np.zeros((2, n))
        else:
            key = integers(cells[0]), integers(2 * cells[1] + cells[2])
            calls, *taken = _at(self.spent, places_of_two(self.shown, key))
            row = places_of_two(self.recorded, key)
            _, cached, *made = _at(self.stored, row)
            numbers = calls, cached, np.stack(made), np.stack(taken), np.nan_to_num(_at(self.marks, row))
        return Presentations(place, order, integers(cells[3]), cells[4], *numbers)


def _main(
    bundle: Bundle,
    structure: Structure,
    name: str,
    columns: tuple[str, ...],
    codes: dict[str, Callable[[Any], float]],
) -> tuple[tuple[IntArray, IntArray], FloatArray]:
    """Return run and presentation, a number of pair and order, of the plain first answers to the main question, and columns."""
    found = bundle.numbers_in(name, *NUMBERED, *columns, order=ORDERS.__getitem__, **codes)
    run, pair, repeat, negated = found[: len(NUMBERED)]
    is_a = found[len(NUMBERED) + len(columns)]
    is_main = (repeat == 0) & (negated == 0)
    if codes:
        is_main &= found[-1] == MAIN
    shown = 2 * places(structure.pair, pair) + is_a
    return (integers(run[is_main]), integers(shown[is_main])), found[len(NUMBERED) : -1 - len(codes), is_main]


def _at(columns: FloatArray, rows: IntArray) -> FloatArray:
    """Return some columns of numbers, NaN for -1."""
    return np.append(columns, np.full((len(columns), 1), np.nan), axis=1)[:, rows]
