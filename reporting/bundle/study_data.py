"""What findings are computed from, read from a bundle's rows alone: as `findings.data.reading` reads it from the database.

Votes and judgments come from the readable rows; which pairs stood on which HITs, and whose work counts, from the records.
No models.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from analysis.types import FloatArray, IntArray, Outcomes
from annotation.core.database.columns import places, places_of_two
from annotation.questions.questions import MAIN, Question
from annotation.studies.rated_pairs import RatedPairs
from judging.core.constants import BASELINES
from judging.outcomes.answer_origins import Provenance
from judging.outcomes.gold_arrays import GoldPairs, JudgedGold
from reporting.bundle.alignment_rows import AlignmentRows
from reporting.bundle.answer_rows import AnswerRows, people_votes
from reporting.bundle.gold_rows import judges_beside_gold
from reporting.bundle.judge_rows import JURY, ORDERS, PENDING, STATUSES, JudgeRows, jury_rows
from reporting.bundle.layout import Contents
from reporting.bundle.opening import Bundle
from reporting.bundle.people_rows import read_ratings, read_work
from reporting.bundle.provenance_rows import read_provenance
from reporting.bundle.second_vote_rows import read_second_votes
from reporting.bundle.structure import SelectedRows, Structure, integers, questions_of
from reporting.core.raters import PEOPLE, Positions, Rater, rater
from reporting.core.votes import by_position
from reporting.core.wordings import JudgeSettings
from reporting.findings.data.inputs import (
    Checks,
    ConfigurationData,
    Filters,
    JuryMembers,
    Selected,
    StudyData,
)
from reporting.logic.audits import Asked
from reporting.separability.arrays import SeparabilityData, SeparabilityFilters
from reporting.table_effect.arrays import SecondVotes


class BundledStudy:
    """The rows of a bundle, read once; `data` makes of them what some filters ask for."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle
        self.structure = Structure(bundle)
        self.work = read_work(bundle, self.structure)
        self.ratings = read_ratings(bundle, self.structure, self.work)
        self.alignments = AlignmentRows(bundle, self.structure)
        self._provenance_by_judge: dict[int, Provenance] | None = None
        self._judges_of: dict[int, list[JudgeRows]] = {}  # by question; several pages are about the same ones

    @property
    def slug(self) -> str:
        """Its name in addresses."""
        return str(self.bundle.study["study"])

    @property
    def contents(self) -> Contents:
        """What left the server beside the numbers."""
        return self.bundle.contents

    @property
    def questions(self) -> Sequence[Question]:
        """What raters are asked."""
        return questions_of(self.bundle)

    @property
    def is_two_stage(self) -> bool:
        """Whether raters vote twice."""
        return bool(self.bundle.study["settings"]["protocol"] == "two-stage")

    def data(self, filters: Filters) -> StudyData:
        """Return what findings are computed from; of the filters only question and stage are heeded."""
        structure = self.structure
        people = [self._people(one, filters) for one in structure.selections]
        placed = [one for one in structure.selections if structure.batches_of(one.key)]
        unplaced = {one.key: one for one in structure.unplaced(one.key for one in placed)}
        judges = self._judges(filters.question_number)
        configurations = tuple(
            ConfigurationData(
                configuration=one.compared,
                selection=Selected(self._instance_ids(one), structure.pairs_in(one)),
                separability=self.alignments.separability(one, filters.bins),
                people=people[number],
                judges=tuple(found for judge in judges if (found := judge.on(one, structure)) is not None),
                chosen=one.chosen,
                judged_only=(
                    {judge.name: judge.verdicts_on(unplaced[one.key], structure).outcomes for judge in judges}
                    if one.key in unplaced
                    else {}
                ),
            )
            for number, one in enumerate(structure.selections)
        )
        return StudyData(
            slug=self.slug,
            configurations=configurations,
            alignments=self.alignments.by_shared_measure(),
            scripted=self.work.scripted,
            checks=self._checks({code for one in people for code in one.rated.raters}),
            amendments=self.bundle.study["amendments"],
            tuned={
                one.settings["name"]: len(one.settings["tuned"]["instances"])
                for one in judges
                if "instances" in one.settings.get("tuned", {})
            },
            juries=tuple(
                JuryMembers.of(one.settings["name"], one.settings["params"])
                for one in judges
                if one.settings["method"] == JURY
            ),
            baselines=frozenset(one.settings["name"] for one in judges if one.settings["method"] in BASELINES),
            provenance={} if filters.estimates_only else self._provenance(judges),
        )

    def judges_beside_gold(self) -> tuple[GoldPairs, Sequence[tuple[JudgeSettings, JudgedGold]]]:
        """Return the pairs with gold, and what each judge said of them."""
        return judges_beside_gold(self.bundle, self.structure, self._judges(MAIN))

    def second_votes(self) -> SecondVotes:
        """Return people's second votes with their first votes."""
        return read_second_votes(self.bundle, self.structure, self.work, self.ratings, self._cells)

    def separability(self, filters: SeparabilityFilters) -> SeparabilityData:
        """Return what the page on separability is computed from; of the filters only the question is heeded."""
        return self.alignments.of_page(self.data(Filters(question=filters.question, estimates_only=True)))

    def asked(self, question: int) -> Iterator[Asked]:
        """Yield people and all judges, one after the other, with all that they answered to a question."""
        filters = Filters(question=self.questions[question])
        votes = people_votes([(one, self._rated(one, filters)) for one in self.structure.selections], self.structure)
        return AnswerRows(self.bundle, self.structure, self._answers).asked(question, self._judges(question), votes)

    def _instance_ids(self, one: SelectedRows) -> tuple[str, ...]:
        places_of = self.structure.instance[one.matchup].tolist()
        return tuple(self.structure.instance_ids[place] for place in places_of)

    def _people(self, one: SelectedRows, filters: Filters) -> Rater:
        """Return people's counted answers, and how many others there are."""
        rated = self._rated(one, filters)
        outcomes = rated.outcomes
        positions = Positions(outcomes.instance, by_position(outcomes.verdict, rated.first_is_a), outcomes.rater)
        answers = self.ratings.rows(filters.question_number, revised=filters.stage != "first")
        of_here = answers[one.of_here[self.ratings.pair[answers]]]
        left_out = self.work.left_out(self.ratings.assignment[of_here])
        return rater(PEOPLE, "person", rated, positions, left_out)

    def _rated(self, one: SelectedRows, filters: Filters) -> RatedPairs:
        """Return people's counted answers: a row for each pair of an answered HIT, in the order of the assignments."""
        work, given, structure = self.work, self.ratings, self.structure
        revised = filters.stage != "first"
        answers = given.rows(filters.question_number, revised=revised)
        of, pair, chance = self._asked
        found = places_of_two((given.assignment[answers], given.pair[answers]), (of, pair))
        is_answered = found >= 0
        kept = (np.bincount(of[is_answered], minlength=len(work.key)) > 0)[of] & (one.instance[pair] >= 0)
        if revised:
            kept &= is_answered
        of, pair, chance = of[kept], pair[kept], chance[kept]
        row = np.where(found[kept] >= 0, answers[found[kept]], -1) if len(answers) else np.full(len(of), -1)
        timed = given.rows(MAIN, revised=revised)
        at = places_of_two((given.assignment[timed], given.pair[timed]), (of, pair))
        seconds = np.append(given.seconds[timed], np.nan)[at]
        persons, person = np.unique(work.person[of], return_inverse=True)
        codes = [work.codes[number] for number in persons.tolist()]
        by_code = sorted(range(len(codes)), key=codes.__getitem__)
        rank = np.empty(len(codes), dtype=np.int64)
        rank[by_code] = np.arange(len(codes))
        verdict = _at(given.verdict, row)
        position = _at(given.position.astype(np.float64), row)
        zeros = np.zeros(len(of), dtype=np.int64)
        rated = RatedPairs(
            Outcomes(one.instance[pair], structure.index[pair], zeros, zeros + 1, verdict, rank[person]),
            first_is_a=_at(given.first_is_a, row),
            raters=tuple(codes[place] for place in by_code),
            chance=chance,
            seconds=seconds,
            shown=of * (1.0 + given.position.max(initial=0)) + position,
            strength=np.full(len(of), np.nan),
            tie_kind=zeros,
        )
        asked = self.questions[filters.question_number]
        if asked.strength or asked.tie_kinds:
            kinds = np.nan_to_num(_at(given.tie_kind, row)).astype(np.int64)  # 0 is "not known"
            rated = replace(rated, asked=asked, strength=_at(given.strength, row), tie_kind=kinds)
        return rated

    @cached_property
    def _asked(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Return a row for each pair of each counted assignment: the assignment, the pair, and the chance of the HIT."""
        structure, work = self.structure, self.work
        listed, start, size = np.unique(structure.on_hit, return_index=True, return_counts=True)
        counted = np.flatnonzero(work.counts)
        at = places(listed, work.hit[counted])
        counted, at = counted[at >= 0], at[at >= 0]
        sizes = size[at]
        first = np.cumsum(sizes) - sizes
        place = np.arange(sizes.sum()) + np.repeat(start[at] - first, sizes)
        of = np.repeat(counted, sizes)
        return of, structure.on_pair[place], structure.hit_chance[places(structure.hit, work.hit[of])]

    def _checks(self, codes: set[str]) -> dict[str, Checks]:
        work, given = self.work, self.ratings
        counts: Counter[tuple[str, str]] = Counter()
        main = np.concatenate([given.rows(MAIN, revised=revised) for revised in (False, True)])
        before: dict[tuple[int, int], set[float]] = {}
        place_of = {key: place for place, key in enumerate(work.key.tolist())}
        repeated = {place_of[key] for key in work.repeat_of.tolist() if key in place_of}
        for row in main.tolist():
            if (of := int(given.assignment[row])) in repeated:
                before.setdefault((of, int(given.pair[row])), set()).add(float(given.verdict[row]))
        for row in given.rows(MAIN, revised=False).tolist():
            of, pair, verdict = int(given.assignment[row]), int(given.pair[row]), float(given.verdict[row])
            code = work.codes[work.person[of]]
            if not work.submitted[of] or code not in codes:
                continue
            if work.purpose[of] == "gold":
                counts[code, "gold_asked"] += 1
                counts[code, "gold_right"] += verdict == self.structure.expected(pair)
            elif work.purpose[of] == "repeat":
                earlier = before.get((place_of[int(work.repeat_of[of])], pair))
                if earlier is not None:
                    counts[code, "repeat_asked"] += 1
                    counts[code, "repeat_same"] += verdict in earlier
        names = ("gold_asked", "gold_right", "repeat_asked", "repeat_same")
        found = {code: Checks(*(counts[code, name] for name in names)) for code in codes}
        return {code: one for code, one in found.items() if one.gold_asked or one.repeat_asked}

    def _provenance(self, judges: Sequence[JudgeRows]) -> dict[str, Provenance]:
        """Return the provenance of the judges' answers."""
        if self._provenance_by_judge is None:
            self._provenance_by_judge = read_provenance(self.bundle)
        found = self._provenance_by_judge
        return {one.settings["name"]: found[one.settings["id"]] for one in judges if one.settings["id"] in found}

    def _judges(self, question: int) -> list[JudgeRows]:
        """Return the judges that were asked a question, by name, each with the latest outcome of each presentation."""
        if question not in self._judges_of:
            self._judges_of[question] = self._read_judges(question)
        return self._judges_of[question]

    def _read_judges(self, question: int) -> list[JudgeRows]:
        settings = {row["id"]: row for row in self.bundle.rows("records/judge")}
        runs = sorted(self.bundle.rows("records/judgerun"), key=lambda row: (row["created_at"], row["id"]))
        asked = {run["judge"] for run in runs if question in run["questions"]}
        cells = self._cells
        rank = {run["id"]: number for number, run in enumerate(runs)}
        judge_of = {run["id"]: run["judge"] for run in runs}
        kept = cells[:, cells[6] == question]
        judge = np.array([judge_of[run] for run in integers(kept[0]).tolist()], dtype=np.int64)
        order = np.array([rank[run] for run in integers(kept[0]).tolist()], dtype=np.int64)
        found, of_pair = [], self._instance_of_pair
        asked = {pk for pk in asked if "candidate_of" not in settings[pk].get("tuned", {})}
        for pk in sorted(asked, key=lambda pk: settings[pk]["name"]):
            used = {tuple(key) for key in settings[pk].get("tuned", {}).get("instances", ())}
            free = np.array([key not in used for key in of_pair], dtype=bool)
            rows = (judge == pk) & free[integers(kept[1])]
            mine, when = kept[:, rows], order[rows]
            by = np.lexsort((when, mine[3] != PENDING, 1 - mine[2], mine[1]))
            last = np.append(np.diff(mine[1:3, by]).any(axis=0), True)[: len(by)]
            found.append(JudgeRows(settings[pk], mine[:, by[last]]))
        if not any(one.settings["method"] == JURY for one in found):
            return found
        by_name, voted = {one.settings["name"]: one for one in found}, self._voted(question)
        return [
            jury_rows(one.settings, by_name, voted, self.structure) if one.settings["method"] == JURY else one
            for one in found
        ]

    @cached_property
    def _instance_of_pair(self) -> list[tuple[str, str]]:
        """Data set and id of the instance of each pair."""
        structure = self.structure
        of = structure.instance[structure.pair_matchup].tolist()
        return [(structure.datasets[place], structure.instance_ids[place]) for place in of]

    def _voted(self, question: int) -> FloatArray:
        """(2, n) place of the pair and verdict of people's first votes that count, one of a person on a pair."""
        given = self.ratings
        rows = given.rows(question, revised=False)
        rows = rows[self.work.counts[given.assignment[rows]]]
        rows = rows[np.lexsort((given.position[rows], given.assignment[rows]))]
        keys = np.stack([given.pair[rows], self.work.person[given.assignment[rows]]])
        rows = rows[np.unique(keys, axis=1, return_index=True)[1]]
        return np.stack([given.pair[rows].astype(np.float64), given.verdict[rows]])

    @cached_property
    def _cells(self) -> FloatArray:
        """(7, n) of the first repeats of the plain questions: the columns of `_answers` but repeat and negation."""
        return self._answers[:7, ~self._answers[7:].any(axis=0)]

    @cached_property
    def _answers(self) -> FloatArray:
        """(9, n) run, place of the pair, A first, status, verdict, probability of B, question, repeat, negated; also open cells."""
        codes = {
            "order": ORDERS.__getitem__,
            "status": {one: float(place) for place, one in enumerate(STATUSES)}.__getitem__,
        }
        numbers = {one.key: float(one.number) for one in self.questions}
        columns = ("run", "pair", "verdict", "p_b", "repeat", "negated")
        asked_of = {"question": numbers.__getitem__} if len(numbers) > 1 else {}
        asked = self.bundle.numbers_in("judgments", *columns, **codes, **asked_of)
        if not asked_of:
            asked = np.append(asked, np.zeros((1, asked.shape[1])), axis=0)
        records = self.bundle.numbers_in("records/judgment", *columns, **codes, question=float)
        cells = np.append(asked, records[:, records[7] == PENDING], axis=1)
        run, pair, verdict, p_b, repeat, negated, first, status, question = cells
        place = places(self.structure.pair, pair)
        return np.stack([run, place, first, status, verdict, p_b, question, repeat, negated])


def _at(values: FloatArray, rows: IntArray) -> FloatArray:
    """Return the values of some rows, NaN for -1."""
    return np.append(values, np.nan)[rows]
