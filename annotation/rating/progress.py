"""An annotator's own work as they see it: without systems and instances, and without revealing hidden checks."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import Coalesce
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotation.hits.displays import attach_votes
from annotation.models import Annotator, Assignment, Display, Rating, Study
from annotation.questions.labels import choice_name, translate_default
from annotation.questions.questions import MAIN
from annotation.rating.votes import is_counted

FIRST, REVISED = Rating.Stage.FIRST, Rating.Stage.REVISED
QUALIFICATION = Assignment.Purpose.QUALIFICATION
SUBMITTED = Assignment.State.SUBMITTED


@dataclass(frozen=True)
class StudyProgress:
    """One annotator's sums in one study. The qualification counts in the pay only."""

    annotator: Annotator
    hits: int
    pairs: int
    minutes: float | None
    pay: Decimal | None
    current: str

    @property
    def question(self) -> str:
        """The study's question: raters never see its title."""
        return translate_default(self.annotator.study.question)


@dataclass(frozen=True)
class HistoryRow:
    """One HIT of an annotator."""

    assignment: Assignment
    at: datetime | None
    choices: list[SafeString]
    minutes: float | None
    status: str

    @property
    def is_qualification(self) -> bool:
        """Tell whether the HIT was part of the qualification."""
        return self.assignment.purpose == QUALIFICATION


def progress_of(user: User) -> list[StudyProgress]:
    """Return a user's sums in each study, in a fixed number of queries."""
    annotators = list(Annotator.objects.filter(user=user).select_related("study").order_by("joined_at", "pk"))
    assignments = Assignment.objects.filter(annotator__in=annotators).order_by()
    own = ~Q(purpose=QUALIFICATION)
    sums: Any = assignments.values("annotator").annotate(
        hits=Count("pk", filter=Q(state=SUBMITTED) & own), pay=Sum("pay_due")
    )
    by_annotator = {row.pop("annotator"): row for row in sums}
    current = dict(assignments.claimed().values_list("annotator", "key"))
    rated = _rated(annotators)
    return [
        StudyProgress(
            annotator,
            **by_annotator.get(annotator.pk, {"hits": 0, "pay": None}),
            **rated.get(annotator.pk, {"pairs": 0, "minutes": None}),
            current=current.get(annotator.pk, ""),
        )
        for annotator in annotators
    ]


def _rated(annotators: Sequence[Annotator]) -> dict[int, dict[str, Any]]:
    """Return annotator → pairs rated and active minutes, of submitted HITs."""
    ratings = Rating.objects.for_question(MAIN).filter(
        display__assignment__annotator__in=annotators, display__assignment__state=SUBMITTED
    )
    rows: Any = (
        ratings.exclude(display__assignment__purpose=QUALIFICATION)
        .order_by()
        .values("display__assignment__annotator")
        .annotate(pairs=Count("pk", filter=Q(stage=FIRST)), minutes=Sum("active_seconds") / 60)
    )
    return {row.pop("display__assignment__annotator"): row for row in rows}


def history_of(user: User) -> QuerySet[Assignment]:
    """Return a user's HITs, the latest first, without those of studies that they withdrew from."""
    mine = Assignment.objects.present().filter(annotator__user=user)
    mine = mine.select_related("annotator__study", "slot").prefetch_related("displays")
    return mine.annotate(at=Coalesce("submitted_at", "returned_at", "expires_at", "claimed_at")).order_by("-at", "-pk")


def history_rows(assignments: Sequence[Assignment]) -> list[HistoryRow]:
    """Describe assignments of `history_of`."""
    displays = [display for assignment in assignments for display in assignment.displays.all()]
    attach_votes(displays, Rating.objects.filter(display__in=displays))
    return [_row(assignment) for assignment in assignments]


def _row(assignment: Assignment) -> HistoryRow:
    displays = sorted(assignment.displays.all(), key=lambda display: display.position)
    seconds = [vote.active_seconds for display in displays for vote in display.votes.values() if vote.active_seconds]
    study = assignment.annotator.study
    return HistoryRow(
        assignment=assignment,
        at=assignment.submitted_at or assignment.returned_at,
        choices=[_choices(display, study) for display in displays],
        minutes=sum(seconds) / 60 if seconds else None,
        status=status_of_hit(assignment),
    )


def _choices(display: Display, study: Study) -> SafeString:
    """Name the choice on each question."""
    sides = study.side_labels
    return format_html_join(" · ", "{}", ((_choice(display, row.number, sides),) for row in study.questions))


def _choice(display: Display, question: int, sides: tuple[str, str]) -> SafeString:
    """Name the first choice on a question, and the revised one if it differs."""
    first, second = (
        choice_name(rating.choice, sides) if (rating := display.votes.get((stage, question))) else None
        for stage in (FIRST, REVISED)
    )
    if first is None:
        return SafeString("–")
    return first if second in (None, first) else format_html("{} → {}", first, second)


def status_of_hit(assignment: Assignment) -> str:
    """Describe a HIT's state. A hidden check reads like any other HIT."""
    if assignment.state == SUBMITTED:
        if not is_counted(assignment):
            return _("late: stored, not counted")
        return _("submitted late") if assignment.late else _("submitted")
    if assignment.state == Assignment.State.RETURNED:
        return _("returned: %(reason)s") % {"reason": assignment.get_return_reason_display()}
    return _("in progress") if assignment.state == Assignment.State.CLAIMED else _("ran out")
