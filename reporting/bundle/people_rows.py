"""People's work in a bundle: assignments from the records, ratings from the readable rows. No models."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.types import BoolArray, FloatArray, IntArray
from annotation.core.database.columns import places
from annotation.studies.rated_pairs import BAD, GOOD
from reporting.bundle.layout import BadBundle
from reporting.bundle.opening import Bundle
from reporting.bundle.structure import Structure, integers, questions_of

RATING, SUBMITTED = "rating", "submitted"  # of an assignment: its purpose, its state
EXCLUSIONS = ("check", "excluded", "not_submitted", "surplus")


@dataclass(frozen=True, eq=False)
class Work:
    """People's assignments, in the order of their primary keys.

    person  : index into `people`
    reasons : (4, n) why an assignment's answers are left out, by `EXCLUSIONS`
    counts  : whether its answers enter findings
    arm     : its name; empty for none
    """

    key: IntArray
    hit: IntArray
    person: IntArray
    reasons: BoolArray
    counts: BoolArray
    purpose: np.ndarray
    submitted: BoolArray
    repeat_of: IntArray
    arm: np.ndarray
    codes: tuple[str, ...]
    scripted: frozenset[str]

    def left_out(self, of: IntArray) -> dict[str, int]:
        """Count the answers of some assignments that don't count, by the first reason; of raters who withdrew there are none."""
        reasons = self.reasons[:, of]
        first = reasons[:, reasons.any(axis=0)].argmax(axis=0)
        counts = np.bincount(first, minlength=len(EXCLUSIONS)).tolist()
        return {"withdrawn": 0, **dict(zip(EXCLUSIONS, counts, strict=True))}


def read_work(bundle: Bundle, structure: Structure) -> Work:
    """Read who did which HIT, and what of it counts."""
    people = sorted(bundle.rows("records/annotator"), key=lambda row: row["id"])
    place = {row["id"]: float(number) for number, row in enumerate(people)}
    purposes, arms = Codes([RATING]), Codes()
    found = bundle.numbers_in(
        "records/assignment",
        *("id", "hit", "repeat_of", "excluded"),
        annotator=place.__getitem__,
        purpose=purposes.__getitem__,
        state=lambda state: float(state == SUBMITTED),
        arm=arms.__getitem__,
    )
    key, hit, repeat_of, excluded, person, purpose, submitted, arm = map(integers, found[:, np.argsort(found[0])])
    filled = integers(bundle.numbers_in("records/slot", "assignment")[0])
    reasons = np.stack([purpose > 0, excluded > 0, submitted == 0, ~np.isin(key, filled)])
    is_excluded = np.array([row["excluded"] for row in people], dtype=bool)
    reasons[1] |= is_excluded[person]
    in_rated = np.isin(structure.hit_batch[places(structure.hit, hit)], structure.rated_batches)
    return Work(
        key=key,
        hit=hit,
        person=person,
        reasons=reasons,
        counts=~reasons.any(axis=0) & in_rated,
        purpose=np.array(list(purposes), dtype=object)[purpose],
        arm=np.array(list(arms), dtype=object)[arm],
        submitted=submitted > 0,
        repeat_of=repeat_of,
        codes=tuple(row["code"] for row in people),
        scripted=frozenset(row["code"] for row in people if row["kind"] == "scripted"),
    )


@dataclass(frozen=True, eq=False)
class RatingRows:
    """Ratings of all questions and stages: places of assignment and pair, position on the page, and the answers.

    arm      : index into `arms`
    table    : primary key of the shown table; -1 for none, and in bundles of format 1
    reasoned : whether there is a reason; False in bundles without these
    """

    assignment: IntArray
    pair: IntArray
    position: IntArray
    verdict: FloatArray
    seconds: FloatArray
    first_is_a: FloatArray
    revised: BoolArray
    question: IntArray
    strength: FloatArray
    tie_kind: FloatArray
    arm: IntArray
    arms: tuple[str, ...]
    table: IntArray
    reasoned: BoolArray

    def rows(self, question: int, *, revised: bool) -> IntArray:
        """Return the places of the answers to one question, of one stage."""
        return np.flatnonzero((self.question == question) & (self.revised == revised))


def read_ratings(bundle: Bundle, structure: Structure, work: Work) -> RatingRows:
    """Read the readable rows of ratings."""
    questions = questions_of(bundle)
    arms = Codes()
    codes: dict[str, Callable[[Any], float]] = {
        "arm": arms.__getitem__,
        "reason": lambda reason: float(reason != ""),
        "shown_first": {"a": 1.0, "b": 0.0, "": np.nan}.__getitem__,
        "stage": {"first": 0.0, "revised": 1.0}.__getitem__,
    }
    if len(questions) > 1:
        codes["question"] = {one.key: float(one.number) for one in questions}.__getitem__
    if any(one.tie_kinds for one in questions):
        codes["tie_kind"] = {"": 0.0, "good": float(GOOD), "bad": float(BAD)}.__getitem__
    plain = ["assignment", "pair", "position", "rating", "active_seconds"]
    plain += ["strength"] if any(one.strength for one in questions) else []
    plain += ["table"] if bundle.states_pages else []
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
        found["shown_first"],
        found["stage"] > 0,
        integers(found.get("question", np.zeros(n))),
        found.get("strength", np.full(n, np.nan)),
        found.get("tie_kind", np.zeros(n)),
        integers(found["arm"]),
        tuple(arms),
        integers(found.get("table", np.full(n, np.nan))),
        found["reason"] > 0,
    )


class Codes(dict[str, float]):
    """A number for each name, in the order in which they are asked for."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        super().__init__({name: float(number) for number, name in enumerate(names)})

    def __missing__(self, name: str) -> float:
        self[name] = float(len(self))
        return self[name]
