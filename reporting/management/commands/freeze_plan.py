"""`freeze_plan STUDY [--claims …] [--epsilon ε] … | --withdraw [--reason TEXT] | --show`."""

from typing import Any

from annotation.management.commands._base import TandemCommand, argument, arguments_of, filled_by, one_of
from annotation.planning.frozen_plans import frozen_plan
from annotation.studies.services import find_study
from reporting.planning.forms import FreezePlan, WithdrawPlan


class Command(TandemCommand):
    help = "Freeze a study's plan before the first vote, withdraw it, or show it; print it with its hash and time."

    arguments = (
        argument("study", metavar="STUDY"),
        one_of(
            argument("--withdraw", action="store_true", help="withdraw the plan, before the first vote"),
            argument("--show", action="store_true", help="only print the plan"),
        ),
        *arguments_of(FreezePlan),
        *arguments_of(WithdrawPlan),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        if options["withdraw"]:
            filled_by(WithdrawPlan, {"reason": options["reason"]}).run(study)
        elif not options["show"]:
            filled_by(FreezePlan, options, study=study).run()
        plan = frozen_plan(study)
        self.say_json(plan.as_json() if plan else None)
