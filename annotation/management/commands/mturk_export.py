"""`mturk_export STUDY --batch NAME --to FOLDER`: `hits.csv` and `template.html`."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotation.management.commands._base import TandemCommand, argument
from annotation.recruitment.mturk.export import LONGEST_PAGE, export_batch
from annotation.studies.services import find_study

CSV, PAGE = "hits.csv", "template.html"


class Command(TandemCommand):
    help = (
        "Write a draft or paused batch as a CSV and a page for MTurk's requester site, which needs no server. "
        "Prints one JSON document. Read the results back with mturk_import."
    )

    arguments = (
        argument("study", metavar="STUDY"),
        argument("--batch", required=True, metavar="NAME"),
        argument("--to", required=True, metavar="FOLDER", help="made if it isn't there"),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        sheet = export_batch(study=find_study(options["study"]), name=options["batch"])
        folder = Path(options["to"])
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / CSV).write_bytes(sheet.csv)
            (folder / PAGE).write_bytes(sheet.page)
        except OSError as error:
            raise CommandError(f"{folder} can't be written to: {error.strerror}") from None
        document = {
            "files": [str(folder / CSV), str(folder / PAGE)],
            "hits": sheet.hits,
            "assignments_per_hit": sheet.assignments,
            "seed": sheet.seed,
            "longer_than": LONGEST_PAGE,
            "too_long": sheet.too_long,
        }
        self.say(json.dumps(document, ensure_ascii=False))
