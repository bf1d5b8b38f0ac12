"""What came of a run so far, counted in the database."""

from dataclasses import asdict, dataclass

from django.db.models import Count, F, Q, QuerySet, Sum

from annotation.models import Study
from judging.models import JudgeRun, Judgment

UNPARSED, REFUSED, ERROR, PENDING = (
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
    fetched : answers that were fetched for these judgments; `from_cache`: those that the cache had
    """

    a: int
    tie: int
    b: int
    unparsed: int
    refused: int
    errors: int
    pending: int
    first: int
    fetched: int
    from_cache: int

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
    def decided(self) -> int:
        """Verdicts that are no ties."""
        return self.a + self.b

    @property
    def first_share(self) -> float | None:
        """Share of verdicts for the text shown first, ties left out; `None` without a single one."""
        return self.first / self.decided if self.decided else None

    def as_dict(self) -> dict[str, int]:
        """Return the counts for JSON; there, `calls` are answers fetched and `cached` those that cost none."""
        counts = {"asked": self.asked, "parsed": self.parsed, **asdict(self)}
        counts["calls"], counts["cached"] = counts.pop("fetched"), counts.pop("from_cache")
        return counts


COUNTED = {
    "a": Count("pk", filter=Q(verdict=-1)),
    "tie": Count("pk", filter=Q(verdict=0)),
    "b": Count("pk", filter=Q(verdict=1)),
    "unparsed": Count("pk", filter=Q(status=UNPARSED)),
    "refused": Count("pk", filter=Q(status=REFUSED)),
    "errors": Count("pk", filter=Q(status=ERROR)),
    "pending": Count("pk", filter=Q(status=PENDING)),
    "first": Count("pk", filter=FIRST_WON),
    "fetched": Sum(F("calls") - F("cached"), default=0),
    "from_cache": Sum("cached", default=0),
}


def count_judgments(judgments: QuerySet[Judgment]) -> Counts:
    """Count a set of judgments in one query."""
    return Counts(**judgments.order_by().aggregate(**COUNTED))


def count_runs(study: Study) -> dict[int, Counts]:
    """Count every run of a study in one query, by the run's primary key."""
    judgments = Judgment.objects.filter(run__study=study).order_by()
    rows = judgments.values("run_id").annotate(**COUNTED).values_list("run_id", *COUNTED)
    return {run_id: Counts(**dict(zip(COUNTED, values, strict=True))) for run_id, *values in rows}


def count_tokens(judgments: QuerySet[Judgment]) -> dict[str, int | None]:
    """Sum the tokens behind a set of judgments; `None` when no endpoint told."""
    return judgments.order_by().aggregate(
        prompt_tokens=Sum("completions__prompt_tokens"), completion_tokens=Sum("completions__completion_tokens")
    )


def pairs_without_source(run: JudgeRun) -> int:
    """Count the pairs of a run whose judge is asked without a source text, as imported ratings may lack one."""
    if run.judge.endpoint_id is None:
        return 0  # baselines look at the two texts only
    return run.judgments.filter(pair__matchup__instance__source="").values("pair").distinct().count()
