"""Hidden checks: whole HITs with a known answer, or earlier ones again with the sides swapped."""

from dataclasses import dataclass
from datetime import datetime
from random import Random

from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext_lazy as _

from annotation.keys import new_seed
from annotation.models import Annotator, Assignment, Batch, Hit, Rating
from annotation.services.displays import derived_seed
from annotation.services.scoring import expected_verdict

GOLD, REPEAT = Assignment.Purpose.GOLD, Assignment.Purpose.REPEAT


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
    HIT comes once to an annotator; of earlier HITs the oldest is repeated, but never the one before.
    """
    draw = Random(derived_seed(annotator.study.seed, annotator.code, annotator.assignments.count())).random()
    if draw < batch.gold_rate:
        return _gold(annotator)
    if draw < batch.gold_rate + batch.repeat_rate:
        return _repeat(annotator, batch)
    return None


def _gold(annotator: Annotator) -> Assignment | None:
    gold = Batch.objects.open().filter(study_id=annotator.study_id, purpose=Batch.Purpose.GOLD)
    seen = annotator.assignments.values("hit__matchup_id")
    hits = Hit.objects.filter(batch__in=gold).exclude(matchup_id__in=seen)
    hit = hits.select_related("batch__study", "matchup__instance").order_by("batch_id", "position").first()
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
    """Count an annotator's checked pairs, in two queries; HITs that were not submitted don't count."""
    first = Rating.objects.filter(
        stage=Rating.Stage.FIRST,
        display__assignment__annotator=annotator,
        display__assignment__state=Assignment.State.SUBMITTED,
    )
    gold = first.filter(display__assignment__purpose=GOLD).select_related(
        "display__pair__matchup__instance", "display__pair__matchup__system_a", "display__pair__matchup__system_b"
    )
    answers = [(rating.verdict, expected_verdict(rating.display.pair)) for rating in gold]
    again = [
        (verdict, before)
        for verdict, before in first.filter(
            display__assignment__purpose=REPEAT,
            display__assignment__repeat_of__displays__pair=F("display__pair"),
            display__assignment__repeat_of__displays__ratings__stage=Rating.Stage.FIRST,
        ).values_list("verdict", "display__assignment__repeat_of__displays__ratings__verdict")
    ]
    return CheckScores(
        gold_asked=len(answers),
        gold_right=sum(verdict == expected for verdict, expected in answers),
        repeat_asked=len(again),
        repeat_same=sum(verdict == before for verdict, before in again),
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
        if warn_below is not None and share < warn_below and annotator.warned_at is None:
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


WARNING = _("Some of your answers differ from what was expected. Please read the guidelines again and take your time.")
