"""Bulk statements: every value comes back as it was given."""

from decimal import Decimal

import pytest
from django.utils import timezone

from annotation.core.database.bulk_sql import insert_rows, update_rows
from judging.calls.store import COMPLETION
from judging.models import Completion

TEXTS = [
    *('"quoted"', "\\", '\\"', "{a,b}", "NULL", "", " ", "null"),
    *("a\nb\t\r", "%s %% 'x'", "Grüße 🦉", r"\x41\u0041", "it''s"),
]


@pytest.mark.django_db
def test_rows_are_stored_as_given() -> None:
    now = timezone.now()
    cost = Decimal("0.00000012")
    rows = [
        (
            *(f"key {n:02}", "u", {text: [text, None, 1.5, True]}, 3, "verdict", text, "", {}, n or None),
            *(7, cost, n / 8, now, cost, n or None, text, text, ""),
        )
        for n, text in enumerate(TEXTS)
    ]
    made = insert_rows(Completion, COMPLETION, rows, returning=("cache_key", "id"))
    assert sorted(key for key, _ in made) == sorted(row[0] for row in rows)
    assert list(Completion.objects.order_by("cache_key").values_list(*COMPLETION)) == rows

    ids = dict(made)
    update_rows(Completion, ("finish_reason", "latency_ms"), [(row[5], None, ids[row[0]]) for row in rows])
    found = Completion.objects.filter(latency_ms=None).values_list("cache_key", "finish_reason")
    assert dict(found) == {row[0]: row[5] for row in rows}
