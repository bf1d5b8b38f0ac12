"""make_tables STUDY --endpoint NAME"""

from dataclasses import asdict
from typing import Any

from annotation.core.counting import number_of
from annotation.management.commands._base import argument, arguments_of, one_of
from annotation.management.commands._settings import FORMAT
from annotation.models import Study
from judging.aspects.aspect_sets import current_aspects
from judging.management.commands._runs import ESTIMATE, PAIRS, PARAM, AskingCommand
from judging.management.commands.run_judge import RunCommand
from judging.methods.options import OFFLINE
from judging.models import JudgeRun
from judging.tables.figures import TableFigures, table_figures
from judging.tables.forms import MakeTablesForm


class Command(RunCommand, AskingCommand):
    help = (
        "Create comparison tables of a study's pairs: several samples for each pair, of which the most consistent "
        "is kept, with the model's verdict. Repeat the command to resume; no call is repeated."
    )

    arguments = (
        *PAIRS,
        *arguments_of(MakeTablesForm, only=("endpoint",)),
        one_of(*arguments_of(MakeTablesForm, only=("samples", "budget"))),
        *arguments_of(MakeTablesForm, only=("scheme", "aspects", "params", "variant"), params=PARAM),
        argument("--judge", default="", metavar="NAME", help="name of the judge that creates them"),
        argument("--seed", type=int, default=1, metavar="S", help="seed of that judge (default: 1)"),
        *arguments_of(MakeTablesForm, only=("max_cost", "in_flight", "limit")),
        *(ESTIMATE, FORMAT),
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
        form = self.form_of(MakeTablesForm, study, options)
        judge = {"name": options["judge"], "seed": options["seed"]}
        if form.cleaned_data["aspects"] == OFFLINE:
            aspects, name = current_aspects(study)
            self.stderr.write(f"aspects: {name}: {'; '.join(aspects)}")
        if options["estimate"]:
            self.say_estimate(form, form.estimate(**judge), options, judge=form.judge(**judge).name)
            return
        run = form.start(**judge)
        ended = self.work(run, form.cleaned_data["limit"])
        figures = table_figures(run)
        shared_values = {"study": run.study.slug, "variant": run.tables_as, "judge": run.judge.name}
        values = {**shared_values, **asdict(figures), "made_calls": ended.progress.calls}
        self.say_result(in_words(run, figures, ended.progress.calls), values, options)
        self.conclude(run, ended)


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
