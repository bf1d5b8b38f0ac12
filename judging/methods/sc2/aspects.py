"""The online aspect model: lists of aspects sampled for a pair, and the most central one of them."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from judging.methods.base import Call, Presentation, Reply, Setting
from judging.methods.direct import read_aspects
from judging.methods.parsing.scores import read_text
from judging.methods.prompted import plain_call

PROMPT = "sc2-aspects.v1.txt"
MOST = 8  # aspects of a generated list
SAMPLED = {"temperature": 0.7}
# On one line: across lines, blank lines would take quadratic time.
MARKER = re.compile(r"(?im)^[^\w\n]*aspects[^\w\n]*$")
WORD = re.compile(r"\w+")


def aspect_call(presentation: Presentation, setting: Setting, draw: int, *, optional: bool) -> Call:
    """Return the call for one sample of a pair's aspects, reasons first."""
    listed = "\n".join(f"- aspect number {number}" for number in range(5))
    sampling: dict[str, Any] = {"params": SAMPLED, "draw": draw, "optional": optional}
    sampling["attempts"] = 1 if optional else None
    example = f"The two differ in what they leave out.\nAspects:\n{listed}"
    return plain_call("aspects", PROMPT, presentation, setting, read_list, **sampling, example=example)


def read_list(reply: Reply) -> list[str]:
    """Parse the list after the reasons, each aspect once.

    Raises: UnparsedVerdict if there is none.
    """
    text = read_text(reply)
    marks = list(MARKER.finditer(text))
    listed = read_aspects(replace(reply, text=text[marks[-1].end() :] if marks else text))
    once: dict[str, str] = {}
    for aspect in listed:
        once.setdefault(aspect.casefold(), aspect)
    return list(once.values())[:MOST]


def most_central(lists: Sequence[Sequence[str]]) -> int:
    """Return the index of the list most similar to the others, the first of equals.

    The similarity of two lists is the mean, over the aspects of both, of the similarity to the most similar aspect of
    the other; that of two aspects is the Jaccard index of their words.
    """
    words = [[frozenset(WORD.findall(aspect.casefold())) for aspect in words_of_list] for words_of_list in lists]
    likeness = [
        sum(_alike(words_of_list, other_words) for index, other_words in enumerate(words) if index != own)
        for own, words_of_list in enumerate(words)
    ]
    return likeness.index(max(likeness))


def _alike(first: Sequence[frozenset[str]], second: Sequence[frozenset[str]]) -> float:
    ways = [
        max(_shared(near, far) for far in theirs)
        for mine, theirs in ((first, second), (second, first))
        for near in mine
    ]
    return sum(ways) / len(ways)


def _shared(first: frozenset[str], second: frozenset[str]) -> float:
    return len(first & second) / len(first | second) if first | second else 1.0
