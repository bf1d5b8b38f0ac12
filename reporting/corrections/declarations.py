"""The common part of corrections: a form for page, API and command, which lists what it affects before it acts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from django import forms
from django.contrib.auth.models import User
from django.urls import reverse

from annotation.core.counting import unit_of
from annotation.core.errors import AnnotationError
from annotation.jobs.work import jobs_of
from annotation.models import Study
from annotation.studies.settings_form import reason_field
from judging.models import JudgeRun


@dataclass(frozen=True)
class Effect:
    """Rows that a correction changes or deletes.

    rows : what they are, in the plural
    page : the address at which they are shown
    """

    count: int
    rows: str
    page: str = ""

    @property
    def text(self) -> str:
        """The unit of the count."""
        return "batch" if (self.count, self.rows) == (1, "batches") else unit_of(self.count, self.rows)

    def __str__(self) -> str:
        return f"{self.count:,} {self.text}"


def effects_of(counts: Mapping[str, int], page: str = "") -> list[Effect]:
    """Return the effects of counts by what they are of, without those of nothing."""
    return [Effect(count, rows, page) for rows, count in counts.items() if count]


def corrected(form: Any, by: User | None) -> tuple[list[Effect], dict[str, Any]]:
    """Correct by a valid form, unless it asks for a preview. Return the effects, and for JSON the message with them."""
    effects: list[Effect] = form.effects()
    message = "" if form.cleaned_data["preview"] else form.run(by=by)
    listed = [{"count": effect.count, "text": effect.text} for effect in effects]
    return effects, {"message": message, "effects": listed}


def refuse_active_run(study: Study, advice: str) -> None:
    """Refuse while a judge runs on a study.

    Raises: AnnotationError.
    """
    active = (JudgeRun.Status.QUEUED, JudgeRun.Status.RUNNING)
    if run := study.judge_runs.filter(status__in=active).select_related("judge").first():
        raise AnnotationError(f"A run of judge {run.judge.name} is active. {advice} first.")


def refuse_active_job(study: Study) -> None:
    """Refuse while a job of a study is active.

    Raises: AnnotationError.
    """
    if job := next((job for job in jobs_of(study) if job.is_busy), None):
        raise AnnotationError(f"A job of this study is active: {job}. Stop it first.")


class Correction(forms.Form):
    """A correction of a study by its admin.

    action      : its name in addresses
    lists_first : its effects depend on no field
    by_link     : a link names all that it needs
    """

    action: ClassVar[str]
    title: ClassVar[str]
    explanation: ClassVar[str]
    lists_first: ClassVar[bool] = False
    by_link: ClassVar[bool] = False

    reason = reason_field(label="Why? (optional)", help_text="Kept in the study’s log.")
    preview = forms.BooleanField(required=False, label="Preview", help_text="Only list what is affected.")

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.study = study

    def effects(self) -> list[Effect]:
        """List what the correction affects.

        Raises: AnnotationError if it is refused.
        """
        raise NotImplementedError

    def run(self, *, by: User | None) -> str:
        """Correct the study, and return a message.

        Raises: AnnotationError.
        """
        raise NotImplementedError

    @property
    def page(self) -> str:
        """The address that is shown afterwards."""
        return reverse("annotation:study", args=[self.study.slug])
