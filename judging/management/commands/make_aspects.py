"""make_aspects STUDY --endpoint NAME | --show | --set FILE"""

from itertools import chain
from typing import Any

from django.core.management.base import CommandError

from annotation.management.commands._base import StudyCommand, argument, one_of
from annotation.management.commands._settings import FORMAT
from annotation.models import Study
from judging.aspects.aspect_sets import PAIRS, current_aspects, edit_aspects, estimate_distilling, versions_of
from judging.aspects.distillation import work_on
from judging.aspects.services import start_distilling
from judging.aspects.text import as_dict, origin_of
from judging.core.pricing import money
from judging.endpoints.services import find_endpoint
from judging.management.asking import asking
from judging.management.commands._runs import CALLS_AT_ONCE, ESTIMATE, cost_of, max_cost, param, text_of
from judging.methods.task_files import bulleted
from judging.models import AspectSet

BY = "command line"


class Command(StudyCommand):
    help = (
        "Distil the aspects of comparison tables from a sample of a study's pairs by a model. --show lists the "
        "versions, --set stores a list of your own."
    )

    arguments = (
        one_of(
            argument("--endpoint", metavar="NAME", help="model that distils"),
            argument("--show", action="store_true", help="list the versions, the latest first"),
            argument(
                "--set", metavar="FILE", help="store this file, one aspect per line, as the next version (-: stdin)"
            ),
            required=True,
        ),
        argument(
            "--pairs", type=int, default=PAIRS, metavar="N", help=f"number of pairs to distil from (default: {PAIRS})"
        ),
        argument("--seed", type=int, default=0, metavar="S", help="draws the pairs (default: 0)"),
        param("sent with each call, as max_tokens=300; may be repeated"),
        max_cost("it"),
        *(CALLS_AT_ONCE, ESTIMATE, FORMAT),
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
        if options["estimate"] and not options["endpoint"]:
            raise CommandError("--estimate needs --endpoint: prices and stored answers are the endpoint's")
        if options["show"]:
            self.show(study, options)
        elif options["set"]:
            version, is_new = edit_aspects(study, aspects=_lines(options["set"]), by=BY)
            self.print_version(version, is_new, options)
        elif options["estimate"]:
            self.estimate(study, options)
        else:
            self.distil(study, options)

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

    def estimate(self, study: Study, options: dict[str, Any]) -> None:
        """Print what distilling would take."""
        endpoint = find_endpoint(options["endpoint"])
        estimated = estimate_distilling(study, endpoint=endpoint, **_asked(options))
        values = {"study": study.slug, "endpoint": endpoint.name, **estimated.as_dict()}
        self.say_document(values, options, cost_of(estimated, options["max_cost"]))

    def distil(self, study: Study, options: dict[str, Any]) -> None:
        """Distil. Progress goes to stderr."""
        bounds: dict[str, Any] = {name: options[name] for name in ("in_flight", "max_cost")}
        endpoint = find_endpoint(options["endpoint"])
        job = start_distilling(study, endpoint=endpoint, **_asked(options), **bounds, by=BY)
        with asking(self.stderr) as work:
            version, is_new, usage = work_on(job, stop=work.stop, on_progress=work.meter)
        work.conclude()
        cost = f", cost {money(usage.total.cost, work.meter.progress.currency)}" if usage.calls else ""
        self.print_version(version, is_new, options, f"; cached {usage.cached}, calls {usage.calls}{cost}")


def _asked(options: dict[str, Any]) -> dict[str, Any]:
    return {"pairs": options["pairs"], "seed": options["seed"], "params": dict(options["param"])}


def _lines(path: str) -> list[str]:
    """Read a list, one entry a line, a dash before it or not."""
    text = text_of(path)
    return [line.strip().removeprefix("- ") for line in text.splitlines()]
