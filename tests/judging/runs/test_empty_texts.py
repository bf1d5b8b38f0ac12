"""A pair with an empty text is judged and counted as any other."""

import json
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from judging.models import Endpoint, Judgment
from tests.factories import add_instances, claim, instance_rows, make_annotator, make_batch, make_study, rate
from tests.judging.builders import make_endpoint
from tests.standin.process import StandInProcess

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.any_engine]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["longer", "direct"])
def test_empty_text_is_judged_and_counted(method: str, standin: StandInProcess, settings: Any) -> None:
    settings.ENDPOINT_ALLOWLIST = ["127.0.0.1"]
    make_endpoint(standin.base_url)
    study = make_study(instances=0)
    (row,) = instance_rows(instances=1)
    add_instances(study, [replace(row, generations={"alpha": ["One.", "Two."], "beta": ["", ""]})])
    make_batch(study, pairs=2)
    rate(claim(make_annotator(study)))
    endpoint = ["--endpoint", Endpoint.objects.get().name] if method == "direct" else []
    call_command("add_judge", "judge", "--method", method, *endpoint, "--order", "both", stdout=StringIO())

    call_command("run_judge", study.slug, "--judge", "judge", stdout=StringIO(), stderr=StringIO())

    assert list(Judgment.objects.of_every_question().values_list("status", flat=True)) == ["parsed"] * 4
    out = StringIO()
    call_command("findings", study.slug, "--format", "json", stdout=out)
    [found] = json.loads(out.getvalue())["configurations"]
    assert {rater["kind"]: rater["ratings"] for rater in found["raters"]} == {"person": 2, "judge": 2}
    if method == "longer":
        assert set(Judgment.objects.of_every_question().values_list("verdict", flat=True)) == {-1}
