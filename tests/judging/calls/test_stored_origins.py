"""Who answered, and how long a prompt should be: read from a response and a request, also of earlier answers."""

from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.db import connection

from judging.calls.store import expected_prompt_tokens, origin_of
from judging.models import Completion

migration = import_module("judging.migrations.0025_origins_of_stored_answers")
TEXTS = ["", "Which one?\n\n  The first.", "Которая из двух?", "どちらが良いですか。", "混ぜた mixed текст \U00020000"]


@pytest.mark.parametrize(
    ("response", "origin"),
    [
        pytest.param({"model": "m", "system_fingerprint": "f", "provider": "p"}, ["m", "f", "p"], id="all"),
        pytest.param({"model": " m ", "system_fingerprint": None}, ["m", "", ""], id="some"),
        pytest.param({"model": ["m"], "provider": 5}, ["", "", ""], id="no texts"),
        pytest.param({"model": "m" * 300}, ["m" * 200, "", ""], id="long"),
        pytest.param({}, ["", "", ""], id="nothing"),
    ],
)
@pytest.mark.django_db
def test_origin_is_read_from_new_and_from_stored_responses(response: dict[str, Any], origin: list[str]) -> None:
    assert origin_of(response) == origin
    stored = Completion.objects.create(request={"messages": []}, response=response)
    migration.fill_in(apps, connection.schema_editor())
    stored.refresh_from_db()
    assert [stored.served_model, stored.fingerprint, stored.provider] == origin
    assert stored.expected_prompt_tokens is None


@pytest.mark.engine
@pytest.mark.django_db
def test_prompts_of_stored_answers_are_measured_like_those_of_new_ones() -> None:
    bodies = [{"messages": [{"role": "system", "content": text}, {"role": "user", "content": "x"}]} for text in TEXTS]
    Completion.objects.bulk_create(Completion(request=body, response={}) for body in bodies)
    left_out = Completion.objects.create(request={})
    migration.fill_in(apps, connection.schema_editor())
    stored = Completion.objects.exclude(pk=left_out.pk).order_by("pk")
    assert [one.expected_prompt_tokens for one in stored] == [expected_prompt_tokens(body) for body in bodies]
    left_out.refresh_from_db()
    assert left_out.expected_prompt_tokens is None
