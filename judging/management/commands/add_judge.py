"""add_judge NAME --method METHOD; add_judge NAME --method jury --members A B C"""

import json
from collections.abc import Mapping
from typing import Any

from analysis.judges.juries import MAJORITY, RULES
from annotation.management.commands._base import TandemCommand, argument, arguments_of, filled_by, read_file
from judging.core.errors import BadSettings
from judging.management.commands._runs import PARAM
from judging.methods import find_method, method_names
from judging.models import Judge
from judging.runs.forms import JudgeSettings
from judging.runs.judges import add_judge
from judging.wordings.prompt_text import read_prompt


def options_of_methods() -> str:
    """List the methods' options, each with the methods that have it."""
    having: dict[str, list[str]] = {}
    for name in method_names():
        for option in find_method(name).options:
            having.setdefault(option, []).append(name)
    return "; ".join(f"{option} ({', '.join(names)})" for option, names in having.items())


class Command(TandemCommand):
    help = "Add a judge. Its settings are fixed; other settings need another name."

    arguments = (
        argument("name", metavar="NAME"),
        *arguments_of(
            JudgeSettings,
            exclude=("name",),
            prompt_file={"flag": "--prompt", "metavar": "NAME[:VERSION]"},
            system_prompt={"metavar": "FILE", "help": "system message, sent before each call"},
            params={
                **PARAM,
                "help": (
                    "an option of the method, or a parameter sent with each call, such as temperature=0.7; the value "
                    f"is JSON or text; null removes a default. Options: {options_of_methods()}"
                ),
            },
        ),
        argument("--members", nargs="+", metavar="JUDGE", help="of a jury: the judges whose verdicts it combines"),
        argument("--rule", choices=RULES, help=f"of a jury: how it combines them (default: {MAJORITY})"),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        values = {**options, "params": [*(options["params"] or ()), *jury_params(options)]}
        if options["system_prompt"]:
            values["system_prompt"] = read_prompt(read_file(options["system_prompt"])[0]).text
        judge, is_new = add_judge(**filled_by(JudgeSettings, values).cleaned_data)
        self.stdout.write(f"judge {judge.name} {'added' if is_new else 'unchanged'}: {about(judge)}")


def jury_params(options: Mapping[str, Any]) -> list[str]:
    """Return members and rule of a jury as its parameters, each as key=value.

    Raises: BadSettings where they are named for another method.
    """
    values = {name: options[name] for name in ("members", "rule") if options[name] is not None}
    if options["method"] == Judge.JURY:
        values = {"members": [], "rule": MAJORITY} | values
        return [f"{name}={json.dumps(value)}" for name, value in values.items()]
    if values:
        raise BadSettings(f"--{' and --'.join(values)} are for juries: choose --method {Judge.JURY}")
    return []


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
