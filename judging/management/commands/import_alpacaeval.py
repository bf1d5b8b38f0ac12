"""`import_alpacaeval FILE --study SLUG`."""

from typing import Any

from annotation.core.files.lines import FileData, first_json_record
from annotation.core.reasons import Reason
from annotation.importing.formats.alpacaeval import OUTPUT
from annotation.importing.study_files import import_outputs, summary
from annotation.management.commands._base import argument
from judging.management.commands._elsewhere import ImportCommand, files_and_study


class Command(ImportCommand):
    help = "Import AlpacaEval's files into a new or existing study: outputs of two or more systems, or annotations."
    arguments = files_and_study(
        "alpacaeval",
        argument("--people", action="store_true", help="the annotators are people (default: judges)"),
        argument(
            "--reference", default="", metavar="SYSTEM", help="of outputs, A of each pair (default: the first system)"
        ),
    )
    kind = "alpacaeval"
    reader_options = ("dataset", "people")

    def import_file(self, data: FileData, options: dict[str, Any], arguments: dict[str, Any]) -> Reason:
        if not set(OUTPUT) <= set(first_json_record(data)):
            return super().import_file(data, options, arguments)
        settings = {name: options[name] for name in ("dataset", "reference")}
        return summary(arguments["name"], *import_outputs(data=data, **settings, **arguments))
