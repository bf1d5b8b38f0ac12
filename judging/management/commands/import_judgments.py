"""`import_judgments FILE --study SLUG [--judge NAME]`."""

from typing import Any

from annotation.core.counting import number_of
from annotation.core.files.mapping import parse_mapping
from annotation.management.commands._base import TandemCommand, argument, find_file
from annotation.management.commands._settings import MAP
from judging.importing.services import import_judgments


class Command(TandemCommand):
    help = (
        "Import verdicts that judges gave elsewhere on a study's pairs. Files: CSV with instance, pair, judge, "
        "order (ab or ba) and verdict (a, tie, b, or empty for unparsed), votes with a winner (prompt, left, right, "
        "winner), or LLMBar's published verdicts."
    )

    arguments = (
        argument("file"),
        argument("--study", required=True, metavar="SLUG"),
        argument("--judge", default="", metavar="NAME", help="judge of votes with a winner (default: column judge)"),
        MAP,
    )

    def handle(self, *args: Any, **options: Any) -> None:
        data, name = find_file(options["file"])
        more: dict[str, Any] = {"judge": options["judge"], "mapping": parse_mapping(options["map"])}
        study, stored = import_judgments(data=data, name=name, slug=options["study"], **more)
        if stored.unread:
            self.stderr.write(f"notice: ignored columns: {', '.join(stored.unread)}")
        for judge, label in stored.judges.items():
            if judge != label:
                self.stderr.write(f"notice: {label} is judge {judge} here")
        if not stored.added:
            self.say(
                f"{name}: nothing new; {number_of(stored.unchanged, 'judgment')} already imported (study {study.slug})"
            )
            return
        unchanged = f", {stored.unchanged} already imported" if stored.unchanged else ""
        judges = number_of(len(stored.judges), "judge")
        self.say(f"{name}: {number_of(stored.added, 'judgment')} of {judges} added{unchanged} (study {study.slug})")
