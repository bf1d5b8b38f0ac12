"""`move_study STUDY --group SLUG`."""

from typing import Any

from annotation.core.counting import number_of
from annotation.management.commands._base import StudyCommand, argument
from annotation.members.groups import find_group, move_study
from annotation.models import Study


class Command(StudyCommand):
    help = "Move a study to another group, whose researchers and study admins get access in place of the old ones."

    arguments = (argument("--group", required=True, metavar="SLUG"),)

    def run(self, study: Study, options: dict[str, Any]) -> None:
        group = find_group(options["group"])
        if study.group_id == group.pk:
            self.say(f"study {study} is in group {group} already")
            return
        ended = move_study(study=study, group=group)
        self.say(
            f"study {study} is in group {group} now; ended: {number_of(ended, 'role')} of readers in the study itself"
        )
