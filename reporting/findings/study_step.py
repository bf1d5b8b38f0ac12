"""The step of a study's page about its findings."""

from django.urls import reverse
from django.utils.formats import date_format

from annotation.models import Rating, Study
from annotation.study_pages.checklist import Action, Step, StepState
from judging.models import Judgment


def findings_step(study: Study) -> Step:
    """Return the step: whether there is anything to find, and when findings were read last."""
    rated = Rating.objects.filter(display__assignment__annotator__study=study).exists()
    judged = Judgment.objects.filter(run__study=study, status=Judgment.Status.PARSED).exists()
    if not rated and not judged:
        return Step("findings", "Findings", StepState.WAITING, "Need ratings or judgments")
    last = study.findings_snapshots.order_by("-read_at").values_list("read_at", flat=True).first()
    figures = "Ready" if last is None else f"Last read {date_format(last, 'SHORT_DATETIME_FORMAT')} UTC"
    show = Action("Show the findings", reverse("reporting:findings", args=[study.slug]))
    return Step("findings", "Findings", StepState.OPEN, figures, actions=(show,))
