"""A prepared query returns what the plain one returns, whatever it is asked with."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.backends.signals import connection_created
from django.db.models import Count, Exists, OuterRef, QuerySet
from django.db.transaction import TransactionManagementError

from annotation.core.database.prepared import Prepared, PreparedUpdate
from annotation.models import Assignment, Batch, Display, Rating, Slot
from tests.factories import NOON, claim, make_annotator, make_batch, make_study, rate

pytestmark = [pytest.mark.django_db, pytest.mark.engine, pytest.mark.slow]


def held(annotator: int, key: str) -> QuerySet[Assignment]:
    return Assignment.objects.select_related("hit__batch__study", "slot").filter(annotator=annotator, key=key)


def values_of(row: Any) -> dict[str, Any]:
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}


def test_a_prepared_query_makes_the_same_objects_with_what_is_selected_along() -> None:
    study = make_study(instances=2, pay_per_hit="1.50", currency="EUR", arms=[])
    make_batch(study)
    first, second = (claim(make_annotator(study, name)) for name in ("a", "b"))
    query = Prepared(held)

    for assignment in (first, second):
        found = query.first(annotator=assignment.annotator_id, key=assignment.key)
        plain = held(assignment.annotator_id, assignment.key).get()
        for ours, theirs in (
            (found, plain),
            (found.hit, plain.hit),
            (found.hit.batch, plain.hit.batch),
            (found.hit.batch.study, plain.hit.batch.study),
            (found.slot, plain.slot),
        ):
            assert values_of(ours) == values_of(theirs)
    assert query.first(annotator=first.annotator_id, key=second.key) is None
    Slot.objects.update(assignment=None)
    found = query.first(annotator=first.annotator_id, key=first.key)
    assert found is not None
    assert not hasattr(found, "slot")


def test_a_parameter_may_be_compared_with_a_small_integer() -> None:
    study = make_study(instances=1)
    make_batch(study)
    assignment = rate(claim(make_annotator(study)))

    def answered(assignment: int, question: int) -> "QuerySet[Display, int]":
        answers = Rating.objects.for_question(question).filter(display=OuterRef("pk"))
        return Display.objects.filter(Exists(answers), assignment=assignment).values_list("position", flat=True)

    query = Prepared(answered)

    assert sorted(query.all(assignment=assignment.pk, question=0)) == [0, 1]
    assert query.all(assignment=assignment.pk, question=1) == []


def test_values_and_annotations_come_converted() -> None:
    study = make_study(instances=2)
    make_batch(study)
    annotator = make_annotator(study)
    done = rate(claim(annotator))
    claim(annotator)

    def rows(annotator: int, after: datetime) -> "QuerySet[Assignment, Any]":
        voted = Exists(Rating.objects.filter(display__assignment=OuterRef("pk")))
        found = Assignment.objects.filter(annotator=annotator, claimed_at__gte=after).annotate(voted=voted)
        return found.order_by("pk").values_list("claimed_at", "voted", "late", "key")

    query = Prepared(rows)

    assert query.all(annotator=annotator.pk, after=NOON) == list(rows(annotator.pk, NOON))
    assert query.all(annotator=annotator.pk, after=NOON)[0] == (NOON, True, False, done.key)
    assert query.all(annotator=annotator.pk, after=NOON + timedelta(seconds=1)) == []


def test_annotations_of_objects_are_set_on_them() -> None:
    study = make_study(instances=3)
    make_batch(study)

    def counted(study: int) -> QuerySet[Batch]:
        return Batch.objects.filter(study=study).annotate(hit_count=Count("hits"))

    found = Prepared(counted).first(study=study.pk)

    assert found.hit_count == 3  # type: ignore[attr-defined]


def test_what_is_the_same_each_time_is_bound_as_a_parameter() -> None:
    study = make_study(instances=2)
    odd = "it's 100 %s, %% and ?"
    names = [make_batch(study, name=name).name for name in (odd, "plain")]
    claim(make_annotator(study))

    def rows(study: int, after: datetime) -> "QuerySet[Batch, Any]":
        found = Batch.objects.filter(
            study=study, status=Batch.Status.OPEN, pairs_per_hit__lte=100, created_at__gt=after
        )
        return found.filter(name__in=[odd, "none"]).order_by().values_list("name", "study_id")

    query = Prepared(rows)

    for _ in range(2):
        assert query.all(study=study.pk, after=NOON - timedelta(days=9999)) == [(names[0], study.pk)]
    plan = query._plans[connection.vendor]
    assert len(plan.parameters) == 6
    assert "open" not in plan.sql


def test_an_update_sets_fractions_and_what_is_missing() -> None:
    study = make_study(instances=1)
    make_batch(study)
    rate(claim(make_annotator(study)))
    rating = Rating.objects.first()
    assert rating is not None

    def times(rating: int, active: float, wall: float) -> tuple[QuerySet[Rating], dict[str, Any]]:
        return Rating.objects.filter(pk=rating), {"active_seconds": active, "wall_seconds": wall}

    update = PreparedUpdate(times)
    for active, wall in ((0.25, 7.5), (None, 1987654002.5), (0.0, None)):
        assert update.run(rating=rating.pk, active=active, wall=wall) == 1
        rating.refresh_from_db()
        assert (rating.active_seconds, rating.wall_seconds) == (active, wall)


def test_a_query_is_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    built = []

    def free(hit: int) -> QuerySet[Slot]:
        built.append(hit)
        return Slot.objects.filter(hit=hit)

    query = Prepared(free)
    assert [query.all(hit=number) for number in range(3)] == [[], [], []]
    assert len(built) == 1


def test_rows_are_locked_in_transactions_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def locked(hit: int) -> QuerySet[Slot]:
        return Slot.objects.select_for_update().filter(hit=hit)

    query = Prepared(locked)
    with transaction.atomic():
        assert query.all(hit=1) == []
    monkeypatch.setattr(connection, "get_autocommit", lambda: True)
    with pytest.raises(TransactionManagementError):
        query.all(hit=1)


def test_a_value_of_a_kind_that_has_no_stand_in_is_refused() -> None:
    def broken(names: list[str]) -> QuerySet[Batch]:
        return Batch.objects.filter(name__in=names)

    with pytest.raises(TypeError, match="int, float, str and datetime"):
        Prepared(broken)


def test_a_prepared_update_changes_what_the_plain_one_would() -> None:
    study = make_study(instances=3)
    make_batch(study, pairs=2)
    first, second, third = (claim(make_annotator(study, name)) for name in ("a", "b", "c"))

    def shown(assignment: int, at: datetime) -> "tuple[QuerySet[Display], dict[str, Any]]":
        return Display.objects.filter(assignment=assignment, shown_at=None), {"shown_at": at}

    update = PreparedUpdate(shown)

    assert update.run(assignment=first.pk, at=NOON) == 2
    assert update.run(assignment=second.pk, at=NOON + timedelta(seconds=5)) == 2
    assert update.run(assignment=first.pk, at=NOON + timedelta(hours=1)) == 0  # what was shown stays as it was
    moments = Display.objects.values_list("assignment", "shown_at").order_by("assignment").distinct()
    assert list(moments) == [(first.pk, NOON), (second.pk, NOON + timedelta(seconds=5)), (third.pk, None)]


def test_a_prepared_query_goes_to_the_driver_where_slow_statements_are_logged(
    settings: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SLOW_QUERY_SECONDS = 1e-9
    connection_created.send(sender=type(connection), connection=connection)
    monkeypatch.setattr(connection, "cursor", lambda: pytest.fail("PostgreSQL would plan each statement again"))

    Prepared(held).all(annotator=1, key="a secret")

    [line] = caplog.messages
    assert "annotation_assignment" in line
    assert "a secret" not in line
