"""`import_mturk FILE --study SLUG --system-1 NAME --system-2 NAME --dataset NAME`."""

from typing import Any

from django.core.management.base import CommandError

from annotation.core.counting import number_of
from annotation.importing.formats.mturk import DEFAULT_COLUMNS
from annotation.importing.mturk_results import import_mturk
from annotation.importing.notices import with_notices
from annotation.management.commands._base import TandemCommand, argument, find_file
from annotation.management.commands._settings import NEW_STUDY, study_settings

KNOWN = ", ".join(f"{field}={column.replace('%', '%%')}" for field, column in DEFAULT_COLUMNS.items())


class Command(TandemCommand):
    help = "Import the results CSV of an MTurk batch: instances, pairs and ratings."

    arguments = (
        argument("file"),
        argument("--study", required=True, metavar="SLUG"),
        argument("--system-1", required=True, metavar="NAME", help="the one whose Input.id is 1; becomes A"),
        argument("--system-2", required=True, metavar="NAME", help="the one whose Input.id is 2; becomes B"),
        argument("--dataset", required=True, metavar="NAME"),
        argument("--batch", metavar="NAME", help="batch for the ratings"),
        argument(
            "--column",
            action="append",
            default=[],
            metavar="FIELD=COLUMN",
            help=f"other name of a column; {{j}} is the pair's number; defaults: {KNOWN}",
        ),
        NEW_STUDY,
    )

    def handle(self, *args: Any, **options: Any) -> None:
        data, name = find_file(options["file"])
        named = {option: options[option] for option in ("system_1", "system_2", "dataset", "batch")}
        settings = {"columns": _columns(options["column"]), **study_settings(options)}
        study, stored, ratings = import_mturk(data=data, name=name, slug=options["study"], **named, **settings)
        if not stored.added and not ratings.added:
            self.say(
                f"{name}: nothing new; {number_of(ratings.unchanged, 'rating')} already imported (study {study.slug})"
            )
            return
        added = f"{number_of(stored.added, 'instance')} and {number_of(ratings.added, 'rating')} added"
        self.say(with_notices(f"{name}: {added} (study {study.slug})", (*stored.notices, *ratings.notices)))
        if ratings.unchanged:
            self.say(f"already imported: {number_of(ratings.unchanged, 'rating')}")


def _columns(arguments: list[str]) -> dict[str, str]:
    columns = {}
    for item in arguments:
        field, _, column = item.partition("=")
        if field not in DEFAULT_COLUMNS or not column:
            raise CommandError(f"--column {item}: give FIELD=COLUMN with FIELD one of {', '.join(DEFAULT_COLUMNS)}")
        columns[field] = column
    return columns
