"""Hidden checks: HITs with known answers (gold), and repeats of earlier HITs with the sides swapped."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from random import Random

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from annotation.core.keys import new_seed
from annotation.core.reasons import reason
from annotation.hits.displays import derived_seed
from annotation.models import Annotator, Assignment, Batch, Hit, Rating
from annotation.quality.qualification import expected_verdict
from annotation.questions.questions import MAIN

GOLD, REPEAT = Assignment.Purpose.GOLD, Assignment.Purpose.REPEAT
CHECKS = (GOLD, REPEAT)


@dataclass(frozen=True)
class CheckScores:
    """Numbers of checked pairs that an annotator answered, and of those answered as expected or as before."""

    gold_asked: int = 0
    gold_right: int = 0
    repeat_asked: int = 0
    repeat_same: int = 0

    @property
    def gold_share(self) -> float | None:
        """Share of gold pairs answered as expected, or None when none was asked."""
        return self.gold_right / self.gold_asked if self.gold_asked else None

    @property
    def repeat_share(self) -> float | None:
        """Share of repeated pairs answered as before, or None when none was asked."""
        return self.repeat_same / self.repeat_asked if self.repeat_asked else None


def next_check(annotator: Annotator, batch: Batch) -> Assignment | None:
    """Return the hidden check due before the next HIT of `batch`, unsaved, or None.

    Whether one is due is drawn from the study's seed for each HIT, so that no pattern reveals checks. An annotator gets
    a gold HIT once; of their earlier HITs the oldest is repeated, but never the latest. A returned check is followed
    by another one, so that returning suspected checks does not avoid them.
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
    """Return the gold HITs that this annotator may still get between HITs of `batch`, in order."""
    gold = Batch.objects.open().filter(
        study_id=annotator.study_id,
        purpose=Batch.Purpose.GOLD,
        pairs_per_hit=batch.pairs_per_hit,  # another length would reveal the check
    )
    seen_matchups = annotator.assignments.values("hit__matchup_id")
    return Hit.objects.filter(batch__in=gold).exclude(matchup_id__in=seen_matchups).order_by("batch_id", "position")


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


def scores_of(annotator_ids: Collection[int]) -> dict[int, CheckScores]:
    """Count the checked pairs of submitted HITs, annotator → scores, for all annotators in three queries.

    A repeated pair is answered as before when the vote equals the earlier first vote, or the vote it was revised to.
    """
    first = (
        Rating.objects.for_question(MAIN)
        .filter(
            stage=Rating.Stage.FIRST,
            display__assignment__annotator__in=annotator_ids,
            display__assignment__state=Assignment.State.SUBMITTED,
        )
        .order_by()
    )
    counts: Counter[tuple[int, str]] = Counter()
    gold = first.filter(display__assignment__purpose=GOLD).select_related(
        "display__assignment",
        *("display__pair__matchup__instance", "display__pair__matchup__system_a", "display__pair__matchup__system_b"),
    )
    for rating in gold.defer("display__pair__matchup__instance__source"):
        rater = rating.display.assignment.annotator_id
        counts[rater, "gold_asked"] += 1
        counts[rater, "gold_right"] += rating.verdict == expected_verdict(rating.display.pair)
    before: dict[tuple[int, int], set[int]] = {}
    earlier = (
        Rating.objects.for_question(MAIN).filter(display__assignment__repeats__annotator__in=annotator_ids).order_by()
    )
    for repeat_id, pair_id, verdict in earlier.values_list(
        "display__assignment__repeats", "display__pair_id", "verdict"
    ):
        before.setdefault((repeat_id, pair_id), set()).add(verdict)
    repeated = first.filter(display__assignment__purpose=REPEAT)
    for rater, repeat_id, pair_id, verdict in repeated.values_list(
        "display__assignment__annotator", "display__assignment_id", "display__pair_id", "verdict"
    ):
        if (repeat_id, pair_id) in before:
            counts[rater, "repeat_asked"] += 1
            counts[rater, "repeat_same"] += verdict in before[repeat_id, pair_id]
    names = ("gold_asked", "gold_right", "repeat_asked", "repeat_same")
    return {pk: CheckScores(**{name: counts[pk, name] for name in names}) for pk in annotator_ids}


def apply_thresholds(annotator: Annotator, at: datetime) -> Annotator:
    """Warn or block a (locked) annotator whose checks, of enough pairs, are below the study's thresholds.

    Their ratings stay counted: excluding them is the researcher's decision.
    """
    study, scores = annotator.study, scores_of([annotator.pk])[annotator.pk]
    judged = (
        (scores.gold_share, scores.gold_asked, study.gold_warn_below, study.gold_block_below, "gold_below"),
        (scores.repeat_share, scores.repeat_asked, study.repeat_warn_below, study.repeat_block_below, "repeats_below"),
    )
    changed: set[str] = set()
    for share, answered, warn_below, block_below, code in judged:
        if share is None or answered < study.check_pairs_needed:
            continue
        if block_below is not None and share < block_below and annotator.blocked_at is None:
            annotator.blocked_at = at
            annotator.block_reason = reason(code, share=share, number=answered, limit=block_below)
            changed |= {"blocked_at", "block_reason"}
        if warn_below is not None and share < warn_below and not (annotator.warned_at or annotator.blocked_at):
            annotator.warned_at = at
            changed.add("warned_at")
    annotator.save(update_fields=changed)  # of these alone: the reason isn't read with a HIT
    return annotator


def warning_due(assignment: Assignment) -> bool:
    """Tell whether to show a warning at this submission: the next one after the warning.

    Shown at once, it would reveal that the HIT just submitted was a check.
    """
    warned_at = assignment.annotator.warned_at
    if warned_at is None:
        return False
    return assignment.annotator.assignments.filter(submitted_at__gt=warned_at).count() == 1


WARNING = _("Some of your answers differ from what was expected. Please read the guidelines again and take your time.")
