"""estimate_run STUDY --judge NAME"""

from typing import Any

from annotation.management.commands._base import arguments_of
from annotation.management.commands._settings import FORMAT
from annotation.models import Study
from judging.management.commands._runs import BATCH_API, PAIRS, QUESTIONS, AskingCommand
from judging.runs.forms import RunForm


class Command(AskingCommand):
    is_audited = False  # only reads
    help = "Estimate the calls, tokens and cost of a run. Stored answers cost nothing."

    arguments = (
        *PAIRS,
        *arguments_of(RunForm, only=("judge",)),
        QUESTIONS,
        *arguments_of(RunForm, only=("limit", "max_cost")),
        *(BATCH_API, FORMAT),
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
        form = self.form_of(RunForm, study, options)
        self.say_estimate(form, form.estimate(), options, judge=form.cleaned_data["judge"].name)
