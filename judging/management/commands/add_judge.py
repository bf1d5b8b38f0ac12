"""add_judge NAME --method METHOD [--endpoint NAME] [--order random|both|ab|ba] [--task T] [--param key=value] …

add_judge NAME --method jury --members A B C [--rule majority|weighted|dawid-skene]
"""

import json
from collections.abc import Mapping
from typing import Any

from analysis.judges.juries import MAJORITY, RULES
from annotation.management.commands._base import TandemCommand, argument, read_file
from judging.core.errors import BadSettings
from judging.endpoints.services import find_endpoint
from judging.management.commands._runs import param
from judging.methods import find_method, method_names
from judging.methods.task_files import TASKS
from judging.models import Judge, PromptFile
from judging.runs.judges import REPEATED_TEMPERATURE, add_judge
from judging.wordings.prompt_files import find_prompt
from judging.wordings.prompt_text import read_prompt


def options_of_methods() -> str:
    """List the methods' options, each with the methods that have it."""
    having: dict[str, list[str]] = {}
    for name in method_names():
        for option in find_method(name).options:
            having.setdefault(option, []).append(name)
    return "; ".join(f"{option} ({', '.join(names)})" for option, names in having.items())


class Command(TandemCommand):
    help = "Add a judge. The same command again changes nothing; other settings need another name."

    arguments = (
        argument("name", metavar="NAME"),
        argument("--method", required=True, metavar="METHOD", help=", ".join(method_names())),
        argument("--endpoint", metavar="NAME", help="which endpoint to ask; none for a baseline"),
        argument(
            "--order",
            choices=Judge.OrderPolicy.values,
            default=Judge.OrderPolicy.RANDOM.value,
            help="which text is shown first: drawn for each pair (default), both orders, or always A's (ab) or B's (ba)",
        ),
        argument(
            "--combine",
            choices=Judge.Combine.values,
            default=Judge.Combine.TIE.value,
            help="what both orders give together: a tie where they disagree (default), or the mean of their probabilities",
        ),
        argument(
            "--task",
            choices=list(TASKS),
            default="",
            metavar="TASK",
            help=f"wording: {', '.join(TASKS)} (default: the study's)",
        ),
        argument("--family", default="", metavar="F", help="the model's family, as on systems"),
        argument(
            "--repeats",
            type=int,
            default=1,
            metavar="N",
            help="ask each presentation N times; methods that ask at temperature 0 then ask at "
            f"{REPEATED_TEMPERATURE}, unless --param temperature says another",
        ),
        argument("--negated", action="store_true", help="ask the negated question as well: which is worse?"),
        argument(
            "--prompt",
            metavar="NAME[:VERSION]",
            help="a prompt file of your own; the latest version unless one is named",
        ),
        argument("--system-prompt", metavar="FILE", help="a text to be sent before each call, as the system's message"),
        argument(
            "--table-endpoint",
            metavar="NAME",
            help="sc2: ask this endpoint for aspects and tables and to compare these; --endpoint gives the verdict",
        ),
        argument(
            "--table-variant",
            default="",
            metavar="NAME",
            help="sc2: show the study's stored tables of this variant, as another model has made them (make_tables), and make none",
        ),
        param(
            "an option of the method, or else sent with each call, as temperature=0.7; the value is JSON or text; "
            f"null leaves a default out. Options: {options_of_methods()}",
        ),
        argument("--members", nargs="+", metavar="JUDGE", help="of a jury: the judges whose verdicts it puts together"),
        argument("--rule", choices=RULES, help=f"of a jury: how it does (default: {MAJORITY})"),
        argument("--seed", type=int, help="draws the orders and the samples (default: random, recorded)"),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        same = ("name", "method", "order", "combine", "repeats", "negated", "task", "family", "table_variant", "seed")
        judge, is_new = add_judge(
            **{name: options[name] for name in same},
            endpoint=find_endpoint(options["endpoint"]) if options["endpoint"] else None,
            table_endpoint=find_endpoint(options["table_endpoint"]) if options["table_endpoint"] else None,
            system_prompt=read_prompt(read_file(options["system_prompt"])[0]).text if options["system_prompt"] else "",
            prompt_file=prompt_named(options["prompt"]),
            params=dict(options["param"]) | jury_params(options),
        )
        self.stdout.write(f"judge {judge.name} {'added' if is_new else 'unchanged'}: {about(judge)}")


def jury_params(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return members and rule of a jury as its parameters.

    Raises: BadSettings where they are named for another method.
    """
    given = {name: options[name] for name in ("members", "rule") if options[name] is not None}
    if options["method"] == Judge.JURY:
        return {"members": [], "rule": MAJORITY} | given
    if given:
        raise BadSettings(f"--{' and --'.join(given)} are of juries: choose --method {Judge.JURY}")
    return {}


def about(judge: Judge) -> str:
    """Say how a judge is set up, defaults left out."""
    parts = [judge.method, f"order {judge.order}"]
    if judge.combine != Judge.Combine.TIE:
        parts.append(f"combine {judge.combine}")
    parts += [f"task {judge.task}"] * bool(judge.task)
    parts += [f"prompt {judge.prompt_file}"] * (judge.prompt_file is not None)
    parts += ["a system prompt"] * bool(judge.system_prompt)
    parts += [f"tables made at {judge.table_endpoint}"] * bool(judge.table_endpoint)
    parts += [f"tables {judge.table_variant}"] * bool(judge.table_variant)
    parts += [f"{judge.repeats} repeats"] * (judge.repeats > 1)
    parts += ["negated as well"] * judge.negated
    parts += [f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in judge.params.items()]
    return ", ".join([*parts, f"seed {judge.seed}"])


def prompt_named(name: str | None) -> PromptFile | None:
    """Return the prompt file that NAME or NAME:VERSION names.

    Raises: UnknownJudge
    """
    if not name:
        return None
    plain, colon, version = name.partition(":")
    return find_prompt(f"{plain}.v{version.removeprefix('v')}" if colon else plain)
