"""`import_alpacaeval FILE --study SLUG`."""

from typing import Any

from annotation.management.commands._base import TandemCommand, argument, read_file
from annotation.management.commands._settings import NEW_STUDY, study_settings
from judging.importing.elsewhere import import_elsewhere

OPTIONS = ("dataset", "people")


class Command(TandemCommand):
    help = "Read texts and verdicts into a study, which is made when it is new. AlpacaEval's annotations: instruction, output_1, output_2, generators and preference."

    arguments = (
        argument("file", help="JSON, JSON Lines or Parquet, or a folder of such files"),
        argument("--study", required=True, metavar="SLUG"),
        argument("--dataset", default="alpacaeval", help="of records that name none"),
        argument("--people", action="store_true", help="the annotators are people (default: judges)"),
        NEW_STUDY,
    )

    def handle(self, *args: Any, **options: Any) -> None:
        data, name = read_file(options["file"])
        chosen = {option: options[option] for option in OPTIONS}
        given = {"data": data, "name": name, "slug": options["study"], **study_settings(options)}
        self.say(import_elsewhere(kind="alpacaeval", options=chosen, **given)[1])
