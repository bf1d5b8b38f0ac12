"""Under which aspects two texts are compared: fixed ones, or the model's own for the pair, drawn several times."""

import re
from collections.abc import Sequence
from dataclasses import replace

from judging.judges.answers import THINKING
from judging.judges.base import Call, Presentation, Reply
from judging.judges.direct import read_aspects
from judging.judges.prompts import load_prompt
from judging.judges.tasks import words_for

PROMPT = "sc2-aspects.v1.txt"
MOST = 8  # of a list that a model draws up
SAMPLED = {"temperature": 0.7}
# On one line: across lines an answer of blank ones would take for ever.
MARKER = re.compile(r"(?im)^[^\w\n]*aspects[^\w\n]*$")
WORD = re.compile(r"\w+")


def aspect_call(shown: Presentation, draw: int, *, optional: bool) -> Call:
    """Ask for the aspects of a pair, reasons first; one of several samples."""
    texts = {"source": shown.source, "first": shown.first, "second": shown.second}
    content = load_prompt(PROMPT).render(words_for(replace(shown, negated=False)), texts)
    return Call(
        "aspects",
        [{"role": "user", "content": content}],
        read_list,
        params=SAMPLED,
        draw=draw,
        optional=optional,
        attempts=1 if optional else None,
        example="The two differ in what they leave out.\nAspects:\n"
        + "\n".join(map("- aspect number {}".format, range(5))),
    )


def read_list(reply: Reply) -> list[str]:
    """Read the list that follows the reasons, each aspect once.

    Raises: UnparsedVerdict if there is none.
    """
    text = THINKING.sub("", reply.text)
    marks = list(MARKER.finditer(text))
    found = read_aspects(replace(reply, text=text[marks[-1].end() :] if marks else text))
    once: dict[str, str] = {}
    for aspect in found:
        once.setdefault(aspect.casefold(), aspect)
    return list(once.values())[:MOST]


def most_agreeable(lists: Sequence[Sequence[str]]) -> int:
    """Return the place of the list that is most like the others; of equals the first.

    How alike two lists are is the mean, over the aspects of both, of the likeness to the most alike aspect of the
    other; two aspects are as alike as the share of their words that they have in common (Jaccard).
    """
    words = [[frozenset(WORD.findall(aspect.casefold())) for aspect in one] for one in lists]
    likeness = [
        sum(_alike(one, other) for place, other in enumerate(words) if place != own) for own, one in enumerate(words)
    ]
    return likeness.index(max(likeness))


def _alike(one: Sequence[frozenset[str]], other: Sequence[frozenset[str]]) -> float:
    ways = [max(_shared(near, far) for far in theirs) for mine, theirs in ((one, other), (other, one)) for near in mine]
    return sum(ways) / len(ways)


def _shared(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 1.0
