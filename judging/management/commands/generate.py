"""generate STUDY --system NAME --endpoint NAME; generate STUDY --show lists what was sampled."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotation.core.counting import number_of
from annotation.management.commands._base import StudyCommand, argument, whole
from annotation.management.commands._settings import FORMAT
from annotation.models import Study
from judging.core.pricing import check_cap
from judging.endpoints.services import find_endpoint
from judging.generation.engine import sample
from judging.generation.estimates import estimate_generating
from judging.generation.instances import InstanceCounts, InstanceSelection, check_selection, count_instances
from judging.generation.prompt_templates import TEMPLATES, Wording, default_template, find_template, own_template
from judging.generation.sampled_systems import as_dict, instances_with_texts, runs_of, settings_lines
from judging.generation.services import SAMPLES, TEMPERATURE, Sampling, build_run, left_out_lines, start_generating
from judging.generation.store import SamplingTotals
from judging.generation.text import run_summary, summary
from judging.management.asking import Asking, asking
from judging.management.commands._runs import CALLS_AT_ONCE, ESTIMATE, cost_of, instance_ids, max_cost, param, text_of
from judging.models import GenerationRun

BY = "command line"
FILE_ENDINGS = (".txt", ".md", ".prompt")


class Command(StudyCommand):
    help = (
        "Sample the texts of a system from a model: several of each instance, from its source. Repeat the command "
        "to resume; no call is repeated. Other settings need another system name."
    )

    arguments = (
        argument("--system", metavar="NAME", help="name of the system"),
        argument("--endpoint", metavar="NAME", help="the model's endpoint"),
        argument("--show", action="store_true", help="list the systems that were sampled, with all settings"),
        argument("--samples", type=int, default=SAMPLES, metavar="K", help=f"of each instance ({SAMPLES})"),
        argument("--temperature", type=float, default=TEMPERATURE, metavar="T", help=f"({TEMPERATURE})"),
        argument("--top-p", type=float, metavar="P", help="nucleus sampling (default: the endpoint's own)"),
        argument("--max-tokens", type=int, metavar="N", help="most tokens of a text (default: the endpoint's own)"),
        argument("--seed", type=int, default=0, metavar="S", help="draws a seed for each call (0)"),
        argument(
            "--template",
            metavar="NAME|FILE",
            help=f"prompt template: {', '.join(TEMPLATES)}, or a file with $source (default: by the study's task)",
        ),
        argument("--system-prompt", default="", metavar="FILE|TEXT", help="system prompt (default: none)"),
        param("sent with each call, such as presence_penalty=0.5; null removes one, such as seed=null"),
        argument(
            "--keep-refusals",
            action="store_true",
            help="store refusals in words like other texts",
        ),
        argument("--dataset", default="", metavar="D", help="only instances of this data set"),
        argument("--instances", metavar="FILE", help="only the instances of this file, one id per line"),
        argument("--limit", type=whole(1), metavar="N", help="most instances this time"),
        max_cost("the system"),
        *(CALLS_AT_ONCE, ESTIMATE, FORMAT),
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
        if options["show"]:
            self.show(study, options)
            return
        if not options["system"] or not options["endpoint"]:
            raise CommandError("name a --system and an --endpoint, or --show what was sampled")
        sampling = self.sampling(study, options)
        selection = InstanceSelection(options["dataset"], instance_ids(options["instances"]), options["limit"])
        if options["estimate"]:
            check_selection(study, selection)
            check_cap(options["max_cost"], sampling.endpoint)
            run = build_run(study, options["system"], sampling, by=BY)
            estimate = estimate_generating(run, selection)
            values = {"study": study.slug, "system": run.name, **estimate.as_dict(), "settings": as_dict(run)}
            self.say_document(values, options, cost_of(estimate, options["max_cost"]))
            return
        bounds: dict[str, Any] = {name: options[name] for name in ("in_flight", "max_cost")}
        run = start_generating(study, options["system"], sampling, selection=selection, by=BY, **bounds)
        counts = count_instances(study, run.name, selection)
        self.run_it(run, counts, options)

    def sampling(self, study: Study, options: dict[str, Any]) -> Sampling:
        """Return how texts are to be sampled."""
        same = ("samples", "temperature", "top_p", "max_tokens", "seed", "keep_refusals")
        return Sampling(
            endpoint=find_endpoint(options["endpoint"]),
            template=template_of(study, options["template"]),
            system_prompt=text_or_file(options["system_prompt"]),
            params=dict(options["param"]),
            **{name: options[name] for name in same},
        )

    def run_it(self, run: GenerationRun, counts: InstanceCounts, options: dict[str, Any]) -> None:
        """Sample. Progress goes to stderr, the summary to stdout."""
        for line in settings_lines(run):
            self.stderr.write(line)
        totals = SamplingTotals()
        with asking(self.stderr) as work:
            sample(run, stop=work.stop, totals=totals, on_progress=work.meter)
        values = {
            "study": run.study.slug,
            "system": run.name,
            "unchanged": counts.there + totals.there,
            "without_source": counts.without_source,
            **totals.as_dict(),
            "left_out_instances": totals.left_out,
            "settings": as_dict(run),
        }
        self.say_result([summary(run, counts, totals)], values, options)
        self.conclude(run, counts, totals, work)

    def conclude(self, run: GenerationRun, counts: InstanceCounts, totals: SamplingTotals, work: Asking) -> None:
        """Name what is missing, and choose the exit status."""
        if totals.left_out:
            self.stderr.write(
                f"left out: {number_of(len(totals.left_out), 'instance')}; the same command asks them again:"
            )
            for line in left_out_lines(run):
                self.stderr.write(f"  {line}")
        work.conclude()
        if totals.left_out and not totals.stored and not counts.there:
            raise CommandError("no instance got its texts")

    def show(self, study: Study, options: dict[str, Any]) -> None:
        """List the systems that were sampled."""
        counts = instances_with_texts(study)
        runs = list(runs_of(study))
        lines = [line for run in runs for line in (*settings_lines(run), run_summary(run, counts.get(run.name, 0)))]
        listed = [{**as_dict(run), "instances": counts.get(run.name, 0)} for run in runs]
        lines = lines or ["no system of this study was sampled here"]
        self.say_result(lines, {"study": study.slug, "systems": listed}, options)


def template_of(study: Study, value: str | None) -> Wording:
    """Return the template that is named, by its name or as a file, or the usual one of the study's kind.

    Raises: CommandError for a file that can't be read; BadSettings
    """
    if not value:
        return default_template(study.task_kind)
    if Path(value).is_file() or value.endswith(FILE_ENDINGS):
        return own_template(text_of(value), Path(value).name)
    return find_template(value)


def text_or_file(value: str) -> str:
    """Return a text, or what is in the file of that name.

    Raises: CommandError for what looks like a file's name and is none.
    """
    looks_like_one = value.endswith(FILE_ENDINGS) and not any(map(str.isspace, value))
    try:
        is_file = bool(value) and Path(value).is_file()
    except OSError:  # a text that is longer than any name
        is_file = False
    return (text_of(value) if is_file or looks_like_one else value).strip()
