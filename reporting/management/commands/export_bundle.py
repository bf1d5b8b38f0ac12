"""`manage.py export_bundle`: a study as a folder of files."""

from pathlib import Path
from typing import Any

from annotation.core.counting import number_of
from annotation.management.commands._base import StudyCommand, argument
from annotation.models import Study
from reporting.bundle.exporting import export_bundle
from reporting.bundle.layout import CHOICES, Contents


class Command(StudyCommand):
    is_audited = False  # only reads
    help = "Export a study to a new folder, from which its numbers can be recomputed and the study imported elsewhere."

    arguments = (
        argument("--out", required=True, type=Path, help="new folder"),
        argument(
            "--without",
            nargs="+",
            default=[],
            choices=CHOICES,
            metavar="WHAT",
            help="leave out: texts (with completions, which quote them), completions, reasons (of raters)",
        ),
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
        manifest = export_bundle(study, options["out"], Contents(**dict.fromkeys(options["without"], False)))
        size = sum(file["bytes"] for file in manifest["files"].values())
        self.say(
            f"{options['out']}: {number_of(len(manifest['files']), 'file')}, {size / 2**20:,.1f} MB; its numbers follow "
            "from its rows"
        )
        if count := manifest["withdrawn_raters"]:
            self.say(f"without the work of raters who have withdrawn ({count})")
