"""`import_alpacaeval FILE --study SLUG`."""

from typing import Any

from annotation.core.files.lines import first_json_record
from annotation.importing.formats.alpacaeval import OUTPUT
from annotation.importing.study_files import import_outputs, summary
from annotation.management.commands._base import TandemCommand, argument, read_files
from annotation.management.commands._settings import NEW_STUDY, study_settings
from judging.importing.elsewhere import import_elsewhere


class Command(TandemCommand):
    help = "Import AlpacaEval's files into a new or existing study: outputs of two or more systems, or annotations."

    arguments = (
        argument("files", nargs="+", metavar="FILE", help="JSON, JSON Lines or Parquet, or a folder of such files"),
        argument("--study", required=True, metavar="SLUG"),
        argument("--dataset", default="alpacaeval", help="of records that name none"),
        argument("--people", action="store_true", help="the annotators are people (default: judges)"),
        argument(
            "--reference", default="", metavar="SYSTEM", help="of outputs, A of each pair (default: the first system)"
        ),
        NEW_STUDY,
    )

    def handle(self, *args: Any, **options: Any) -> None:
        with read_files(options["files"]) as (data, name):
            arguments = {"data": data, "name": name, "slug": options["study"], **study_settings(options)}
            if set(OUTPUT) <= set(first_json_record(data)):
                study, stored = import_outputs(dataset=options["dataset"], reference=options["reference"], **arguments)
                self.say(summary(name, study, stored))
            else:
                settings = {"dataset": options["dataset"], "people": options["people"]}
                self.say(import_elsewhere(kind="alpacaeval", options=settings, **arguments)[1])
