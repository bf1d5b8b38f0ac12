"""`import_tables FILE --study SLUG`."""

from typing import Any

from annotation.core.counting import number_of
from annotation.importing.tables import import_tables
from annotation.management.commands._base import TandemCommand, argument, find_file


class Command(TandemCommand):
    help = "Import comparison tables (JSON Lines or CSV) of a study's pairs."
    arguments = (argument("file"), argument("--study", required=True, metavar="SLUG"))

    def handle(self, *args: Any, **options: Any) -> None:
        data, name = find_file(options["file"])
        study, added, unchanged = import_tables(data=data, name=name, slug=options["study"])
        if not added:
            self.say(f"{name}: nothing new; {number_of(unchanged, 'table')} already imported (study {study.slug})")
            return
        note = f", {unchanged} already imported" if unchanged else ""
        self.say(f"{name}: {number_of(added, 'table')} added{note} (study {study.slug})")
