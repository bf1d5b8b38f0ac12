"""Reading prompts in the forms of published projects, whose texts don't come with Tandem.

A file is read as it is: its fields become the placeholders of our prompts, and all else stays. Texts stand without
fences, as they do there.
"""

import ast
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from string import Formatter
from typing import Any

import yaml

from judging.core.errors import BadPrompt
from judging.wordings.prompt_text import LONGEST_FILE, PromptText, decode, too_long, unstorable

TURN = re.compile(r"<\|im_start\|>(?P<role>\w+)\n(?P<text>.*?)\n?<\|im_end\|>", re.DOTALL)
# Fields of any form, in lower case, and the placeholders that fill them.
FIELDS: Mapping[str, str] = {
    **dict.fromkeys(("instruction", "question", "question_1", "orig_instruction"), "source"),
    **dict.fromkeys(("output_1", "answer_a", "answer_1", "response_a"), "first"),
    **dict.fromkeys(("output_2", "answer_b", "answer_2", "response_b"), "second"),
    **dict.fromkeys(("reference_answer", "ref_answer", "ref_answer_1", "reference"), "reference"),
    **dict.fromkeys(("rubric", "score_rubric"), "criterion"),
}
FIELD = re.compile(rf"\{{({'|'.join(FIELDS)})\}}", re.IGNORECASE)


@dataclass(frozen=True)
class Form:
    """A form of files: what finds its prompts, by name, and the parsers of their answers, each with what asks for it."""

    read: Callable[[str], Mapping[str, PromptText]]
    parsers: Sequence[tuple[str, str]]


def read_published(data: bytes, form: str, entry: str = "") -> PromptText:
    """Return one prompt of a published file, by default the only one that shows two texts, with the usual parser.

    Raises: BadPrompt for an unknown form, a file of another form, and a prompt that can't be used
    """
    if form not in FORMS:
        raise BadPrompt([f"Unknown form {form}. Allowed: {', '.join(FORMS)}."])
    if len(data) > LONGEST_FILE:
        raise BadPrompt([too_long()])
    text = decode(data)
    try:
        prompts = FORMS[form].read(text)
    except (ValueError, TypeError, LookupError, AttributeError, SyntaxError, RecursionError, yaml.YAMLError) as error:
        raise BadPrompt([f"The file does not have the form {form} ({type(error).__name__})."]) from error
    prompt = _chosen(prompts, entry)
    if problems := [*unstorable(prompt.text), *unstorable(prompt.system)]:
        raise BadPrompt(problems)
    text_asked = f"{prompt.system}\n{prompt.text}"
    parser = next(name for pattern, name in FORMS[form].parsers if re.search(pattern, text_asked))
    return replace(prompt, parser=parser, form=form)


def _chosen(prompts: Mapping[str, PromptText], entry: str) -> PromptText:
    if entry in prompts:
        return prompts[entry]
    if not entry and len(prompts) == 1:
        return next(iter(prompts.values()))
    raise BadPrompt([f"Name one of the prompts that show two texts: {', '.join(prompts) or '–'}."])


def _pairwise(entries: Iterable[tuple[str, Iterable[tuple[str, str | None]], str]]) -> dict[str, PromptText]:
    """Return the prompts of which we can fill every field and which show two texts, by name.

    entries : name, template and system prompt of each; a template is a row of texts, each with the field after it
    """
    prompts = {}
    for name, template, system in entries:
        parts = [(literal, None if field is None else FIELDS.get(field.lower(), "")) for literal, field in template]
        fields = [field for _literal, field in parts if field is not None]
        once = fields.count("first") == fields.count("second") == 1  # more often in prompts about a batch of pairs
        if once and "" not in fields and "source" in fields:
            text = "".join(literal.replace("$", "$$") + (f"${{{field}}}" if field else "") for literal, field in parts)
            prompts[name] = PromptText(text.strip(), system=system.strip())
    return prompts


def _formatted(template: str) -> list[tuple[str, str | None]]:
    """Split a template of `str.format`, in which a brace is written twice."""
    return [(literal, field) for literal, field, _spec, _conversion in Formatter().parse(template)]


def _alpaca_eval(text: str) -> Mapping[str, PromptText]:
    """Read one template, with or without marks of a chat's turns. Braces without a field of ours stay."""
    turns = [(turn["role"], turn["text"]) for turn in TURN.finditer(text)] or [("user", text)]
    roles = [role for role, _text in turns]
    if roles not in (["user"], ["system", "user"]):
        raise ValueError(roles)
    pieces = FIELD.split(turns[-1][1])
    row: list[tuple[str, str | None]] = list(zip(pieces[::2], [*pieces[1::2], None], strict=True))
    return _pairwise([("prompt", row, turns[0][1] if len(turns) > 1 else "")])


def _mt_bench(text: str) -> Mapping[str, PromptText]:
    """Read JSON Lines, a prompt a line."""
    rows = [json.loads(line) for line in text.splitlines() if line.strip()]
    return _pairwise((row["name"], _formatted(row["prompt_template"]), row["system_prompt"]) for row in rows)


def _arena_hard(text: str) -> Mapping[str, PromptText]:
    """Read a judge's settings in YAML. The template may be a list of one."""
    settings: Any = yaml.safe_load(text)
    template_text = settings["prompt_template"]
    [template] = [template_text] if isinstance(template_text, str) else template_text
    return _pairwise([("prompt", _formatted(template), settings.get("system_prompt") or "")])


def _prometheus(text: str) -> Mapping[str, PromptText]:
    """Read the texts that a Python file names, without running it."""
    named: dict[str, str] = {}
    for step in ast.parse(text).body:
        if isinstance(step, ast.Assign) and isinstance(step.value, ast.Constant) and isinstance(step.value.value, str):
            named |= {name.id: step.value.value for name in step.targets if isinstance(name, ast.Name)}
    system = next((content for name, content in named.items() if "REL" in name and "SYSTEM" in name), "")
    return _pairwise((name, _formatted(content), system) for name, content in named.items() if "SYSTEM" not in name)


MARKED = [("", "brackets")]
FORMS: Mapping[str, Form] = {
    "alpaca-eval": Form(
        _alpaca_eval,
        [(r"\bm or M\b", "model-letter"), (r"(?i)\brank", "ranked-list"), (r"\[\[", "brackets"), ("", "letter")],
    ),
    "mt-bench": Form(_mt_bench, MARKED),
    "arena-hard": Form(_arena_hard, MARKED),
    "prometheus": Form(_prometheus, MARKED),
}
