"""`archive_study STUDY [--restore]`."""

from typing import Any

from annotation.management.commands._base import TandemCommand, argument
from annotation.management.commands._settings import FORMAT
from annotation.studies.archive import archive_study, restore_study
from annotation.studies.services import find_study


class Command(TandemCommand):
    help = "Archive a study: it gives out no more HITs, and can still be read and exported."

    arguments = (
        argument("study", metavar="STUDY"),
        argument("--restore", action="store_true", help="restore the study"),
        argument("--reason", default="", help="kept in the study's log"),
        FORMAT,
    )

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        act = restore_study if options["restore"] else archive_study
        changed = act(study=study, reason=options["reason"])
        state = "in use" if options["restore"] else "in the archive"
        line = f"study {study.slug} is {'now' if changed else 'already'} {state}"
        archived = study.archived_at is not None
        self.say_result([line], {"study": study.slug, "archived": archived, "changed": changed}, options)
