"""The audits of a study's raters, read from the database."""

from collections.abc import Iterator, Sequence
from functools import partial

from annotation.core.errors import UnknownName
from annotation.models import Instance, Study
from judging.models import Judge
from judging.outcomes.judgments import judges_of
from reporting.core.judge_settings import settings_of
from reporting.core.kept import Kept, version_of
from reporting.core.raters import PEOPLE
from reporting.logic.answers import read_gold, read_judge, read_text_pairs, read_votes
from reporting.logic.audit import by_instance
from reporting.logic.audits import Asked, Found, audit_of, audits, named, whole_audit
from reporting.logic.contradictions import opened
from reporting.logic.presentations import Presentations, majority_target, people_presentations

_kept: Kept[Found] = Kept(8)


def judges_audited(study: Study, question: int) -> dict[str, Judge]:
    """Return the judges that have a run on the study, by name."""
    return {run.judge.name: run.judge for run in judges_of(study, question=question)}


def all_asked(study: Study, *, question: int = 0) -> Iterator[Asked]:
    """Read people and all judges, one after the other."""
    return read_asked(study, [None, *judges_audited(study, question).values()], question=question)


def read_asked(study: Study, judges: Sequence[Judge | None], *, question: int = 0) -> Iterator[Asked]:
    """Read these judges, one after the other; None stands for people."""
    pairs, votes, gold = read_text_pairs(study), read_votes(study, question=question), read_gold(study)
    target = majority_target(votes) | gold
    on_chosen = {run.judge_id for run in judges_of(study, question=question) if run.pair_filter.get("on_demand")}
    for judge in judges:
        if judge is None:
            yield named(None), people_presentations(pairs, votes, gold)
        else:
            about = named(settings_of(judge), on_chosen=judge.pk in on_chosen)
            yield about, read_judge(pairs, study, judge, target, question=question)


def audit_study(study: Study, judges: Sequence[Judge | None], *, question: int = 0, most: int = 0) -> Found:
    """Audit these judges; None stands for people.

    most : how many contradictions of each kind are listed with their texts
    """
    raters = [
        audit_of(asked, partial(opened, study, judge, asked[1], question=question), most=most)
        for judge, asked in zip(judges, read_asked(study, judges, question=question), strict=True)
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
    for rater, asked in read_asked(study, judges, question=question):
        for place, name, found in by_instance(asked):
            about = {
                "instance_id": ids[int(asked.instances[place])],
                "dataset": asked.datasets[int(asked.dataset[place])],
            }
            yield {"rater": rater["rater"], **about, "measure": name, **found}


def kept_audit(study: Study, *, question: int = 0) -> Found:
    """Return the audit of people, where they voted, and of all judges, with the spread over wordings; it may be kept."""
    return _kept.get(
        (study.key, question),
        version_of(study),
        lambda: whole_audit(study.slug, all_asked(study, question=question)),
    )
