"""The comparator: decides which of two tables of a pair is more consistent."""

import re
from collections.abc import Sequence

from judging.core.errors import UnparsedVerdict
from judging.methods.answers import THINKING, VerdictForm
from judging.methods.base import Call, Presentation, Reply, Setting
from judging.methods.prompted import plain_call
from judging.methods.sc2.bracket import Decision
from judging.methods.sc2.record import TableRow
from judging.methods.sc2.tables import format_table

PROMPT = "sc2-comparator.v1.txt"
LONGEST_REASON = 2000
EDGE = r"[\s*_#>`\"'“”()\[\]]*"
START = r"^(?:[^\S\n]|[*_#>`\"'“”()\[\]])*"  # of a line: across lines, blank lines would take quadratic time
NUMBER = rf"(?:table{EDGE}|number{EDGE}|no\.?{EDGE})?(?P<number>[12])\b(?!\s*(?:or|/|and|,)\s*(?:table\s*)?[12]\b)"
FORM = VerdictForm(("choice", "answer", "verdict", "preferred"), ("table", "number", "no."), ("1", "2"))
BETTER = r"is\s+(?:(?:clearly|much|slightly|somewhat|far)\s+)?(?:the\s+)?(?:(?:more|most)\s+consistent|better|best)\b"
ALONE = re.compile(rf"(?i)^{EDGE}{NUMBER}{EDGE}(?:[.:,;–—-]|(?={BETTER})is\b|$)")
# Follows a number that is no choice: the next item of a list, or that the other table is better.
INSTEAD = {
    number: re.compile(rf"(?im){START}{other}[.)]\s|\btable\s{other}\s{BETTER}")
    for number, other in (("1", "2"), ("2", "1"))
}
REASON = re.compile(rf"(?i)^{EDGE}(?:reason|justification|because){EDGE}[:=]?{EDGE}")


def comparator_call(
    asked: Presentation, setting: Setting, first: Sequence[TableRow], second: Sequence[TableRow], *, draw: int = 0
) -> Call:
    """Return the call that shows a pair with two tables and asks which table is more consistent, choice first.

    An unreadable answer is not asked for again: a counted coin decides.
    """
    texts = {
        "source": asked.source,
        "first": asked.first,
        "second": asked.second,
        "table_first": format_table(first),
        "table_second": format_table(second),
    }
    made_up = "Choice: 1\nReason: Nothing that it gives to both comes again under one of the two alone."
    return plain_call(
        "comparator", PROMPT, asked, setting, texts, read_choice, draw=draw, optional=True, attempts=1, example=made_up
    )


def read_choice(reply: Reply) -> Decision:
    """Read the number of a table, from a labelled line or at the start of the answer.

    Raises: UnparsedVerdict if there is none
    """
    if (found := FORM.find(reply.text)) is not None:
        return _decision(found.letter, found.after)
    text = THINKING.sub("", reply.text).strip()
    if (first := _said_first(text)) is None:
        raise UnparsedVerdict(f"no choice of a table in: …{text[-200:]}" if text else "an empty answer")
    return _decision(first["number"], text[first.end() :])


def _decision(number: str, after: str) -> Decision:
    reason = REASON.sub("", after.strip(" .:,;–—-\n")).strip()
    return Decision(number == "1", reason[:LONGEST_REASON].replace("\x00", ""))


def _said_first(text: str) -> re.Match[str] | None:
    """Find a number at the start of an answer, if it is a choice and not the item of a list."""
    found = ALONE.match(text)
    return None if found is None or INSTEAD[found["number"]].search(text, found.end()) else found
