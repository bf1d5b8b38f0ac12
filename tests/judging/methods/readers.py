"""The readers of model text, each with a readable answer and a draft that reads otherwise."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from judging.methods import Reply
from judging.methods.base import Asked, Presentation
from judging.methods.direct import read_aspects
from judging.methods.parsing.parsers import PARSERS, find_parser
from judging.methods.parsing.scores import read_critique, read_score, read_text
from judging.methods.prompted import offer_for
from judging.methods.sc2 import aspects, comparator, distilling, tables
from judging.methods.together import reader_together
from judging.methods.verdict_schema import schema_reader
from judging.tables.entailment_calls import read_lines

OFFER = offer_for("chat", False, False)
TOGETHER = Presentation("chat", "q", "s", "f", "g", "i", together=(Asked("chat", "q"), Asked("chat", "r")))
ROW = '{{"rows": [{{"aspect": "date", "only_a": "{0}", "both": "", "only_b": ""}}]}}'
RANKING = '[{{"name": "text_1", "rank": {}}}, {{"name": "text_2", "rank": {}}}]'


@dataclass(frozen=True)
class Reader:
    """A reader; `starts`: it reads a text as a whole, so that a preamble is part of it."""

    read: Callable[[Reply], Any]
    answer: str
    draft: str
    starts: bool = False


VERDICTS = {
    "verdict-line": ("Preferred: A", "Preferred: B"),
    "letter": ("A", "B"),
    "brackets": ("[[A]]", "[[B]]"),
    "sentence": ("Output (a) is better.", "Output (b) is better."),
    "json": ('{"verdict": "A"}', '{"verdict": "B"}'),
    "ranked-list": (RANKING.format(1, 2), RANKING.format(2, 1)),
    "function": (f'{{"ranking": {RANKING.format(1, 2)}}}', f'{{"ranking": {RANKING.format(2, 1)}}}'),
    "model-letter": ("m", "M"),
}


def parsed(name: str, reply: Reply) -> str:
    return find_parser(name)(reply, OFFER).letter


READERS = {
    **{f"parser {name}": Reader(partial(parsed, name), *VERDICTS[name]) for name in PARSERS},
    "schema": Reader(
        lambda reply: schema_reader(find_parser("letter"))(reply, OFFER).letter, *VERDICTS["json"], starts=True
    ),
    "together": Reader(
        lambda reply: {place: one.letter for place, one in reader_together(TOGETHER, ("A", "B"))(reply).items()},
        "Question 1: A\nQuestion 2: A",
        "Question 1: B\nQuestion 2: B",
    ),
    "score": Reader(lambda reply: read_score(reply.text).letter, "Score: 4", "Score: 2"),
    "text": Reader(read_text, "It rained.", "It snowed.", starts=True),
    "critique": Reader(read_critique, "It is short.", "It is long.", starts=True),
    "aspects": Reader(read_aspects, "- date\n- place", "- style"),
    "aspects of sc2": Reader(aspects.read_list, "Aspects:\n- date\n- place", "Aspects:\n- style"),
    "distilled aspects": Reader(distilling.read_list, '["date", "place"]', '["style"]'),
    "table": Reader(lambda reply: tables.read_table(reply, ["date"]), ROW.format("May"), ROW.format("June")),
    "choice": Reader(lambda reply: comparator.read_choice(reply).first_wins, "Choice: 1", "Choice: 2"),
    "entailment": Reader(lambda reply: read_lines(reply, lines=2), "1: 1\n2: 0", "1: 0\n2: 0"),
}
