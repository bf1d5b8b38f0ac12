"""run_judge STUDY --judge NAME [--batch NAME] [--in-flight W]"""

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.management.commands._base import TandemCommand
from annotation.services.studies import find_study
from judging.models import JudgeRun
from judging.services.execution import Ended, execute
from judging.services.judges import find_judge
from judging.services.progress import Progress
from judging.services.runs import find_batch, start_run
from judging.services.status import Counts, count_judgments, pairs_without_source
from judging.services.stopping import StopFlag

STOPPED_BY_SIGNAL = 130


class Command(TandemCommand):
    """Run a judge here and now, on the pairs of a study or of one batch."""

    help = "Let a judge rate a study's pairs. The same command again resumes, and asks nothing twice."

    def add_arguments(self, parser: CommandParser) -> None:
        """Name the options."""
        parser.add_argument("study", metavar="STUDY", help="the study's slug")
        parser.add_argument("--judge", required=True, metavar="NAME")
        parser.add_argument("--batch", metavar="NAME", help="only the pairs of this batch")
        parser.add_argument("--in-flight", type=int, metavar="W", help="calls at the same time (default: 8)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the judge; progress goes to stderr, the summary to stdout."""
        study = find_study(options["study"])
        batch = find_batch(study, options["batch"]) if options["batch"] else None
        judge = find_judge(options["judge"])
        run = start_run(study=study, judge=judge, batch=batch, in_flight=options["in_flight"])
        if blind := pairs_without_source(run):
            self.stderr.write(f"notice: {blind} pairs have no source text; the judge is told that it is not available")
        stop = StopFlag()
        with stopping_on_signals(stop):
            meter = Meter(self.stderr)
            ended = execute(run.pk, stop=stop, when_stopped=JudgeRun.Status.PAUSED, on_progress=meter)
            meter.close(ended.progress)
        self.conclude(run, ended)

    def conclude(self, run: JudgeRun, ended: Ended) -> None:
        """Print the summary and choose the exit status."""
        counts = count_judgments(run.judgments.all())
        self.stdout.write(summary(counts, ended.progress))
        if ended.status == JudgeRun.Status.PAUSED:
            self.stderr.write("stopped; the same command resumes without repeating a call")
            sys.exit(STOPPED_BY_SIGNAL)
        if ended.status != JudgeRun.Status.DONE:
            raise CommandError(f"{ended.message}\nThe same command resumes without repeating a call.")
        if counts.errors:
            reasons = run.judgments.filter(status="error").values_list("failure", flat=True)
            self.stderr.write(f"{counts.errors} without an answer, for example: {reasons.first()}")
            self.stderr.write("the same command asks these again")
        if counts.errors and not counts.parsed:
            raise CommandError("no question got an answer")


def summary(counts: Counts, progress: Progress) -> str:
    """Return the line that a run ends with: what came of all its presentations, and what it took this time."""
    outcomes = (
        f"asked {counts.asked} = a {counts.a} + tie {counts.tie} + b {counts.b}"
        f" + unparsed {counts.unparsed} + refused {counts.refused} + errors {counts.errors}"
    )
    pending = f"; pending {counts.pending}" if counts.pending else ""
    return f"{outcomes}{pending}; cached {progress.cached}, calls {progress.calls}"


class Meter:
    """Writes progress: one line that moves on a terminal, else a line now and then."""

    def __init__(self, out: Any) -> None:
        self.out = out
        self.moving = bool(getattr(out, "isatty", lambda: False)())
        self.pause = 0.2 if self.moving else 10.0
        self.started = self.last = time.monotonic()
        self.done_before: int | None = None

    def __call__(self, progress: Progress) -> None:
        """Write the state unless that was done just now."""
        if self.done_before is None:
            self.done_before = progress.done
        now = time.monotonic()
        if now - self.last >= self.pause:
            self.last = now
            self.write(progress, now)

    def close(self, progress: Progress) -> None:
        """Write the last state."""
        self.write(progress, time.monotonic())
        if self.moving:
            self.out.write("")

    def write(self, progress: Progress, now: float) -> None:
        """Write one line."""
        rate = (progress.done - (self.done_before or 0)) / max(now - self.started, 0.001)
        line = (
            f"{progress.done}/{progress.total} done, {progress.calls} calls, {progress.cached} cached, "
            f"{progress.ended['error']} errors, {rate:.1f} a second"
        )
        self.out.write(f"\r{line}" if self.moving else line, ending=" " if self.moving else "\n")


@contextmanager
def stopping_on_signals(stop: StopFlag) -> Iterator[None]:
    """Let the first Ctrl-C (or SIGTERM) stop between calls; a second one ends the process at once."""

    def ask(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        stop.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
