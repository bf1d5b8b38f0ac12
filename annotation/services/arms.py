"""Drawing raters or instances into the arms of a two-stage study, by permuted blocks from the study's seed."""

from random import Random

from django.db import transaction

from annotation.models import Annotator, ArmDraw, Assignment, Instance, Study
from annotation.models.study import ArmUnit
from annotation.services.displays import derived_seed


def arm_of(assignment: Assignment) -> str:
    """Return the arm that an assignment belongs to, drawn now if it is its rater's or instance's first.

    Empty in a one-stage study and for a qualification, which have no second stage.
    """
    study = assignment.hit.batch.study
    if not study.is_two_stage or assignment.purpose == Assignment.Purpose.QUALIFICATION:
        return ""
    if assignment.repeat_of:
        return assignment.repeat_of.arm
    if study.arm_unit == ArmUnit.RATER:
        return draw_arm(study=study, annotator=assignment.annotator)
    if assignment.purpose == Assignment.Purpose.GOLD:  # its instance is none of those that are compared
        return Random(derived_seed(assignment.seed, "arm")).choice(list(study.arms))
    return draw_arm(study=study, instance=assignment.hit.matchup.instance)


def arm_of_rater(annotator: Annotator, *, draw: bool = True) -> str:
    """Return the arm of a rater, where it is raters that are split into arms; empty elsewhere.

    draw : draw it if it hasn't been yet; else the one that would be drawn now is returned
    """
    study = annotator.study
    if not study.is_two_stage or study.arm_unit != ArmUnit.RATER:
        return ""
    if draw:
        return draw_arm(study=study, annotator=annotator)
    if drawn := ArmDraw.objects.filter(study=study, annotator=annotator).first():
        return drawn.arm
    return nth_arm(study, ArmDraw.objects.filter(study=study).count())


@transaction.atomic
def draw_arm(*, study: Study, annotator: Annotator | None = None, instance: Instance | None = None) -> str:
    """Return the arm of a rater or an instance, drawn when they come for the first time.

    Arrivals are taken in blocks as long as there are arms; each block holds every arm once, in a seeded order. So at
    any moment two arms differ by one at most, and nobody can tell the next.
    """
    unit = {"annotator": annotator, "instance": instance}
    draws = ArmDraw.objects.filter(study=study, **unit)
    if drawn := draws.first():
        return drawn.arm
    study = Study.objects.select_for_update().get(pk=study.pk)  # arrivals take turns
    if drawn := draws.first():
        return drawn.arm
    number = ArmDraw.objects.filter(study=study).count()
    return ArmDraw.objects.create(study=study, number=number, arm=nth_arm(study, number), **unit).arm


def nth_arm(study: Study, number: int) -> str:
    """Return the arm of the n-th arrival (from 0)."""
    block, place = divmod(number, len(study.arms))
    order = list(study.arms)
    Random(derived_seed(study.seed, "arms", block)).shuffle(order)
    return str(order[place])
