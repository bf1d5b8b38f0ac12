"""What a user creates or starts: page, API and command refuse the same value with the same code."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils.html import escape

from annotation.core.errors import BadFields
from annotation.models import Study
from annotation.recruitment.channels import invitation_channel
from tests.factories import make_annotator, make_batch, make_study
from tests.judging.builders import make_endpoint, make_judge

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@dataclass(frozen=True)
class Doors:
    """How an action is asked for at its three doors, with valid values.

    flags : what the command calls a field, where it is not the field's name
    form  : its name in the page's context; empty if the refusal is a page of its own
    prefix: of its fields, where a page has several forms, which are in the context by their prefixes
    """

    address: str
    page: Mapping[str, Any]
    api: str
    body: Mapping[str, Any]
    command: list[str]
    flags: Mapping[str, str] = field(default_factory=dict)
    is_read: bool = False
    form: str = "form"
    prefix: str = ""


SYSTEMS = ["alpha", "beta"]
ENDPOINT = {"name": "far", "base_url": "https://models.example/v1", "model": "big"}
DOORS = {
    "create batch": Doors(
        "/studies/study/batches/new/",
        {"name": "b", "configuration": "0", "pairs": "2", "raters": "3", "how": "all"},
        "/api/v1/batches/",
        {"study": "study", "name": "b", "dataset": "news", "systems": SYSTEMS, "pairs": 2},
        ["create_batch", "study", "--name=b", "--dataset=news", "--systems", *SYSTEMS, "--pairs=2"],
        {"most_hits_per_rater": "--max-hits-per-rater"},
    ),
    "plan": Doors(
        "/studies/study/plan/",
        {"width": "0.1", "source": "assumed"},
        "/api/v1/studies/study/plan/",
        {"width": 0.1, "source": "assumed"},
        ["plan", "study", "--width=0.1", "--assume-win-rate=0.5"],
        {"tie_share": "--assume-tie-share", "instance": "--assume-icc-instance", "orders": "--judge-orders"},
        is_read=True,
    ),
    "invite": Doors(
        "/studies/study/channels/{channel}/links/",
        {"count": "2", "days": "30"},
        "/api/v1/studies/study/invitations/",
        {"count": 2},
        ["invite", "study", "--count=2"],
    ),
    "add endpoint": Doors(
        "/endpoints/new/",
        {**ENDPOINT, "currency": "USD", "batch_discount": "0.5", "timeout_seconds": "60"},
        "/api/v1/endpoints/",
        ENDPOINT,
        ["add_endpoint", "far", "--base-url=https://models.example/v1", "--model=big"],
        {"timeout_seconds": "--timeout"},
    ),
    "add judge": Doors(
        "/studies/study/judges/new/",
        {"name": "jo", "method": "coin", "order": "random", "combine": "tie", "repeats": "1"},
        "/api/v1/judges/",
        {"name": "jo", "method": "coin"},
        ["add_judge", "jo", "--method=coin"],
        form="judge_form",
    ),
    "compute separability": Doors(
        "/studies/study/separability/",
        {},
        "/api/v1/studies/study/separability/",
        {},
        ["compute_separability", "study"],
        form="",
    ),
    "create group": Doors(
        "/groups/",
        {"slug": "lab", "name": "Lab"},
        "/api/v1/groups/",
        {"slug": "lab", "name": "Lab"},
        ["create_group", "lab"],
    ),
    "exclude": Doors(
        "/studies/study/raters/{rater}/",
        {"action": "exclude"},
        "/api/v1/annotators/{rater}/exclude/",
        {},
        ["exclude", "study", "--rater={code}"],
        form="forms",
        prefix="exclude",
    ),
    "include": Doors(
        "/studies/study/raters/{rater}/",
        {"action": "include"},
        "/api/v1/annotators/{rater}/include/",
        {},
        ["include", "study", "--rater={code}"],
        form="forms",
        prefix="include",
    ),
    "release idle": Doors(
        "/studies/study/batches/{batch}/idle/",
        {"minutes": "10"},
        "/api/v1/batches/{batch}/idle/",
        {},
        ["release_idle", "study", "--batch=batch"],
    ),
    "extend batch": Doors(
        "/studies/study/batches/{batch}/extend/",
        {"more_raters": "1", "reason": "x", "how": "none"},
        "/api/v1/batches/{batch}/extend/",
        {"more_raters": 1, "reason": "x"},
        ["extend_batch", "study", "--batch=batch", "--raters=1", "--reason=x"],
        {"more_raters": "--raters"},
    ),
    "run judge": Doors(
        "/studies/study/judges/runs/",
        {"judge": "judy"},
        "/api/v1/runs/",
        {"study": "study", "judge": "judy"},
        ["run_judge", "study", "--judge=judy"],
        {"questions": "--question"},
        form="run_form",
    ),
    "make tables": Doors(
        "/studies/study/tables/make/start/",
        {"endpoint": "local", "scheme": "tournament", "aspects": "offline"},
        "/api/v1/studies/study/tables/",
        {"endpoint": "local"},
        ["make_tables", "study", "--endpoint=local"],
    ),
    "stress test": Doors(
        "/studies/study/audits/start/",
        {"judge": "judy", "changes": ["position"]},
        "/api/v1/audits/",
        {"study": "study", "judge": "judy"},
        ["audit_judge", "study", "--judge=judy", "--run"],
        {"changes": "--change", "pairs": "--sample"},
    ),
    "logic audit": Doors(
        "/studies/study/logic/start/",
        {"judge": "judy"},
        "/api/v1/studies/study/logic/",
        {"judge": "judy"},
        ["logic_audit", "study", "--judge=judy", "--run"],
        {"instances": "--sample", "wording": "--prompt"},
    ),
    "tune judge": Doors(
        "/studies/study/judges/tuning/start/",
        {"judge": "judy", "budget": "9", "methods": ["direct"], "held_out": "0.5"},
        "/api/v1/studies/study/tunings/",
        {"judge": "judy"},
        ["tune_judge", "study", "--judge=judy", "--budget=9"],
        {"methods": "--method", "prompts": "--prompt"},
    ),
    "sample texts": Doors(
        "/studies/study/generate/start/",
        {"system": "new", "endpoint": "local", "samples": "2"},
        "/api/v1/studies/study/sampling/",
        {"system": "new", "endpoint": "local"},
        ["generate", "study", "--system=new", "--endpoint=local"],
    ),
    "distil aspects": Doors(
        "/studies/study/aspects/distil/",
        {"endpoint": "local", "pairs": "2"},
        "/api/v1/studies/study/aspects/distil/",
        {"endpoint": "local"},
        ["make_aspects", "study", "--endpoint=local"],
        form="distil_form",
    ),
}
CASES = [
    ("compute separability", "similarity", "vibes", "invalid_choice"),
    ("compute separability", "model", "x" * 301, "max_length"),
    ("compute separability", "samples", 1, "min_value"),
    ("compute separability", "cross", 100_001, "max_value"),
    ("compute separability", "seed", "x", "invalid"),
    ("create group", "name", "x" * 201, "max_length"),
    ("exclude", "reason", "", "required"),
    ("exclude", "reason", "x" * 301, "max_length"),
    ("include", "reason", "x" * 301, "max_length"),
    ("release idle", "minutes", 9, "min_value"),
    ("release idle", "minutes", 10_001, "max_value"),
    ("release idle", "reason", "x" * 301, "max_length"),
    ("create batch", "name", "", "required"),
    ("create batch", "name", "x" * 201, "max_length"),
    ("create batch", "pairs", 0, "min_value"),
    ("create batch", "pairs", 1001, "max_value"),
    ("create batch", "pairs", "many", "invalid"),
    ("create batch", "raters", 1001, "max_value"),
    ("create batch", "seed", -1, "min_value"),
    ("create batch", "seed", 2**31, "max_value"),
    ("create batch", "most_hits_per_rater", 0, "min_value"),
    ("create batch", "gold_rate", 0.6, "max_value"),
    ("create batch", "repeat_rate", -0.1, "min_value"),
    ("create batch", "lease_minutes", 1441, "max_value"),
    ("create batch", "purpose", "fun", "invalid_choice"),
    ("plan", "width", 0, "min_value"),
    ("plan", "width", "nan", "invalid"),
    ("plan", "level", 95, "max_value"),
    ("plan", "pairs", "0", "invalid"),
    ("plan", "raters", "1,1001", "invalid"),
    ("plan", "tie_share", 2, "max_value"),
    ("plan", "instance", -0.1, "min_value"),
    ("plan", "pay_per_hit", -1, "min_value"),
    ("plan", "orders", 3, "invalid_choice"),
    ("invite", "count", 0, "min_value"),
    ("invite", "count", "few", "invalid"),
    ("invite", "days", 366, "max_value"),
    ("invite", "days", 0, "min_value"),
    ("add endpoint", "price_prompt", -1, "min_value"),
    ("add endpoint", "price_completion", "0.1234567", "max_decimal_places"),
    ("add endpoint", "currency", "dollars", "invalid"),
    ("add endpoint", "batch_discount", 1.5, "max_value"),
    ("add endpoint", "cached_discount", "most", "invalid"),
    ("add endpoint", "requests_per_minute", -1, "min_value"),
    ("add endpoint", "tokens_per_minute", 2**31, "max_value"),
    ("add endpoint", "timeout_seconds", 86_401, "max_value"),
    ("add endpoint", "timeout_seconds", "nan", "invalid"),
    ("add endpoint", "base_url", "x" * 501, "max_length"),
    ("add judge", "method", "oracle", "invalid_choice"),
    ("add judge", "endpoint", "nobody", "invalid_choice"),
    ("add judge", "order", "up", "invalid_choice"),
    ("add judge", "repeats", 101, "max_value"),
    ("add judge", "task", "poetry", "invalid_choice"),
    ("add judge", "family", "x" * 101, "max_length"),
    ("add judge", "table_variant", "x" * 41, "max_length"),
    ("add judge", "seed", 2**31, "max_value"),
    ("extend batch", "more_raters", -1, "min_value"),
    ("extend batch", "more_raters", 1001, "max_value"),
    ("extend batch", "reason", "", "required"),
    ("extend batch", "reason", "x" * 2001, "max_length"),
    ("extend batch", "seed", "x", "invalid"),
    ("run judge", "judge", "nobody", "invalid_choice"),
    ("run judge", "batch", "none", "invalid_choice"),
    ("run judge", "dataset", "none", "invalid_choice"),
    ("run judge", "in_flight", 0, "min_value"),
    ("run judge", "in_flight", 1025, "max_value"),
    ("run judge", "max_cost", -1, "min_value"),
    ("run judge", "max_cost", "much", "invalid"),
    ("run judge", "max_cost", 1_000_000, "max_whole_digits"),
    ("run judge", "limit", 0, "min_value"),
    ("run judge", "batch_size", 0, "min_value"),
    ("run judge", "batch_size", 50_001, "max_value"),
    ("make tables", "endpoint", "nowhere", "invalid_choice"),
    ("make tables", "samples", 101, "max_value"),
    ("make tables", "budget", 1, "min_value"),
    ("make tables", "scheme", "dice", "invalid_choice"),
    ("make tables", "aspects", "none", "invalid_choice"),
    ("make tables", "variant", "two words", "invalid"),
    ("make tables", "variant", "x" * 41, "max_length"),
    ("make tables", "batch", "none", "invalid_choice"),
    ("stress test", "judge", "nobody", "invalid_choice"),
    ("stress test", "pairs", 0, "min_value"),
    ("stress test", "seed", -1, "min_value"),
    ("stress test", "dataset", "none", "invalid_choice"),
    ("stress test", "question", "none", "invalid_choice"),
    ("stress test", "in_flight", 0, "min_value"),
    ("logic audit", "wording", "none", "invalid_choice"),
    ("logic audit", "repeats", 0, "min_value"),
    ("logic audit", "instances", 0, "min_value"),
    ("logic audit", "seed", 2**31, "max_value"),
    ("tune judge", "judge", "nobody", "invalid_choice"),
    ("tune judge", "budget", 0, "min_value"),
    ("tune judge", "held_out", 1, "max_value"),
    ("tune judge", "name", "x" * 71, "max_length"),
    ("tune judge", "question", "none", "invalid_choice"),
    ("tune judge", "seed", -1, "min_value"),
    ("sample texts", "endpoint", "nowhere", "invalid_choice"),
    ("sample texts", "samples", 0, "min_value"),
    ("sample texts", "samples", 101, "max_value"),
    ("sample texts", "temperature", 5.1, "max_value"),
    ("sample texts", "top_p", 1.1, "max_value"),
    ("sample texts", "max_tokens", 0, "min_value"),
    ("sample texts", "seed", -1, "min_value"),
    ("sample texts", "system_prompt", "x" * 20_001, "max_length"),
    ("sample texts", "dataset", "none", "invalid_choice"),
    ("distil aspects", "pairs", 0, "min_value"),
    ("distil aspects", "pairs", 10_001, "max_value"),
    ("distil aspects", "seed", -1, "min_value"),
    ("distil aspects", "max_cost", "nan", "invalid"),
]


@pytest.fixture
def study() -> Study:
    return make_study(k=2, pairs_per_hit=2)


@pytest.mark.parametrize(("action", "name", "value", "code"), CASES)
def test_the_three_doors_refuse_a_value_alike(
    study: Study, client: Client, action: str, name: str, value: Any, code: str
) -> None:
    client.force_login(User.objects.create_superuser("root"))
    doors = DOORS[action]
    make_judge(endpoint=make_endpoint(name="local"))
    rater = make_annotator(study, "ann")
    rows = {
        "batch": make_batch(study).pk,
        "channel": invitation_channel(study=study).key,
        "rater": rater.pk,
        "code": rater.code,
    }

    address, api = (text.format(**rows) for text in (doors.address, doors.api))
    ask: Any = client.get if doors.is_read else partial(client.post, content_type="application/json")
    page: Any = (client.get if doors.is_read else client.post)(
        address, {**doors.page, f"{doors.prefix}-{name}".strip("-"): value}
    )
    answer = ask(api, {**doors.body, name: value})
    flag = doors.flags.get(name, f"--{name.replace('_', '-')}")
    with pytest.raises(CommandError) as caught:
        call_command(*(text.format(**rows) for text in doors.command), f"{flag}={value}")

    refused = caught.value.__cause__
    assert isinstance(refused, BadFields)
    assert (page.status_code, answer.status_code) == (422, 422)
    assert refused.codes == {name: [code]}
    assert answer.json()["fields"][name] == refused.fields[name]
    if not doors.form:
        assert escape(refused.fields[name][0]) in page.text
        return
    form = page.context[doors.form][doors.prefix] if doors.prefix else page.context[doors.form]
    assert form.errors.get_json_data()[name][0]["code"] == code
    assert form.errors[name] == refused.fields[name]
