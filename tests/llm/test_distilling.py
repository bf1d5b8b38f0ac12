"""Aspects distilled by a real small model: mechanics only, its aspects are of no use."""

import json
from typing import Any

import pytest
from django.core.management import call_command

from annotation.models import Study
from judging.models import AspectSet, Completion
from tests.llm.conftest import SmallModel
from tests.llm.test_methods import study  # noqa: F401  (a fixture)

# Without it the model continues the texts, and seldom lists anything.
LIST = 'root ::= line line line line line\nline ::= "- " [a-z] [a-z ]{3,20} "\\n"'


def test_small_model_distils_aspects_and_is_asked_nothing_twice(
    study: Study,  # noqa: F811
    small_model: SmallModel,
    key_name: str,
    capsys: pytest.CaptureFixture[str],
    settings: Any,
) -> None:
    settings.ENDPOINT_ALLOWLIST = ["127.0.0.1"]
    call_command("add_endpoint", "small", base_url=small_model.base_url, model="smollm2", key_env=key_name, timeout=600)

    def distil() -> dict[str, Any]:
        capsys.readouterr()
        options = {"endpoint": "small", "pairs": 4, "in_flight": 2, "format": "json"}
        call_command("make_aspects", "talks", param=[("max_tokens", 120), ("grammar", LIST)], **options)
        told: dict[str, Any] = json.loads(capsys.readouterr().out)
        return told

    told = distil()
    made_by = told["made_by"]
    assert told["new"]
    assert 1 <= len(told["aspects"]) <= 5
    assert (made_by["texts"], made_by["lost"]) == (8, 0)
    assert made_by["calls"] == Completion.objects.count() == 8 + 1
    done = small_model.tokens()
    again = distil()
    assert (again["new"], again["aspects"]) == (False, told["aspects"])
    assert small_model.tokens() == done
    assert AspectSet.objects.get().aspects == told["aspects"]
