"""The parsers by name: each reads which text an answer names, in one form, or finds that it names none.

A prompt file names the parser that fits the form which it asks for. The rule is the same for all: the last explicit
verdict decides, what is quoted from the texts is no verdict, and anything doubtful is unparsed.
"""

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from judging.errors import BadSettings, UnparsedVerdict
from judging.judges.answers import MARKUP, QUOTES, VerdictForm, no_verdict, quoted, said_lines, without_thoughts
from judging.judges.base import Reply

VERSION = "answers.3"  # of all of them: another one has stored answers read again, which costs no call
# What may stand before a letter: what the tasks call their texts, and what models call any.
NOUNS = (
    *("summary", "response", "document", "translation", "output", "answer", "event", "text"),
    *("option", "assistant", "candidate"),
)
FIRST, SECOND, TIE = "A", "B", "C"
NAMES = {"text_1": FIRST, "text_2": SECOND}
FUNCTION = "rank_texts"
MOST_OBJECTS = 200  # in one answer; more are no answer, and each may have to be read to the end
LONGEST_LITERAL = 20_000
CITED = re.compile(r"\"[^\"]*+\"|“[^”]*+”|„[^“”]*+[“”]|«[^»]*+»")
DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class Said:
    """Which letter an answer names, and what it says for it."""

    letter: str
    rationale: str = ""


@dataclass(frozen=True)
class Offer:
    """What a prompt asks for: the labels of the verdict line, and whether a tie may be said."""

    labels: tuple[str, ...]
    ties: bool = False

    @property
    def letters(self) -> tuple[str, ...]:
        """The letters that count."""
        return (FIRST, SECOND, TIE) if self.ties else (FIRST, SECOND)

    @cached_property
    def form(self) -> VerdictForm:
        """How a line with a verdict looks."""
        return VerdictForm(self.labels, NOUNS, self.letters, tie=TIE if self.ties else "")

    @cached_property
    def sentence(self) -> re.Pattern[str]:
        """How a sentence with a verdict looks; each repetition keeps what it took, as in `VerdictForm`."""
        edge = rf"[\s{re.escape(MARKUP)}]*+"
        what, better = ("|".join(map(re.escape, words)) for words in (NOUNS, self.labels))
        return re.compile(
            rf"^{edge}(?:(?:therefore|thus|so|hence|overall),?\s++)?{edge}(?:the\s++)?(?:{what}){edge}"
            rf"(?P<letter>[{FIRST}{SECOND}])(?!\w){edge}is\s++(?:the\s++)?(?:{better})\b\W*+$",
            re.IGNORECASE,
        )


Parser = Callable[[Reply, Offer], Said]
PARSERS: dict[str, Parser] = {}


def parser(name: str) -> Callable[[Parser], Parser]:
    """Make a parser available under a name."""

    def named(function: Parser) -> Parser:
        PARSERS[name] = function
        return function

    return named


def find_parser(name: str) -> Parser:
    """Return the parser of this name.

    Raises: BadSettings listing those that exist.
    """
    if name not in PARSERS:
        raise BadSettings(f"there is no parser {name}; there are {', '.join(PARSERS)}")
    return PARSERS[name]


@parser("verdict-line")
def verdict_line(reply: Reply, offer: Offer) -> Said:
    """The last line `Preferred: B`, or a lone letter at the very end."""
    found = offer.form.read(reply.text)
    return Said(found.letter, found.rationale)


@parser("letter")
def letter(reply: Reply, offer: Offer) -> Said:
    """Nothing but a letter; also the letter and then its reasons, or a verdict line."""
    found = offer.form.read(reply.text, letter_first=True)
    return Said(found.letter, found.rationale)


@parser("brackets")
def brackets(reply: Reply, offer: Offer) -> Said:
    """The last `[[B]]`."""
    lines = said_lines(reply.text)
    for place in range(len(lines) - 1, -1, -1):
        own = CITED.sub("", lines[place])
        found = list(re.finditer(r"(?P<before>.?)\[\[(?P<letter>[^][]{1,20})\]\]", own))
        said = {match["letter"].strip().upper() for match in found if match["before"] not in set(QUOTES)}
        if not said or quoted(lines[place]):
            continue
        if len(said) > 1 or not said <= set(offer.letters):
            break
        before = own[: found[0].start("before")]
        return Said(said.pop(), "\n".join([*lines[:place], before]).strip())
    raise no_verdict(reply.text)


@parser("sentence")
def sentence(reply: Reply, offer: Offer) -> Said:
    """The last line that is nothing but a sentence like `Therefore, Output (b) is better.`"""
    lines = said_lines(reply.text)
    for place in range(len(lines) - 1, -1, -1):
        if not quoted(lines[place]) and (found := offer.sentence.match(lines[place])):
            return Said(found["letter"].upper(), "\n".join(lines[:place]).strip())
    raise no_verdict(reply.text)


@parser("json")
def json_object(reply: Reply, offer: Offer) -> Said:
    """The last JSON object with the verdict under `verdict`, `choice`, or the verdict line's label."""
    names = {"verdict", "choice", *offer.labels}
    for value in reversed(objects_in(reply.text)):
        given = {name.lower().replace("_", " "): entry for name, entry in value.items()}
        said = {str(given[name]).strip().upper() for name in names & set(given)}
        if not said:
            continue
        letter = said.pop()
        letter = TIE if letter == "TIE" else letter
        if said or letter not in offer.letters:
            break
        return Said(letter, rationale_in(value))
    raise no_verdict(reply.text)


@parser("ranked-list")
def ranked_list(reply: Reply, offer: Offer) -> Said:
    """The last list with ranks, which must give `text_1` and `text_2` the ranks 1 and 2: none is guessed."""
    ranked = [value for value in lists_in(reply.text) if isinstance(value, list) and has_ranks(value)]
    if not ranked:
        raise no_verdict(reply.text)
    return Said(first_ranked(ranked[-1]))


@parser("function")
def function_call(reply: Reply, offer: Offer) -> Said:
    """The arguments of the last call of the function, or the same as JSON in the text."""
    ranked = [value for value in [*objects_in(reply.text), *arguments_in(reply.response)] if value is not None]
    ranked = [value for value in map(unwrapped, ranked) if isinstance(value, dict) and "ranking" in value]
    if not ranked:
        raise no_verdict(reply.text)
    return Said(first_ranked(loaded(ranked[-1]["ranking"])), rationale_in(ranked[-1]))


def unwrapped(value: Any) -> Any:
    """Return the arguments of a call that an endpoint wrote into the text with the function's name around them."""
    for name in ("function", "arguments", "parameters"):
        if isinstance(value, dict) and name in value and "ranking" not in value and isinstance(value[name], dict | str):
            inner = loaded(value[name])
            value = inner if isinstance(inner, dict) else value
    return value


def has_ranks(value: list[Any]) -> bool:
    """Tell whether a list is meant as a ranking."""
    return any(isinstance(entry, dict) and "rank" in entry for entry in value)


def first_ranked(ranking: Any) -> str:
    """Return the letter of the text with rank 1; a name may also stand under `model`, as AlpacaEval's judges have it.

    Raises: UnparsedVerdict unless exactly the two names have exactly the two ranks.
    """
    if isinstance(ranking, list) and all(isinstance(entry, dict) for entry in ranking):
        ranks = {str(entry.get("name", entry.get("model"))): entry.get("rank") for entry in ranking}
        if len(ranking) == 2 and set(ranks) == set(NAMES) and sorted(map(str, ranks.values())) == ["1", "2"]:
            return next(NAMES[name] for name, rank in ranks.items() if str(rank) == "1")
    raise UnparsedVerdict(f"no ranking of the two texts in: {str(ranking)[:200]}")


def rationale_in(value: Mapping[str, Any]) -> str:
    """Return what stands under one of the names that reasons go by."""
    for name in ("explanation", "comparison", "rationale", "reason", "reasons"):
        if isinstance(value.get(name), str):
            return str(value[name]).strip()
    return ""


def arguments_in(response: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the arguments of the calls of our function in an endpoint's answer."""
    choices = response.get("choices") or [{}]
    message = choices[0].get("message") or {}
    calls = [call.get("function") for call in message.get("tool_calls") or [] if isinstance(call, dict)]
    for call in [*calls, message.get("function_call")]:
        if isinstance(call, dict) and call.get("name") == FUNCTION:
            yield loaded(call.get("arguments"))


def objects_in(text: str) -> list[dict[str, Any]]:
    """List the JSON objects in a text, outermost ones only; a whole line or an object in quotation marks is a citation."""
    text = uncited(text)
    found = []
    end = 0
    for place in [match.start() for match in re.finditer(r"\{", text)][-MOST_OBJECTS:]:
        if place < end or is_quoted_at(text, place):
            continue
        try:
            value, end = DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):
            continue
        found.append(value)
    return found


def lists_in(text: str) -> list[Any]:
    """List the flat lists in a text, as JSON or as Python writes them."""
    text = uncited(text)
    found = [match for match in re.finditer(r"\[[^][]*+\]", text) if not is_quoted_at(text, match.start())]
    return [value for value in map(literal, (match[0] for match in found)) if value is not None]


def uncited(text: str) -> str:
    """Return an answer without thoughts and without lines that are marked as a block quote."""
    return "\n".join(line for line in without_thoughts(text).splitlines() if not line.lstrip().startswith(">"))


def is_quoted_at(text: str, place: int) -> bool:
    """Tell whether what begins here stands behind a quotation mark (a code mark is none)."""
    return text[place - 1 : place] in set(QUOTES) - {"`"} if place else False


def literal(text: str) -> Any:
    """Return the value that a text writes down, or `None` if it writes none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(text) if len(text) <= LONGEST_LITERAL else None
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None


def loaded(value: Any) -> Any:
    """Return arguments as an object: endpoints give them as a string of JSON, or as what it stands for."""
    return literal(value) if isinstance(value, str) else value
