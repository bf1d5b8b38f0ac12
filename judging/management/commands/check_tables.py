"""check_tables STUDY --endpoint NAME --model MODEL [--variant V] [--threshold T] [--format json|text]"""

from typing import Any

from django.core.management.base import CommandError

from analysis.table_checks import SUPPORTED
from annotation.management.commands._base import TandemCommand, argument
from annotation.studies.services import find_study
from judging.core.proportions import Proportion
from judging.embeddings.services import Embedder
from judging.endpoints.services import find_endpoint
from judging.tables.checked_tables import vector_figures
from judging.tables.services import check_tables


class Command(TandemCommand):
    help = (
        "Compare each cell of a study's comparison tables with the nearest sentence of the text that it is about, by the "
        "cosine of their vectors. Tables that were checked with this model are skipped, so the command can be stopped and repeated."
    )

    arguments = (
        argument("study", metavar="STUDY", help="the study's slug"),
        argument("--endpoint", required=True, metavar="NAME"),
        argument("--model", required=True, metavar="MODEL", help="the endpoint's name for its embedding model"),
        argument("--variant", default="", metavar="V", help="only the tables of this variant"),
        argument(
            "--threshold",
            type=float,
            default=SUPPORTED,
            metavar="T",
            help=f"cosine from which on a cell counts as supported ({SUPPORTED}); what is high depends on the model",
        ),
        argument("--format", choices=["text", "json"], default="text"),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        tables = study.tables.filter(variant=options["variant"]) if options["variant"] else study.tables.all()
        if not tables.exists():
            raise CommandError(f"study {study.slug} has no such comparison tables")
        embedder = Embedder(find_endpoint(options["endpoint"]), options["model"])
        in_steps = options["format"] == "text" and options["verbosity"] > 1
        done = check_tables(
            study=study,
            embedder=embedder,
            variant=options["variant"],
            threshold=options["threshold"],
            on_progress=(lambda done: self.say(f"{done.made} tables checked")) if in_steps else None,
        )
        figures = vector_figures(study, model=options["model"], variant=options["variant"])
        values = {
            "study": study.slug,
            "model": options["model"],
            "threshold": options["threshold"],
            **vars(done),
            "variants": {name: vars(found) | {"level": 0.95} for name, found in figures.items()},
        }
        lines = [
            f"{done.made} tables checked, {done.kept} were before; {done.calls} calls, {done.tokens} tokens",
            *(f"{name}: {_written(found, options['threshold'])}" for name, found in figures.items()),
        ]
        self.say_result(lines, values, options)


def _written(found: Proportion, threshold: float) -> str:
    if found.value is None:
        return "no cell says anything"
    interval = "no interval" if found.low is None else f"95 % interval {found.low:.3f}–{found.high:.3f}"
    return f"{found.value:.3f} of {found.n} cells have a cosine of {threshold:g} or more ({interval}); {found.left_out} cells are empty"
