"""Answers about changed texts enter nothing else: not findings, exports, bundles, accuracy, logic, separability or HITs."""

from pathlib import Path
from typing import Any

import pytest

from annotation.models import Batch, Generation, Hit, HitPair, Instance, Matchup, Pair, Study, System
from annotation.separability.services import compute_separability
from judging.audits.asking import ask
from judging.audits.stress import StressTest, start_stress
from judging.models import Judge, JudgeRun, Judgment
from reporting.accuracy.accuracies import judge_accuracy
from reporting.bundle.exporting import export_bundle
from reporting.logic.audits import audit_study, judges_audited
from tests.factories import claim, make_annotator, make_batch, rate
from tests.judging.audits.readers import Reader, client_of, study_of_facts
from tests.judging.builders import judge_with, make_endpoint, make_judge
from tests.reporting.builders import findings

pytestmark = pytest.mark.django_db
RATED = (Study, System, Instance, Generation, Matchup, Pair, Batch, Hit, HitPair, Judge, JudgeRun)


def everything(study: Study, folder: Path) -> dict[str, Any]:
    """Return all that is read, computed and written of a study."""
    export_bundle(study, folder)
    written = {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    written.pop("manifest.json")  # has the time
    return {
        "findings": findings(study),
        "accuracy": judge_accuracy(study),
        "logic": audit_study(study, [None, *judges_audited(study, 0).values()]),
        "bundle": written,
        "rows": [list(model.objects.order_by("pk").values()) for model in RATED],
        "cells": list(Judgment.objects.order_by("pk").values()),
    }


@pytest.mark.weekly
@pytest.mark.slow
def test_answers_to_audits_change_nothing_else(tmp_path: Path) -> None:
    study = study_of_facts(3)
    study.instances.update(gold={"better": "alpha"})
    make_batch(study, pairs=2, raters=1)
    rater = make_annotator(study)
    for _ in range(2):
        rate(claim(rater))
    judge = make_judge(params={"ties": True}, endpoint=make_endpoint("https://93.184.216.34/v1"))
    judge_with(Reader(), study, judge)
    compute_separability(study=study, similarity="rouge1")
    before = everything(study, tmp_path / "before")

    ask(start_stress(StressTest(study, judge)), make_client=client_of(Reader(first=True)))

    after = everything(study, tmp_path / "after")
    for name, value in before.items():
        assert after[name] == value, name
    again = claim(rater)
    shown = {display.pair_id for display in again.displays.all()}
    assert shown <= set(Pair.objects.values_list("pk", flat=True))
