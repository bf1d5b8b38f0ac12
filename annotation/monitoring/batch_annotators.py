"""The raters of a batch: one row each with counts, shares and idle time, in a fixed number of queries."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Sum, Window
from django.db.models.functions import Coalesce, RowNumber

from annotation.core.counting import to_cents
from annotation.core.database.aggregates import select_from_cte
from annotation.hits.idle import idle_minutes, with_activity
from annotation.models import Annotator, Assignment, Batch, Flag, Rating
from annotation.models.rating import COUNTS
from annotation.monitoring.reports import returned_submissions
from annotation.quality.hidden_checks import CheckScores, scores_of
from annotation.questions.questions import MAIN

FIRST = Rating.Stage.FIRST
SUBMITTED = Assignment.State.SUBMITTED
CHOSE_LEFT = Q(verdict=-1, display__a_is_left=True) | Q(verdict=1, display__a_is_left=False)
MOST_SORTED = 500_000  # ratings; larger batches are shown without medians and agreement


@dataclass(frozen=True)
class OpenClaim:
    """A rater's claimed HIT, in this batch or another one of the study."""

    batch_id: int
    since: datetime | None
    lapsed: bool
    idle_minutes: int | None  # None while active


@dataclass(frozen=True)
class VoteCounts:
    """A rater's first votes in a batch.

    timed      : of them have active seconds, which are summed over both stages
    translated : of them were made on a page that the browser had translated
    """

    votes: int = 0
    ties: int = 0
    left: int = 0
    right: int = 0
    timed: int = 0
    seconds: float = 0.0
    translated: int = 0

    @property
    def preferences(self) -> int:
        """Number of votes for a side that is known."""
        return self.left + self.right

    @property
    def left_share(self) -> float | None:
        """Share of the left side among votes without ties."""
        return self.left / self.preferences if self.preferences else None

    @property
    def tie_share(self) -> float | None:
        """Share of ties among all votes."""
        return self.ties / self.votes if self.votes else None


@dataclass(frozen=True)
class RaterRow:
    """One rater of a batch. A share is None where its denominator is 0."""

    annotator: Annotator
    submitted: int
    counted: int
    pay: Decimal | None
    claim: OpenClaim | None
    votes: VoteCounts
    median_seconds: float | None
    checks: CheckScores
    agreeing: int
    compared: int
    flags: int

    @property
    def agreement(self) -> float | None:
        """Share of agreeing votes among all comparisons with other counted raters of the same pairs."""
        return self.agreeing / self.compared if self.compared else None

    def as_json(self) -> dict[str, Any]:
        """Return the row for the API, with the rater's code, never a name."""
        rater, claim = self.annotator, self.claim
        return {
            "rater": rater.code,
            "kind": rater.kind,
            "submitted": self.submitted,
            "counted": self.counted,
            "at_work_since": claim and claim.since,
            "idle_minutes": claim and claim.idle_minutes,
            "median_seconds_per_pair": self.median_seconds,
            "votes": self.votes.votes,
            "left_share": self.votes.left_share,
            "left_share_n": self.votes.preferences,
            "tie_share": self.votes.tie_share,
            "translated": self.votes.translated,
            "gold_share": self.checks.gold_share,
            "gold_n": self.checks.gold_asked,
            "repeat_share": self.checks.repeat_share,
            "repeat_n": self.checks.repeat_asked,
            "agreement": self.agreement,
            "agreement_n": self.compared,
            "flags": self.flags,
            "pay": self.pay,
            "warned": rater.warned_at is not None,
            "blocked": rater.blocked_at is not None,
            "excluded": rater.excluded,
        }


@dataclass(frozen=True)
class Glance:
    """The raters of a batch in numbers. A person decides about idle, warned, blocked and flagging ones.

    blocked            : also by a hidden check before their first HIT of the batch
    returned_afterward : submissions that were returned at their platform after the work
    """

    raters: int
    at_work: int
    idle: int
    warned: int
    blocked: int
    flags: int
    returned_afterward: int

    @property
    def asks_for_decisions(self) -> bool:
        """Tell whether anything waits for a person."""
        return bool(self.idle or self.warned or self.blocked or self.flags or self.returned_afterward)


def glance_at(batch: Batch, rows: Sequence[RaterRow]) -> Glance:
    """Count a batch's raters. Excluded ones are decided about."""
    claims = [row.claim for row in rows if row.claim and row.claim.batch_id == batch.pk]
    idle = sum(claim.lapsed or claim.idle_minutes is not None for claim in claims)
    undecided = [row for row in rows if not row.annotator.excluded]
    blocked = sum(row.annotator.blocked_at is not None for row in undecided)
    at_work = (Batch.Status.OPEN, Batch.Status.PAUSED)
    if batch.purpose == Batch.Purpose.RATING and batch.gold_rate and batch.status in at_work:
        # Raters whose next HIT would have been of this batch, but was a gold HIT between its own. A check is not stored
        # with the batch that it was for: all open batches with such checks list a rater who has a HIT of none of them.
        checks = Assignment.objects.filter(
            purpose=Assignment.Purpose.GOLD, state=SUBMITTED, hit__batch__pairs_per_hit=batch.pairs_per_hit
        )
        listed = Assignment.objects.filter(purpose=Assignment.Purpose.RATING, hit__batch__status__in=at_work)
        before_first_hit = Annotator.objects.present().filter(
            Q(participant=None) | Q(participant__channel__batch=None) | Q(participant__channel__batch=batch),
            Exists(checks.filter(annotator=OuterRef("pk"))),
            ~Exists(listed.filter(annotator=OuterRef("pk"))),
            study=batch.study_id,
            blocked_at__isnull=False,
            excluded=False,
        )
        blocked += before_first_hit.exclude(pk__in=[row.annotator.pk for row in rows]).count()
    return Glance(
        raters=len(rows),
        at_work=len(claims) - idle,
        idle=idle,
        warned=sum(row.annotator.warned_at is not None and row.annotator.blocked_at is None for row in undecided),
        blocked=blocked,
        flags=sum(row.flags for row in undecided),
        returned_afterward=sum(
            any(hit.hit.batch_id == batch.pk for hit in hits) for _submission, hits in returned_submissions(batch.study)
        ),
    )


def raters_of(batch: Batch, at: datetime, *, thorough: bool = True) -> list[RaterRow]:
    """Return the raters of a batch who haven't withdrawn, those at work first, then by submitted HITs.

    Checks are those of the whole study; everything else is of this batch.

    thorough : with medians and agreement, which sort every rating: half a minute for millions
    """
    sums = _sums(batch)
    annotators = Annotator.objects.present().in_bulk(sums)
    claimed = with_activity(Assignment.objects.claimed().filter(annotator__in=list(annotators))).select_related("hit")
    claims = {
        claim.annotator_id: OpenClaim(
            batch_id=claim.hit.batch_id,
            since=claim.claimed_at,
            lapsed=claim.expires_at is not None and claim.expires_at <= at,
            idle_minutes=idle_minutes(claim, at),
        )
        for claim in claimed
    }
    votes, checks = _votes(batch), scores_of(list(annotators))
    standing = Flag.objects.filter(display__assignment__hit__batch=batch, taken_back_at=None).order_by()
    flags = dict(standing.values_list("display__assignment__annotator").annotate(n=Count("pk")))
    medians, agreement = (_medians(batch), _agreement(batch)) if thorough else ({}, {})
    rows = [
        RaterRow(
            annotator,
            **sums[pk],
            claim=claims.get(pk),
            votes=votes.get(pk, VoteCounts()),
            median_seconds=medians.get(pk),
            checks=checks[pk],
            **agreement.get(pk, {"agreeing": 0, "compared": 0}),
            flags=flags.get(pk, 0),
        )
        for pk, annotator in annotators.items()
    ]
    return sorted(rows, key=lambda row: (row.claim is None, -row.submitted, row.annotator.code))


def _sums(batch: Batch) -> dict[int, dict[str, Any]]:
    """Return rater → submitted and counted HITs, and pay."""
    mine = Q(state=SUBMITTED, purpose=batch.purpose)
    assignments = Assignment.objects.present().filter(hit__batch=batch).order_by().values("annotator")
    sums: Any = assignments.annotate(
        submitted=Count("pk", filter=mine), counted=Count("pk", filter=mine & COUNTS), pay=Sum("pay_due")
    )
    return {row.pop("annotator"): {**row, "pay": to_cents(row["pay"])} for row in sums}


def _all_votes(batch: Batch) -> QuerySet[Rating]:
    own = Rating.objects.for_question(MAIN).filter(
        display__assignment__hit__batch=batch, display__assignment__purpose=batch.purpose
    )
    return own.filter(display__assignment__annotator__withdrawn_at=None).order_by()


def _votes(batch: Batch) -> dict[int, VoteCounts]:
    first = Q(stage=FIRST)
    right = Q(verdict=1, display__a_is_left=True) | Q(verdict=-1, display__a_is_left=False)
    rows: Any = (
        _all_votes(batch)
        .values(rater=F("display__assignment__annotator"))
        .annotate(
            votes=Count("pk", filter=first),
            ties=Count("pk", filter=first & Q(verdict=0)),
            left=Count("pk", filter=first & CHOSE_LEFT),
            right=Count("pk", filter=first & right),
            timed=Count("pk", filter=first & Q(active_seconds__isnull=False)),
            seconds=Coalesce(Sum("active_seconds"), 0.0),
            translated=Count("pk", filter=first & Q(translated=True)),
        )
    )
    return {row.pop("rater"): VoteCounts(**row) for row in rows}


def _medians(batch: Batch) -> dict[int, float]:
    """Return rater → median active seconds of a first vote."""
    rater = F("display__assignment__annotator")
    timed = (
        _all_votes(batch)
        .filter(stage=FIRST, active_seconds__isnull=False)
        .values(
            rater=rater,
            seconds=F("active_seconds"),
            place=Window(RowNumber(), partition_by=rater, order_by=["active_seconds", "pk"]),
            n=Window(Count("pk"), partition_by=rater),
        )
    )
    middle = "SELECT rater, AVG(seconds) FROM found WHERE 2 * place BETWEEN n AND n + 2 GROUP BY rater"
    return {int(pk): float(seconds) for pk, seconds in select_from_cte(timed, middle)}


def _agreement(batch: Batch) -> dict[int, dict[str, Any]]:
    """Return rater → comparisons that agree and all comparisons, each with another counted rater's vote on the pair."""
    pair = F("display__pair")
    counted = (
        _all_votes(batch)
        .filter(
            stage=FIRST,
            display__assignment__slot__batch=batch,
            display__assignment__state=SUBMITTED,
            display__assignment__excluded=False,
            display__assignment__annotator__excluded=False,
        )
        .values(
            rater=F("display__assignment__annotator"),
            same=Window(Count("pk"), partition_by=[pair, F("verdict")]),
            n=Window(Count("pk"), partition_by=pair),
        )
    )
    rows = select_from_cte(counted, "SELECT rater, SUM(same - 1), SUM(n - 1) FROM found GROUP BY rater")
    return {int(pk): {"agreeing": int(same), "compared": int(n)} for pk, same, n in rows}
