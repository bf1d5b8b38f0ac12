"""The comparator: which of two tables of the same pair is the more consistent one."""

import re
from collections.abc import Sequence
from dataclasses import replace

from judging.errors import UnparsedVerdict
from judging.judges.answers import THINKING
from judging.judges.base import Call, Presentation, Reply
from judging.judges.prompts import load_prompt
from judging.judges.sc2.bracket import Decision
from judging.judges.sc2.record import Row
from judging.judges.sc2.tables import written
from judging.judges.tasks import words_for

PROMPT = "sc2-comparator.v1.txt"
LONGEST_REASON = 2000
EDGE = r"[\s*_#>`\"'“”()\[\]]*"
START = r"^(?:[^\S\n]|[*_#>`\"'“”()\[\]])*"  # of a line: across lines an answer of blank ones takes for ever
NUMBER = rf"(?:table{EDGE}|number{EDGE}|no\.?{EDGE})?(?P<number>[12])\b(?!\s*(?:or|/|and|,)\s*(?:table\s*)?[12]\b)"
LABELLED = re.compile(rf"(?im){START}(?:choice|answer|verdict|preferred){EDGE}[:=]{EDGE}{NUMBER}")
BETTER = r"is\s+(?:(?:clearly|much|slightly|somewhat|far)\s+)?(?:the\s+)?(?:(?:more|most)\s+consistent|better|best)\b"
ALONE = re.compile(rf"(?i)^{EDGE}{NUMBER}{EDGE}(?:[.:,;–—-]|(?={BETTER})is\b|$)")
# What follows a number that is none of a choice: the next point of a list, or that the other table is the better one.
INSTEAD = {
    number: re.compile(rf"(?im){START}{other}[.)]\s|\btable\s{other}\s{BETTER}")
    for number, other in (("1", "2"), ("2", "1"))
}
REASON = re.compile(rf"(?i)^{EDGE}(?:reason|justification|because){EDGE}[:=]?{EDGE}")


def comparator_call(asked: Presentation, first: Sequence[Row], second: Sequence[Row], *, draw: int = 0) -> Call:
    """Show a pair and two tables of it, and ask which table is the more consistent one; the choice comes first.

    An answer that can't be read is not asked for again: a coin takes its place, and is counted.
    """
    texts = {
        "source": asked.source,
        "first": asked.first,
        "second": asked.second,
        "table_first": written(first),
        "table_second": written(second),
    }
    content = load_prompt(PROMPT).render(words_for(replace(asked, negated=False)), texts)
    messages = [{"role": "user", "content": content}]
    made_up = "Choice: 1\nReason: Nothing that it gives to both comes again under one of the two alone."
    return Call("comparator", messages, read_choice, draw=draw, optional=True, attempts=1, example=made_up)


def read_choice(reply: Reply) -> Decision:
    """Read the number of a table: from the line that is asked for, or as the first thing that is said.

    Raises: UnparsedVerdict if there is none, or if labelled lines contradict each other.
    """
    text = THINKING.sub("", reply.text).strip()
    labelled = list(LABELLED.finditer(text))
    said = {found["number"] for found in labelled}
    if len(said) > 1:
        raise UnparsedVerdict("two choices that contradict each other")
    found = labelled[0] if labelled else _said_first(text)
    if found is None:
        raise UnparsedVerdict(f"no choice of a table in: …{text[-200:]}" if text else "an empty answer")
    reason = REASON.sub("", text[found.end() :].strip(" .:,;–—-\n")).strip()
    return Decision(found["number"] == "1", reason[:LONGEST_REASON].replace("\x00", ""))


def _said_first(text: str) -> re.Match[str] | None:
    """Find the number that an answer opens with, if it is a choice and no point of a list."""
    found = ALONE.match(text)
    return None if found is None or INSTEAD[found["number"]].search(text, found.end()) else found
