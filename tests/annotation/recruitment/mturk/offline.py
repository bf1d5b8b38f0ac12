"""What the tests of MTurk by file share: a study, the files for its batch, and results of them."""

import csv
import io
from typing import Any

from django.utils import timezone

from annotation.batches.services import set_batch_status
from annotation.importing.formats.study_file import InstanceRow
from annotation.models import Batch, Study
from annotation.recruitment.mturk.export import Sheet, export_batch
from annotation.recruitment.mturk.offline_results import ImportCounts, import_results
from tests.factories import add_instances, ask_more, criterion, csv_file, make_batch, make_study

NASTY = '=1+1 ${model2_summary1} </div><script>alert("x")</script> & "q" \r\nsecond, line\n\ttab 😀 \x01 $5 '


def make(*, pairs: int = 2, raters: int = 2, instances: int = 3, status: str = "paused", **settings: Any) -> Study:
    """Make a study with one batch that is not open."""
    study = make_study(instances=instances, k=2, **settings)
    batch = make_batch(study, pairs=pairs, raters=raters)
    Batch.objects.filter(pk=batch.pk).update(status=status)
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


def read(*rows: dict[str, str], data: bytes | None = None) -> ImportCounts:
    return import_results(
        data=csv_file(rows) if data is None else data,
        file_name="results.csv",
        slug="study",
        name="batch",
        at=timezone.now(),
    )


def asking(**settings: Any) -> Study:
    """Make a study that asks how much one is better, what is more fluent and whether both are good, and why."""
    study = make(contact="", **settings)
    return ask_more(study, criterion("fluency", description="Read $5 <b>aloud</b>.", tie_kinds=True), strength=True)


def nasty_study() -> Study:
    study = make_study(instances=0)
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
