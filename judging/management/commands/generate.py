"""generate STUDY --system NAME --endpoint NAME; generate STUDY --show lists what was sampled."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotation.core.counting import number_of
from annotation.management.commands._base import argument, arguments_of
from annotation.management.commands._settings import FORMAT
from annotation.models import Study
from judging.core.pricing import money
from judging.generation.engine import sample
from judging.generation.estimates import estimate_generating
from judging.generation.forms import GenerateForm
from judging.generation.instances import InstanceCounts, count_instances
from judging.generation.prompt_templates import TEMPLATES
from judging.generation.sampled_systems import as_dict, instances_with_texts, runs_of, settings_lines
from judging.generation.services import left_out_lines
from judging.generation.store import SamplingTotals
from judging.management.asking import Asking, asking
from judging.management.commands._runs import ESTIMATE, IDS, PARAM, AskingCommand, text_of
from judging.models import GenerationRun

BY = "command line"
OPTIONAL = {"required": False}  # for --show
FILE_ENDINGS = (".txt", ".md", ".prompt")


class Command(AskingCommand):
    help = (
        "Sample the texts of a system from a model: several of each instance, from its source. Repeat the command "
        "to resume; no call is repeated. Other settings need another system name."
    )

    arguments = (
        *arguments_of(GenerateForm, only=("system", "endpoint"), system=OPTIONAL, endpoint=OPTIONAL),
        argument("--show", action="store_true", help="list the systems that were sampled, with all settings"),
        *arguments_of(
            GenerateForm,
            exclude=("system", "endpoint", "wording"),
            template={
                "metavar": "NAME|FILE",
                "help": f"prompt template: {', '.join(TEMPLATES)}, or a file with $source (default: by the study's task)",
            },
            system_prompt={"metavar": "FILE|TEXT"},
            params=PARAM,
            instances=IDS,
        ),
        *(ESTIMATE, FORMAT),
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
        if options["show"]:
            self.show(study, options)
            return
        if not options["system"] or not options["endpoint"]:
            raise CommandError("name a --system and an --endpoint, or --show what was sampled")
        template = options["template"] or ""
        is_file = Path(template).is_file() or template.endswith(FILE_ENDINGS)
        wording = {"template": "", "wording": text_of(template)} if is_file else {}
        system_prompt = text_or_file(options["system_prompt"] or "")
        values = {**options, **wording, "system_prompt": system_prompt}
        form = self.form_of(GenerateForm, study, values, wording_name=Path(template).name if is_file else "own")
        if options["estimate"]:
            run = form.build(by=BY)
            estimate = estimate_generating(run, form.selection)
            self.say_estimate(form, estimate, options, system=run.name, settings=as_dict(run))
            return
        run = form.start(by=BY)
        self.run_it(run, count_instances(study, run.name, form.selection), options)

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
            "left_out_instances": {instance_id: why.text for instance_id, why in totals.left_out.items()},
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
        lines: list[str] = []
        for run in runs:
            lines += [*settings_lines(run), run_summary(run, counts.get(run.name, 0))]
            lines += [f"left out: {line}" for line in left_out_lines(run)]
        listed = [{**as_dict(run), "instances": counts.get(run.name, 0)} for run in runs]
        lines = lines or ["no system of this study was sampled here"]
        self.say_result(lines, {"study": study.slug, "systems": listed}, options)


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


def summary(run: GenerationRun, counts: InstanceCounts, totals: SamplingTotals) -> str:
    """Format the outcome as one line."""
    parts = [f"{totals.stored:,} instances got {run.samples} texts each"]
    if existing := counts.there + totals.there:
        parts.append(f"{existing:,} unchanged")
    if totals.left_out:
        parts.append(f"{len(totals.left_out):,} left out")
    if counts.without_source:
        parts.append(f"{counts.without_source:,} have no source")
    if totals.cut:
        parts.append(f"{totals.cut:,} texts ended at the length limit")
    cost = f", cost {money(totals.usage.cost, run.currency)}" if totals.calls else ""
    return f"{run.name}: {', '.join(parts)}; cached {totals.cached}, calls {totals.calls}{cost}"


def run_summary(run: GenerationRun, instances: int) -> str:
    """Say what a run has come to over all sessions."""
    cost = f", cost {money(run.cost, run.currency)}" if run.calls else ""
    return f"{instances:,} instances have its texts; calls {run.calls:,}{cost}"
