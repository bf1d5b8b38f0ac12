"""Second votes in a bundle, by the rules of `table_effect.reading`. No models."""

from itertools import groupby

import numpy as np

from analysis.types import FloatArray
from annotation.core.database.columns import places
from annotation.questions.questions import MAIN
from reporting.bundle.judge_rows import ORDERS, PARSED
from reporting.bundle.layout import BadBundle
from reporting.bundle.opening import Bundle
from reporting.bundle.people_rows import RatingRows, Work
from reporting.bundle.structure import Structure, integers
from reporting.table_effect.arrays import Collected, SecondVotes, Vote, agreed_verdicts, arrays_of


def read_second_votes(
    bundle: Bundle, structure: Structure, work: Work, given: RatingRows, cells: FloatArray
) -> SecondVotes:
    """Return all second votes with their first votes.

    cells : judgments, as `BundledStudy` reads them
    """
    collected = _collected(work, given)
    by_id = sorted(range(len(structure.datasets)), key=lambda at: (structure.datasets[at], structure.instance_ids[at]))
    rank = np.argsort(by_id)
    of_pair = rank[structure.instance[structure.pair_matchup]]
    collected.excluded |= work.left_out(given.assignment[given.rows(MAIN, revised=True)])
    return arrays_of(
        collected,
        {pair: (int(of_pair[pair]), structure.expected(pair)) for pair, _ in collected.decisions},
        implied=_table_verdicts(bundle, structure, cells),
        reasoned=set(np.flatnonzero(given.reasoned).tolist()),
        scripted=frozenset(place for place, code in enumerate(work.codes) if code in work.scripted),
        chosen=structure.caveats(structure.rated),
    )


def _collected(work: Work, given: RatingRows) -> Collected:
    """Collect the votes of assignments that count, in the order of these and of the pairs on their pages."""
    collected = Collected()
    rows = np.concatenate([given.rows(MAIN, revised=revised) for revised in (False, True)])
    rows = rows[work.counts[given.assignment[rows]]]
    if given.revised[rows].any():
        rows = rows[np.lexsort((given.pair[rows], given.position[rows], given.assignment[rows]))]
        for (of, pair), alike in groupby(rows.tolist(), key=lambda row: (given.assignment[row], given.pair[row])):
            by_stage = {bool(given.revised[row]): _vote(given, row) for row in alike}
            collected.add(int(pair), int(work.person[of]), work.arm[of], by_stage.get(False), by_stage.get(True))
    return collected


def _vote(given: RatingRows, row: int) -> Vote:
    table = int(given.table[row])
    arm = given.arms[given.arm[row]]
    return Vote(row, float(given.verdict[row]), float(given.seconds[row]), arm, None if table < 0 else table)


def _table_verdicts(bundle: Bundle, structure: Structure, cells: FloatArray) -> dict[int, float]:
    """Return the verdicts that judges reached with the tables they made: who made which, by the records; of the cells."""
    maker, table = integers(bundle.numbers_in("records/tablemaking", "judgment", "table"))
    if not len(maker):
        return {}
    columns = ("id", "run", "pair", "question", "repeat", "negated")
    judgments = bundle.numbers_in("records/judgment", *columns, order=ORDERS.__getitem__)
    judgments = judgments[:, np.argsort(judgments[0])]
    at = places(integers(judgments[0]), maker)
    if (at < 0).any():
        raise BadBundle("records/tablemaking: a row names a judgment that is not in records/")
    _, run, pair, question, repeat, negated, first = judgments[:, at]
    plain = (question == MAIN) & (repeat == 0) & (negated == 0)
    asked = np.stack([run, places(structure.pair, integers(pair)), first]).T[plain]
    parsed = cells[:, (cells[3] == PARSED) & (cells[6] == MAIN) & np.isin(cells[0], run)]
    verdict_of = {(run, pair, first): verdict for run, pair, first, verdict in parsed[[0, 1, 2, 4]].T.tolist()}
    return agreed_verdicts(
        (of, verdict_of.get(tuple(key)))
        for of, key in zip(table[plain].tolist(), asked.tolist(), strict=True)
        if of >= 0
    )
