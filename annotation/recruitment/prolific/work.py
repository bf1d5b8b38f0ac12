"""Match a Prolific participant's HITs with their submissions.

A rater has one submission for each time that Prolific sent them. The current one is that whose link they opened last;
`details["opened"]` stores when. A HIT belongs to the submission that was current when it was submitted.
"""

from bisect import bisect_right
from collections.abc import Collection
from datetime import datetime

from django.db.models import Q, QuerySet

from annotation.models import Annotator, Assignment, Submission

MOST_OPENED = 100  # stored openings of one submission


class Openings:
    """The times at which each of a participant's submissions became the current one."""

    def __init__(self, submissions: Collection[Submission]) -> None:
        self._all = sorted((moment, submission.pk) for submission in submissions for moment in _opened(submission))
        self._moments = [moment for moment, _pk in self._all]

    def current_at(self, at: datetime) -> int:
        """Return the submission that was current at a moment, or the first one before any opening."""
        return self._all[max(bisect_right(self._moments, at) - 1, 0)][1]

    @property
    def last(self) -> int:
        """The submission that was opened last."""
        return self._all[-1][1]


def _opened(submission: Submission) -> list[datetime]:
    times = submission.details.get("opened")
    return [datetime.fromisoformat(time) for time in times] if times else [submission.started_at]


def submissions_of(annotator: Annotator) -> list[Submission]:
    """Return all submissions of a rater."""
    return list(Submission.objects.filter(participant__annotator=annotator).order_by("pk"))


def current_submission(submissions: Collection[Submission]) -> Submission | None:
    """Return the current one of a participant's submissions."""
    last = Openings(submissions).last if submissions else None
    return next((submission for submission in submissions if submission.pk == last), None)


def note_opened(submission: Submission, *, came_before: bool, at: datetime) -> None:
    """Make a locked submission the current one of its participant, who may have come with it before."""
    earlier = Submission.objects.filter(participant=submission.participant_id).exclude(pk=submission.pk)
    submissions = [*earlier, submission] if came_before else list(earlier)
    if submissions and Openings(submissions).last == submission.pk:
        return
    opened = [time.isoformat() for time in _opened(submission)] if came_before else []
    if len(opened) < MOST_OPENED:
        submission.details = {**submission.details, "opened": [*opened, at.isoformat()]}
        submission.save(update_fields=["details"])


def work_of(annotator: Annotator, submission: Submission | None = None) -> QuerySet[Assignment]:
    """Return the HITs that a rater did for a submission, by default the current one, without the qualification."""
    mine = annotator.assignments.exclude(purpose=Assignment.Purpose.QUALIFICATION)
    submissions = submissions_of(annotator)
    if len(submissions) < 2:
        return mine
    openings = Openings(submissions)
    target, own = submission.pk if submission else openings.last, []
    for hit in mine:
        done_at = hit.submitted_at or hit.returned_at or hit.expires_at or hit.claimed_at
        if target == (openings.last if done_at is None else openings.current_at(done_at)):
            own.append(hit.pk)
    return mine.filter(Q(pk__in=own))
