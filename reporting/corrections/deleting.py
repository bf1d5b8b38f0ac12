"""Deleting a study with all that belongs to it."""

import shutil
from datetime import timedelta
from functools import partial
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html

from annotation.core.errors import AnnotationError
from annotation.importing.staging import IMPORTING, SILENT, Target, is_under_way, new_importer, remove
from annotation.members.audit import note
from annotation.models import Annotator, Assignment, Batch, Channel, Mail, Rating, Study
from annotation.privacy.erasing import erase_unused_accounts, note_erasure
from annotation.studies.services import find_study
from judging.models import Judgment
from reporting.corrections.declarations import Correction, Effect, effects_of, refuse_active_job, refuse_active_run
from reporting.downloads.jobs import path_of
from reporting.uploads.jobs import UNDER_WAY, folder_of

WHOLE = 20_000  # ratings and judgments that a page deletes itself
PLATFORMS = (Channel.Kind.PROLIFIC, Channel.Kind.MTURK)


class DeleteStudy(Correction):
    """Delete the study with all its texts, ratings, judgments, files and mails. This can't be undone."""

    action = "delete-study"
    title = "Delete this study"
    lists_first = True

    reason = None  # type: ignore[assignment]  # the study's log goes too
    confirm = forms.CharField(
        max_length=80, label="Short name of the study", help_text="Type it to confirm. This can’t be undone."
    )

    @property
    def explanation(self) -> str:  # type: ignore[override]
        """Offer a bundle, from which the study can be made again."""
        return format_html(
            "All that belongs to the study is deleted. "
            '<a href="{}">Export a bundle</a> first, from which the study can be created again.',
            reverse("reporting:downloads", args=[self.study.slug]),
        )

    def clean_confirm(self) -> str:
        """Require the study's short name."""
        if self.cleaned_data["confirm"] != self.study.slug:
            raise forms.ValidationError(f"Type {self.study.slug}.", code="confirm")
        return self.study.slug

    def effects(self) -> list[Effect]:
        """Count what is deleted."""
        return _contents(self.study)

    def run(self, *, by: User | None) -> str:
        """Delete the study, or have the worker delete a large one."""
        slug = self.study.slug
        if delete_study(study=self.study, by=by, wait=by is None):
            return f"Study {slug} was deleted."
        return f"Study {slug} is being deleted."

    @property
    def page(self) -> str:
        """The list of studies."""
        return reverse("annotation:studies")


def delete_study(*, study: Study, by: User | None = None, wait: bool = True) -> bool:
    """Delete a study. Its name is free at once. Return False if the worker deletes its rows, since they are many.

    wait : delete them here in any case
    Raises: AnnotationError while an import, a job, a run or a platform's channel is active.
    """
    with transaction.atomic():
        study = find_study(study.slug, lock=True)
        _refuse_active(study)
        counts = {effect.rows: effect.count for effect in _contents(study)}
        note({"kind": "study-deleted", "study": study.pk, "slug": study.slug, "changes": counts})
        now = timezone.now()
        for annotator in study.annotators.filter(Q(erased_at=None) | Q(withdrawn_at=None)):
            note_erasure(annotator, at=now, keep_ratings=False, everywhere=False)
        erase_unused_accounts(study)
        study.batches.update(status=Batch.Status.CLOSED)
        Assignment.objects.filter(hit__batch__study=study).unfinished().update(state=Assignment.State.RETURNED)
        study.channels.update(is_open=False)
        files = [*map(path_of, study.made_files.all()), *map(folder_of, study.uploads.all())]
        is_small = wait or counts.get("ratings", 0) + counts.get("judgments", 0) <= WHOLE
        # Hidden from now on; the worker deletes what a process leaves that ends before.
        study.slug, study.importer = f"!{study.pk}", new_importer()
        study.created_at = now if is_small else now - SILENT - timedelta(seconds=1)
        study.save(update_fields=["slug", "importer", "created_at"])
        transaction.on_commit(partial(_remove_files, files))
    try:
        if is_small:
            remove(Target(study, study))
    finally:
        IMPORTING.discard(study.importer)
    return is_small


def _remove_files(paths: list[Any]) -> None:
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _refuse_active(study: Study) -> None:
    if is_under_way(study) or study.uploads.filter(status__in=UNDER_WAY).exists():
        raise AnnotationError("An import into this study is under way. Delete the study when it is done.")
    refuse_active_job(study)
    refuse_active_run(study, "Pause or cancel it")
    if channel := study.channels.filter(is_open=True, kind__in=PLATFORMS).first():
        raise AnnotationError(f"Channel {channel.name} is open. Close it first.")


def _contents(study: Study) -> list[Effect]:
    due = Annotator.objects.filter(study=study, assignments__pay_due__gt=0).distinct()
    counts = {
        "instances": study.instances.count(),
        "batches": study.batches.count(),
        "raters": study.annotators.count(),
        "raters with pay due": due.count(),
        "ratings": Rating.objects.filter(display__assignment__hit__batch__study=study).count(),
        "judgments": Judgment.objects.filter(run__study=study).count(),
        "comparison tables": study.tables.count(),
        "exported files": study.made_files.count(),
        "mails": Mail.objects.filter(invitation__channel__study=study).count(),
    }
    return effects_of(counts)
