"""`import_study FILE --study SLUG`."""

from typing import Any

from django.core.management.base import CommandError

from annotation.core.files.lines import is_csv
from annotation.core.files.mapping import parse_mapping
from annotation.importing import study_files
from annotation.importing.formats.labelled import FIELDS, detect_form
from annotation.importing.formats.study_file import DEFAULT_DATASET
from annotation.management.commands._base import TandemCommand, argument, find_file
from annotation.management.commands._settings import MAP, NEW_STUDY, study_settings

STUDY = "study"


class Command(TandemCommand):
    help = (
        "Import instances and generations into a new or existing study. Files: study file (JSON Lines or wide CSV), "
        "labelled outputs (input, output_1, output_2, label), preference pairs (prompt, chosen, rejected)."
    )

    arguments = (
        argument("file"),
        argument("--study", required=True, metavar="SLUG"),
        argument("--dataset", default="", help="data set of lines that name none"),
        argument("--form", choices=[STUDY, *FIELDS], help="of the file (default: that of its first record)"),
        argument(
            "--tag", action="append", default=[], help="tag for instances of labelled outputs and preference pairs"
        ),
        argument(
            "--side-seed",
            type=int,
            default=0,
            help="seed of the draw whether a preference pair's chosen text is output 1 or 2",
        ),
        MAP,
        NEW_STUDY,
    )

    def handle(self, *args: Any, **options: Any) -> None:
        data, name = find_file(options["file"])
        mapping = parse_mapping(options["map"])
        form = options["form"] or (None if is_csv(name) or mapping else detect_form(data)) or STUDY
        arguments = {"data": data, "name": name, "slug": options["study"], **study_settings(options)}
        if form == STUDY:
            if options["tag"] or options["side_seed"]:
                raise CommandError("--tag and --side-seed go with labelled outputs and preference pairs only")
            study, stored = study_files.import_study(
                dataset=options["dataset"] or DEFAULT_DATASET, mapping=mapping, **arguments
            )
        elif mapping:
            raise CommandError("--map goes with study files only")
        else:
            settings = {"dataset": options["dataset"], "tags": options["tag"], "side_seed": options["side_seed"]}
            study, stored = study_files.import_labelled(form=form, **settings, **arguments)
        self.say(study_files.summary(name, study, stored))
