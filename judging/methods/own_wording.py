"""Researchers' own wordings: one call about both texts, or several calls, or one about each text by itself.

A wording of several calls is divided by lines: `--- call: NAME ---` before each call whose answer is shown later, and
`--- verdict ---` before the last one, which gives the verdict or the score.
"""

import re
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from string import Template
from typing import Any

from judging.core.errors import BadSettings
from judging.methods.base import Call, Presentation, Setting
from judging.methods.parsing.scores import read_text
from judging.methods.prompts import PAIR, Prompt, make_prompt
from judging.methods.task_files import words_for

SCORE = "score"  # the parser of a wording about one text
MOST_STEPS = 5
LINE = re.compile(r"^---[ \t]+(?:call:[ \t]*(?P<name>.*?)|(?P<last>verdict))[ \t]+---[ \t]*$", re.MULTILINE)
NAME = re.compile(r"[a-z][a-z_]{0,18}[a-z]", re.ASCII)
KINDS = frozenset({"verdict", "score", "table", "comparator"})  # of calls that mean something else
SIDES = ("first", "second")
# Placeholders of a researcher's prompt: the two texts, their source and reference, and the words of the task.
OWN_PLACEHOLDERS = PAIR | {
    "reference",
    *("question", "source_label", "label", "one", "many", "rules"),
    *("intro", "criterion", "choice", "chosen", "offer", "letters"),
}
OF_ONE_TEXT = OWN_PLACEHOLDERS - {*SIDES, "choice", "chosen", "offer", "letters"} | {"text", "alone", "quality"}


@dataclass(frozen=True)
class EarlierCall:
    """A call before the last one: its answer is shown later as `$NAME`.

    per_text : it is about one text, and is made for each; later calls about both show `$NAME_first` and `$NAME_second`
    """

    name: str
    prompt: Prompt

    @property
    def per_text(self) -> bool:
        """True for a call about each text by itself."""
        return "text" in self.prompt.placeholders


@dataclass(frozen=True)
class OwnWording:
    """The calls of a wording."""

    steps: tuple[EarlierCall, ...]
    last: Prompt

    @property
    def prompts(self) -> list[Prompt]:
        """The prompts of all calls."""
        return [*(step.prompt for step in self.steps), self.last]


def split_calls(text: str) -> tuple[list[tuple[str, str]], str]:
    """Return the name and text of each earlier call, and the text of the last one.

    Raises: BadSettings
    """
    marks = list(LINE.finditer(text))
    if not marks:
        return [], text
    if text[: marks[0].start()].strip():
        raise BadSettings("something stands before the first line of a call: begin with --- call: NAME ---")
    if marks[-1]["last"] is None or any(mark["last"] for mark in marks[:-1]):
        raise BadSettings("the last call, and no other, begins with the line --- verdict ---")
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    bodies = [text[mark.end() : end].strip() for mark, end in zip(marks, ends, strict=True)]
    names = [mark["name"] for mark in marks[:-1]]
    if len(names) > MOST_STEPS:
        raise BadSettings(f"a prompt has at most {MOST_STEPS} calls before its last one, got {len(names)}")
    for name in names:
        if not NAME.fullmatch(name) or name.endswith(tuple(f"_{side}" for side in SIDES)):
            raise BadSettings(f"the name of a call is 2 to 20 letters a to z and _, and no text's: got {name!r}")
        if name in OWN_PLACEHOLDERS | OF_ONE_TEXT | KINDS or names.count(name) > 1:
            raise BadSettings(f"the name {name} of a call is taken: choose another")
    return list(zip(names, bodies, strict=False)), bodies[-1]


@lru_cache(maxsize=64)  # prompts are checked repeatedly while they are edited
def own_wording(text: str, version: str, *, of_one: bool = False, stable_fence: bool = False) -> OwnWording:
    """Return the calls of a wording. Without `$fence`, as published prompts are, texts stand without fences.

    of_one : the last call is about one text, which it scores
    Raises: BadSettings naming missing or unknown placeholders
    """
    version = version or "own"
    earlier, last = split_calls(text)
    steps: list[EarlierCall] = []
    for name, body in earlier:
        about_one = of_one or "text" in Template(body).get_identifiers()
        placeholders = OWN_PLACEHOLDERS | OF_ONE_TEXT | _answers(steps, about_one=about_one)
        steps.append(EarlierCall(name, _prompt(f"{version}, call {name}", body, stable_fence, placeholders)))
        _check_step(steps[-1], of_one=of_one)
    placeholders = (OF_ONE_TEXT if of_one else OWN_PLACEHOLDERS) | _answers(steps, about_one=of_one)
    required = frozenset({"source", "text"} if of_one else PAIR - {"fence"})
    return OwnWording(tuple(steps), _prompt(version, last, stable_fence, placeholders, required=required))


def listed(placeholders: Iterable[str]) -> str:
    """List placeholders as they are written."""
    return f"${', $'.join(sorted(placeholders))}"


def _prompt(
    version: str, text: str, stable_fence: bool, placeholders: frozenset[str], *, required: frozenset[str] = frozenset()
) -> Prompt:
    prompt = make_prompt(version, text, required=required, also=placeholders)
    if odd := prompt.placeholders - placeholders:
        raise BadSettings(f"prompt {version}: nothing fills {listed(odd)} in a prompt file of your own")
    return replace(prompt, stable_fence=stable_fence, bare="fence" not in prompt.placeholders)


def _answers(steps: Sequence[EarlierCall], *, about_one: bool) -> frozenset[str]:
    """Return the placeholders of earlier answers. A call about both texts shows either's answers about one."""
    separate = {step.name for step in steps if step.per_text and not about_one}
    either = {f"{name}_{side}" for name in separate for side in SIDES}
    return frozenset({step.name for step in steps} - separate | either)


def _check_step(step: EarlierCall, *, of_one: bool) -> None:
    """Refuse a call that shows no text, or one of two, or texts without a fence.

    Raises: BadSettings
    """
    placeholders, version = step.prompt.placeholders, step.prompt.version
    if "fence" not in placeholders:
        raise BadSettings(f"prompt {version} lacks $fence")
    if not {"text", "source", *SIDES} & placeholders:
        raise BadSettings(f"prompt {version} has no place for a text: write $source, $text, or $first and $second")
    pair = set(SIDES) & placeholders
    if pair and (step.per_text or of_one or len(pair) == 1):
        raise BadSettings(f"prompt {version} is about one text ($text) or about both ($first and $second)")


def ask_steps(
    presentation: Presentation, setting: Setting, words: Mapping[str, str]
) -> Generator[Sequence[Call], list[Any], dict[str, str]]:
    """Make the calls before the last one in order, and return their answers by placeholder."""
    values: dict[str, str] = {}
    for step in own_wording(setting.wording, setting.wording_version, stable_fence=setting.texts_first).steps:
        if step.per_text:
            texts = [_of_side(values, side) | {"text": presentation.texts[side]} for side in SIDES]
            answers = yield [replace(_call(step, presentation, words, inputs), reusable=True) for inputs in texts]
            values |= {f"{step.name}_{side}": answer for side, answer in zip(SIDES, answers, strict=True)}
        else:
            [values[step.name]] = yield [_call(step, presentation, words, values)]
    return values


def said_before(values: Mapping[str, str]) -> str:
    """Return the earlier answers, each under its name."""
    return "\n\n".join(f"{name}: {answer}" for name, answer in values.items())


def ask_steps_of_one(
    presentation: Presentation, setting: Setting, words: Mapping[str, str], texts: Sequence[str]
) -> Generator[Sequence[Call], list[Any], list[dict[str, str]]]:
    """Make the calls before the score of each text, for all texts at once, and return each text's answers."""
    wording = own_wording(setting.wording, setting.wording_version, of_one=True, stable_fence=setting.texts_first)
    values_of_texts: list[dict[str, str]] = [{} for _ in texts]
    for step in wording.steps:
        inputs = [values | {"text": text} for values, text in zip(values_of_texts, texts, strict=True)]
        answers = yield [replace(_call(step, presentation, words, item), reusable=True) for item in inputs]
        for values, answer in zip(values_of_texts, answers, strict=True):
            values[step.name] = answer
    return values_of_texts


def _of_side(values: Mapping[str, str], side: str) -> dict[str, str]:
    """Return the answers that a call about one text may show: those about it, and those about neither alone."""
    own = {name.removesuffix(f"_{side}"): answer for name, answer in values.items() if name.endswith(f"_{side}")}
    return {**values, **own}


def _call(step: EarlierCall, presentation: Presentation, words: Mapping[str, str], values: Mapping[str, str]) -> Call:
    content = step.prompt.render({**words_for(presentation), **words}, {**presentation.texts, **values})
    return Call(step.name, [{"role": "user", "content": content}], read_text)
