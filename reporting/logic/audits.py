"""The audits of several raters side by side, and how far a judge's numbers depend on its wording."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np

from analysis.agreement.rank_correlation import spearman
from annotation.core.errors import UnknownName
from annotation.core.reasons import Reason
from annotation.models import Instance, Study
from judging.models import Judge
from judging.outcomes.judgments import judges_of
from reporting.core.data_version import version_of
from reporting.core.estimates import IntervalSettings
from reporting.core.kept import Kept
from reporting.core.raters import PEOPLE
from reporting.core.wordings import JudgeSettings, sets_of_wordings, settings_of, spread_over_wordings
from reporting.logic.answers import read_gold, read_judge, read_text_pairs, read_votes
from reporting.logic.audit import SIZES, audit, by_instance, found_in, preference_graphs
from reporting.logic.contradictions import opened
from reporting.logic.presentations import Presentations, majority_target, people_presentations

OVER_WORDINGS = ("human_agreement", "transitivity_5", "commutativity", "negation_invariance")
FEW_OR_ALIKE = Reason("few_or_alike", "fewer than three wordings, or all alike")
Found = dict[str, Any]
Asked = tuple[Found, Presentations]  # what names a rater, and its answers
Listing = Callable[[str, list[list[int]]], list[Found]]  # the kind of contradictions, the items of each


def named(judge: JudgeSettings | None, *, on_chosen: bool = False) -> Found:
    """Name a rater, people without a judge. `alike` is the same for judges that differ in their wording only.

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


def audit_of(rater: Asked, listing: Listing | None = None, *, limit: int = 0) -> Found:
    """Audit a rater.

    listing, most : shows the first so many of its contradictions of each kind
    """
    description, presentations = rater
    graphs = preference_graphs(presentations)
    contradictions = {
        kind: {"count": len(rows), "listed": listing(kind, rows[:limit]) if listing else []}
        for kind, rows in found_in(presentations, graphs).items()
    }
    return {
        **description,
        **audit(presentations, IntervalSettings(clusters=presentations.clusters), graphs=graphs),
        "contradictions": contradictions,
    }


def audits(study: str, raters: Sequence[Found]) -> Found:
    """Put the audits of a study's raters side by side. Study : its name in addresses."""
    sets = sets_of_wordings(  # of judges that differ in their wording only; none that a ranking asked on chosen pairs
        raters, alike=lambda rater: rater.get("alike", ""), wording=itemgetter("wording"), answers=itemgetter("answers")
    )
    return {"study": study, "level": IntervalSettings().level, "raters": raters, "wordings": list(map(_over, sets))}


def whole_audit(study: str, raters: Iterable[Asked]) -> Found:
    """Audit people, if they voted, and all judges."""
    results = [audit_of(rater) for rater in raters]
    return audits(study, [item for item in results if item["answers"] or item["kind"] == "judge"])


def side_by_side(raters: Sequence[Found]) -> list[Found]:
    """Return the raters that can be compared: all but judges that a ranking asked on chosen pairs."""
    return [rater for rater in raters if rater["kind"] == "person" or rater["alike"]]


def _over(rows: Sequence[Found]) -> Found:
    values = {name: [estimate_of(row, name)["value"] for row in rows] for name in OVER_WORDINGS}
    return {
        "method": rows[0]["method"],
        "model": rows[0]["model"],
        "raters": [row["rater"] for row in rows],
        **{name: spread_over_wordings(column) for name, column in values.items()},
        "rank_correlation": _correlation(values["commutativity"], values["human_agreement"]),
    }


def estimate_of(rater: Found, name: str) -> Found:
    """Return an estimate of a rater's by its name. `transitivity_K` for K texts."""
    stem, _, k = name.partition("transitivity_")
    estimate: Found = rater[name] if stem else rater["transitivity"][k]
    return estimate


def _correlation(first: list[float | None], second: list[float | None]) -> Found:
    both = [(x, y) for x, y in zip(first, second, strict=True) if x is not None and y is not None]
    value = spearman(*np.array(both, dtype=np.float64).T) if len(both) > 2 else np.nan
    if np.isnan(value):
        return {"n": len(both), "value": None, **FEW_OR_ALIKE.as_json()}
    return {"n": len(both), "value": float(value)}


_kept: Kept[Found] = Kept(8)


def judges_audited(study: Study, question: int) -> dict[str, Judge]:
    """Return the judges that have a run on the study, by name."""
    return {run.judge.name: run.judge for run in judges_of(study, question=question)}


def all_asked(study: Study, *, question: int = 0) -> Iterator[Asked]:
    """Read people and all judges, one after the other."""
    return read_asked(study, [None, *judges_audited(study, question).values()], question=question)


def read_asked(study: Study, judges: Sequence[Judge | None], *, question: int = 0) -> Iterator[Asked]:
    """Read these judges, one after the other, or None stands for people."""
    pairs, votes, gold = read_text_pairs(study), read_votes(study, question=question), read_gold(study)
    target = majority_target(votes) | gold
    on_chosen = {run.judge_id for run in judges_of(study, question=question) if run.pair_filter.get("on_demand")}
    for judge in judges:
        if judge is None:
            yield named(None), people_presentations(pairs, votes, gold)
        else:
            description = named(settings_of(judge), on_chosen=judge.pk in on_chosen)
            yield description, read_judge(pairs, study, judge, target, question=question)


def audit_study(study: Study, judges: Sequence[Judge | None], *, question: int = 0, limit: int = 0) -> Found:
    """Audit these judges, or None stands for people.

    limit : how many contradictions of each kind are listed with their texts
    """
    raters = [
        audit_of(requested, partial(opened, study, judge, requested[1], question=question), limit=limit)
        for judge, requested in zip(judges, read_asked(study, judges, question=question), strict=True)
    ]
    return audits(study.slug, raters)


def presentations_of(study: Study, rater: str, *, question: int = 0) -> tuple[Judge | None, Presentations]:
    """Return the judge of a rater's name, None for people, with its answers without what they are compared with.

    Raises: UnknownName for one that has none
    """
    pairs = read_text_pairs(study)
    if rater == PEOPLE:
        return None, people_presentations(pairs, read_votes(study, question=question), {})
    judge = judges_audited(study, question).get(rater.removeprefix("judge:"))
    if judge is None or not rater.startswith("judge:"):
        raise UnknownName(f"{rater} has no answers in study {study.slug}: name {PEOPLE}, or judge:NAME")
    return judge, read_judge(pairs, study, judge, {}, question=question)


def instance_rows(study: Study, judges: Sequence[Judge | None], *, question: int = 0) -> Iterator[Found]:
    """Yield each measure of these judges (None: people) on each instance by itself: values alone, intervals are over instances."""
    ids = dict(Instance.objects.filter(study=study).values_list("pk", "instance_id"))
    for rater, presentations in read_asked(study, judges, question=question):
        for index, name, row in by_instance(presentations):
            description = {
                "instance_id": ids[int(presentations.instances[index])],
                "dataset": presentations.datasets[int(presentations.dataset[index])],
            }
            yield {"rater": rater["rater"], **description, "measure": name, **row}


def kept_audit(study: Study, *, question: int = 0) -> Found:
    """Return the audit of people, where they voted, and of all judges, with the spread over wordings. It may be kept."""
    return _kept.get(
        (study.key, question),
        version_of(study),
        lambda: whole_audit(study.slug, all_asked(study, question=question)),
    )


OF_RATER = ("kind", "method", "model", "wording")
COLUMNS = (
    *("rater", "dataset", "measure"),
    *("value", "low", "high", "level", "n", "of", "n_instances", "tie_rule", "excluded", "why", "coin"),
    *OF_RATER,
)
OF_INSTANCE = ("rater", "dataset", "instance_id", "measure", "value", "n", "of", "tie_rule", "why")
WITHOUT_SIZE = ("human_agreement", "commutativity", "negation_invariance", "self_agreement", "preferred_first")


def as_rows(audit: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield one row for each rater, data set and measure."""
    for rater in audit["raters"]:
        description = {name: rater.get(name) for name in OF_RATER}
        for dataset, measures in [("", rater), *rater["datasets"].items()]:
            for name, estimate in _named(measures):
                row = {**description, "rater": rater["rater"], "dataset": dataset, "measure": name, **estimate}
                yield {column: row.get(column, "") if row.get(column) is not None else "" for column in COLUMNS}


def _named(measures: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "human_agreement", measures["human_agreement"]
    yield from ((f"transitivity_{k}", measures["transitivity"][str(k)]) for k in SIZES)
    yield "density", measures["density"]
    yield from ((name, measures[name]) for name in WITHOUT_SIZE[1:])
