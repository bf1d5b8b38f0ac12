"""make_aspects STUDY --endpoint NAME [--pairs N] [--seed S] [--param key=value] [--max-cost M] [--in-flight W] [--estimate]

make_aspects STUDY --show | --set FILE; all with [--format json|text]
"""

import json
import sys
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.management.commands._base import TandemCommand, read_file
from annotation.models import Study
from annotation.studies.services import find_study
from judging.aspects.aspect_sets import PAIRS, current_aspects, edit_aspects, estimate_distilling, versions_of
from judging.aspects.distillation import distil
from judging.calls.adhoc import ProcedureEstimate
from judging.calls.adhoc_runner import IN_FLIGHT, Interrupted
from judging.core.errors import CapReached
from judging.core.pricing import cost_line, money
from judging.endpoints.services import find_endpoint
from judging.jobs.progress import Progress
from judging.jobs.stopping import StopFlag
from judging.management.commands.add_judge import parameter
from judging.management.commands.run_judge import STOPPED_BY_SIGNAL, STOPPED_ELSEWHERE, parse_money, stopping_on_signals
from judging.management.meter import Meter
from judging.models import AspectSet

BY = "command line"
MOST_IN_FLIGHT = 1000


class Command(TandemCommand):
    """Distil the aspects that a study's texts are compared under, show their versions, or set them by hand."""

    help = (
        "Have a model distil the aspects that comparison tables go through, from a sample of a study's pairs. The same "
        "command again asks nothing; with --show it lists the versions, with --set it stores a list of your own."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Name the options."""
        parser.add_argument("study")
        ways = parser.add_mutually_exclusive_group(required=True)
        ways.add_argument("--endpoint", metavar="NAME", help="distil them there")
        ways.add_argument("--show", action="store_true", help="list the versions, the latest first")
        ways.add_argument(
            "--set", metavar="FILE", help="store this list, one aspect a line, as the next version (-: stdin)"
        )
        parser.add_argument("--pairs", type=int, default=PAIRS, metavar="N", help=f"to distil from (default: {PAIRS})")
        parser.add_argument("--seed", type=int, default=0, metavar="S", help="draws the pairs (default: 0)")
        parser.add_argument(
            "--param",
            type=parameter,
            action="append",
            default=[],
            metavar="key=value",
            help="sent with each call, as max_tokens=300; may be given several times",
        )
        parser.add_argument("--max-cost", metavar="M", help="stop before it has cost more than this")
        parser.add_argument(
            "--in-flight",
            type=int,
            default=IN_FLIGHT,
            metavar="W",
            help=f"calls at the same time (default: {IN_FLIGHT})",
        )
        parser.add_argument(
            "--estimate", action="store_true", help="print the estimated calls, tokens and cost, and make no call"
        )
        parser.add_argument("--format", choices=["text", "json"], default="text")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do one of the three, and print what holds now."""
        study = find_study(options["study"])
        as_json = options["format"] == "json"
        if options["estimate"] and not options["endpoint"]:
            raise CommandError("--estimate needs --endpoint: prices and stored answers are the endpoint's")
        if options["show"]:
            self.show(study, as_json=as_json)
        elif options["set"]:
            version, is_new = edit_aspects(study, aspects=_lines(options["set"]), by=BY)
            self.tell(version, is_new=is_new, as_json=as_json)
        elif options["estimate"]:
            self.estimate(study, options, as_json=as_json)
        else:
            self.distil(study, options, as_json=as_json)

    def show(self, study: Study, *, as_json: bool) -> None:
        """List the versions, or say that the task's own aspects hold."""
        versions = list(versions_of(study))
        if as_json:
            aspects, name = current_aspects(study)
            told = {"holds": name, "aspects": aspects, "versions": [as_dict(version) for version in versions]}
            self.stdout.write(json.dumps(told, ensure_ascii=False, indent=2))
            return
        if not versions:
            aspects, name = current_aspects(study)
            self.stdout.write(name)
            self.list(aspects)
        for version in versions:
            self.stdout.write(f"{version}: {origin_of(version)}, {version.created_at:%Y-%m-%d %H:%M} UTC")
            self.list(version.aspects)

    def list(self, aspects: Sequence[str]) -> None:
        """Print aspects, one a line."""
        for aspect in aspects:
            self.stdout.write(f"- {aspect}")

    def tell(self, version: AspectSet, *, is_new: bool, as_json: bool, took: str = "") -> None:
        """Print the version that came of it."""
        if as_json:
            self.stdout.write(json.dumps({**as_dict(version), "new": is_new}, ensure_ascii=False, indent=2))
            return
        self.stdout.write(f"{version} {'added' if is_new else 'unchanged'}{took}")
        self.list(version.aspects)

    def estimate(self, study: Study, options: dict[str, Any], *, as_json: bool) -> None:
        """Print what distilling would take."""
        endpoint = find_endpoint(options["endpoint"])
        found = estimate_distilling(study, endpoint=endpoint, **_asked(options))
        if as_json:
            told = {"study": study.slug, "endpoint": endpoint.name, **found.as_dict()}
            self.stdout.write(json.dumps(told, ensure_ascii=False, indent=2))
            return
        for line in estimate_lines(found, parse_money(options["max_cost"])):
            self.stdout.write(line)

    def distil(self, study: Study, options: dict[str, Any], *, as_json: bool) -> None:
        """Distil; progress goes to stderr."""
        if not 1 <= options["in_flight"] <= MOST_IN_FLIGHT:
            raise CommandError(f"--in-flight must be from 1 to {MOST_IN_FLIGHT}, got {options['in_flight']}")
        stop, meter, last = StopFlag(), Meter(self.stderr), [Progress()]

        def on_progress(progress: Progress) -> None:
            last[0] = progress
            meter(progress)

        with stopping_on_signals(stop):
            try:
                version, is_new, usage = distil(
                    study,
                    endpoint=find_endpoint(options["endpoint"]),
                    **_asked(options),
                    max_cost=parse_money(options["max_cost"]),
                    by=BY,
                    in_flight=options["in_flight"],
                    stop=stop,
                    on_progress=on_progress,
                )
            except Interrupted as error:
                self.stderr.write(str(error))
                sys.exit(STOPPED_BY_SIGNAL)
            except CapReached as error:
                raise CommandError(str(error), returncode=STOPPED_ELSEWHERE) from None
            finally:
                meter.close(last[0])
        cost = f", cost {money(usage.total.cost, last[0].currency)}" if usage.calls else ""
        self.tell(version, is_new=is_new, as_json=as_json, took=f"; cached {usage.cached}, calls {usage.calls}{cost}")


def _asked(options: dict[str, Any]) -> dict[str, Any]:
    return {"pairs": options["pairs"], "seed": options["seed"], "params": dict(options["param"])}


def _lines(path: str) -> list[str]:
    """Read a list, one entry a line, a dash before it or not."""
    data = sys.stdin.buffer.read() if path == "-" else read_file(path)[0]
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CommandError(f"{path} is not UTF-8: {error.reason} at byte {error.start}") from None
    return [line.strip().removeprefix("- ") for line in text.splitlines()]


def as_dict(version: AspectSet) -> dict[str, Any]:
    """Return a version for JSON."""
    return {
        "name": str(version),
        "task": version.task,
        "version": version.version,
        "aspects": version.aspects,
        "made_by": version.made_by,
        "created_at": version.created_at.isoformat(),
    }


def origin_of(version: AspectSet) -> str:
    """Say in a line where a version comes from."""
    made = version.made_by
    if made.get("how") == "edited":
        return f"edited from {made['from']} by {made['by']}"
    if made.get("how") == "distilled":
        lost = f", {made['lost']} lost" if made["lost"] else ""
        filled = f", {made['filled']} filled in by frequency" if made["filled"] else ""
        return (
            f"distilled by {made['model']} at {made['endpoint']} from {made['pairs']} pairs of {made['study']} "
            f"(seed {made['seed']}; {made['texts']} texts{lost}{filled})"
        )
    return "of unknown origin"


def estimate_lines(found: ProcedureEstimate, cap: Decimal | None = None) -> list[str]:
    """Put a forecast in words; one above the cap says so."""
    kinds = ", ".join(f"{kind.calls:,} {kind.kind}" for kind in found.kinds if kind.calls)
    said = [f"calls: about {found.calls:,}{f' ({kinds})' if kinds else ''}; answers already there: {found.cached:,}"]
    if not found.calls:
        return said
    return [
        *said,
        f"tokens: about {found.prompt_tokens:,} sent and {found.completion_tokens:,} written (by the number of characters)",
        cost_line(found.cost, found.currency, total=found.cost, cap=cap),
    ]
