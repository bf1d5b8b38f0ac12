"""`import_file FILE… --study SLUG`."""

import json
import shlex
import textwrap
from typing import Any

from annotation.core.files.file_bounds import FOR_COMMANDS
from annotation.importing.formats.public_forms import AUTO
from annotation.importing.forms import UploadForm
from annotation.management.commands._base import TandemCommand, argument, sent_files
from annotation.management.commands._settings import MAP, NEW_STUDY, study_settings
from reporting.uploads.files import import_file
from reporting.uploads.look import LONGEST, Look, look_at


class Command(TandemCommand):
    help = "Import files into a new or existing study. Their kind is recognised by their fields."

    arguments = (
        argument("files", nargs="+", metavar="FILE", help="or a folder of JSON, JSON Lines or Parquet files"),
        argument("--study", required=True, metavar="SLUG"),
        argument("--kind", choices=[name for name, _ in UploadForm.KINDS], default=AUTO, help="(default: auto)"),
        argument("--dataset", default="", help="data set of records that name none"),
        argument("--system-1", default="", metavar="NAME", help="of MTurk results, A; of outputs, the reference"),
        argument("--system-2", default="", metavar="NAME", help="of MTurk results, B"),
        MAP,
        argument("--look", action="store_true", help="preview fields and first records; store nothing"),
        NEW_STUDY,
    )

    def handle(self, *args: Any, **options: Any) -> None:
        joined = sent_files(options["files"])
        named = {name: options[name] for name in ("dataset", "system_1", "system_2")}
        how = {**named, "mapping": "\n".join(options["map"])}
        where = {"kind": options["kind"], "slug": options["study"], **study_settings(options)}
        if options["look"]:
            self._show(look_at(joined, options=how, **where))
            return
        with joined.own_lines():
            file: dict[str, Any] = {"data": joined.data, "name": joined.name, "bound": FOR_COMMANDS}
            self.say(import_file(**file, **how, **where)[1])

    def _show(self, look: Look) -> None:
        self.say(f"{look.form or look.kind}: {look.records:,}{'+' * look.more} records")
        for path, example in look.fields:
            self.say(f"  {path}: {example!r}")
        for name, column in look.mapping.items():
            self.say(f"--map {shlex.quote(f'{name}={column}')}")
        for pair in look.pairs:
            matchup, texts = pair.matchup, (pair.generation_a.text, pair.generation_b.text)
            self.say(f"pair of {matchup.instance.instance_id}: {matchup.system_a.name} / {matchup.system_b.name}")
            for text in (matchup.instance.source, *texts):
                self.say(textwrap.indent(textwrap.shorten(text, LONGEST, placeholder="…"), "  | "))
        for row in look.rows:
            self.say(json.dumps(row, ensure_ascii=False))
        for number, _, problem in look.problems:
            self.stderr.write(f"line {number}: {problem}")
