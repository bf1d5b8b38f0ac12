"""Juries on a study: whether their members' verdicts can be put together there, and the run that stands for them."""

from collections.abc import Sequence
from itertools import combinations

from django.db import transaction
from django.utils import timezone

from annotation.core.version import VERSION
from annotation.models import Study
from annotation.questions.questions import MAIN
from judging.core.errors import BadSettings
from judging.models import Judge, JudgeRun, Judgment
from judging.runs.judges import add_judge


@transaction.atomic
def add_jury(*, study: Study, name: str, members: Sequence[str], rule: str) -> JudgeRun:
    """Store a jury, unless the same one exists, and return its run on the questions that all its members were asked.

    Raises: as `judges.add_judge` and `seat_jury`; then nothing is stored
    """
    jury, _ = add_judge(name=name, method=Judge.JURY, params={"members": list(members), "rule": rule})
    answered = [
        question.number
        for question in study.questions
        if all(_pairs(study, member, question.number) for member in members)
    ]
    return seat_jury(study=study, jury=jury, questions=answered or [MAIN])


@transaction.atomic
def seat_jury(*, study: Study, jury: Judge, questions: Sequence[int], is_part: bool = False) -> JudgeRun:
    """Return the run of a jury on a study. It has no cells and is done at once: verdicts are made when they are read.

    is_part : a batch or a filter was named
    Raises: BadSettings if it was, if a member is gone or was not asked one of the questions, or if no two members were asked
    about the same pair.
    """
    if is_part:
        raise BadSettings(
            f"jury {jury.name} covers all pairs that its members judged: leave out the batch and the filter"
        )
    check_members(study, jury, questions)
    run, _ = JudgeRun.objects.get_or_create(
        study=study,
        judge=jury,
        batch=None,
        filter_key="",
        questions=list(questions),
        defaults={"status": JudgeRun.Status.DONE, "finished_at": timezone.now(), "software_version": VERSION},
    )
    return run


def check_members(study: Study, jury: Judge, questions: Sequence[int]) -> None:
    """Refuse a jury whose members have nothing to put together on one of the questions.

    Raises: BadSettings saying which member, which question, and what to do
    """
    existing = set(Judge.objects.filter(name__in=jury.members).values_list("name", flat=True))
    if gone := [name for name in jury.members if name not in existing]:
        raise BadSettings(
            f"jury {jury.name}: member {', '.join(gone)} has been deleted: add the judge again, or a jury without it"
        )
    for number in questions:
        subject = f"question {study.questions[number].key}" if len(study.questions) > 1 else "anything"
        pairs = {name: _pairs(study, name, number) for name in jury.members}
        if idle := [name for name, judged in pairs.items() if not judged]:
            raise BadSettings(
                f"jury {jury.name}: {', '.join(idle)} was not asked {subject} in study {study.slug}: run it there first, "
                "or add a jury without it"
            )
        if not any(pairs[item] & pairs[second] for item, second in combinations(pairs, 2)):
            raise BadSettings(
                f"jury {jury.name}: its members share no pairs in study {study.slug}: run them on the same pairs first"
            )


def _pairs(study: Study, name: str, question: int) -> set[int]:
    rows = Judgment.objects.for_question(question).filter(run__study=study, run__judge__name=name)
    return set(rows.order_by().values_list("pair_id", flat=True))
