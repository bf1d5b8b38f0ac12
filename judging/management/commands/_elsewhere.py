"""Shared by the commands that import comparisons made elsewhere."""

from collections.abc import Sequence
from typing import Any

from annotation.core.files.lines import FileData
from annotation.core.reasons import Reason
from annotation.management.commands._base import Argument, TandemCommand, argument, read_files
from annotation.management.commands._settings import NEW_STUDY, study_settings
from judging.importing.elsewhere import import_elsewhere


def files_and_study(dataset: str, *options: Argument) -> Sequence[Argument]:
    """Return the arguments of such a command with these of its own."""
    return (
        argument("files", nargs="+", metavar="FILE", help="JSON, JSON Lines or Parquet, or a folder of such files"),
        argument("--study", required=True, metavar="SLUG"),
        argument("--dataset", default=dataset, help="of records that name none"),
        *options,
        NEW_STUDY,
    )


class ImportCommand(TandemCommand):
    """A command that imports files of comparisons. `kind`: theirs; `reader_options`: names of its reader's options."""

    kind: str
    reader_options: Sequence[str] = ("dataset",)

    def handle(self, *args: Any, **options: Any) -> None:
        with read_files(options["files"]) as (data, name):
            arguments = {"name": name, "slug": options["study"], **study_settings(options)}
            self.say(self.import_file(data, options, arguments))

    def import_file(self, data: FileData, options: dict[str, Any], arguments: dict[str, Any]) -> Reason:
        """Import the joined files, and return what came of it in words."""
        settings = {name: options[name] for name in self.reader_options}
        return import_elsewhere(kind=self.kind, data=data, options=settings, **arguments)[1]
