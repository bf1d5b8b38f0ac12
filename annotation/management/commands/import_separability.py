"""`import_separability FILE --study SLUG`."""

from typing import Any

from annotation.core.counting import number_of
from annotation.importing.separability import import_separability
from annotation.management.commands._base import TandemCommand, argument, read_file


class Command(TandemCommand):
    help = "Read separability that was computed elsewhere, as export_study writes it, for a study's matchups."

    arguments = (argument("file"), argument("--study", required=True, metavar="SLUG"))

    def handle(self, *args: Any, **options: Any) -> None:
        data, name = read_file(options["file"])
        study, added, unchanged = import_separability(data=data, name=name, slug=options["study"])
        if not added:
            self.say(
                f"{name}: nothing new; separability of {number_of(unchanged, 'matchup')} there already (study {study.slug})"
            )
        else:
            there = f", {unchanged} there already" if unchanged else ""
            self.say(f"{name}: separability of {number_of(added, 'matchup')} added{there} (study {study.slug})")
