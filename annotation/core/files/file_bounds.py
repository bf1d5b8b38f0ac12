"""Limits on one file. Rows of most kinds are kept in memory until all of them are stored."""

from dataclasses import dataclass

from django.conf import settings

from annotation.core.errors import BadFile, BadLine
from annotation.core.files.lines import MOST_LINES, FileData, count_rows, is_json_array
from annotation.core.reasons import Reason
from annotation.core.refusals import refusal

MOST_BYTES = 1024 * 1024 * 1024
IN_BLOCKS = ("study", "sources", "ratings")  # kinds whose rows are stored some at a time; four times as many are taken
METADATA_PER_ROW = 20  # values: an empty list takes three bytes in a file, and thirty times that in memory
MATCHUPS_PER_ROW = 25  # a text of an instance with 50 systems is in 49 of them, each of two texts
SPLIT = refusal("split")


@dataclass(frozen=True)
class Bound:
    """A limit on the rows of a file, with advice for larger ones."""

    most: int = MOST_LINES
    instead: Reason = SPLIT

    def refuse_more(self, name: str, count: int, unit: str, *, each: int = 1) -> None:
        """Raise `BadFile` if `count` is above the limit. `each`: how many a row may have on average."""
        if count > (limit := self.most * each):
            raise BadFile(name, [BadLine(1, refusal("too_many", most=limit, what=unit, instead=self.instead))])

    def refuse_metadata(self, name: str, values: int) -> None:
        """Raise `BadFile` if there are too many values of metadata, at any depth."""
        self.refuse_more(name, values, "values of metadata", each=METADATA_PER_ROW)

    def refuse_rows(self, data: FileData, name: str) -> None:
        """Raise `BadFile` if there are too many rows. Those of a JSON array are counted while they are read."""
        if not is_json_array(data):
            self.refuse_more(name, count_rows(data, name, enough=self.most + 1), "rows")


FOR_COMMANDS = Bound()


def bound_of_upload(kind: str, limit: int) -> Bound:
    """Return the limits of an uploaded file. The refusal names the command that reads a larger one."""
    return Bound(
        4 * limit if kind in IN_BLOCKS else limit,
        refusal("split_or_command", command=f"{settings.COMMAND} {command_for(kind)}", most=MOST_LINES),
    )


def command_for(kind: str) -> str:
    """Return the command that imports a file of this kind."""
    own = ("bundle", "sources", "mturk", "ratings", "judgments", "tables", "alpacaeval", "battles", "label-studio")
    commands = {name: f"import_{name.replace('-', '_')}" for name in own}
    commands |= {"auto": "import_file", "outputs": "import_alpacaeval", "bundle-check": "verify_bundle"}
    return commands.get(kind, "import_study")
