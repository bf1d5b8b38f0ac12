"""generate STUDY --system NAME --endpoint NAME [--samples K] [--temperature T] [--top-p P] [--seed S] [--max-tokens N]

[--template NAME|FILE] [--system-prompt FILE|TEXT] [--param key=value] [--keep-refusals], on which instances:
[--dataset D] [--instances FILE] [--limit N], and: [--in-flight W] [--max-cost X] [--estimate] [--format text|json];
generate STUDY --show lists what was sampled.
"""

import json
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.management.commands._base import TandemCommand, read_file
from annotation.models import Study
from annotation.services.choosing import ids_of
from annotation.services.studies import find_study
from judging.management.commands.add_judge import parameter
from judging.management.commands.run_judge import STOPPED_BY_SIGNAL, STOPPED_ELSEWHERE, stopping_on_signals, sum_of
from judging.management.meter import Meter
from judging.models import GenerationRun
from judging.sampled import as_dict, instances_with_texts, runs_of, settings_lines
from judging.services.conversations import IN_FLIGHT, Interrupted
from judging.services.endpoints import find_endpoint
from judging.services.engine import CapReached
from judging.services.generating import SAMPLES, TEMPERATURE, Sampling, left_out_lines, run_to_be, start_generating
from judging.services.generating_engine import sample
from judging.services.generating_estimates import Expected, estimate_generating
from judging.services.generating_instances import Standing, Where, check_where, standing_of
from judging.services.generating_queued import told
from judging.services.generating_store import Tally
from judging.services.generating_templates import Wording, find_template, own_template, template_names, usual_template
from judging.services.pricing import money
from judging.services.progress import Progress
from judging.services.stopping import StopFlag
from judging.services.talks import check_cap

BY = "command line"
FILE_ENDINGS = (".txt", ".md", ".prompt")


class Command(TandemCommand):
    """Sample the texts of a system for a study's instances, here and now."""

    help = (
        "Have a model write the texts of a system: several of each instance, from its source. The same command again "
        "resumes, and asks nothing twice; other settings need another system name."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Name the options."""
        parser.add_argument("study", metavar="STUDY", help="the study's slug")
        parser.add_argument("--system", metavar="NAME", help="the system that the texts become those of")
        parser.add_argument("--endpoint", metavar="NAME", help="who writes them")
        parser.add_argument("--show", action="store_true", help="list the systems that were sampled, with all settings")
        parser.add_argument("--samples", type=int, default=SAMPLES, metavar="K", help=f"of each instance ({SAMPLES})")
        parser.add_argument("--temperature", type=float, default=TEMPERATURE, metavar="T", help=f"({TEMPERATURE})")
        parser.add_argument("--top-p", type=float, metavar="P", help="nucleus sampling (the endpoint's own)")
        parser.add_argument("--max-tokens", type=int, metavar="N", help="longest text (the endpoint's own)")
        parser.add_argument("--seed", type=int, default=0, metavar="S", help="draws a seed for each call (0)")
        parser.add_argument(
            "--template",
            metavar="NAME|FILE",
            help=f"what is asked: {', '.join(template_names())}, or a file with $source in it (by the study's kind)",
        )
        parser.add_argument("--system-prompt", default="", metavar="FILE|TEXT", help="goes before it (none)")
        parser.add_argument(
            "--param",
            type=parameter,
            action="append",
            default=[],
            metavar="KEY=VALUE",
            help="sent with each call, as presence_penalty=0.5; null leaves one out, as seed=null",
        )
        parser.add_argument(
            "--keep-refusals",
            action="store_true",
            help="take an answer that declines in words for a text like any other",
        )
        parser.add_argument("--dataset", default="", metavar="D", help="only instances of this data set")
        parser.add_argument("--instances", metavar="FILE", help="only the instances that a file names, one id a line")
        parser.add_argument("--limit", type=int, metavar="N", help="at most so many instances this time")
        parser.add_argument(
            "--in-flight", type=int, default=IN_FLIGHT, metavar="W", help=f"calls at the same time ({IN_FLIGHT})"
        )
        parser.add_argument("--max-cost", metavar="X", help="stop before the system has cost more than this")
        parser.add_argument("--estimate", action="store_true", help="say what it would take, and ask nobody")
        parser.add_argument("--format", choices=["text", "json"], default="text")

    def handle(self, *args: Any, **options: Any) -> None:
        """Show, estimate, or sample."""
        study = find_study(options["study"])
        if options["show"]:
            self.show(study, options)
            return
        if not options["system"] or not options["endpoint"]:
            raise CommandError("name a --system and an --endpoint, or --show what was sampled")
        sampling, where = self.sampling(study, options), where_of(options)
        check_where(study, where)
        check_cap(sum_of(options["max_cost"]), sampling.endpoint)
        if options["estimate"]:
            run = run_to_be(study, options["system"], sampling, by=BY)
            found = estimate_generating(run, where)
            told_of = {"study": study.slug, "system": run.name, **found.as_dict(), "settings": as_dict(run)}
            self.tell([*settings_lines(run), *estimate_lines(found)], told_of, options)
            return
        run = start_generating(study, options["system"], sampling, by=BY)
        standing = standing_of(study, run.name, where)
        self.run_it(run, standing, where, options)

    def sampling(self, study: Study, options: dict[str, Any]) -> Sampling:
        """Return how texts are to be sampled."""
        return Sampling(
            endpoint=find_endpoint(options["endpoint"]),
            template=template_of(study, options["template"]),
            samples=options["samples"],
            temperature=options["temperature"],
            top_p=options["top_p"],
            max_tokens=options["max_tokens"],
            seed=options["seed"],
            system_prompt=text_or_file(options["system_prompt"]),
            params=dict(options["param"]),
            keep_refusals=options["keep_refusals"],
        )

    def run_it(self, run: GenerationRun, standing: Standing, where: Where, options: dict[str, Any]) -> None:
        """Sample; progress goes to stderr, the summary to stdout."""
        for line in settings_lines(run):
            self.stderr.write(line)
        tally, stop, meter, last = Tally(), StopFlag(), Meter(self.stderr), [Progress()]

        def on_progress(progress: Progress) -> None:
            last[0] = progress
            meter(progress)

        ended: Exception | None = None
        with stopping_on_signals(stop):
            try:
                sample(
                    run,
                    where=where,
                    in_flight=options["in_flight"],
                    max_cost=sum_of(options["max_cost"]),
                    stop=stop,
                    tally=tally,
                    on_progress=on_progress,
                )
            except (Interrupted, CapReached) as error:
                ended = error
            finally:
                if last[0].total:
                    meter.close(last[0])
        told_of = {
            "study": run.study.slug,
            "system": run.name,
            "unchanged": standing.there + tally.there,
            "without_source": standing.without_source,
            **told(tally),
            "left_out_instances": tally.left_out,
            "settings": as_dict(run),
        }
        self.tell([summary(run, standing, tally)], told_of, options)
        self.conclude(run, standing, tally, ended)

    def conclude(self, run: GenerationRun, standing: Standing, tally: Tally, ended: Exception | None) -> None:
        """Name what is missing, and choose the exit status."""
        if tally.left_out:
            self.stderr.write(f"{len(tally.left_out)} instances were left out; the same command asks them again:")
            for line in left_out_lines(run):
                self.stderr.write(f"  {line}")
        if isinstance(ended, Interrupted):
            self.stderr.write("stopped; the same command resumes without repeating a call")
            sys.exit(STOPPED_BY_SIGNAL)
        if ended is not None:
            raise CommandError(str(ended), returncode=STOPPED_ELSEWHERE)
        if tally.left_out and not tally.stored and not standing.there:
            raise CommandError("no instance got its texts")

    def show(self, study: Study, options: dict[str, Any]) -> None:
        """List the systems that were sampled."""
        counts = instances_with_texts(study)
        runs = list(runs_of(study))
        lines = [line for run in runs for line in (*settings_lines(run), so_far(run, counts.get(run.name, 0)))]
        listed = [{**as_dict(run), "instances": counts.get(run.name, 0)} for run in runs]
        self.tell(
            lines or ["no system of this study was sampled here"], {"study": study.slug, "systems": listed}, options
        )

    def tell(self, lines: list[str], values: dict[str, Any], options: dict[str, Any]) -> None:
        """Print lines, or the same for a program."""
        if options["format"] == "json":
            self.stdout.write(json.dumps(values, ensure_ascii=False, indent=2))
            return
        for line in lines:
            self.stdout.write(line)


def where_of(options: dict[str, Any]) -> Where:
    """Return which instances are asked about.

    Raises: CommandError when the file of ids can't be read or names none.
    """
    instances: tuple[str, ...] = ()
    if options["instances"]:
        data, name = read_file(options["instances"])
        instances = tuple(ids_of(data.decode("utf-8-sig", errors="replace")))
        if not instances:
            raise CommandError(f"{name} names no instance")
    return Where(options["dataset"], instances, options["limit"])


def template_of(study: Study, given: str | None) -> Wording:
    """Return the template that is named, by its name or as a file; else the usual one of the study's kind.

    Raises: CommandError for a file that can't be read; BadSettings
    """
    if not given:
        return usual_template(study.task_kind)
    if Path(given).is_file() or given.endswith(FILE_ENDINGS):
        return own_template(text_of(given), Path(given).name)
    return find_template(given)


def text_or_file(given: str) -> str:
    """Return a text, or what is in the file of that name.

    Raises: CommandError for what looks like a file's name and is none.
    """
    looks_like_one = given.endswith(FILE_ENDINGS) and not any(map(str.isspace, given))
    try:
        is_file = bool(given) and Path(given).is_file()
    except OSError:  # a text that is longer than any name
        is_file = False
    return (text_of(given) if is_file or looks_like_one else given).strip()


def text_of(path: str) -> str:
    """Read a text file.

    Raises: CommandError
    """
    data, name = read_file(path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CommandError(f"{name} is not UTF-8: {error.reason} at byte {error.start}") from None


def summary(run: GenerationRun, standing: Standing, tally: Tally) -> str:
    """Say in a line what came of it."""
    parts = [f"{tally.stored:,} instances got {run.samples} texts each"]
    if there := standing.there + tally.there:
        parts.append(f"{there:,} unchanged")
    if tally.left_out:
        parts.append(f"{len(tally.left_out):,} left out")
    if standing.without_source:
        parts.append(f"{standing.without_source:,} have no source to ask about")
    if tally.cut:
        parts.append(f"{tally.cut:,} texts ended at the length limit")
    cost = f", cost {money(tally.spent.cost, run.currency)}" if tally.calls else ""
    return f"{run.name}: {', '.join(parts)}; cached {tally.cached}, calls {tally.calls}{cost}"


def so_far(run: GenerationRun, instances: int) -> str:
    """Say what a run has come to over all sessions."""
    cost = f", cost {money(run.cost, run.currency)}" if run.calls else ""
    return f"{instances:,} instances have its texts; calls {run.calls:,}{cost}"


def estimate_lines(found: Expected) -> list[str]:
    """Put an estimate in words."""
    counts = found.instances
    lines = [
        f"instances: {counts.chosen:,} chosen, {counts.there:,} have such texts, {counts.without_source:,} have no "
        f"source; {counts.open:,} to ask about",
        f"calls: {found.calls:,}; answers already there: {found.cached:,}",
    ]
    if not found.calls:
        return lines
    how = "as texts so far" if found.learned else "a guess"
    unknown = "; the endpoint has no prices" if found.cost is None else ""
    return [
        *lines,
        f"tokens: about {found.prompt_tokens:,} sent (by the number of characters) and {found.completion_tokens:,} "
        f"written ({found.answer_tokens:,} a text, {how})",
        f"cost: {'' if found.cost is None else 'about '}{money(found.cost, found.currency)}{unknown}",
    ]
