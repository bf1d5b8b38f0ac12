"""`manage.py import_bundle`: a study from a bundle."""

from pathlib import Path
from typing import Any

from annotation.management.commands._base import TandemCommand, argument
from annotation.members.groups import find_group
from reporting.bundle.importing import import_bundle
from reporting.bundle.opening import unpacked


class Command(TandemCommand):
    help = "Create a study from a bundle, with the same findings to the last digit."

    arguments = (
        argument("folder", type=Path, help="the bundle: a folder, or the ZIP archive of the page Export"),
        argument("--study", required=True, metavar="SLUG", help="the name of the new study"),
        argument("--group", default="", metavar="SLUG", help="the group that it belongs to (default: main)"),
    )

    def handle(self, *args: Any, folder: Path, study: str, group: str, **options: Any) -> None:
        with unpacked(folder) as opened:
            study_imported = import_bundle(opened, slug=study, group=find_group(group) if group else None)
        self.say(f"study {study_imported.slug} was created; its findings are those of {folder}")
