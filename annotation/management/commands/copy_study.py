"""`copy_study STUDY --to SLUG [--with-instances | --each-text]`."""

from typing import Any

from annotation.core.counting import number_of
from annotation.importing.new_studies import copy_study
from annotation.management.commands._base import StudyCommand, argument, one_of
from annotation.management.commands._settings import FORMAT
from annotation.members.groups import find_group
from annotation.models import Study


class Command(StudyCommand):
    help = "Create a study with the settings of another one. Ratings, batches and raters are not copied."

    arguments = (
        argument("--to", required=True, metavar="SLUG", help="short name of the copy"),
        argument("--title", default="", help="of the copy (default: the same one)"),
        argument("--group", metavar="SLUG", help="the group that it belongs to (default: the study's own)"),
        one_of(
            argument("--with-instances", action="store_true", help="also systems, texts, pairs and comparison tables"),
            argument(
                "--each-text",
                action="store_true",
                help="also texts, each as a system of its own, with all pairs of an instance's texts",
            ),
        ),
        FORMAT,
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
        copy = copy_study(
            study=study,
            slug=options["to"],
            group=find_group(options["group"]) if options["group"] else study.group,
            title=options["title"],
            with_instances=options["with_instances"],
            each_text=options["each_text"],
        )
        count = copy.instances.count()
        line = f"study {copy.slug} created with the settings of {study.slug}, {number_of(count, 'instance')}"
        values = {"study": copy.slug, "of": study.slug, "group": copy.group.slug, "instances": count}
        self.say_result([line], values, options)
