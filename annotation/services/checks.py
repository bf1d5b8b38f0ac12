"""Hidden checks: whole HITs with a known answer, or earlier ones again with the sides swapped."""

from dataclasses import dataclass
from datetime import datetime
from random import Random

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from annotation.keys import new_seed
from annotation.models import Annotator, Assignment, Batch, Hit, Rating
from annotation.services.displays import derived_seed, placebos_seen
from annotation.services.scoring import expected_verdict

GOLD, REPEAT = Assignment.Purpose.GOLD, Assignment.Purpose.REPEAT
CHECKS = (GOLD, REPEAT)


@dataclass(frozen=True)
class CheckScores:
    """How many checked pairs an annotator has answered, and how many as expected or as before."""

    gold_asked: int
    gold_right: int
    repeat_asked: int
    repeat_same: int

    @property
    def gold_share(self) -> float | None:
        """Share of gold pairs answered as expected; None when none was asked."""
        return self.gold_right / self.gold_asked if self.gold_asked else None

    @property
    def repeat_share(self) -> float | None:
        """Share of repeated pairs answered as before; None when none was asked."""
        return self.repeat_same / self.repeat_asked if self.repeat_asked else None


def next_check(annotator: Annotator, batch: Batch) -> Assignment | None:
    """Return the hidden check that comes before the next HIT of `batch`, unsaved, or None.

    Whether there is one is drawn for each HIT anew from the study's seed, so that no pattern gives checks away. A gold
    HIT comes once to an annotator; of earlier HITs the oldest is repeated, but never the one before. Returning a check
    brings another one, so that returning whatever looks like one is no way around them.
    """
    if not batch.gold_rate and not batch.repeat_rate:
        return None
    latest = annotator.assignments.order_by("-pk").first()
    if latest is not None and latest.state == Assignment.State.RETURNED and latest.purpose in CHECKS:
        return _gold(annotator, batch) if latest.purpose == GOLD else _repeat(annotator, batch)
    draw = Random(derived_seed(annotator.study.seed, annotator.code, annotator.assignments.count())).random()
    if draw < batch.gold_rate:
        return _gold(annotator, batch)
    if draw < batch.gold_rate + batch.repeat_rate:
        return _repeat(annotator, batch)
    return None


def gold_ahead(annotator: Annotator, batch: Batch) -> QuerySet[Hit]:
    """Return the gold HITs that may still come between HITs of `batch` for this annotator, in the order of coming."""
    gold = Batch.objects.open().filter(
        study_id=annotator.study_id,
        purpose=Batch.Purpose.GOLD,
        pairs_per_hit=batch.pairs_per_hit,  # a page of another length would give itself away
    )
    seen = annotator.assignments.values("hit__matchup_id")
    hits = Hit.objects.filter(batch__in=gold).exclude(matchup_id__in=seen)
    return hits.exclude(matchup_id__in=placebos_seen(annotator)).order_by("batch_id", "position")


def _gold(annotator: Annotator, batch: Batch) -> Assignment | None:
    hit = gold_ahead(annotator, batch).select_related("batch__study", "matchup__instance").first()
    return Assignment(hit=hit, annotator=annotator, purpose=GOLD, seed=new_seed()) if hit else None


def _repeat(annotator: Annotator, batch: Batch) -> Assignment | None:
    rated = annotator.assignments.filter(purpose=Assignment.Purpose.RATING, state=Assignment.State.SUBMITTED)
    latest = rated.order_by("-submitted_at", "-pk").first()
    if latest is None:
        return None
    earlier = rated.exclude(pk=latest.pk).filter(hit__batch=batch, repeats=None, excluded=False)
    first = earlier.select_related("hit__batch__study").order_by("submitted_at", "pk").first()
    if first is None:
        return None
    return Assignment(hit=first.hit, annotator=annotator, purpose=REPEAT, attempt=2, repeat_of=first, seed=new_seed())


def check_scores(annotator: Annotator) -> CheckScores:
    """Count an annotator's checked pairs, in three queries; HITs that were not submitted don't count.

    A repeated pair is answered as before when the vote is the earlier first one, or the one that it was revised to: who
    learned something from the table then is no less reliable for it.
    """
    first = Rating.objects.filter(
        stage=Rating.Stage.FIRST,
        display__assignment__annotator=annotator,
        display__assignment__state=Assignment.State.SUBMITTED,
    )
    gold = first.filter(display__assignment__purpose=GOLD).select_related(
        "display__pair__matchup__instance", "display__pair__matchup__system_a", "display__pair__matchup__system_b"
    )
    answers = [(rating.verdict, expected_verdict(rating.display.pair)) for rating in gold]
    earlier: dict[tuple[int, int], set[int]] = {}
    before = Rating.objects.filter(display__assignment__repeats__annotator=annotator)
    for repeat_id, pair_id, verdict in before.values_list(
        "display__assignment__repeats", "display__pair_id", "verdict"
    ):
        earlier.setdefault((repeat_id, pair_id), set()).add(verdict)
    again = [
        verdict in earlier[assignment_id, pair_id]
        for assignment_id, pair_id, verdict in first.filter(display__assignment__purpose=REPEAT).values_list(
            "display__assignment_id", "display__pair_id", "verdict"
        )
        if (assignment_id, pair_id) in earlier
    ]
    return CheckScores(
        gold_asked=len(answers),
        gold_right=sum(verdict == expected for verdict, expected in answers),
        repeat_asked=len(again),
        repeat_same=sum(again),
    )


def apply_thresholds(annotator: Annotator, at: datetime) -> Annotator:
    """Warn or block a (locked) annotator whose checks fell below the study's thresholds, from enough pairs on.

    Nothing that they rated is left out by it: that is for the researcher to decide.
    """
    study, scores = annotator.study, check_scores(annotator)
    judged = (
        (scores.gold_share, scores.gold_asked, study.gold_warn_below, study.gold_block_below, "known answers"),
        (scores.repeat_share, scores.repeat_asked, study.repeat_warn_below, study.repeat_block_below, "repeated pairs"),
    )
    for share, asked, warn_below, block_below, what in judged:
        if share is None or asked < study.check_pairs_needed:
            continue
        if block_below is not None and share < block_below and annotator.blocked_at is None:
            annotator.blocked_at = at
            annotator.block_reason = f"{share:.2f} of {asked} {what}, below {block_below:g}"
        if warn_below is not None and share < warn_below and not (annotator.warned_at or annotator.blocked_at):
            annotator.warned_at = at
    annotator.save(update_fields=["blocked_at", "block_reason", "warned_at"])
    return annotator


@transaction.atomic
def unblock(*, annotator: Annotator) -> Annotator:
    """Let a blocked annotator go on; they are blocked again only by a further check."""
    annotator = Annotator.objects.select_for_update().get(pk=annotator.pk)
    annotator.blocked_at, annotator.block_reason = None, ""
    annotator.save(update_fields=["blocked_at", "block_reason"])
    return annotator


def warning_due(assignment: Assignment) -> bool:
    """Tell whether a submission is the one at which its rater is told of a warning.

    It is the one after that which brought it: told at once, it would say that the HIT just submitted was a check.
    """
    warned_at = assignment.annotator.warned_at
    if warned_at is None:
        return False
    return assignment.annotator.assignments.filter(submitted_at__gt=warned_at).count() == 1


WARNING = _("Some of your answers differ from what was expected. Please read the guidelines again and take your time.")
