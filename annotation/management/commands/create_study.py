"""`create_study SLUG --template paper-004 [--title …] [--set NAME=VALUE …] [--group SLUG] [--file FILE]`."""

from typing import Any

from django.conf import settings

from annotation.importing.formats.study_file import DEFAULT_DATASET
from annotation.importing.new_studies import create_study, settings_of
from annotation.management.commands._base import TandemCommand, argument, find_file
from annotation.management.commands._settings import FORMAT, named_settings
from annotation.members.groups import find_group
from annotation.models import Study
from annotation.models.members import main_group
from annotation.studies.presets import BLANK, TEMPLATES, batch_defaults, find_template
from annotation.studies.settings_form import SETTINGS, checked_settings

TITLES = "; ".join(f"{template.name}: {template.title}" for template in TEMPLATES.values())


class Command(TandemCommand):
    help = "Create a study from a template, with or without a first file."

    arguments = (
        argument("study", metavar="SLUG"),
        argument("--template", default=BLANK, help=f"one of {', '.join(TEMPLATES)} ({TITLES})"),
        argument("--title", help="for researchers; raters never see it"),
        argument(
            "--set",
            action="append",
            default=[],
            dest="values",
            metavar="NAME=VALUE",
            help=f"NAME is one of: {', '.join(SETTINGS)}; may be repeated",
        ),
        argument("--group", metavar="SLUG", help="the group that it belongs to (default: the main one)"),
        argument("--file", help="a study file: instances and generations (JSON Lines or CSV)"),
        argument("--dataset", default=DEFAULT_DATASET, help="data set of lines that name none"),
        FORMAT,
    )

    def handle(self, *args: Any, **options: Any) -> None:
        template = find_template(options["template"])
        values = {"title": options["title"] or options["study"], **named_settings(options["values"])}
        begun = template.study()
        checked = checked_settings(begun, values)
        study, summary = create_study(
            slug=options["study"],
            group=main_group() if options["group"] is None else find_group(options["group"]),
            settings={**settings_of(begun), **checked},
            template=template,
            file=_file(options["file"], options["dataset"]),
        )
        self._report(study, template.name, summary.text, as_document=options["format"] == "json")

    def _report(self, study: Study, template: str, summary: str, *, as_document: bool) -> None:
        plan = batch_defaults(study)
        following = (
            f"{settings.COMMAND} create_batch {study.slug} --name NAME --dataset NAME --systems A B "
            f"--pairs {plan.pairs} --raters {plan.raters} --select {plan.select}"
        )
        if as_document:
            batch = {"pairs": plan.pairs, "raters": plan.raters, "select": plan.select}
            values = {"study": study.slug, "key": study.key, "group": study.group.slug, "template": template}
            self.say_json({**values, "settings": settings_of(study), "batch": batch, "file": summary or None})
            return
        self.say(f"study {study.slug} created from template {template}, in group {study.group.slug}")
        if summary:
            self.say(summary)
        else:
            self.say(f"next: {settings.COMMAND} import_study FILE --study {study.slug}")
        self.say(f"then: {following}")


def _file(path: str | None, dataset: str) -> dict[str, Any] | None:
    if path is None:
        return None
    data, name = find_file(path)
    return {"kind": "study", "data": data, "name": name, "dataset": dataset, "system_1": "", "system_2": ""}
