"""tune_judge STUDY --judge NAME --budget N"""

from typing import Any

from annotation.management.commands._base import arguments_of
from annotation.management.commands._settings import FORMAT
from annotation.models import Study
from judging.management.asking import asking
from judging.management.commands._runs import ESTIMATE, AskingCommand
from judging.models import JudgeTuning
from judging.tuning.forms import TuningForm
from judging.tuning.searching import TuningStopped, tune


class Command(AskingCommand):
    help = (
        "Choose the wording, method, examples and tie threshold with which a judge agrees best with people's votes "
        "on some instances. Compare it with the untuned judge on the others. Repeat the command to resume; no call "
        "is repeated."
    )

    arguments = (
        *arguments_of(
            TuningForm,
            budget={"required": True},
            methods={"flag": "--method"},
            prompts={"flag": "--prompt"},
            shots={"nargs": "*"},
        ),
        *(ESTIMATE, FORMAT),
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
        form = self.form_of(TuningForm, study, options)
        if options["estimate"]:
            self.say_estimate(form, form.estimate(), options, judge=form.cleaned_data["judge"].name)
            return
        tuning = form.start()
        if tuning.ended_at is None:
            with asking(self.stderr, also=TuningStopped) as work:
                tune(tuning, stop=work.stop, on_progress=work.meter)
            work.conclude()
        self.say_document(as_json(tuning), options)


def as_json(tuning: JudgeTuning) -> dict[str, Any]:
    """Return everything for JSON."""
    names = ("name", "question", "settings", "status", "message", "found")
    description = {
        "study": tuning.study.slug,
        "judge": tuning.judge.name,
        "tuned": tuning.tuned.name if tuning.tuned else None,
    }
    return {**description, **{name: getattr(tuning, name) for name in names}, "rounds": tuning.plan["rounds"]}
