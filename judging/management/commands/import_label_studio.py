"""`import_label_studio FILE --study SLUG`."""

from typing import Any

from annotation.management.commands._base import TandemCommand, argument, read_files
from annotation.management.commands._settings import NEW_STUDY, study_settings
from judging.importing.elsewhere import import_elsewhere


class Command(TandemCommand):
    help = (
        "Import Label Studio's pairwise tasks into a new or existing study: annotations as ratings, predictions as "
        "judgments."
    )

    arguments = (
        argument("files", nargs="+", metavar="FILE", help="JSON, JSON Lines or Parquet, or a folder of such files"),
        argument("--study", required=True, metavar="SLUG"),
        argument("--dataset", default="label-studio", help="of records that name none"),
        argument("--source", default="", metavar="NAME", help="of the source in a task's data (default: prompt)"),
        argument("--left", default="", metavar="NAME", help="of the left text (default: left)"),
        argument("--right", default="", metavar="NAME", help="of the right text (default: right)"),
        NEW_STUDY,
    )

    def handle(self, *args: Any, **options: Any) -> None:
        with read_files(options["files"]) as (data, name):
            settings = {option: options[option] for option in ("dataset", "source", "left", "right")}
            arguments = {"data": data, "name": name, "slug": options["study"], **study_settings(options)}
            self.say(import_elsewhere(kind="label-studio", options=settings, **arguments)[1])
