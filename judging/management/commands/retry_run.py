"""retry_run RUN [--unparsed] [--errors]"""

from typing import Any

from django.core.management.base import CommandError

from annotation.management.commands._base import argument
from judging.management.commands.run_judge import Command as RunJudge
from judging.management.commands.run_judge import summary_of
from judging.models import JudgeRun
from judging.runs.reopening import retry_run


class Command(RunJudge):
    help = (
        "Open presentations of a finished run again that were lost because the endpoint gave no answer, and ask these, "
        "and no others. The study's log keeps how many and when."
    )
    again = "run_judge with the same judge and pairs"

    arguments = (
        argument("run", type=int, metavar="RUN", help="the run's number, as in its page's address"),
        argument("--unparsed", action="store_true", help="unparsed ones of which a question got no answer"),
        argument(
            "--errors", action="store_true", help="those that ended in an error, or were stopped by a content filter"
        ),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        if not (options["unparsed"] or options["errors"]):
            raise CommandError("say what is to be asked again: --unparsed, --errors or both")
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
