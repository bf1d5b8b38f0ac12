"""A pair with an empty text is judged and counted as any other."""

import json
from collections import Counter
from dataclasses import replace
from io import StringIO

import pytest
from django.core.management import call_command

from judging.models import Endpoint, Judgment
from tests.factories import add_instances, claim, instance_rows, make_annotator, make_batch, make_study, rate
from tests.judging.builders import make_endpoint
from tests.standin.process import StandInProcess

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def test_empty_text_is_judged_and_counted(standin: StandInProcess) -> None:
    make_endpoint(standin.base_url)
    study = make_study(instances=0)
    (row,) = instance_rows(instances=1)
    add_instances(study, [replace(row, generations={"alpha": ["One.", "Two."], "beta": ["", ""]})])
    make_batch(study, pairs=2)
    rate(claim(make_annotator(study)))
    for method, endpoint in (("longer", []), ("direct", ["--endpoint", Endpoint.objects.get().name])):
        call_command("add_judge", method, "--method", method, *endpoint, "--order", "both", stdout=StringIO())
        call_command("run_judge", study.slug, "--judge", method, stdout=StringIO(), stderr=StringIO())

    found = Judgment.objects.all()
    assert Counter(found.values_list("run__judge__name", "status")) == {
        ("longer", "parsed"): 4,
        ("direct", "parsed"): 4,
    }
    assert set(found.filter(run__judge__name="longer").values_list("verdict", flat=True)) == {-1}
    out = StringIO()
    call_command("findings", study.slug, "--format", "json", stdout=out)
    [configuration] = json.loads(out.getvalue())["configurations"]
    raters = sorted((rater["kind"], rater["ratings"]) for rater in configuration["raters"])
    assert raters == [("judge", 2), ("judge", 2), ("person", 2)]
