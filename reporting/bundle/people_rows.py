"""People's work in a bundle: assignments from the records, ratings from the readable rows. No models."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.types import BoolArray, FloatArray, IntArray
from annotation.core.database.columns import places
from annotation.studies.rated_pairs import BAD, GOOD
from reporting.bundle.layout import BadBundle
from reporting.bundle.opening import Bundle
from reporting.bundle.structure import Structure, integers, questions_of


@dataclass(frozen=True, eq=False)
class Work:
    """People's assignments, in the order of their primary keys.

    person  : index into `people`
    reasons : (4, n) why an assignment's answers are left out: check, excluded, not submitted, surplus
    counts  : whether its answers enter findings
    """

    key: IntArray
    hit: IntArray
    person: IntArray
    reasons: BoolArray
    counts: BoolArray
    purpose: list[str]
    submitted: BoolArray
    repeat_of: IntArray
    codes: tuple[str, ...]
    scripted: frozenset[str]


def read_work(bundle: Bundle, structure: Structure) -> Work:
    """Read who did which HIT, and what of it counts."""
    people = sorted(bundle.rows("records/annotator"), key=lambda row: row["id"])
    rows = sorted(bundle.rows("records/assignment"), key=lambda row: row["id"])
    place = {row["id"]: number for number, row in enumerate(people)}
    filled = {row["assignment"] for row in bundle.rows("records/slot")}
    person = np.array([place[row["annotator"]] for row in rows], dtype=np.int64)
    is_excluded = np.array([row["excluded"] for row in people], dtype=bool)
    flags = (
        np.array(
            [
                [row["purpose"] != "rating", row["excluded"], row["state"] != "submitted", row["id"] not in filled]
                for row in rows
            ],
            dtype=bool,
        )
        .reshape(-1, 4)
        .T.copy()
    )
    flags[1] |= is_excluded[person]
    hit = np.array([row["hit"] for row in rows], dtype=np.int64)
    in_rated = np.isin(structure.hit_batch[places(structure.hit, hit)], structure.rated_batches)
    return Work(
        key=np.array([row["id"] for row in rows], dtype=np.int64),
        hit=hit,
        person=person,
        reasons=flags,
        counts=~flags.any(axis=0) & in_rated,
        purpose=[row["purpose"] for row in rows],
        submitted=~flags[2],
        repeat_of=np.array([row["repeat_of"] or -1 for row in rows], dtype=np.int64),
        codes=tuple(row["code"] for row in people),
        scripted=frozenset(row["code"] for row in people if row["kind"] == "scripted"),
    )


@dataclass(frozen=True, eq=False)
class RatingRows:
    """Ratings of all questions and stages: places of assignment and pair, position on the page, and the answers."""

    assignment: IntArray
    pair: IntArray
    position: IntArray
    verdict: FloatArray
    seconds: FloatArray
    first_is_a: BoolArray
    revised: BoolArray
    question: IntArray
    strength: FloatArray
    tie_kind: FloatArray

    def rows(self, question: int, *, revised: bool) -> IntArray:
        """Return the places of the answers to one question, of one stage."""
        return np.flatnonzero((self.question == question) & (self.revised == revised))


def read_ratings(bundle: Bundle, structure: Structure, work: Work) -> RatingRows:
    """Read the readable rows of ratings."""
    questions = questions_of(bundle)
    codes: dict[str, Callable[[Any], float]] = {
        "shown_first": {"a": 1.0, "b": 0.0}.__getitem__,
        "stage": {"first": 0.0, "revised": 1.0}.__getitem__,
    }
    if len(questions) > 1:
        codes["question"] = {one.key: float(one.number) for one in questions}.__getitem__
    if any(one.tie_kinds for one in questions):
        codes["tie_kind"] = {"": 0.0, "good": float(GOOD), "bad": float(BAD)}.__getitem__
    plain = ["assignment", "pair", "position", "rating", "active_seconds"]
    plain += ["strength"] if any(one.strength for one in questions) else []
    found = dict(zip([*plain, *codes], bundle.numbers_in("ratings", *plain, **codes), strict=True))
    n = len(found["rating"])
    assignment, pair = places(work.key, found["assignment"]), places(structure.pair, found["pair"])
    if (assignment < 0).any() or (pair < 0).any():
        raise BadBundle("ratings: a row names an assignment or a pair that is not in records/")
    return RatingRows(
        assignment,
        pair,
        integers(found["position"]),
        found["rating"],
        found["active_seconds"],
        found["shown_first"] > 0,
        found["stage"] > 0,
        integers(found.get("question", np.zeros(n))),
        found.get("strength", np.full(n, np.nan)),
        found.get("tie_kind", np.zeros(n)),
    )
