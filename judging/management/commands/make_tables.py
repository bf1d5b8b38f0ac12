"""make_tables STUDY --endpoint NAME"""

from dataclasses import asdict
from typing import Any

from annotation.core.counting import number_of
from annotation.management.commands._base import StudyCommand, argument, one_of
from annotation.management.commands._settings import FORMAT
from annotation.models import Study
from judging.aspects.aspect_sets import current_aspects
from judging.endpoints.services import find_endpoint
from judging.management.commands._runs import ESTIMATE, IN_FLIGHT, LIMIT, PAIRS, cost_of, max_cost, pairs_of, param
from judging.management.commands.run_judge import RunCommand
from judging.methods.options import FIXED, OFFLINE, ONLINE
from judging.methods.sc2.bracket import SCHEMES
from judging.models import JudgeRun
from judging.runs.estimates import estimate
from judging.tables.figures import TableFigures, table_figures
from judging.tables.making import TableSettings, build_tables_judge, default_variant, start_tables


class Command(RunCommand, StudyCommand):
    help = (
        "Create comparison tables of a study's pairs: several samples for each pair, of which the most consistent "
        "is kept, with the model's verdict. Repeat the command to resume; no call is repeated."
    )

    arguments = (
        *PAIRS,
        argument("--endpoint", required=True, metavar="NAME"),
        one_of(
            argument("--samples", type=int, metavar="N", help="tables sampled for each pair (default: 8)"),
            argument("--budget", type=int, metavar="B", help="calls per pair, in place of --samples"),
        ),
        argument("--scheme", choices=list(SCHEMES), default="tournament"),
        argument(
            "--aspects",
            choices=[ONLINE, OFFLINE],
            default=OFFLINE,
            help="online: new for each pair; offline (default): the same for all, from make_aspects or the task",
        ),
        param(
            (
                "an option of the method sc2, such as aspect_samples=5, or a parameter sent with each call, such as "
                "max_tokens=900"
            ),
        ),
        argument("--variant", metavar="NAME", help="name of these tables in a study's arms (default: c8, …)"),
        argument("--judge", default="", metavar="NAME", help="name of the judge that creates them"),
        argument("--seed", type=int, default=1, metavar="S"),
        max_cost("the run"),
        *(IN_FLIGHT, LIMIT, ESTIMATE, FORMAT),
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
        settings, variant = self.settings(study, options)
        made_with: dict[str, Any] = {
            "endpoint": find_endpoint(options["endpoint"]),
            "settings": settings,
            "seed": options["seed"],
            "name": options["judge"],
        }
        where = pairs_of(study, options)
        if options["estimate"]:
            judge = build_tables_judge(**made_with)
            estimated = estimate(study=study, judge=judge, **where, limit=options["limit"])
            values = {"study": study.slug, "judge": judge.name, **estimated.as_dict()}
            self.say_document(values, options, cost_of(estimated, options["max_cost"]))
            return
        run = start_tables(
            study=study,
            **made_with,
            variant=options["variant"] or variant,
            **where,
            in_flight=options["in_flight"],
            max_cost=options["max_cost"],
        )
        ended = self.work(run, options["limit"])
        figures = table_figures(run)
        shared_values = {"study": run.study.slug, "variant": run.tables_as, "judge": run.judge.name}
        values = {**shared_values, **asdict(figures), "made_calls": ended.progress.calls}
        self.say_result(in_words(run, figures, ended.progress.calls), values, options)
        self.conclude(run, ended)

    def settings(self, study: Study, options: dict[str, Any]) -> tuple[TableSettings, str]:
        """Return how the tables are to be made, and their variant. Offline aspects are those that hold for the study now."""
        aspects: str | tuple[str, ...] = ONLINE
        name = ""
        if options["aspects"] == OFFLINE:
            current, name = current_aspects(study)
            self.stderr.write(f"aspects: {name}: {'; '.join(current)}")
            aspects = tuple(current)
        settings = TableSettings(
            samples=8 if options["samples"] is None else options["samples"],
            budget=options["budget"],
            scheme=options["scheme"],
            aspects=aspects or FIXED,
            params=dict(options["param"]),
        )
        return settings, default_variant(settings, name)


def in_words(run: JudgeRun, figures: TableFigures, calls: int) -> list[str]:
    """Format the outcome of a run."""
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in figures.calls.items())
    sentences = [
        (
            f"tables: {figures.tables:,} of {number_of(figures.pairs, 'pair')} as variant {run.tables_as} (judge "
            f"{run.judge.name})"
        ),
        f"calls: {calls:,} made now; behind all of them {kinds or 'none yet'}",
    ]
    if figures.lost_samples or figures.coins:
        sentences.append(
            f"samples that could not be read: {figures.lost_samples:,}; decisions by a seeded coin: {figures.coins:,}"
        )
    if figures.marked:
        sentences.append(f"pairs without a table: {figures.marked:,}, for example: {figures.why}")
    return sentences
