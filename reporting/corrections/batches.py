"""Deleting a batch on which nobody has voted."""

from django import forms
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from annotation.allocation.lease import lock_with_annotator
from annotation.core.errors import AnnotationError
from annotation.models import Assignment, Batch, Channel, Event, Flag, Rating
from annotation.studies.log import log
from judging.models import JudgeRun
from judging.runs.services import find_batch
from reporting.corrections.declarations import Correction, Effect, effects_of


class DeleteBatch(Correction):
    """Delete a batch on which nobody has voted."""

    action = "delete-batch"
    title = "Delete this batch"
    by_link = True
    explanation = (
        "Its HITs are deleted, and the records of HITs that raters gave back. It is refused once there are votes."
    )

    batch = forms.CharField(max_length=200, label="Batch", help_text="Its name.")
    field_order = ("batch", "reason")

    def effects(self) -> list[Effect]:
        """Count what is deleted."""
        batch = find_batch(self.study, self.cleaned_data["batch"])
        _refuse_used(batch)
        claims = Assignment.objects.filter(hit__batch=batch)
        counts = {"claims": claims.count(), "comments of raters": claims.exclude(return_comment="").count()}
        return [Effect(batch.hits.count(), "HITs"), *effects_of(counts)]

    @transaction.atomic
    def run(self, *, by: User | None) -> str:
        """Delete the batch. Its entries in the study's log stay."""
        batch = Batch.objects.select_for_update().get(pk=find_batch(self.study, self.cleaned_data["batch"]).pk)
        claims = Assignment.objects.filter(hit__batch=batch)
        # So that nobody claims a slot or a hidden check meanwhile, nor goes on with one.
        list(lock_with_annotator(claims.select_related("annotator").order_by("annotator_id", "pk")))
        for rows in (batch.slots, batch.hits):
            list(rows.order_by().select_for_update().values_list("pk"))
        _refuse_used(batch)
        changes = {"batch": batch.name, "HITs": batch.hits.count()}
        self.study.events.filter(Q(batch=batch) | Q(assignment__in=claims)).update(batch=None, assignment=None)
        batch.slots.all().delete()
        claims.delete()
        batch.delete()
        log(study=self.study, kind=Event.Kind.DELETED, by=by, reason=self.cleaned_data["reason"], changes=changes)
        return f"Batch {batch.name} was deleted."


def _refuse_used(batch: Batch) -> None:
    """Refuse to delete a batch that somebody uses.

    Raises: AnnotationError.
    """
    if votes := Rating.objects.filter(display__assignment__hit__batch=batch).count():
        raise AnnotationError(f"{Effect(votes, 'votes')} would be lost with batch {batch.name}. Close it instead.")
    if flags := Flag.objects.filter(display__assignment__hit__batch=batch, taken_back_at=None).count():
        raise AnnotationError(
            f"{Effect(flags, 'reports')} of raters would be lost with batch {batch.name}. Close it instead."
        )
    work = Assignment.objects.filter(hit__batch=batch)
    if claimed := work.claimed().count():
        raise AnnotationError(
            f"{Effect(claimed, 'HITs')} of batch {batch.name} claimed now. Pause it, and release them."
        )
    if work.filter(pay_due__gt=0).exists():
        raise AnnotationError(f"Pay is due for HITs of batch {batch.name}. Close it instead.")
    if channel := Channel.objects.filter(batch=batch).first():
        raise AnnotationError(f"Recruitment by {channel.name} is for batch {batch.name}. Close the batch instead.")
    if run := JudgeRun.objects.filter(batch=batch).select_related("judge").first():
        raise AnnotationError(f"A run of judge {run.judge.name} is of batch {batch.name}. Close the batch instead.")
