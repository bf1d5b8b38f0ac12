"""check_tables STUDY --endpoint NAME (--model MODEL [--threshold T] | --entailment [--param key=value] [--max-cost M]
[--in-flight W] [--estimate]) [--variant V] [--format json|text]
"""

from typing import Any

from django.core.management.base import CommandError

from analysis.table_checks import SUPPORTED
from annotation.core.counting import number_of
from annotation.management.commands._base import TandemCommand, argument, one_of
from annotation.models import Study
from annotation.studies.services import find_study
from judging.aspects.text import estimate_lines
from judging.calls.adhoc_runner import IN_FLIGHT
from judging.core.pricing import money
from judging.core.proportions import Proportion
from judging.endpoints.services import find_endpoint
from judging.management.asking import asking
from judging.management.commands._runs import max_cost, param
from judging.management.commands.run_judge import parse_money
from judging.tables.checking import checked_by_entailment, checked_by_vectors
from judging.tables.entailment_calls import estimate_entailment
from judging.tables.stored_checks import require_tables


class Command(TandemCommand):
    help = (
        "Check the cells of a study's comparison tables against the texts: by the cosine of their vectors with the nearest "
        "sentence, or by a model that scores how far each cell follows from the texts and how far the table has each of their sentences. Tables "
        "that were checked with this model are skipped, so the command can be stopped and repeated."
    )

    arguments = (
        argument("study", metavar="STUDY", help="the study's slug"),
        argument("--endpoint", required=True, metavar="NAME"),
        one_of(
            argument("--model", metavar="MODEL", help="the endpoint's name for its embedding model"),
            argument("--entailment", action="store_true", help="ask the endpoint's chat model"),
            required=True,
        ),
        argument("--variant", default="", metavar="V", help="only the tables of this variant"),
        argument(
            "--threshold",
            type=float,
            default=SUPPORTED,
            metavar="T",
            help=f"cosine from which on a cell counts as supported ({SUPPORTED}); what is high depends on the model",
        ),
        param("sent with each call about entailment, as max_tokens=300; may be repeated"),
        max_cost("asking about entailment"),
        argument("--in-flight", type=int, default=IN_FLIGHT, metavar="W", help=f"calls at the same time ({IN_FLIGHT})"),
        argument("--estimate", action="store_true", help="print what --entailment would take, and make no call"),
        argument("--format", choices=["text", "json"], default="text"),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        require_tables(study, options["variant"])
        if options["entailment"]:
            self.by_entailment(study, options)
        elif options["estimate"]:
            raise CommandError("--estimate is for --entailment: an embedding model is asked about each text once")
        else:
            self.by_vectors(study, options)

    def by_vectors(self, study: Study, options: dict[str, Any]) -> None:
        """Check by vectors."""
        in_steps = options["format"] == "text" and options["verbosity"] > 1
        found = checked_by_vectors(
            study,
            **{name: options[name] for name in ("endpoint", "model", "variant", "threshold")},
            on_progress=(lambda done: self.say(f"{number_of(done.made, 'table')} checked")) if in_steps else None,
        )
        done: Any = found.done
        means = f"have a cosine of {options['threshold']:g} or more"
        lines = [
            f"{number_of(done.made, 'table')} checked, {done.kept} were before; "
            f"{number_of(done.calls, 'call')}, {number_of(done.tokens, 'token')}",
            *(f"{name}: {_cells(one.supported, means)}" for name, one in found.figures.items()),
        ]
        self.say_result(lines, found.document, options)

    def by_entailment(self, study: Study, options: dict[str, Any]) -> None:
        """Check by a model's answers, or print what that would take."""
        endpoint = find_endpoint(options["endpoint"])
        asked = {"endpoint": endpoint, "variant": options["variant"], "params": dict(options["param"])}
        cap = parse_money(options["max_cost"])
        if options["estimate"]:
            estimate = estimate_entailment(study, **asked)
            self.say_result(estimate_lines(estimate, cap), {"study": study.slug, **estimate.as_dict()}, options)
            return
        with asking(self.stderr) as work:
            settings = {"max_cost": cap, "in_flight": options["in_flight"]}
            found = checked_by_entailment(study, **asked, **settings, stop=work.stop, on_progress=work.meter)
        work.conclude()
        done: Any = found.done
        usage = done.usage
        lines = [
            f"{number_of(done.made, 'table')} checked, {done.kept} were before, "
            f"{done.unread} had an answer that can't be read; "
            f"{number_of(usage.calls, 'call')}, {usage.cached} from the cache, "
            f"cost {money(usage.total.cost, endpoint.currency)}",
            *(
                f"{name}: entailment {_score(one.entailment, 'no cell says anything')}; "
                f"coverage of sentences {_score(one.coverage, 'no text has a sentence')}"
                for name, one in found.figures.items()
            ),
        ]
        self.say_result(lines, found.document, options)


def _cells(found: Proportion, means: str) -> str:
    if found.value is None:
        return "no cell says anything"
    of = f"{number_of(found.n, 'cell')} {means} ({_interval(found)})"
    return f"{found.value:.3f} of {of}; empty: {number_of(found.left_out, 'cell')}"


def _score(found: Proportion | None, why: str) -> str:
    if found is None or found.value is None:
        return f"undefined: {why}"
    return (
        f"{found.value:.3f}, the mean of {number_of(found.n, 'table')} ({_interval(found)}; {found.left_out} left out)"
    )


def _interval(found: Proportion) -> str:
    return "no interval" if found.low is None else f"95 % interval {found.low:.3f}–{found.high:.3f}"
