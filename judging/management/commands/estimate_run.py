"""estimate_run STUDY --judge NAME [--question KEY … | --all-questions] [--limit N] [--batch-api]

[--format json|text], and on which pairs: [--batch NAME] [--dataset NAME] [--systems A B] [--tag TAG …] [--instances FILE]
"""

from decimal import Decimal
from typing import Any

from annotation.core.counting import number_of
from annotation.management.commands._base import TandemCommand, argument
from annotation.studies.services import find_study
from judging.core.pricing import cost_line
from judging.management.commands._runs import PAIRS, QUESTIONS, pairs_of, questions_of
from judging.management.commands.run_judge import parse_money
from judging.models import JudgeRun
from judging.runs.estimates import RunEstimate, estimate
from judging.runs.judges import find_judge


class Command(TandemCommand):
    is_audited = False  # only reads
    help = "Estimate the calls, tokens and cost of a run. Stored answers cost nothing."

    arguments = (
        *PAIRS,
        argument("--judge", required=True, metavar="NAME"),
        QUESTIONS,
        argument("--limit", type=int, metavar="N", help="most presentations"),
        argument("--max-cost", metavar="M", help="tell whether the cost exceeds this"),
        argument("--batch-api", action="store_true", help="at the price of the provider's Batch API"),
        argument("--format", choices=["text", "json"], default="text"),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        judge = find_judge(options["judge"])
        way = JudgeRun.Way.BATCH if options["batch_api"] else JudgeRun.Way.CALLS
        cells: dict[str, Any] = {**pairs_of(study, options), "questions": questions_of(study, options)}
        estimated = estimate(study=study, judge=judge, **cells, limit=options["limit"], way=way)
        values = {"study": study.slug, "judge": judge.name, **estimated.as_dict()}
        self.say_result(lines(estimated, parse_money(options["max_cost"])), values, options)


def lines(estimated: RunEstimate, cap: Decimal | None = None) -> list[str]:
    """Format an estimate. One above the cap says so."""
    prefix = "" if estimated.is_exact else "about "
    kinds = ", ".join(f"{kind.calls:,} {kind.kind}" for kind in estimated.kinds if kind.calls)
    sentences = [
        f"presentations: {estimated.presentations:,}, of which {estimated.pending:,} are to be asked",
        (
            f"calls: {prefix}{estimated.calls:,}{f' ({kinds})' if kinds else ''}; answers already there: "
            f"{prefix}{estimated.cached:,}"
        ),
    ]
    if not estimated.calls:
        return sentences
    by = (
        f"by {number_of(estimated.learned_from, 'stored answer')}"
        if estimated.learned_from
        else "by the number of characters"
    )
    sample = "" if estimated.is_exact else f", from {number_of(estimated.sampled, 'presentation')}"
    return [
        *sentences,
        f"tokens: about {estimated.prompt_tokens:,} sent and {estimated.completion_tokens:,} written ({by}{sample})",
        cost_line(estimated.cost, estimated.currency, total=estimated.total, cap=cap),
    ]
