"""Votes that come together with the form that ends a HIT's stage: those that still wait, and all of a page without JavaScript."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db.models import Max, Min

from annotation.allocation.lease import LockedHit
from annotation.core.errors import AnnotationError, Unacceptable, VoteConflict
from annotation.core.http import status_of
from annotation.models import Assignment, Rating, VoteChange
from annotation.questions.questions import MAIN
from annotation.rating.forms import SecondVoteForm, VoteForm
from annotation.rating.presenters import displays_of, vote_on
from annotation.rating.second_stage import save_second_vote
from annotation.rating.vote_context import RejectedAnswer
from annotation.rating.votes import save_vote, take_vote


def take_votes_along(
    hit: LockedHit, votes: Sequence[Mapping[str, str]], at: datetime
) -> tuple[list[RejectedAnswer], int]:
    """Save the first votes that waited for a submission, in its transaction. Return the refused ones, and the HTTP status."""
    rejected, code = [], 200
    for vote in votes:
        form = VoteForm(vote)
        try:
            if not form.is_valid():
                raise Unacceptable(form.problem)
            take_vote(hit, **form.vote, at=at)
        except (Unacceptable, VoteConflict) as refusal:  # before anything of this vote is written
            rejected.append(rejected_answer(vote, refusal))
            code = max(code, status_of(refusal))
    return rejected, code


def take_votes(
    *,
    assignment: Assignment,
    stage: str,
    votes: Sequence[Mapping[str, str]],
    at: datetime,
    required: str = "",
    revises: bool = False,
) -> tuple[list[RejectedAnswer], int]:
    """Save the choices that changed, each by itself. Return the refused ones, and the HTTP status.

    required : key of a pair whose questions must all have a choice
    revises  : change a HIT that was submitted shortly before
    """
    rejected, code = [], 200
    if stage == Rating.Stage.REVISED:
        votes = [vote for vote in votes if not _question(vote)]  # the others are closed
    by_key = {display.pair.key: display for display in displays_of(assignment)} if votes else {}
    changed = []
    for vote in votes:
        display = by_key.get(vote["pair_key"])
        saved = vote_on(display, stage, _question(vote)) if display else None
        if vote["pair_key"] == required or _differs(vote, saved):
            changed.append((vote, saved))
    share = _share(assignment, sum(not _question(vote) for vote, _saved in changed), at)
    for vote, saved in changed:
        seconds = {} if _question(vote) else _seconds(share, saved)
        try:
            _save(assignment, stage, {**seconds, **vote}, at, revises=revises)
        except (Unacceptable, VoteConflict) as refusal:
            rejected.append(rejected_answer(vote, refusal))
            code = max(code, status_of(refusal))
    return rejected, code


def rejected_answer(vote: Mapping[str, str], refusal: AnnotationError) -> RejectedAnswer:
    """Describe a refused choice, for its card."""
    return RejectedAnswer(
        vote["pair_key"],
        str(refusal),
        choice=vote.get("choice", ""),
        reason=vote.get("reason", ""),
        question=_question(vote),
    )


def _question(vote: Mapping[str, str]) -> int:
    number = vote.get("question", "")
    return int(number) if number.isdecimal() and len(number) == 1 else MAIN


def _differs(vote: Mapping[str, str], saved: Rating | None) -> bool:
    choice, reason = (saved.choice, saved.reason) if saved else ("", "")
    return (vote.get("choice", ""), vote.get("reason", reason).replace("\r\n", "\n").strip()) != (choice, reason)


def _share(assignment: Assignment, count: int, at: datetime) -> float | None:
    """Divide the time since the previous vote evenly among pairs whose choices arrive together."""
    if count < 2:
        return None
    changes = VoteChange.objects.for_question(MAIN).filter(display__assignment=assignment)
    last = changes.aggregate(at=Max("received_at"))["at"]
    began = last or assignment.displays.aggregate(at=Min("shown_at"))["at"]
    return max((at - (began or at)).total_seconds(), 0.0) / count


def _seconds(share: float | None, saved: Rating | None) -> dict[str, str]:
    """Return the total time on a pair, as a page reports it."""
    before = (saved.wall_seconds if saved else None) or 0.0
    return {} if share is None else {"wall_seconds": str(before + share)}


def _save(assignment: Assignment, stage: str, vote: Mapping[str, str], at: datetime, *, revises: bool) -> None:
    is_second = stage == Rating.Stage.REVISED
    form = (SecondVoteForm if is_second else VoteForm)(vote)
    if not form.is_valid():
        raise Unacceptable(form.problem)
    save = save_second_vote if is_second else save_vote
    save(assignment=assignment, **form.vote, at=at, revises=revises)
