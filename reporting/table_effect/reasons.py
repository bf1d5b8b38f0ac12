"""Why people kept or changed a vote in the second stage, in their own words."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from analysis.bias.revision import BY_CHANGE
from analysis.types import IntArray
from annotation.models import Rating
from reporting.core.estimates import number
from reporting.table_effect.arrays import SecondVotes

CHUNK = 500
KEYS = ("instance", "table")  # primary keys, for links only


@dataclass(frozen=True)
class Reason:
    """One person's reason for one decision, with its context.

    before, after, gold, table_verdict : in study order; None where missing
    change                             : change of the score, as in `analysis.bias.revision`; None without gold
    table, table_id                    : primary key and id of the shown table; None without one
    """

    rater: str
    arm: str
    instance_id: str
    instance: int
    pair_index: int
    dataset: str
    before: float | None
    after: float | None
    change: str | None
    gold: float | None
    table: int | None
    table_id: str | None
    table_verdict: float | None
    reason: str


def reasons_in(votes: SecondVotes, arm: str | None = None) -> IntArray:
    """Return the indices of the decisions with a reason, in one arm or in all, in the order given."""
    is_chosen = votes.reasoned if arm is None else votes.reasoned & (votes.arm == _place(votes, arm))
    rows = np.flatnonzero(is_chosen)
    values: IntArray = rows[np.argsort(votes.rating[rows], kind="stable")]
    return values


def reasons_at(votes: SecondVotes, positions: Sequence[int]) -> list[Reason]:
    """Read the reasons of some decisions, in the given order."""
    rows = np.asarray(positions, dtype=np.int64)
    related = ("display__assignment__annotator", "display__pair__matchup__instance", "table")
    ratings = Rating.objects.select_related(*related).in_bulk(votes.rating[rows].tolist())
    decided = votes.votes.of(rows)
    changes = {kind: sums(decided)[:, 0] for kind, sums in BY_CHANGE.items()}
    results = []
    for row, index in enumerate(rows):
        rating = ratings[int(votes.rating[index])]
        pair = rating.display.pair
        instance = pair.matchup.instance
        results.append(
            Reason(
                rater=rating.display.assignment.annotator.code,
                arm=votes.arms[votes.arm[index]],
                instance_id=instance.instance_id,
                instance=instance.pk,
                pair_index=pair.index,
                dataset=instance.dataset,
                before=number(decided.before[row]),
                after=number(decided.after[row]),
                change=next((kind for kind, is_kind in changes.items() if is_kind[row]), None),
                gold=number(decided.gold[row]),
                table=rating.table.pk if rating.table else None,
                table_id=rating.table.table_id if rating.table else None,
                table_verdict=number(decided.implied[row]),
                reason=rating.reason,
            )
        )
    return results


def all_reasons(votes: SecondVotes) -> Iterator[dict[str, Any]]:
    """Yield every reason as a JSON object, read in chunks."""
    positions = reasons_in(votes).tolist()
    for start in range(0, len(positions), CHUNK):
        for reason in reasons_at(votes, positions[start : start + CHUNK]):
            yield {name: value for name, value in asdict(reason).items() if name not in KEYS}


def _place(votes: SecondVotes, arm: str) -> int:
    return votes.arms.index(arm) if arm in votes.arms else -1
