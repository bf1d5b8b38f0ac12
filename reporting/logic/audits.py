"""The audits of several raters side by side, and how far a judge's numbers depend on its wording. No models."""

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from analysis.rank_correlation import spearman
from reporting.core.estimates import IntervalSettings
from reporting.core.raters import PEOPLE
from reporting.core.wordings import JudgeSettings, sets_of_wordings, spread_over_wordings
from reporting.logic.audit import audit, found_in, preference_graphs
from reporting.logic.presentations import Presentations

OVER_WORDINGS = ("human_agreement", "transitivity_5", "commutativity", "negation_invariance")
Found = dict[str, Any]
Asked = tuple[Found, Presentations]  # what names a rater, and its answers
Listing = Callable[[str, list[list[int]]], list[Found]]  # the kind of contradictions, the items of each


def named(judge: JudgeSettings | None, *, on_chosen: bool = False) -> Found:
    """Name a rater, people without a judge; `alike` is the same for judges that differ in their wording only.

    on_chosen : whether a ranking asked the judge on pairs that it chose: then `alike` is empty
    """
    if judge is None:
        return {"rater": PEOPLE, "kind": "person"}
    return {
        "rater": f"judge:{judge.name}",
        "kind": "judge",
        "method": judge.method,
        "model": judge.model,
        "wording": judge.wording,
        "alike": "" if on_chosen else judge.besides_wording,
    }


def audit_of(rater: Asked, listing: Listing | None = None, *, most: int = 0) -> Found:
    """Audit a rater.

    listing, most : shows the first so many of its contradictions of each kind
    """
    about, asked = rater
    graphs = preference_graphs(asked)
    contradictions = {
        kind: {"count": len(rows), "listed": listing(kind, rows[:most]) if listing else []}
        for kind, rows in found_in(asked, graphs).items()
    }
    return {**about, **audit(asked, IntervalSettings(), graphs=graphs), "contradictions": contradictions}


def audits(study: str, raters: Sequence[Found]) -> Found:
    """Put the audits of a study's raters side by side; study : its name in addresses."""
    return {"study": study, "level": IntervalSettings().level, "raters": raters, "wordings": over_wordings(raters)}


def whole_audit(study: str, raters: Iterable[Asked]) -> Found:
    """Audit people, if they voted, and all judges."""
    found = [audit_of(one) for one in raters]
    return audits(study, [one for one in found if one["answers"] or one["kind"] == "judge"])


def side_by_side(raters: Sequence[Found]) -> list[Found]:
    """Return the raters that can be compared: all but judges that a ranking asked on chosen pairs."""
    return [one for one in raters if one["kind"] == "person" or one["alike"]]


def over_wordings(raters: Sequence[Found]) -> list[Found]:
    """Return the spread of each measure over judges that differ in their wording only.

    `rank_correlation`: Spearman's, between commutativity and agreement with people, over three wordings or more. Judges that
    a ranking asked on chosen pairs are none of them.
    """
    sets = sets_of_wordings(
        raters, alike=lambda one: one.get("alike", ""), wording=itemgetter("wording"), answers=itemgetter("answers")
    )
    return list(map(_over, sets))


def _over(rows: Sequence[Found]) -> Found:
    values = {name: [estimate_of(one, name)["value"] for one in rows] for name in OVER_WORDINGS}
    return {
        "method": rows[0]["method"],
        "model": rows[0]["model"],
        "raters": [one["rater"] for one in rows],
        **{name: spread_over_wordings(column) for name, column in values.items()},
        "rank_correlation": _correlation(values["commutativity"], values["human_agreement"]),
    }


def estimate_of(one: Found, name: str) -> Found:
    """Return an estimate of a rater's by its name; `transitivity_K` for K texts."""
    stem, _, k = name.partition("transitivity_")
    found: Found = one[name] if stem else one["transitivity"][k]
    return found


def _correlation(one: list[float | None], other: list[float | None]) -> Found:
    both = [(x, y) for x, y in zip(one, other, strict=True) if x is not None and y is not None]
    value = spearman(*np.array(both, dtype=np.float64).T) if len(both) > 2 else np.nan
    if np.isnan(value):
        return {"n": len(both), "value": None, "why": "fewer than three wordings, or all alike"}
    return {"n": len(both), "value": float(value)}
