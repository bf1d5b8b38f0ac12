"""`plan STUDY [--width W] [--measure win-rate|consistency] [--pairs 1,3,5] [--raters 1,2,3,5] … [--format json]`."""

from dataclasses import replace
from typing import Any

from annotation.management.commands._base import StudyCommand, argument, arguments_of, filled_by, group
from annotation.management.commands._batches import TWO
from annotation.models import Study
from annotation.planning.forms import PlanForm
from annotation.planning.plans import plan
from annotation.planning.text import as_text

SHARES = {name: {"flag": f"--assume-icc-{name}"} for name in ("instance", "pair", "rater")}
ASSUMED = {name: SHARES.get(name, {"flag": f"--assume-{name.replace('_', '-')}"}) for name in PlanForm.ASSUMPTIONS}
OF_JUDGES = {
    name: {"flag": f"--judge-{name.replace('_', '-')}"} for name in ("calls_per_pair", "orders", "cost_per_call")
}
PILOT = {"flag": "--pilot-batch", "action": "extend", "metavar": "NAME"}


class Command(StudyCommand):
    is_audited = False  # only reads
    help = "Print how many instances, pairs and raters an interval needs, and their cost."

    arguments = (
        *arguments_of(PlanForm, only=("width", "measure", "level")),
        argument("--dataset", help="needed, with --systems, where the study has several configurations"),
        argument("--systems", **TWO),
        *arguments_of(PlanForm, only=("pairs", "raters", "finite")),
        argument("--format", choices=["json", "text"], default="text"),
        group(
            "where the variance comes from: votes of a pilot, or assumptions",
            *arguments_of(PlanForm, only=("batches", *ASSUMED), batches=PILOT, **ASSUMED),
        ),
        group(
            "costs; default: pay and minutes of the study",
            *arguments_of(PlanForm, only=PlanForm.PRICES, **OF_JUDGES),
        ),
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
        is_assumed = any(options[name] is not None for name in PlanForm.ASSUMPTIONS)
        options["source"] = PlanForm.ASSUMED if is_assumed else PlanForm.PILOT
        form = filled_by(PlanForm, options, study=study)
        systems = tuple(options["systems"]) if options["systems"] else None
        of_command = {
            "dataset": options["dataset"],
            "systems": systems,
            "pilot_batches": tuple(form.cleaned_data["batches"]),
        }
        planned = plan(study, replace(form.spec, **of_command))
        self.say_numbers(planned, options["format"], as_text)
