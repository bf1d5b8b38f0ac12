"""Commands that read a kind of exported rows into a study."""

from collections.abc import Callable
from typing import Any

from annotation.core.counting import number_of
from annotation.management.commands._base import TandemCommand, argument, read_file
from annotation.models import Study


class ExportedRowsCommand(TandemCommand):
    """Reads a file by `importer`, which returns the study, and how many were added and unchanged.

    what : what is counted, in the singular
    """

    what: str
    importer: Callable[..., tuple[Study, int, int]]
    arguments = (argument("file"), argument("--study", required=True, metavar="SLUG"))

    def handle(self, *args: Any, **options: Any) -> None:
        data, name = read_file(options["file"])
        study, added, unchanged = self.importer(data=data, name=name, slug=options["study"])
        if not added:
            self.say(f"{name}: nothing new; {number_of(unchanged, self.what)} there already (study {study.slug})")
            return
        there = f", {unchanged} there already" if unchanged else ""
        self.say(f"{name}: {number_of(added, self.what)} added{there} (study {study.slug})")
