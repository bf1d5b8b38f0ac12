"""`export_rater KEY [--study STUDY]`."""

from typing import Any

from annotation.management.commands._base import TandemCommand, argument
from annotation.privacy.erasing import find_raters
from annotation.privacy.own_data import data_of
from annotation.studies.services import find_study


class Command(TandemCommand):
    help = (
        "Print all data of a rater as JSON, to hand to them. It names no system, arm or check, like the file on "
        "their own page."
    )

    arguments = (
        argument("key", metavar="KEY", help="the rater's code, account name or platform id"),
        argument("--study", metavar="STUDY", help="in this study only"),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"]) if options["study"] else None
        raters = find_raters(options["key"], study)
        self.say_json(data_of(raters, raters[0].user))
