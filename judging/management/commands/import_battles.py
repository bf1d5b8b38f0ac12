"""`import_battles FILE --study SLUG`."""

from typing import Any

from annotation.management.commands._base import TandemCommand, argument, read_files
from annotation.management.commands._settings import NEW_STUDY, study_settings
from judging.importing.elsewhere import import_elsewhere


class Command(TandemCommand):
    help = "Import Arena battles (model_a, model_b, winner, judge, two conversations) into a new or existing study."

    arguments = (
        argument("files", nargs="+", metavar="FILE", help="JSON, JSON Lines or Parquet, or a folder of such files"),
        argument("--study", required=True, metavar="SLUG"),
        argument("--dataset", default="battles", help="of records that name none"),
        NEW_STUDY,
    )

    def handle(self, *args: Any, **options: Any) -> None:
        with read_files(options["files"]) as (data, name):
            arguments = {"data": data, "name": name, "slug": options["study"], **study_settings(options)}
            self.say(import_elsewhere(kind="battles", options={"dataset": options["dataset"]}, **arguments)[1])
