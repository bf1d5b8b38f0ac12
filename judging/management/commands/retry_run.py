"""retry_run RUN [--unparsed] [--errors]"""

from typing import Any

from django.core.management.base import CommandError

from annotation.management.commands._base import argument
from judging.management.commands.run_judge import RunCommand, summary_of
from judging.models import JudgeRun
from judging.runs.reopening import retry_run


class Command(RunCommand):
    help = (
        "Ask again about the presentations of a finished run to which the endpoint gave no answer. The study's log "
        "keeps how many and when."
    )
    again = "run_judge with the same judge and pairs"

    arguments = (
        argument("run", type=int, metavar="RUN", help="the run's number, as in its page's address"),
        argument("--unparsed", action="store_true", help="unparsed presentations with a call without an answer"),
        argument("--errors", action="store_true", help="presentations with an error, or stopped by a content filter"),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        if not (options["unparsed"] or options["errors"]):
            raise CommandError("choose --unparsed, --errors or both")
        run = JudgeRun.objects.select_related("judge__endpoint", "study", "batch").filter(pk=options["run"]).first()
        if run is None:
            raise CommandError(f"there is no run {options['run']}; run_status STUDY lists a study's runs")
        opened = retry_run(run=run, unparsed=options["unparsed"], errors=options["errors"])
        if not opened.total:
            self.stdout.write(f"{run}: no presentation lacks an answer; nothing is asked again")
            return
        self.stdout.write(f"{run}: asking again {opened.unparsed} unparsed and {opened.errors} errors")
        ended = self.work(run, None)
        self.stdout.write(summary_of(run, ended.progress))
        self.conclude(run, ended)
