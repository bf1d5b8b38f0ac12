"""audit_judge STUDY --judge NAME [--run | --estimate]"""

from typing import Any

from django.core.management.base import CommandError

from annotation.management.commands._base import StudyCommand, argument, group, one_of
from annotation.management.commands._settings import FORMAT
from annotation.models import Study
from annotation.studies.questions import find_question
from judging.audits.asking import ask
from judging.audits.estimates import estimate_stress
from judging.audits.stress import CHANGES, StressTest, start_stress, stored_like
from judging.management.asking import asking
from judging.management.commands._runs import CALLS_AT_ONCE, ESTIMATE, cost_of, max_cost
from judging.runs.judges import find_judge
from reporting.audits.stress import stress_findings


class Command(StudyCommand):
    help = (
        "Stress-test a judge: change one text of each pair (padding, formatting, claims of authority, injected "
        "instructions and others) and print the share of verdicts that turn. Without --run or --estimate, only "
        "stored answers are used."
    )

    arguments = (
        argument("--judge", required=True, metavar="NAME"),
        argument(
            "--change", action="append", metavar="NAME", help=f"only this change; may be repeated: {', '.join(CHANGES)}"
        ),
        argument("--sample", type=int, metavar="N", help="number of pairs, drawn at random (default: all)"),
        argument("--seed", type=int, default=0, metavar="S", help="seed of the pairs and changes (default: 0)"),
        argument("--dataset", default="", metavar="NAME", help="only pairs of this data set"),
        argument("--question", default="", metavar="KEY", help="question to ask (default: the main one)"),
        FORMAT,
        group(
            "asking the judge",
            one_of(
                argument("--run", action="store_true", help="ask the judge; repeat to resume, no call is repeated"),
                ESTIMATE,
            ),
            CALLS_AT_ONCE,
            max_cost("the whole"),
        ),
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
        test = StressTest(
            study=study,
            judge=find_judge(options["judge"]),
            changes=tuple(options["change"] or CHANGES),
            pairs=options["sample"],
            question=find_question(study, options["question"]).number,
            **{name: options[name] for name in ("dataset", "seed")},
        )
        if options["estimate"]:
            estimate = estimate_stress(test)
            values = {"study": study.slug, "judge": test.judge.name, **estimate.as_dict()}
            self.say_document(values, options, cost_of(estimate, options["max_cost"]))
            return
        bounds: dict[str, Any] = {name: options[name] for name in ("in_flight", "max_cost")}
        audit = start_stress(test, **bounds) if options["run"] else stored_like(test.as_audit())
        if audit is None:
            raise CommandError(f"judge {test.judge} was not asked this yet: add --estimate, then --run")
        if not options["run"]:
            self.say_numbers(stress_findings(audit), options["format"])
            return
        with asking(self.stderr) as work:
            ask(audit, stop=work.stop, on_progress=work.meter)
        self.say_numbers(stress_findings(audit), options["format"])
        work.conclude()
