"""Placebos of the second stage: a comparison table of other texts, shown beside a pair in place of its own.

A placebo should resemble the pair's own table and influence no first vote. Candidates, in this order:

1. of the same source, of a pair without any text of the HIT: another pair of the matchup, or other systems';
2. of another source of the same data set;
3. of a pair that the rater is still to rate: of a matchup of which they have seen a table already, so that at most one
   HIT is affected, then of the same source, then of the data set;
4. of another data set.

Tables of 1, 2 and 4 are of pairs that this rater will not get, or has rated. Within each group, tables that the rater
has not seen come first, then those closest in rows, then in length, to the pair's own table.
"""

from collections.abc import Iterator
from typing import Any

from django.db.models import Case, Exists, F, Func, IntegerField, OuterRef, Q, QuerySet, TextField, Value, When
from django.db.models.functions import MD5, Abs, Cast, Concat, Length

from annotation.allocation.queue import ANY_ARM
from annotation.hits.displays import derived_seed
from annotation.models import Assignment, Batch, ComparisonTable, Display, HitPair, Slot

_Tables = QuerySet[ComparisonTable]


class _RowCount(Func):
    """The number of elements of a JSON array."""

    function = "JSON_ARRAY_LENGTH"
    output_field = IntegerField()

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, function="JSONB_ARRAY_LENGTH", **context)


def choose_placebo(tables: _Tables, assignment: Assignment, display: Display) -> ComparisonTable | None:
    """Return the table to show as a placebo beside a pair, or None when all are of the pair's own HIT."""
    sized = tables.annotate(row_count=_RowCount("rows"), length=Length(Cast("rows", TextField())))
    own = sized.filter(pair=display.pair_id).order_by("table_id").first()
    displays = Display.objects.filter(assignment__annotator=assignment.annotator_id, table=OuterRef("pk"))
    order: list[Any] = [Case(When(Exists(displays), then=1), default=0)]
    if own is not None:
        order += [Abs(F("row_count") - own.row_count), Abs(F("length") - own.length)]
    seed = derived_seed(assignment.seed, display.pair.key, "table")
    order.append(MD5(Concat(Value(str(seed)), "table_id")))
    return next(
        (table for pool in _pools(sized, assignment, display) if (table := pool.order_by(*order).first())), None
    )


def _pools(tables: _Tables, assignment: Assignment, display: Display) -> Iterator[_Tables]:
    instance = display.pair.matchup.instance
    same_source = _without_texts_of_hit(tables.filter(pair__matchup__instance=instance), assignment)
    other_tables = tables.exclude(pair__matchup__instance=instance)
    same_set = other_tables.filter(pair__matchup__instance__dataset=instance.dataset)
    free = ~Exists(_to_come(assignment))
    yield same_source.filter(free)
    yield same_set.filter(free)
    displays = Display.objects.filter(assignment__annotator=assignment.annotator_id, table__isnull=False)
    yield same_set.filter(pair__matchup__in=displays.order_by().values("table__pair__matchup"))
    yield same_source
    yield same_set
    yield other_tables.filter(free)
    yield other_tables


def _without_texts_of_hit(tables: _Tables, assignment: Assignment) -> _Tables:
    """Leave out tables of any text that is on the HIT, also as another generation."""
    placed = HitPair.objects.filter(hit=assignment.hit_id)
    texts = {
        text
        for pair in placed.values_list("pair__generation_a__text_md5", "pair__generation_b__text_md5")
        for text in pair
    }
    of_hit = Q(pair__generation_a__text_md5__in=texts) | Q(pair__generation_b__text_md5__in=texts)
    return tables.exclude(of_hit)


def _to_come(assignment: Assignment) -> QuerySet[HitPair]:
    """Return a table's pair on HITs that this rater may still get, as `queue` allocates them.

    Left out: closed batches, HITs without an unfilled slot for the rater's arm, matchups that the rater has had.
    """
    rated = Assignment.objects.filter(annotator=assignment.annotator_id).exclude(state=Assignment.State.EXPIRED)
    slots = Slot.objects.filter(hit=OuterRef("hit"), arm__in=(ANY_ARM, assignment.arm))
    unfilled = Exists(slots.exclude(assignment__state=Assignment.State.SUBMITTED))
    placed = HitPair.objects.filter(
        unfilled | Q(hit__batch__purpose=Batch.Purpose.GOLD),
        pair=OuterRef("pair"),
        hit__batch__study=assignment.hit.batch.study_id,
    )
    return placed.exclude(hit__batch__status=Batch.Status.CLOSED).exclude(
        hit__matchup__in=rated.order_by().values("hit__matchup")
    )
