"""check_tables STUDY --endpoint NAME [--variant V] [--param key=value] [--max-cost M] [--in-flight W] [--estimate]
[--format json|text]
"""

from typing import Any

from annotation.core.counting import number_of
from annotation.management.commands._base import TandemCommand, argument
from annotation.studies.services import find_study
from judging.aspects.text import estimate_lines
from judging.calls.adhoc_runner import IN_FLIGHT
from judging.core.pricing import money
from judging.core.proportions import Proportion
from judging.endpoints.services import find_endpoint
from judging.management.asking import asking
from judging.management.commands._runs import max_cost, param
from judging.management.commands.run_judge import parse_money
from judging.tables.checking import checked_by_entailment
from judging.tables.entailment_calls import estimate_entailment
from judging.tables.stored_checks import require_tables


class Command(TandemCommand):
    help = (
        "Check a study's comparison tables by a model: does each cell follow from the texts, and does the table "
        "cover their sentences? Tables checked by this model before are skipped, so the command can be repeated."
    )

    arguments = (
        argument("study", metavar="STUDY", help="the study's slug"),
        argument("--endpoint", required=True, metavar="NAME"),
        argument("--variant", default="", metavar="V", help="only the tables of this variant"),
        param("sent with each call, as max_tokens=300; may be repeated"),
        max_cost("asking"),
        argument("--in-flight", type=int, default=IN_FLIGHT, metavar="W", help=f"calls in flight ({IN_FLIGHT})"),
        argument("--estimate", action="store_true", help="print estimated calls, tokens and cost, and make no call"),
        argument("--format", choices=["text", "json"], default="text"),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        require_tables(study, options["variant"])
        endpoint = find_endpoint(options["endpoint"])
        request = {"endpoint": endpoint, "variant": options["variant"], "params": dict(options["param"])}
        cap = parse_money(options["max_cost"])
        if options["estimate"]:
            estimate = estimate_entailment(study, **request)
            self.say_result(estimate_lines(estimate, cap), {"study": study.slug, **estimate.as_dict()}, options)
            return
        with asking(self.stderr) as work:
            settings = {"max_cost": cap, "in_flight": options["in_flight"]}
            checks = checked_by_entailment(study, **request, **settings, stop=work.stop, on_progress=work.meter)
        work.conclude()
        done = checks.done
        usage = done.usage
        lines = [
            f"{number_of(done.made, 'table')} checked, {done.kept} were before, "
            f"{done.unread} had an answer that can't be read; "
            f"{number_of(usage.calls, 'call')}, {usage.cached} from the cache, "
            f"cost {money(usage.total.cost, endpoint.currency)}",
            *(
                f"{name}: entailment {_score(figure.entailment, 'no cell says anything')}; "
                f"coverage of sentences {_score(figure.coverage, 'no text has a sentence')}"
                for name, figure in checks.figures.items()
            ),
        ]
        self.say_result(lines, checks.document, options)


def _score(proportion: Proportion, why: str) -> str:
    if proportion.value is None:
        return f"undefined: {why}"
    return (
        f"{proportion.value:.3f}, the mean of {number_of(proportion.n, 'table')} ({_interval(proportion)}; "
        f"{proportion.left_out} left out)"
    )


def _interval(proportion: Proportion) -> str:
    return "no interval" if proportion.low is None else f"95 % interval {proportion.low:.3f}–{proportion.high:.3f}"
