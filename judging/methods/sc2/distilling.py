"""The offline aspect model: aspects extracted from many texts of a task, then merged into five.

source : Predicting Text Preference Via Structured Comparative Reasoning, §4, offline aspect model
"""

import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from annotation.core.reasons import reason
from judging.core.errors import UnparsedVerdict
from judging.methods.base import Call, Reply
from judging.methods.direct import LONGEST_ASPECT, read_aspects
from judging.methods.options import MOST_ASPECTS
from judging.methods.parsing.answers import visible_answer
from judging.methods.prompts import load_prompt
from judging.methods.task_files import bulleted, find_task

EXTRACT, MERGE = "aspects-extract.v1.txt", "aspects-merge.v1.txt"
FIVE = 5
FEWEST_LISTS = 2  # a single text's aspects are not a task's
LONGEST_LIST = 12_000  # characters of aspects in one call: some 3,000 tokens, which fit any model's context
MARKUP = re.compile(r"\*\*|__|`")
UNSEEN = frozenset({"Cc", "Cs"})
TIMES = re.compile(r"\s*\[\d+\]$")


@dataclass(frozen=True)
class Material:
    """One text, and the source that it was written for."""

    source: str
    text: str


@dataclass(frozen=True)
class Named:
    """An aspect, and how many lists named it."""

    aspect: str
    times: int

    @property
    def line(self) -> str:
        """Return it as shown in a prompt."""
        return f"{self.aspect} [{self.times}]"


@dataclass(frozen=True)
class Distilled:
    """The result of distilling.

    aspects : five, most important first; fewer if fewer were named
    texts   : number of texts; of `lost` of them no list could be read
    found   : distinct aspects in all lists
    merges  : merge calls; `unmerged` of them (never the last) were unreadable and replaced by their most frequent aspects
    filled  : aspects that the last answer lacked, replaced by the most frequent ones
    """

    aspects: tuple[str, ...]
    texts: int
    lost: int
    found: int
    merges: int
    unmerged: int
    filled: int


Distilling = Generator[Sequence[Call], list[Any], Distilled]


def prompt_versions(task: str) -> list[str]:
    """Return the versions of the prompts for distilling aspects of a task."""
    return [*(load_prompt(name).version for name in (EXTRACT, MERGE)), find_task(task).version]


def distil(materials: Sequence[Material], *, task: str, question: str, longest: int = LONGEST_LIST) -> Distilling:
    """Extract aspects from each text, then merge all lists, in several steps if they are long.

    longest : characters of aspects in one call
    Raises: UnparsedVerdict if the lists of fewer than two texts can be read, or the last answer can't.
    """
    words = find_task(task).words(question=question, negated=False)
    lists = yield [_extract_call(words, item, index) for index, item in enumerate(materials)]
    read = [item for item in lists if item is not None]
    if len(read) < FEWEST_LISTS:
        raise UnparsedVerdict(
            reason("too_few_aspect_lists", number=len(read), count=len(materials), fewest=FEWEST_LISTS)
        )
    every = named = tally(read)
    merges = unmerged = 0
    while len(groups := grouped(named, longest)) > 1:
        merges += len(groups)
        answers = yield [replace(_merge_call(words, group), optional=True) for group in groups]
        unmerged += answers.count(None)
        most_frequent = ([item.aspect for item in group[:FIVE]] for group in groups)
        named = tally(answer or aspects for answer, aspects in zip(answers, most_frequent, strict=True))
    [merged] = yield [_merge_call(words, named)]
    merged_keys = set(map(alike, merged))
    filled = [item.aspect for item in every if alike(item.aspect) not in merged_keys][: FIVE - len(merged)]
    lost = len(materials) - len(read)
    return Distilled((*merged, *filled), len(materials), lost, len(every), merges + 1, unmerged, len(filled))


def _extract_call(words: Mapping[str, str], material: Material, index: int) -> Call:
    """Return the call to extract a text's aspects, which depends on that text and its source only."""
    content = load_prompt(EXTRACT).render(words, {"source": material.source, "text": material.text})
    example = bulleted([f"aspect {number} of text {index} in some words" for number in range(FIVE)])
    messages = [{"role": "user", "content": content}]
    return Call("aspects-extract", messages, read_list, reusable=True, optional=True, example=example)


def _merge_call(words: Mapping[str, str], named: Sequence[Named]) -> Call:
    """Return the call to merge aspects into five. As model output they are fenced."""
    content = load_prompt(MERGE).render(words, {"aspects": bulleted([aspect.line for aspect in named])})
    example = bulleted([f"aspect {number} in some words" for number in range(FIVE)])
    messages = [{"role": "user", "content": content}]
    return Call("aspects-merge", messages, lambda reply: read_list(reply)[:FIVE], reusable=True, example=example)


def read_list(reply: Reply) -> list[str]:
    """Parse a list of distinct aspects, as JSON or one a line after a dash or a number.

    Raises: UnparsedVerdict if there is none.
    """
    tidied = filter(None, map(tidy, _texts_in_json(visible_answer(reply.text)) or read_aspects(reply)))
    aspects = list(distinct(tidied))[:MOST_ASPECTS]
    if not aspects:
        raise UnparsedVerdict(reason("no_aspects_in", text=reply.text[-200:]))
    return aspects


def _texts_in_json(text: str) -> list[str]:
    start, end = text.find("["), text.rfind("]")
    try:
        value = json.loads(text[start : end + 1]) if 0 <= start < end else None
    except ValueError:
        return []
    entries = [entry.get("aspect") if isinstance(entry, dict) else entry for entry in value or []]
    return [entry for entry in entries if isinstance(entry, str)]


def tidy(aspect: str) -> str:
    """Return an aspect as one short line, without Markdown and copied counts."""
    line = " ".join(storable(MARKUP.sub("", aspect)).split())
    return TIMES.sub("", line).strip(" -*•,.;:_")[:LONGEST_ASPECT].strip()


def storable(aspect: str) -> str:
    """Replace control characters and lone surrogates by blanks."""
    return "".join(" " if unicodedata.category(character) in UNSEEN else character for character in aspect)


def alike(aspect: str) -> str:
    """Return the normalised form by which aspects are compared."""
    return " ".join(aspect.casefold().split())


def distinct(aspects: Iterable[str]) -> Iterable[str]:
    """Return each aspect once, in its first wording."""
    by_key: dict[str, str] = {}
    for aspect in aspects:
        by_key.setdefault(alike(aspect), aspect)
    return by_key.values()


def tally(lists: Iterable[Sequence[str]]) -> list[Named]:
    """Count the lists that contain each aspect, most frequent first, then in order of appearance."""
    every = [aspect for item in lists for aspect in distinct(item)]
    times = Counter(map(alike, every))
    return sorted((Named(aspect, times[alike(aspect)]) for aspect in distinct(every)), key=lambda item: -item.times)


def grouped(named: Sequence[Named], longest: int) -> list[Sequence[Named]]:
    """Deal aspects out in turn, so that no group is too long for a call and all get frequent ones.

    A group has at least twice as many aspects as are merged from it, so that merging terminates.
    """
    limit = max(1, len(named) // (2 * FIVE))
    count = min(limit, max(1, math.ceil(sum(map(_length, named)) / longest)))
    while True:
        groups = [named[start::count] for start in range(count)]
        if count == limit or all(sum(map(_length, group)) <= longest for group in groups):
            return groups
        count += 1


def _length(named: Named) -> int:
    return len(named.line) + len("- \n")
