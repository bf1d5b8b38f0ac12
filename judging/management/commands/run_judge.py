"""run_judge STUDY --judge NAME"""

import sys
from collections.abc import Sequence
from typing import Any

from django.core.management.base import CommandError

from annotation.core.counting import number_of
from annotation.core.tasks.stopping import StopFlag
from annotation.management.commands._base import Argument, TandemCommand, arguments_of
from annotation.models import Study
from judging.core.pricing import money
from judging.jobs.progress import Progress
from judging.management.asking import STOPPED_BY_SIGNAL, STOPPED_ELSEWHERE, stopping_on_signals
from judging.management.commands._runs import BATCH_API, PAIRS, QUESTIONS, AskingCommand
from judging.management.meter import Meter
from judging.models import JudgeRun
from judging.runs.execution import ExecutionResult, execute
from judging.runs.forms import RunForm
from judging.runs.status import Counts, counts_of_run, pairs_without_source, together
from judging.runs.usage import failures_by_cause


class RunCommand(TandemCommand):
    """A command that works on a run. `again`: what resumes it, for messages."""

    again = "the same command"

    def work(self, run: JudgeRun, limit: int | None) -> ExecutionResult:
        """Work on a run until it is done or stopped, with progress on stderr."""
        if blind := pairs_without_source(run):
            self.stderr.write(
                f"notice: {number_of(blind, 'pair')} without a source text; the judge reads that it is not available"
            )
        stop = StopFlag()
        with stopping_on_signals(stop):
            meter = Meter(self.stderr)
            ended = execute(run.pk, stop=stop, when_stopped=JudgeRun.Status.PAUSED, on_progress=meter, limit=limit)
            meter.close(ended.progress)
        return ended

    def conclude(self, run: JudgeRun, ended: ExecutionResult) -> None:
        """Say what stands in the way of the rest, and choose the exit status."""
        counts = together(counts_of_run(run).values())
        resumes = f"{self.again[0].upper()}{self.again[1:]} resumes, and repeats no answered call."
        if ended.signal:
            self.stderr.write(f"stopped; {self.again} resumes, and repeats no answered call")
            sys.exit(STOPPED_BY_SIGNAL)
        if ended.as_asked:
            self.stderr.write(f"stopped after as many cells as were asked for; {counts.pending} are open")
        elif ended.status in (JudgeRun.Status.PAUSED, JudgeRun.Status.CANCELLED):
            raise CommandError(f"{ended.message}\n{resumes}", returncode=STOPPED_ELSEWHERE)
        elif ended.status != JudgeRun.Status.DONE:
            raise CommandError(f"{ended.message}\n{resumes}")
        causes = failures_by_cause(run)
        for cause in causes:
            self.stderr.write(f"{cause.count} × {cause.label}, for example: {cause.example}")
            retry = f"retry_run {run.pk} --errors" if cause.is_final else self.again
            self.stderr.write(f"{retry} asks these again")
        if counts.errors and counts.errors == counts.asked:
            raise CommandError(f"no question got an answer: {causes[0].example}")


class Command(RunCommand, AskingCommand):
    help = (
        "Run a judge on a study's pairs. Repeat the command to resume; no call is repeated. On several machines at "
        "once, it shares the work."
    )

    arguments: Sequence[Argument] = (
        *PAIRS,
        *arguments_of(RunForm, only=("judge",)),
        QUESTIONS,
        *arguments_of(RunForm, only=("in_flight", "batch_size", "max_cost", "limit")),
        BATCH_API,
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
        form = self.form_of(RunForm, study, options)
        run = form.start()
        ended = self.work(run, form.cleaned_data["limit"])
        self.stdout.write(summary_of(run, ended.progress))
        self.conclude(run, ended)


def summary_of(run: JudgeRun, progress: Progress) -> str:
    """Return the last lines of a run: its outcomes, question by question if the study asks several, and its usage."""
    questions = run.study.questions
    if len(questions) == 1:
        return summary(together(counts_of_run(run).values()), progress)
    results = [f"{questions[number].key}: {_outcomes(counts)}" for number, counts in counts_of_run(run).items()]
    return "\n".join([*results, f"cached {progress.cached}, calls {progress.calls}{_cost(progress)}"])


def summary(counts: Counts, progress: Progress) -> str:
    """Return the last line of a run: the outcomes of all its presentations, and the usage of this start."""
    return f"{_outcomes(counts)}{_cost(progress)}; cached {progress.cached}, calls {progress.calls}"


def _outcomes(counts: Counts) -> str:
    pending = f"; pending {counts.pending}" if counts.pending else ""
    return (
        f"asked {counts.asked} = a {counts.a} + tie {counts.tie} + b {counts.b}"
        f" + unparsed {counts.unparsed} + refused {counts.refused} + errors {counts.errors}{pending}"
    )


def _cost(progress: Progress) -> str:
    return f", cost {money(progress.cost, progress.currency)}" if progress.currency and progress.cost else ""
