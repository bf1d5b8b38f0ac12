"""Every answer of judges and people in a bundle, with its order, repeat and negation, as `logic.answers` reads them. No models."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np

from analysis.types import FloatArray
from annotation.studies.rated_pairs import RatedPairs
from reporting.bundle.judge_rows import JURY, PENDING, JudgeRows, read_judge_settings
from reporting.bundle.opening import Bundle
from reporting.bundle.structure import SelectedRows, Structure, integers
from reporting.core.votes import drop_repeats
from reporting.logic.audits import Asked, named
from reporting.logic.presentations import (
    Target,
    TextPairs,
    Texts,
    as_shown,
    gold_target,
    judge_presentations,
    majority_target,
    people_presentations,
)


class AnswerRows:
    """What judges and people answered.

    answers : (9, n) of judges: run, place of the pair, A first, status, verdict, probability of B, question, repeat, negated
    """

    def __init__(self, bundle: Bundle, structure: Structure, answers: FloatArray) -> None:
        self.bundle = bundle
        self.structure = structure
        self.answers = answers
        self.runs = sorted(bundle.rows("records/judgerun"), key=lambda row: (row["created_at"], row["id"]))
        self.rank = {run["id"]: number for number, run in enumerate(self.runs)}

    def asked(self, question: int, judges: Sequence[JudgeRows], votes: FloatArray) -> Iterator[Asked]:
        """Yield people and the judges, one after the other, with all that they answered to a question.

        votes : as of `people_votes`
        """
        target = majority_target(votes) | self._gold
        yield named(None), people_presentations(self._pairs, votes, self._gold)
        settings = read_judge_settings(self.bundle)
        latest = {run["judge"]: run for run in self.runs if question in run["questions"]}
        for judge in judges:
            key, is_jury = judge.settings["id"], judge.settings["method"] == JURY
            about = named(settings[key], on_chosen=bool(latest[key]["pair_filter"].get("on_demand")))
            answers = _of_jury(judge) if is_jury else self._of(key, question)
            yield about, judge_presentations(self._pairs, self._untuned(judge, answers), target, ordered=not is_jury)

    @cached_property
    def _pairs(self) -> TextPairs:
        structure = self.structure
        texts = Texts(*integers(self.bundle.numbers_in("records/generation", "id", "instance")))
        dataset = dict(zip(structure.instance_pk.tolist(), structure.datasets, strict=True))
        return TextPairs(texts, dataset, np.arange(len(structure.pair)), structure.text_a, structure.text_b)

    @cached_property
    def _gold(self) -> Target:
        structure = self.structure
        gold = [structure.gold[place] for place in structure.instance[structure.pair_matchup].tolist()]
        sides = (structure.system_a, structure.system_b)
        names = ([structure.systems[pk].name for pk in side[structure.pair_matchup].tolist()] for side in sides)
        return gold_target(zip(structure.text_a.tolist(), structure.text_b.tolist(), gold, *names, strict=True))

    def _of(self, judge: int, question: int) -> FloatArray:
        """Return a judge's answers, as `judge_presentations` takes them; of several runs the latest to the same presentation."""
        runs = [run["id"] for run in self.runs if run["judge"] == judge]
        wanted = np.isin(self.answers[0], runs) & (self.answers[6] == question) & (self.answers[3] != PENDING)
        run, pair, a_first, _, verdict, p_b, _, repeat, negated = self.answers[:, wanted]
        age = np.array([self.rank[one] for one in integers(run).tolist()], dtype=np.int64)
        shown = np.stack([pair, a_first, repeat, negated])
        order = np.lexsort((age, *shown[::-1]))
        last = np.append(np.diff(shown[:, order]).any(axis=0), True)[: len(order)]
        latest: FloatArray = np.column_stack([*shown, verdict, p_b])[order[last]]
        return latest

    def _untuned(self, judge: JudgeRows, answers: FloatArray) -> FloatArray:
        """Leave out answers on the instances that a judge was tuned on."""
        used = {tuple(key) for key in judge.settings.get("tuned", {}).get("instances", ())}
        structure = self.structure
        keys = zip(structure.datasets, structure.instance_ids, strict=True)
        free = np.array([key not in used for key in keys], dtype=bool)
        kept: FloatArray = answers[free[structure.instance[structure.pair_matchup[integers(answers[:, 0])]]]]
        return kept


def _of_jury(judge: JudgeRows) -> FloatArray:
    """Return a jury's verdicts on pairs, which have no order: as if A were first."""
    pair, verdict = JudgeRows(judge.settings, judge.cells[:, judge.cells[3] != PENDING]).by_pair()
    zeros = np.zeros(len(pair))
    return np.column_stack([pair, zeros + 1, zeros, zeros, verdict, zeros + np.nan])


def people_votes(rated: Iterable[tuple[SelectedRows, RatedPairs]], structure: Structure) -> FloatArray:
    """Return people's votes on each selection, as `people_presentations` takes them: one of a person on a pair."""
    found = [np.zeros((0, 4))]
    for one, given in rated:
        rows = np.flatnonzero(one.instance >= 0)
        units, texts = (one.instance, structure.index), (structure.text_a, structure.text_b)
        named = (zip(*(column[rows].tolist() for column in columns), strict=True) for columns in (units, texts))
        found.append(as_shown(drop_repeats(given)[0], dict(zip(*named, strict=True))))
    votes = np.concatenate(found)
    return votes[~np.isnan(votes[:, 2])]
