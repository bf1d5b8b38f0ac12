"""Assign raters or instances to the arms of a two-stage study, by permuted blocks from the study's seed."""

from random import Random

from django.db import transaction
from django.db.models import Max

from annotation.hits.displays import derived_seed
from annotation.models import Annotator, ArmDraw, Assignment, Instance, Study
from annotation.models.studies import ArmUnit


def arm_of(assignment: Assignment) -> str:
    """Return an assignment's arm, drawn now if its rater or instance has none. It is empty without a second stage."""
    study = assignment.hit.batch.study
    if not study.is_two_stage or assignment.purpose == Assignment.Purpose.QUALIFICATION:
        return ""
    if assignment.repeat_of:
        return assignment.repeat_of.arm
    if study.arm_unit == ArmUnit.RATER:
        return draw_arm(study=study, annotator=assignment.annotator)
    if assignment.purpose == Assignment.Purpose.GOLD:  # gold instances are not among those compared
        drawn: str = Random(derived_seed(assignment.seed, "arm")).choice(list(study.arms))
        return drawn
    return draw_arm(study=study, instance=assignment.hit.matchup.instance)


def arm_of_rater(annotator: Annotator, *, draw: bool = True) -> str:
    """Return a rater's arm where the study assigns raters to arms, else an empty string.

    draw : store it if it is new; without, return the arm that would be drawn now
    """
    study = annotator.study
    if not study.is_two_stage or study.arm_unit != ArmUnit.RATER:
        return ""
    if draw:
        return draw_arm(study=study, annotator=annotator)
    if drawn := ArmDraw.objects.filter(study=study, annotator=annotator).first():
        return drawn.arm
    return nth_arm(study, _next_number(study))


@transaction.atomic
def draw_arm(*, study: Study, annotator: Annotator | None = None, instance: Instance | None = None) -> str:
    """Return the arm of a rater or an instance, drawn at their first arrival.

    Each block of arrivals holds every arm once, in a seeded order: the sizes of two arms differ by one at most, and
    the next arm can't be predicted.
    """
    unit = {"annotator": annotator, "instance": instance}
    draws = ArmDraw.objects.filter(study=study, **unit)
    if drawn := draws.first():
        return drawn.arm
    study = Study.objects.select_for_update().get(pk=study.pk)  # arrivals take turns
    if drawn := draws.first():
        return drawn.arm
    number = _next_number(study)
    return ArmDraw.objects.create(study=study, number=number, arm=nth_arm(study, number), **unit).arm


def _next_number(study: Study) -> int:
    last = ArmDraw.objects.filter(study=study).aggregate(last=Max("number"))["last"]
    return 0 if last is None else last + 1


def nth_arm(study: Study, number: int) -> str:
    """Return the arm of the n-th arrival (from 0)."""
    block, index = divmod(number, len(study.arms))
    order = list(study.arms)
    Random(derived_seed(study.seed, "arms", block)).shuffle(order)
    return str(order[index])
