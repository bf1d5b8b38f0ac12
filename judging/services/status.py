"""What came of a run so far, counted in the database."""

from dataclasses import asdict, dataclass

from django.db.models import Count, F, Q, QuerySet, Sum

from judging.models import Judgment

PARSED, UNPARSED, REFUSED, ERROR, PENDING = (
    Judgment.Status.PARSED,
    Judgment.Status.UNPARSED,
    Judgment.Status.REFUSED,
    Judgment.Status.ERROR,
    Judgment.Status.PENDING,
)
FIRST_WON = Q(order="ab", verdict=-1) | Q(order="ba", verdict=1)


@dataclass(frozen=True)
class Counts:
    """Presentations by what came of them: a + tie + b + unparsed + refused + errors = asked.

    pending : not asked yet, and no part of `asked`
    first   : verdicts for the text shown first
    calls   : answers that were fetched for these judgments; `cached`: those that the cache had
    """

    a: int
    tie: int
    b: int
    unparsed: int
    refused: int
    errors: int
    pending: int
    first: int
    calls: int
    cached: int

    @property
    def asked(self) -> int:
        """Presentations that have an outcome."""
        return self.parsed + self.unparsed + self.refused + self.errors

    @property
    def parsed(self) -> int:
        """Presentations with a verdict."""
        return self.a + self.tie + self.b

    @property
    def total(self) -> int:
        """All presentations of the run."""
        return self.asked + self.pending

    @property
    def first_share(self) -> float | None:
        """Share of verdicts for the text shown first, ties left out; `None` without a single one."""
        decided = self.a + self.b
        return self.first / decided if decided else None

    def as_dict(self) -> dict[str, int]:
        """Return the counts with `asked` and `parsed`, for JSON."""
        return {"asked": self.asked, "parsed": self.parsed, **asdict(self)}


def count_judgments(judgments: QuerySet[Judgment]) -> Counts:
    """Count a set of judgments in one query."""
    found = judgments.order_by().aggregate(
        a=Count("pk", filter=Q(verdict=-1)),
        tie=Count("pk", filter=Q(verdict=0)),
        b=Count("pk", filter=Q(verdict=1)),
        unparsed=Count("pk", filter=Q(status=UNPARSED)),
        refused=Count("pk", filter=Q(status=REFUSED)),
        errors=Count("pk", filter=Q(status=ERROR)),
        pending=Count("pk", filter=Q(status=PENDING)),
        first=Count("pk", filter=FIRST_WON),
        calls=Sum(F("calls") - F("cached"), default=0),
        cached=Sum("cached", default=0),
    )
    return Counts(**found)


def count_tokens(judgments: QuerySet[Judgment]) -> dict[str, int | None]:
    """Sum the tokens behind a set of judgments; `None` when no endpoint told."""
    return judgments.order_by().aggregate(
        prompt_tokens=Sum("completions__prompt_tokens"), completion_tokens=Sum("completions__completion_tokens")
    )
