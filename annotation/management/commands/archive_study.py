"""`archive_study STUDY [--restore]`."""

from typing import Any

from annotation.management.commands._base import StudyCommand, argument, arguments_of, filled_by
from annotation.management.commands._settings import FORMAT
from annotation.models import Study
from annotation.studies.services import archive_study, restore_study
from annotation.studies.settings_form import ReasonForm


class Command(StudyCommand):
    help = "Archive a study: it gives out no more HITs, and can still be read and exported."

    arguments = (
        argument("--restore", action="store_true", help="restore the study"),
        *arguments_of(ReasonForm),
        FORMAT,
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
        act = restore_study if options["restore"] else archive_study
        changed = act(study=study, **filled_by(ReasonForm, options).cleaned_data)
        state = "in use" if options["restore"] else "in the archive"
        line = f"study {study.slug} is {'now' if changed else 'already'} {state}"
        archived = study.archived_at is not None
        self.say_result([line], {"study": study.slug, "archived": archived, "changed": changed}, options)
