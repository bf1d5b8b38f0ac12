"""export_tables STUDY [--variant V] [--output FILE|-] [--with-makings]"""

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotation.core.counting import number_of
from annotation.importing.tables import table_lines
from annotation.management.commands._base import StudyCommand, argument
from annotation.models import Study
from judging.tables.figures import makings_of


class Command(StudyCommand):
    # Among the judges' commands: how a table was made is theirs to know.
    is_audited = False  # only reads
    help = "Export a study's comparison tables as JSON Lines."

    arguments = (
        argument("--variant", default="", metavar="V", help="only the tables of this variant"),
        argument("--output", default="-", metavar="FILE", help="output file (default: -, the terminal)"),
        argument(
            "--with-makings",
            action="store_true",
            help="add how each table was created: samples, bracket, winner",
        ),
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
        more = makings_of if options["with_makings"] else None
        if options["variant"] and not study.tables.filter(variant=options["variant"]).exists():
            variants = ", ".join(sorted(study.tables.order_by().values_list("variant", flat=True).distinct()))
            raise CommandError(
                f"study {study.slug} has no tables of variant {options['variant']}; there are: {variants}"
            )
        lines = table_lines(study=study, variant=options["variant"], more=more)
        if options["output"] == "-":
            for line in lines:
                self.stdout.write(line, ending="")
            return
        count = _write(Path(options["output"]), lines)
        self.say(f"{options['output']}: {number_of(count, 'table')} of study {study.slug}")


def _write(path: Path, lines: Iterable[str]) -> int:
    """Write a file that takes its place at the end, so that an error leaves an earlier one as it was."""
    count, name = 0, ""
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with open(descriptor, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123  # no path, a descriptor
            for line in lines:
                file.write(line)
                count += 1
        Path(name).chmod(0o644)  # mkstemp makes it 0600; it is no secret within its folder
        Path(name).replace(path)
    except OSError as error:
        raise CommandError(f"can't write to {path}: {error.strerror}") from None
    finally:
        Path(name).unlink(missing_ok=True) if name else None
    return count
