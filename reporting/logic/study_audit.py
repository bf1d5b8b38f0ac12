"""The audits of a study's raters side by side, and how far a judge's numbers depend on its wording."""

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from analysis.rank_correlation import spearman
from annotation.core.errors import UnknownName
from annotation.models import Instance, Study
from judging.models import Judge
from judging.outcomes.judgments import judges_of
from reporting.core.estimates import IntervalSettings
from reporting.core.judge_settings import settings_of
from reporting.core.kept import Kept, version_of
from reporting.core.raters import PEOPLE
from reporting.core.wordings import sets_of_wordings, spread_over_wordings
from reporting.logic.audit import audit, by_instance
from reporting.logic.contradictions import contradictions
from reporting.logic.presentations import Presentations, Target, judge_presentations, people_presentations, targets

OVER_WORDINGS = ("human_agreement", "transitivity_5", "commutativity", "negation_invariance")
Found = dict[str, Any]
_kept: Kept[Found] = Kept(8)


def judges_audited(study: Study, question: int) -> dict[str, Judge]:
    """Return the judges that have a run on the study, by name."""
    return {run.judge.name: run.judge for run in judges_of(study, question=question)}


def audit_study(study: Study, judges: Sequence[Judge | None], *, question: int = 0, most: int = 0) -> Found:
    """Audit these judges; None stands for people.

    most : how many contradictions of each kind are listed with their texts
    """
    settings = IntervalSettings()
    target = targets(study, question=question)
    on_chosen = {run.judge_id for run in judges_of(study, question=question) if run.pair_filter.get("on_demand")}
    raters = []
    for judge in judges:
        asked = _asked(study, judge, target, question)
        listed = contradictions(study, judge, asked, most=most, question=question)
        named = _named(judge, on_chosen=judge is not None and judge.pk in on_chosen)
        raters.append({**named, **audit(asked, settings), "contradictions": listed})
    return {"study": study.slug, "level": settings.level, "raters": raters, "wordings": over_wordings(raters)}


def presentations_of(study: Study, rater: str, *, question: int = 0) -> tuple[Judge | None, Presentations]:
    """Return the judge of a rater's name, None for people, with its answers without what they are compared with.

    Raises: UnknownName for one that has none
    """
    if rater == PEOPLE:
        return None, people_presentations(study, question=question)
    judge = judges_audited(study, question).get(rater.removeprefix("judge:"))
    if judge is None or not rater.startswith("judge:"):
        raise UnknownName(f"{rater} has no answers in study {study.slug}: name {PEOPLE}, or judge:NAME")
    return judge, judge_presentations(study, judge, {}, question=question)


def instance_rows(study: Study, judges: Sequence[Judge | None], *, question: int = 0) -> Iterator[Found]:
    """Yield each measure of these judges (None: people) on each instance by itself: values alone, intervals are over instances."""
    target = targets(study, question=question)
    ids = dict(Instance.objects.filter(study=study).values_list("pk", "instance_id"))
    for judge in judges:
        asked = _asked(study, judge, target, question)
        rater = PEOPLE if judge is None else f"judge:{judge.name}"
        for place, name, found in by_instance(asked):
            about = {
                "instance_id": ids[int(asked.instances[place])],
                "dataset": asked.datasets[int(asked.dataset[place])],
            }
            yield {"rater": rater, **about, "measure": name, **found}


def _asked(study: Study, judge: Judge | None, target: Target, question: int) -> Presentations:
    if judge is None:
        return people_presentations(study, question=question)
    return judge_presentations(study, judge, target, question=question)


def kept_audit(study: Study, *, question: int = 0) -> Found:
    """Return the audit of people, where they voted, and of all judges, with the spread over wordings; it may be kept."""
    return _kept.get((study.key, question), version_of(study), lambda: _whole(study, question))


def _whole(study: Study, question: int) -> Found:
    found = audit_study(study, [None, *judges_audited(study, question).values()], question=question)
    found["raters"] = [one for one in found["raters"] if one["answers"] or one["kind"] == "judge"]
    return found


def _named(judge: Judge | None, *, on_chosen: bool) -> Found:
    """Name a rater; `alike` is the same for judges that differ in their wording only, empty for one asked on chosen pairs."""
    if judge is None:
        return {"rater": PEOPLE, "kind": "person"}
    settings = settings_of(judge)
    return {
        "rater": f"judge:{settings.name}",
        "kind": "judge",
        "method": settings.method,
        "model": settings.model,
        "wording": settings.wording,
        "alike": "" if on_chosen else settings.besides_wording,
    }


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
