"""`mturk_import STUDY --batch NAME FILE`."""

import json
from typing import Any

from django.utils import timezone

from annotation.management.commands._base import TandemCommand, argument, read_file
from annotation.recruitment.mturk.offline_results import import_results


class Command(TandemCommand):
    help = (
        "Read the results CSV of a batch that mturk_export wrote, onto that batch. Prints one JSON document. Reading a "
        "file again changes nothing; ratings of another batch or from elsewhere are read by import_mturk."
    )

    arguments = (
        argument("study", metavar="STUDY"),
        argument("file", metavar="FILE"),
        argument("--batch", required=True, metavar="NAME"),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        data, file_name = read_file(options["file"])
        counts = import_results(
            data=data, file_name=file_name, slug=options["study"], name=options["batch"], at=timezone.now()
        )
        self.say(json.dumps(vars(counts)))
