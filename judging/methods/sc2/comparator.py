"""The comparator: decides which of two tables of a pair is more consistent."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from annotation.core.reasons import reason
from judging.core.errors import UnparsedVerdict
from judging.methods.base import Call, Presentation, Reply, Setting
from judging.methods.parsing.answers import readable, whole
from judging.methods.parsing.verdict_forms import VerdictForm
from judging.methods.prompts import load_prompt
from judging.methods.sc2.bracket import Decision
from judging.methods.sc2.record import TableRow, format_table
from judging.methods.task_files import Example, words_for

PROMPT, FEW_SHOT = "sc2-comparator.v1.txt", "sc2-comparator-few-shot.v1.txt"
EXAMPLE = "example-comparator.v1.txt"
LONGEST_REASON = 2000
EDGE = r"[\s*_#>`\"'“”()\[\]]*"
START = r"^(?:[^\S\n]|[*_#>`\"'“”()\[\]])*"  # of a line: across lines, blank lines would take quadratic time
NUMBER = rf"(?:table{EDGE}|number{EDGE}|no\.?{EDGE})?(?P<number>[12])\b(?!\s*(?:or|/|and|,)\s*(?:table\s*)?[12]\b)"
FORM = VerdictForm(("choice", "answer", "verdict", "preferred"), ("table", "number", "no."), ("1", "2"))
BETTER = r"is\s+(?:(?:clearly|much|slightly|somewhat|far)\s+)?(?:the\s+)?(?:(?:more|most)\s+consistent|better|best)\b"
ALONE = rf"(?i)^{EDGE}{NUMBER}{EDGE}(?:[.:,;–—-]|(?={BETTER})is\b|$)"  # compiled when the first answer is read
# Follows a number that is no choice: the next item of a list, or that the other table is better.
INSTEAD = {
    number: re.compile(rf"(?im){START}{second}[.)]\s|\btable\s{second}\s{BETTER}")
    for number, second in (("1", "2"), ("2", "1"))
}
REASON = rf"(?i)^{EDGE}(?:reason|justification|because){EDGE}[:=]?{EDGE}"


def comparator_call(
    pair: Presentation,
    setting: Setting,
    first: Sequence[TableRow],
    second: Sequence[TableRow],
    *,
    draw: int = 0,
    examples: Sequence[Example] = (),
) -> Call:
    """Return the call that shows a pair with two tables and asks which table is more consistent, choice first.

    examples : pairs with a table each, which is shown beside a spoiled one
    An unreadable answer is not asked for again: a counted coin decides.
    """
    texts = {**pair.texts, "table_first": format_table(first), "table_second": format_table(second)}
    made_up = "Choice: 1\nReason: Nothing that it gives to both comes again under one of the two alone."
    prompt = load_prompt(FEW_SHOT if examples else PROMPT, setting)
    example_texts = [text for item in examples for text in (*item.texts.values(), format_table(spoil(item.table)))]
    fence = prompt.fence_of(texts, *example_texts)
    words = words_for(replace(pair, negated=False))
    if examples:
        numbered = enumerate(examples, start=1)
        words["examples"] = "\n\n".join(_written(number, example, words, fence) for number, example in numbered)
    messages = [{"role": "user", "content": prompt.render(words, texts, fence=fence)}]
    return Call("comparator", messages, read_choice, draw=draw, optional=True, attempts=1, example=made_up)


def spoil(rows: Sequence[TableRow]) -> list[TableRow]:
    """Return a table in which one cell stands under both and under A alone."""
    row = next((row for row in rows if row["both"]), None)
    if row is not None:
        spoiled: TableRow = {**row, "only_a": "; ".join(filter(None, (row["only_a"], row["both"])))}
    else:
        row = next(row for row in rows if row["only_a"] or row["only_b"])
        cell = row["only_a"] or row["only_b"]
        spoiled = {**row, "both": cell, "only_a": cell}
    return [spoiled if other is row else other for other in rows]


def _written(number: int, example: Example, words: Mapping[str, str], fence: str) -> str:
    """Format an example. The better table is the first one in every other example."""
    tables = [format_table(example.table), format_table(spoil(example.table))]
    better = 1 + (number + 1) % 2
    first, second = tables if better == 1 else tables[::-1]
    reason = f"Table {3 - better} gives the same to both and to A alone."
    own = {**words, "number": str(number), "verdict": str(better), "comparison": reason}
    texts = {**example.texts, "table_first": first, "table_second": second}
    return load_prompt(EXAMPLE).render(own, texts, fence=fence).strip()


def read_choice(reply: Reply) -> Decision:
    """Read the number of a table, from a labelled line or at the start of the answer.

    Raises: UnparsedVerdict if there is none
    """
    if (choice := FORM.find(reply.text)) is not None:
        return _decision(whole(choice, reply).letter, choice.after)
    text = readable(reply.text).strip()
    first = re.match(ALONE, text)
    if first is not None and INSTEAD[first["number"]].search(text, first.end()):
        first = None  # the item of a list
    if first is None or FORM.is_taken_back(first["number"], text[first.end() :]):
        raise UnparsedVerdict(reason("no_table_choice_in", text=text[-200:]) if text else reason("answer_empty"))
    return _decision(first["number"], text[first.end() :])


def _decision(number: str, after: str) -> Decision:
    reason = re.sub(REASON, "", after.strip(" .:,;–—-\n")).strip()
    return Decision(number == "1", reason[:LONGEST_REASON].replace("\x00", ""))
