"""Looking while votes come in: intervals and tests of findings hold at every look until the last HIT is submitted."""

import pytest

from annotation.batches.services import set_batch_status
from annotation.models import Assignment, Batch
from reporting.findings.study_findings import findings
from tests.factories import claim, make_annotator, make_batch, make_study, rate

pytestmark = pytest.mark.django_db


def test_intervals_are_wider_until_the_batch_is_complete_or_closed() -> None:
    study = make_study(instances=8, k=1)
    batch = make_batch(study, pairs=1, raters=1)
    ann = make_annotator(study, "ann")
    assert findings(study, rounds=1)["horizon"] is None
    for choice in ("left", "left", "none", "right", "left", "none", "left"):
        rate(claim(ann), choice)
    collecting = findings(study, rounds=1)
    assert collecting["horizon"] == 4
    assert "collecting" in [sentence["rule"] for sentence in collecting["answer"]]
    set_batch_status(batch=batch, status=Batch.Status.CLOSED)
    closed = findings(study, rounds=1)
    assert closed["horizon"] is None
    assert "collecting" not in [sentence["rule"] for sentence in closed["answer"]]
    wide, narrow = (found["rankings"][0]["systems"][0] for found in (collecting, closed))
    assert (wide["value"], wide["level"]) == (narrow["value"], narrow["level"])
    assert wide["low"] < narrow["low"] < narrow["high"] < wide["high"]
    set_batch_status(batch=batch, status=Batch.Status.OPEN)
    assert findings(study, rounds=1)["horizon"] == 4
    rate(claim(ann))
    assert Assignment.objects.filter(state=Assignment.State.SUBMITTED).count() == 8
    assert findings(study, rounds=1)["horizon"] is None
