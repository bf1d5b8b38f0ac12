"""audit_judge STUDY --judge NAME [--run | --estimate]"""

from typing import Any

from django.core.management.base import CommandError

from annotation.management.commands._base import argument, arguments_of, group, one_of
from annotation.management.commands._settings import FORMAT
from annotation.models import Study
from judging.audits.asking import ask
from judging.audits.stress import CHANGES, stored_like
from judging.management.asking import asking
from judging.management.commands._runs import ESTIMATE, REPEATED, AskingCommand
from reporting.audits.forms import JudgeAuditForm
from reporting.audits.stress import stress_findings


class Command(AskingCommand):
    help = (
        "Stress-test a judge: change one text of each pair (padding, formatting, claims of authority, injected "
        "instructions and others) and print the share of verdicts that turn. Without --run or --estimate, only "
        "stored answers are used."
    )

    arguments = (
        *arguments_of(
            JudgeAuditForm,
            exclude=("in_flight", "max_cost"),
            changes={
                "flag": "--change",
                "metavar": "NAME",
                **REPEATED,
                "help": f"only this change; may be repeated: {', '.join(CHANGES)}",
            },
            pairs={"flag": "--sample"},
        ),
        FORMAT,
        group(
            "asking the judge",
            one_of(
                argument("--run", action="store_true", help="ask the judge; repeat to resume, no call is repeated"),
                ESTIMATE,
            ),
            *arguments_of(JudgeAuditForm, only=("in_flight", "max_cost")),
        ),
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
        form = self.form_of(JudgeAuditForm, study, options)
        if options["estimate"]:
            self.say_estimate(form, form.estimate(), options, judge=form.cleaned_data["judge"].name)
            return
        audit = form.start() if options["run"] else stored_like(form.test.as_audit())
        if audit is None:
            raise CommandError(f"judge {form.test.judge} was not asked this yet: add --estimate, then --run")
        if not options["run"]:
            self.say_numbers(stress_findings(audit), options["format"])
            return
        with asking(self.stderr) as work:
            ask(audit, stop=work.stop, on_progress=work.meter)
        self.say_numbers(stress_findings(audit), options["format"])
        work.conclude()
