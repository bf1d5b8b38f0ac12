"""Looking while votes come in: intervals and tests of findings hold at every look until the last HIT is submitted."""

from dataclasses import replace

import numpy as np
import pytest
from django.utils import timezone

from annotation.batches.services import set_batch_status
from annotation.models import Assignment, Batch
from bench.answers import FILTERS, judged
from reporting.findings.charts.common import interval_note
from reporting.findings.computing import judge_findings
from reporting.findings.data.vote_table import vote_table
from reporting.findings.pooled.pooled import StudyScale
from reporting.findings.rankings.comparisons import comparisons_of_raters
from reporting.findings.rankings.ranking_models import elo_rankings
from tests.factories import claim, make_annotator, make_batch, make_study, rate
from tests.reporting.builders import findings

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
    assert interval_note(collecting) != interval_note({**collecting, "horizon": None})
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


def test_a_batch_collects_again_when_a_rater_withdraws() -> None:
    study = make_study(instances=2, k=1)
    make_batch(study, pairs=1, raters=1)
    ann, bob = make_annotator(study, "ann"), make_annotator(study, "bob")
    for rater in (ann, bob):
        rate(claim(rater))
    assert findings(study, rounds=1)["horizon"] is None
    study.annotators.filter(pk=bob.pk).update(withdrawn_at=timezone.now())
    assert findings(study, rounds=1)["horizon"] == 1


def test_what_holds_at_one_look_is_not_claimed_while_votes_come_in() -> None:
    rng = np.random.default_rng(0)
    data = judged(rng, 60, right=0.95)
    votes = vote_table([data])
    for horizon in (None, 20):
        filters = replace(FILTERS, horizon=horizon)
        (judge,) = judge_findings([data], votes, None, filters)["replacement"]
        powered, alternative = judge["prediction_powered"][0], judge["alternative_annotator"]
        width = powered["plain"]["high"] - powered["plain"]["low"]
        if horizon is None:
            assert (alternative["passes"], alternative["tested"]) == (True, 3)
            narrow = width
        else:
            assert (alternative["passes"], alternative["why_code"]) == (None, "collecting")
            assert (alternative["people"], judge["verdict"]["values"]["alternative"]["rule"]) == ([], "")
            assert width > 1.2 * narrow
    comparisons = comparisons_of_raters(votes, StudyScale())[0]
    first, looked_at = (
        elo_rankings(comparisons, replace(FILTERS, horizon=horizon))[0]["systems"][0] for horizon in (None, 20)
    )
    assert first["value"] == looked_at["value"]
    assert first["low"] is not None
    assert (looked_at["low"], looked_at["why_code"]) == (None, "collecting")
