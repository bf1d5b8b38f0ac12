"""What the tests of MTurk by file share: a study, the files for its batch, and results of them."""

import csv
import io
from typing import Any

import pytest
from django.utils import timezone

from annotation.batches.services import set_batch_status
from annotation.importing.formats.study_file import InstanceRow
from annotation.models import Batch, Study
from annotation.recruitment.mturk.export import Sheet, export_batch
from annotation.recruitment.mturk.offline_results import ImportCounts, import_results
from tests.factories import add_instances, ask_more, criterion, csv_file, make_batch, make_study

NASTY = '=1+1 ${model2_summary1} </div><script>alert("x")</script> & "q" \r\nsecond, line\n\ttab 😀 \x01 $5 '


def make(slug: str = "study", *, raters: int = 2, instances: int = 3) -> Study:
    """Make a study with one batch that is not open."""
    study = make_study(slug, instances=instances, k=2)
    batch = make_batch(study, pairs=2, raters=raters)
    Batch.objects.filter(pk=batch.pk).update(status="paused")
    return study


@pytest.fixture(scope="module")
def stored_study(module_rows: None, django_db_blocker: Any) -> int:
    """Make one study for a module without tests that commit; return its row's number."""
    with django_db_blocker.unblock():
        return make().pk


@pytest.fixture
def study(stored_study: int) -> Study:
    """Return that study as it is in this test."""
    return Study.objects.get(pk=stored_study)


def with_settings(study: Study, **settings: Any) -> Study:
    """Change a study's settings."""
    for name, value in settings.items():
        setattr(study, name, value)
    study.save()
    return study


def export(study: Study) -> tuple[list[dict[str, str]], str, Sheet]:
    sheet = export_batch(study=study, name="batch")
    rows = list(csv.DictReader(io.StringIO(sheet.csv.decode(), newline="")))
    return rows, sheet.page.decode(), sheet


def result(
    row: dict[str, str], worker: str = "AW1", number: int = 1, answers: str = "-1 1", **changes: str
) -> dict[str, str]:
    """Write a row as the requester site exports it."""
    given = {f"Input.{name}": value for name, value in row.items()}
    told = {f"Answer.pref{place}": answer for place, answer in enumerate(answers.split(), start=1)}
    return {
        "HITId": "3HIT",
        "AssignmentId": f"3{worker}{number}",
        "WorkerId": worker,
        "AssignmentStatus": "Submitted",
        "SubmitTime": "Wed May 01 05:00:00 PDT 2024",
        "WorkTimeInSeconds": "61",
        **given,
        **told,
        "Answer.consent": "yes",
        **changes,
    }


def read(*rows: dict[str, str], data: bytes | None = None, slug: str = "study") -> ImportCounts:
    return import_results(
        data=csv_file(rows) if data is None else data,
        file_name="results.csv",
        slug=slug,
        name="batch",
        at=timezone.now(),
    )


def ask_all(study: Study, **settings: Any) -> Study:
    """Have a study ask how much one is better, what is more fluent and whether both are good, and why."""
    fluency = criterion("fluency", description="Read $5 <b>aloud</b>.", tie_kinds=True)
    return ask_more(study, fluency, contact="", strength=True, **settings)


def nasty_study() -> Study:
    study = make_study("nasty", instances=0)
    row = InstanceRow(
        number=1,
        instance_id="n",
        dataset="news",
        source=NASTY,
        generations={"alpha": [NASTY, "-2"], "beta": ["@x${source}", "+y\rz"]},
    )
    add_instances(study, [row])
    batch = make_batch(study, raters=1)
    set_batch_status(batch=batch, status="paused")
    return study
