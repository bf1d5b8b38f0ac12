"""make_aspects STUDY --endpoint NAME | --show | --set FILE"""

from itertools import chain
from typing import Any

from django.core.management.base import CommandError

from annotation.core.actions import filled
from annotation.management.commands._base import argument, arguments_of, one_of
from annotation.management.commands._settings import FORMAT
from annotation.models import Study
from judging.aspects.aspect_sets import as_dict, current_aspects, edit_aspects, origin_of, versions_of
from judging.aspects.distillation import work_on
from judging.aspects.forms import AspectsForm, DistilForm
from judging.core.pricing import money
from judging.management.asking import asking
from judging.management.commands._runs import ESTIMATE, PARAM, AskingCommand, text_of
from judging.methods.task_files import bulleted
from judging.models import AspectSet

BY = "command line"


class Command(AskingCommand):
    help = (
        "Distil the aspects of comparison tables from a sample of a study's pairs by a model. --show lists the "
        "versions, --set stores a list of your own."
    )

    arguments = (
        one_of(
            *arguments_of(DistilForm, only=("endpoint",), endpoint={"required": False}),
            argument("--show", action="store_true", help="list the versions, the latest first"),
            argument(
                "--set", metavar="FILE", help="store this file, one aspect per line, as the next version (-: stdin)"
            ),
            required=True,
        ),
        *arguments_of(DistilForm, exclude=("endpoint",), params=PARAM),
        *(ESTIMATE, FORMAT),
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
        if options["estimate"] and not options["endpoint"]:
            raise CommandError("--estimate needs --endpoint: prices and stored answers are the endpoint's")
        if options["show"]:
            self.show(study, options)
        elif options["set"]:
            form = filled(AspectsForm, {"aspects": _lines(options["set"])})
            version, is_new = edit_aspects(study, **form.cleaned_data, by=BY)
            self.print_version(version, is_new, options)
        else:
            self.distil(self.form_of(DistilForm, study, options), options)

    def show(self, study: Study, options: dict[str, Any]) -> None:
        """List the versions, or say that the task's own aspects hold."""
        versions = list(versions_of(study))
        aspects, name = current_aspects(study)
        listed = [
            (
                f"{version}: {origin_of(version)}, {version.created_at:%Y-%m-%d %H:%M} UTC",
                *bulleted(version.aspects).splitlines(),
            )
            for version in versions
        ]
        lines = chain.from_iterable(listed or [(name, *bulleted(aspects).splitlines())])
        self.say_result(lines, {"holds": name, "aspects": aspects, "versions": list(map(as_dict, versions))}, options)

    def print_version(self, version: AspectSet, is_new: bool, options: dict[str, Any], took: str = "") -> None:
        """Print the resulting version."""
        lines = [f"{version} {'added' if is_new else 'unchanged'}{took}", *bulleted(version.aspects).splitlines()]
        self.say_result(lines, {**as_dict(version), "new": is_new}, options)

    def distil(self, form: DistilForm, options: dict[str, Any]) -> None:
        """Distil, or print what that would take. Progress goes to stderr."""
        if options["estimate"]:
            self.say_estimate(form, form.estimate(), options, endpoint=form.cleaned_data["endpoint"].name)
            return
        job = form.start(by=BY)
        with asking(self.stderr) as work:
            version, is_new, usage = work_on(job, stop=work.stop, on_progress=work.meter)
        work.conclude()
        cost = f", cost {money(usage.total.cost, work.meter.progress.currency)}" if usage.calls else ""
        self.print_version(version, is_new, options, f"; cached {usage.cached}, calls {usage.calls}{cost}")


def _lines(path: str) -> list[str]:
    """Read a list, one entry a line, a dash before it or not."""
    text = text_of(path)
    return [line.strip().removeprefix("- ") for line in text.splitlines()]
