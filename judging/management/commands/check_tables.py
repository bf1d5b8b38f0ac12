"""check_tables STUDY --endpoint NAME (--model MODEL [--threshold T] | --entailment [--param key=value] [--max-cost M]
[--in-flight W] [--estimate]) [--variant V] [--format json|text]
"""

from typing import Any

from django.core.management.base import CommandError

from analysis.table_checks import SUPPORTED
from annotation.management.commands._base import TandemCommand, argument, one_of
from annotation.models import Study
from annotation.studies.services import find_study
from judging.aspects.text import estimate_lines
from judging.calls.adhoc_runner import IN_FLIGHT
from judging.core.pricing import money
from judging.core.proportions import Proportion
from judging.embeddings.services import Embedder
from judging.endpoints.services import find_endpoint
from judging.management.asking import asking
from judging.management.commands._runs import param
from judging.management.commands.run_judge import parse_money
from judging.tables.checked_tables import model_figures
from judging.tables.entailment import check_entailment, estimate_entailment, name_of
from judging.tables.services import check_tables


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
        param("sent with each call about entailment, as max_tokens=300; may be given several times"),
        argument("--max-cost", metavar="M", help="stop before the calls about entailment have cost more than this"),
        argument("--in-flight", type=int, default=IN_FLIGHT, metavar="W", help=f"calls at the same time ({IN_FLIGHT})"),
        argument("--estimate", action="store_true", help="print what --entailment would take, and make no call"),
        argument("--format", choices=["text", "json"], default="text"),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        tables = study.tables.filter(variant=options["variant"]) if options["variant"] else study.tables.all()
        if not tables.exists():
            raise CommandError(f"study {study.slug} has no such comparison tables")
        if options["entailment"]:
            self.by_entailment(study, options)
        elif options["estimate"]:
            raise CommandError("--estimate is for --entailment: an embedding model is asked about each text once")
        else:
            self.by_vectors(study, options)

    def by_vectors(self, study: Study, options: dict[str, Any]) -> None:
        """Check by vectors."""
        embedder = Embedder(find_endpoint(options["endpoint"]), options["model"])
        in_steps = options["format"] == "text" and options["verbosity"] > 1
        done = check_tables(
            study=study,
            embedder=embedder,
            variant=options["variant"],
            threshold=options["threshold"],
            on_progress=(lambda done: self.say(f"{done.made} tables checked")) if in_steps else None,
        )
        figures = model_figures(study, model=options["model"], variant=options["variant"])
        values = {
            "study": study.slug,
            "model": options["model"],
            "threshold": options["threshold"],
            **vars(done),
            "variants": {name: vars(found.supported) | {"level": 0.95} for name, found in figures.items()},
        }
        means = f"have a cosine of {options['threshold']:g} or more"
        lines = [
            f"{done.made} tables checked, {done.kept} were before; {done.calls} calls, {done.tokens} tokens",
            *(f"{name}: {_cells(found.supported, means)}" for name, found in figures.items()),
        ]
        self.say_result(lines, values, options)

    def by_entailment(self, study: Study, options: dict[str, Any]) -> None:
        """Check by a model's answers, or print what that would take."""
        endpoint = find_endpoint(options["endpoint"])
        asked = {"endpoint": endpoint, "variant": options["variant"], "params": dict(options["param"])}
        cap = parse_money(options["max_cost"])
        if options["estimate"]:
            estimate = estimate_entailment(study, **asked)
            self.say_result(estimate_lines(estimate, cap), {"study": study.slug, **estimate.as_dict()}, options)
            return
        with asking(self.stderr) as (stop, meter):
            done = check_entailment(
                study, **asked, max_cost=cap, in_flight=options["in_flight"], stop=stop, on_progress=meter
            )
        figures = model_figures(study, model=name_of(endpoint), variant=options["variant"])
        usage = done.usage
        values = {
            "study": study.slug,
            "model": name_of(endpoint),
            **{name: getattr(done, name) for name in ("made", "kept", "unread")},
            "calls": usage.calls,
            "cached": usage.cached,
            "cost": None if usage.total.cost is None else float(usage.total.cost),
            "variants": {
                name: {
                    part: figure and vars(figure) | {"level": 0.95}
                    for part, figure in (("entailment", found.entailment), ("coverage", found.coverage))
                }
                for name, found in figures.items()
            },
        }
        lines = [
            f"{done.made} tables checked, {done.kept} were before, {done.unread} had an answer that can't be read; "
            f"{usage.calls} calls, {usage.cached} answers were there, cost {money(usage.total.cost, endpoint.currency)}",
            *(
                f"{name}: entailment {_score(found.entailment, 'no cell says anything')}; "
                f"coverage of sentences {_score(found.coverage, 'no text has a sentence')}"
                for name, found in figures.items()
            ),
        ]
        self.say_result(lines, values, options)


def _cells(found: Proportion, means: str) -> str:
    if found.value is None:
        return "no cell says anything"
    return f"{found.value:.3f} of {found.n} cells {means} ({_interval(found)}); {found.left_out} cells are empty"


def _score(found: Proportion | None, why: str) -> str:
    if found is None or found.value is None:
        return f"undefined: {why}"
    return f"{found.value:.3f}, the mean of {found.n} tables ({_interval(found)}; {found.left_out} left out)"


def _interval(found: Proportion) -> str:
    return "no interval" if found.low is None else f"95 % interval {found.low:.3f}–{found.high:.3f}"
