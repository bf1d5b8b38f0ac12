"""`import_file FILE… --study SLUG`."""

from typing import Any

from annotation.core.files.file_bounds import FOR_COMMANDS
from annotation.importing.formats.public_forms import AUTO
from annotation.importing.forms import UploadForm
from annotation.management.commands._base import TandemCommand, argument, read_files
from annotation.management.commands._settings import MAP, NEW_STUDY, study_settings
from reporting.uploads.jobs import import_file


class Command(TandemCommand):
    help = "Import files into a study, which is made when it is new. Their kind, and the public form that they are of, is seen by their fields."

    arguments = (
        argument("files", nargs="+", metavar="FILE", help="or a folder of JSON, JSON Lines or Parquet files"),
        argument("--study", required=True, metavar="SLUG"),
        argument("--kind", choices=[name for name, _ in UploadForm.KINDS], default=AUTO, help="(default: auto)"),
        argument("--dataset", default="", help="data set of records that name none"),
        argument("--system-1", default="", metavar="NAME", help="of MTurk results, A; of outputs, the reference"),
        argument("--system-2", default="", metavar="NAME", help="of MTurk results, B"),
        MAP,
        NEW_STUDY,
    )

    def handle(self, *args: Any, **options: Any) -> None:
        given = {name: options[name] for name in ("kind", "dataset", "system_1", "system_2")}
        with read_files(options["files"]) as (data, name):
            file = {"data": data, "name": name, "slug": options["study"], "bound": FOR_COMMANDS}
            mapping = "\n".join(options["map"])
            self.say(import_file(**file, **given, mapping=mapping, **study_settings(options))[1])
