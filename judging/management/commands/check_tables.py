"""check_tables STUDY --endpoint NAME"""

from typing import Any

from annotation.management.commands._base import arguments_of
from annotation.management.commands._settings import FORMAT
from annotation.models import Study
from judging.management.asking import asking
from judging.management.commands._runs import ESTIMATE, PARAM, AskingCommand
from judging.tables.checking import checked_by_entailment
from judging.tables.entailment_calls import require_tables
from judging.tables.forms import CheckTablesForm


class Command(AskingCommand):
    help = (
        "Check a study's comparison tables by a model: does each cell follow from the texts, and does the table "
        "cover their sentences? Tables checked by this model before are skipped, so the command can be repeated."
    )

    arguments = (*arguments_of(CheckTablesForm, params=PARAM), ESTIMATE, FORMAT)

    def run(self, study: Study, options: dict[str, Any]) -> None:
        form = self.form_of(CheckTablesForm, study, options)
        if options["estimate"]:
            self.say_estimate(form, form.estimate(), options)
            return
        require_tables(study, form.cleaned_data["variant"])
        with asking(self.stderr) as work:
            checks = checked_by_entailment(study, **form.cleaned_data, stop=work.stop, on_progress=work.meter)
        work.conclude()
        self.say_document(checks, options)
