"""Aspects for all pairs of a task, distilled beforehand: found in one text after another, then put together to five.

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

from judging.errors import UnparsedVerdict
from judging.judges.answers import without_thoughts
from judging.judges.base import Call, Reply
from judging.judges.direct import LONGEST_ASPECT, read_aspects
from judging.judges.options import MOST_ASPECTS
from judging.judges.prompts import load_prompt
from judging.judges.tasks import bulleted, find_task

EXTRACT, MERGE = "aspects-extract.v1.txt", "aspects-merge.v1.txt"
FIVE = 5
FEWEST_LISTS = 2  # one text's aspects are that text's, and no task's
LONGEST_LIST = 12_000  # characters of the aspects in one question: some 3,000 tokens, which every model has room for
MARKUP = re.compile(r"\*\*|__|`")
UNSEEN = frozenset({"Cc", "Cs"})
TIMES = re.compile(r"\s*\[\d+\]$")


@dataclass(frozen=True)
class Material:
    """One text that is looked at, and what it was written for."""

    source: str
    text: str


@dataclass(frozen=True)
class Named:
    """An aspect, and how many lists named it."""

    aspect: str
    times: int

    @property
    def line(self) -> str:
        """Return it as a question shows it."""
        return f"{self.aspect} [{self.times}]"


@dataclass(frozen=True)
class Distilled:
    """What came of it.

    aspects : five, the most important one first; fewer where not so many were named at all
    texts   : that were asked about; of `lost` of them no list could be read
    found   : different aspects that their lists named
    merges  : questions that put lists together; of `unmerged` of them (never the last) the answer could not be read,
              and the aspects stood for their list that were named most often in it
    filled  : aspects that the last answer lacked, in whose place stand those that were named most often
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
    """Name the wordings that aspects of a task are distilled with."""
    return [*(load_prompt(name).version for name in (EXTRACT, MERGE)), find_task(task).version]


def distil(materials: Sequence[Material], *, task: str, question: str, longest: int = LONGEST_LIST) -> Distilling:
    """Ask about each text, then have all lists put together, in several steps where they are long.

    longest : characters of the aspects that one question shows
    Raises: UnparsedVerdict if the lists of fewer than two texts can be read, or the last answer can't.
    """
    words = find_task(task).words(question=question, negated=False)
    lists = yield [_extract_call(words, one, place) for place, one in enumerate(materials)]
    read = [one for one in lists if one is not None]
    if len(read) < FEWEST_LISTS:
        raise UnparsedVerdict(
            f"aspects could be read of {len(read)} of {len(materials)} texts; {FEWEST_LISTS} are needed"
        )
    every = named = tally(read)
    merges = unmerged = 0
    while len(groups := grouped(named, longest)) > 1:
        merges += len(groups)
        answers = yield [replace(_merge_call(words, group), optional=True) for group in groups]
        unmerged += answers.count(None)
        named = tally(
            answer or [one.aspect for one in group[:FIVE]] for group, answer in zip(groups, answers, strict=True)
        )
    [merged] = yield [_merge_call(words, named)]
    known = set(map(alike, merged))
    rest = [one.aspect for one in every if alike(one.aspect) not in known][: FIVE - len(merged)]
    return Distilled(
        aspects=(*merged, *rest),
        texts=len(materials),
        lost=len(materials) - len(read),
        found=len(every),
        merges=merges + 1,
        unmerged=unmerged,
        filled=len(rest),
    )


def _extract_call(words: Mapping[str, str], material: Material, place: int) -> Call:
    """Ask what matters in one text; the request depends on nothing but that text and what it was written for."""
    content = load_prompt(EXTRACT).render(words, {"source": material.source, "text": material.text})
    example = bulleted([f"aspect {number} of text {place} in some words" for number in range(FIVE)])
    return Call(
        "aspects-extract",
        [{"role": "user", "content": content}],
        read_list,
        reusable=True,
        optional=True,
        example=example,
    )


def _merge_call(words: Mapping[str, str], named: Sequence[Named]) -> Call:
    """Ask for five out of many; these are a model's words, and fenced."""
    content = load_prompt(MERGE).render(words, {"aspects": bulleted([one.line for one in named])})
    example = bulleted([f"aspect {number} in some words" for number in range(FIVE)])
    return Call("aspects-merge", [{"role": "user", "content": content}], _read_five, reusable=True, example=example)


def _read_five(reply: Reply) -> list[str]:
    return read_list(reply)[:FIVE]


def read_list(reply: Reply) -> list[str]:
    """Read a list of aspects: JSON, or one a line with a dash or a number before it; each aspect once.

    Raises: UnparsedVerdict if there is none.
    """
    tidied = filter(None, map(tidy, _texts_in_json(without_thoughts(reply.text)) or read_aspects(reply)))
    found = list(distinct(tidied))[:MOST_ASPECTS]
    if not found:
        raise UnparsedVerdict(f"no list of aspects in: …{reply.text[-200:]}")
    return found


def _texts_in_json(text: str) -> list[str]:
    start, end = text.find("["), text.rfind("]")
    try:
        value = json.loads(text[start : end + 1]) if 0 <= start < end else None
    except ValueError:
        return []
    entries = [one.get("aspect") if isinstance(one, dict) else one for one in value or []]
    return [one for one in entries if isinstance(one, str)]


def tidy(aspect: str) -> str:
    """Return an aspect as one short line, without marks of Markdown and without a count that was copied along."""
    line = " ".join(storable(MARKUP.sub("", aspect)).split())
    return TIMES.sub("", line).strip(" -*•,.;:_")[:LONGEST_ASPECT].strip()


def storable(aspect: str) -> str:
    """Put blanks for what no database takes and no page shows: control characters and halves of surrogate pairs."""
    return "".join(" " if unicodedata.category(character) in UNSEEN else character for character in aspect)


def alike(aspect: str) -> str:
    """Return what two wordings have in common that count as one aspect."""
    return " ".join(aspect.casefold().split())


def distinct(aspects: Iterable[str]) -> Iterable[str]:
    """Return each aspect once, in its first wording."""
    found: dict[str, str] = {}
    for aspect in aspects:
        found.setdefault(alike(aspect), aspect)
    return found.values()


def tally(lists: Iterable[Sequence[str]]) -> list[Named]:
    """Count in how many lists each aspect stands: the most frequent one first, of equals the one that was named first."""
    every = [list(distinct(one)) for one in lists]
    times = Counter(alike(aspect) for one in every for aspect in one)
    wordings = distinct(aspect for one in every for aspect in one)
    return sorted((Named(aspect, times[alike(aspect)]) for aspect in wordings), key=lambda one: -one.times)


def grouped(named: Sequence[Named], longest: int) -> list[Sequence[Named]]:
    """Deal aspects out so that no group is too long for a question; each gets as many frequent ones, in their order.

    A group has at least twice as many as are made of it: else putting together would never come to an end.
    """
    most = max(1, len(named) // (2 * FIVE))
    count = min(most, max(1, math.ceil(sum(map(_length, named)) / longest)))
    while True:
        groups = [named[place::count] for place in range(count)]
        if count == most or all(sum(map(_length, group)) <= longest for group in groups):
            return groups
        count += 1


def _length(named: Named) -> int:
    return len(named.line) + len("- \n")
