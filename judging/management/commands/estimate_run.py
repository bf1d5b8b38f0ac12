"""estimate_run STUDY --judge NAME"""

from typing import Any

from annotation.management.commands._base import StudyCommand, argument
from annotation.management.commands._settings import FORMAT
from annotation.models import Study
from judging.management.commands._runs import LIMIT, PAIRS, QUESTIONS, as_money, cost_of, pairs_of, questions_of
from judging.models import JudgeRun
from judging.runs.estimates import estimate
from judging.runs.judges import find_judge


class Command(StudyCommand):
    is_audited = False  # only reads
    help = "Estimate the calls, tokens and cost of a run. Stored answers cost nothing."

    arguments = (
        *PAIRS,
        argument("--judge", required=True, metavar="NAME"),
        QUESTIONS,
        LIMIT,
        argument("--max-cost", type=as_money, metavar="M", help="report whether the cost exceeds this"),
        argument("--batch-api", action="store_true", help="at the price of the provider's Batch API"),
        FORMAT,
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
        judge = find_judge(options["judge"])
        way = JudgeRun.Way.BATCH if options["batch_api"] else JudgeRun.Way.CALLS
        cells: dict[str, Any] = {**pairs_of(study, options), "questions": questions_of(study, options)}
        estimated = estimate(study=study, judge=judge, **cells, limit=options["limit"], way=way)
        values = {"study": study.slug, "judge": judge.name, **estimated.as_dict()}
        self.say_document(values, options, cost_of(estimated, options["max_cost"]))
