"""The parsers by name: each reads verdicts in one answer format.

A prompt file names the parser for the format that it asks for. The rule is the same for all: the last explicit verdict
decides, quotations are no verdicts, and anything doubtful is unparsed.
"""

import ast
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from annotation.core.reasons import reason
from judging.core.errors import BadSettings, UnparsedVerdict
from judging.methods.base import Reply
from judging.methods.parsing.answers import (
    CODE,
    MARKUP,
    FoundVerdict,
    answer_lines,
    is_cut,
    is_introduction,
    is_quotation,
    lines_of,
    no_verdict,
    readable,
    refuse_cut,
    visible_answer,
    whole,
)
from judging.methods.parsing.conclusions import Conclusion
from judging.methods.parsing.response_parts import QUOTES
from judging.methods.parsing.verdict_forms import VerdictForm

VERSION = "answers.10"  # of all of them: another one has stored answers read again, which costs no call
# Nouns before a letter: those of the tasks, and general ones that models use.
NOUNS = (
    *("summary", "response", "document", "translation", "output", "answer", "event", "text"),
    *("option", "assistant", "candidate"),
)
# Labels of any question, for verdict lines of researchers' prompts.
NEUTRAL = ("verdict", "choice", "answer", "decision")
FIRST, SECOND, TIE = "A", "B", "C"
NAMES = {"text_1": FIRST, "text_2": SECOND}
PUBLISHED_NAMES = {"model_1": FIRST, "model_2": SECOND}  # those of AlpacaEval
MODELS = {"m": FIRST, "M": SECOND}  # of its shorter form
FUNCTION = "rank_texts"
MOST_OBJECTS = 200  # tried in one answer, since each may be long
LONGEST_LITERAL = 20_000


def merged(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object. A repeated name has the list of its values, which isn't an answer."""
    result: dict[str, Any] = {}
    for name, value in pairs:
        result[name] = value if result.setdefault(name, value) == value else [result[name], value]
    return result


DECODER = json.JSONDecoder(object_pairs_hook=merged)


@dataclass(frozen=True)
class ParsedAnswer:
    """The letter that an answer names, and its rationale."""

    letter: str
    rationale: str = ""


@dataclass(frozen=True)
class Offer:
    """The labels of the verdict line that a prompt offers, with or without a tie.

    negated : the question is which text is worse
    """

    labels: tuple[str, ...]
    ties: bool = False
    negated: bool = False

    @property
    def letters(self) -> tuple[str, ...]:
        """The valid letters."""
        return (FIRST, SECOND, TIE) if self.ties else (FIRST, SECOND)

    @cached_property
    def form(self) -> VerdictForm:
        """The form of a verdict line."""
        return self._form(self.labels)

    @cached_property
    def neutral_form(self) -> VerdictForm:
        """The form of a line labelled as final. A plain `Verdict: B` may be about something else."""
        return self._form(tuple(f"final {label}" for label in NEUTRAL))

    def _form(self, labels: tuple[str, ...]) -> VerdictForm:
        tie = TIE if self.ties else ""
        return VerdictForm(labels, NOUNS, self.letters, tie=tie, better=not self.negated)

    @cached_property
    def conclusion(self) -> Conclusion:
        """The form of a concluding sentence."""
        better = tuple(label for label in self.labels if label not in NEUTRAL)
        return Conclusion(self.form, better, ("choose", "pick", "select", *(() if self.negated else ("prefer",))))

    @cached_property
    def sentence(self) -> re.Pattern[str]:
        """The form of a sentence with a verdict. Repetitions are possessive, as in `VerdictForm`."""
        edge = rf"[\s{re.escape(MARKUP)}]*+"
        noun, better = ("|".join(map(re.escape, words)) for words in (NOUNS, self.labels))
        return re.compile(
            rf"^{edge}(?:(?:therefore|thus|so|hence|overall),?\s++)?{edge}(?:the\s++)?(?:{noun}){edge}"
            rf"(?P<letter>[{FIRST}{SECOND}])(?!\w){edge}is\s++(?:the\s++)?(?:{better})\b\W*+$",
            re.IGNORECASE,
        )


Parser = Callable[[Reply, Offer], ParsedAnswer]
PARSERS: dict[str, Parser] = {}


def parser(name: str) -> Callable[[Parser], Parser]:
    """Decorator: register a parser under a name."""

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
def verdict_line(reply: Reply, offer: Offer) -> ParsedAnswer:
    """The last line `Preferred: B`, or a lone letter at the end, or a conclusion.

    A conclusion is a last line `Final answer: B` or a last sentence; earlier ones may be quoted from the texts.
    """
    if is_json(reply.text):
        return json_object(reply, offer)
    if verdict := offer.form.find(reply.text):
        return ParsedAnswer(whole(verdict, reply).letter, verdict.rationale)
    lines = lines_of(CODE.sub("", readable(reply.text)))
    if lines and not (len(lines) > 1 and is_introduction(lines[-2])):
        if verdict := offer.neutral_form.find(lines[-1]):
            return ParsedAnswer(whole(verdict, reply).letter, "\n".join(lines[:-1]).strip())
        if (concluded := offer.conclusion.letter_in(lines[-1])) and not is_cut(reply):
            return ParsedAnswer(concluded, "\n".join(lines).strip())
    raise no_verdict(reply.text)


@parser("letter")
def letter(reply: Reply, offer: Offer) -> ParsedAnswer:
    """Only a letter, or a letter followed by reasons, or a verdict line."""
    verdict = whole(offer.form.read(reply.text, letter_first=True), reply)
    return ParsedAnswer(verdict.letter, verdict.rationale)


@parser("brackets")
def brackets(reply: Reply, offer: Offer) -> ParsedAnswer:
    """The last line with `[[B]]`, `[[A>B]]`, `[[A=B]]`, `[RESULT] B` or `\\boxed{B}`."""
    if (verdict := offer.form.find(reply.text, marks_only=True)) is None:
        raise no_verdict(reply.text)
    return ParsedAnswer(whole(verdict, reply).letter, verdict.rationale)


@parser("sentence")
def sentence(reply: Reply, offer: Offer) -> ParsedAnswer:
    """The last line that consists of a sentence like `Therefore, Output (b) is better.`"""
    lines = answer_lines(reply.text)
    for index in range(len(lines) - 1, -1, -1):
        if not is_quotation(lines[index]) and (match := offer.sentence.match(lines[index])):
            letter, after = match["letter"].upper(), "\n".join(lines[index + 1 :])
            refuse_cut(reply, after or ("" if match[0].rstrip(f"{MARKUP}{QUOTES} ").endswith((".", "!")) else letter))
            if is_contradicted(letter, after, offer):
                break
            return ParsedAnswer(letter, "\n".join(lines[:index]).strip())
    raise no_verdict(reply.text)


@parser("json")
def json_object(reply: Reply, offer: Offer) -> ParsedAnswer:
    """The last JSON object with the verdict under `verdict`, `choice`, or the verdict line's label."""
    names = {"verdict", "choice", *offer.labels}
    for value, after in reversed(objects_in(reply.text)):
        letters = {
            str(entry).strip().upper() for name, entry in value.items() if name.lower().replace("_", " ") in names
        }
        if not letters:
            continue
        letter = letters.pop()
        letter = TIE if letter == "TIE" else letter
        if letters or letter not in offer.letters or is_contradicted(letter, after, offer):
            break
        refuse_cut(reply, after)
        return ParsedAnswer(letter, rationale_in(value))
    raise no_verdict(reply.text)


@parser("ranked-list")
def ranked_list(reply: Reply, offer: Offer) -> ParsedAnswer:
    """The last list with ranks, which must give `text_1` and `text_2` the ranks 1 and 2."""
    lists = [(value, after) for value, after in lists_in(reply.text) if isinstance(value, list)]
    ranked = [
        candidate for candidate in lists if any(isinstance(entry, dict) and "rank" in entry for entry in candidate[0])
    ]
    if not ranked:
        raise no_verdict(reply.text)
    value, after = ranked[-1]
    letter = first_ranked(value)
    if is_contradicted(letter, after, offer):
        raise no_verdict(reply.text)
    refuse_cut(reply, after)
    return ParsedAnswer(letter)


@parser("model-letter")
def model_letter(reply: Reply, offer: Offer) -> ParsedAnswer:
    """The last line, nothing but `m` for the first text or `M` for the second, as in AlpacaEval's shorter forms."""
    lines = answer_lines(reply.text)
    last_line = lines[-1].strip(f" .{MARKUP}{QUOTES}") if lines else ""
    if last_line not in MODELS or (len(lines) > 1 and is_quotation(lines[-1])):
        raise no_verdict(reply.text)
    return ParsedAnswer(MODELS[whole(FoundVerdict(last_line, lines[-1], ""), reply).letter])


@parser("function")
def function_call(reply: Reply, offer: Offer) -> ParsedAnswer:
    """The arguments of the last call of the function, or the same as JSON in the text."""
    written = [value for value, _ in objects_in(reply.text)] if reply.text.strip() else []
    message = (reply.response.get("choices") or [{}])[0].get("message") or {}
    calls = [call.get("function") for call in message.get("tool_calls") or [] if isinstance(call, dict)]
    ours = [call for call in (*calls, message.get("function_call")) if isinstance(call, dict)]
    called = [parse_arguments(call.get("arguments")) for call in ours if call.get("name") == FUNCTION]
    ranked = [unwrap_arguments(value) for value in (*written, *called)]
    ranked = [value for value in ranked if isinstance(value, dict) and "ranking" in value]
    if not ranked:
        raise no_verdict(reply.text)
    return ParsedAnswer(first_ranked(parse_arguments(ranked[-1]["ranking"])), rationale_in(ranked[-1]))


def unwrap_arguments(value: Any) -> Any:
    """Return the arguments of a function call that the model wrote as text, with the function's name around them."""
    for name in ("function", "arguments", "parameters"):
        if isinstance(value, dict) and name in value and "ranking" not in value and isinstance(value[name], dict | str):
            inner = parse_arguments(value[name])
            value = inner if isinstance(inner, dict) else value
    return value


def first_ranked(ranking: Any) -> str:
    """Return the letter of the text with rank 1. Names may be `model_1` and `model_2` under `model`, as in AlpacaEval.

    Raises: UnparsedVerdict unless exactly the two names have the two ranks.
    """
    if isinstance(ranking, list) and all(isinstance(entry, dict) for entry in ranking):
        ranks = {str(entry.get("name", entry.get("model"))): entry.get("rank") for entry in ranking}
        names = next((names for names in (NAMES, PUBLISHED_NAMES) if set(ranks) == set(names)), None)
        if names and len(ranking) == 2 and sorted(map(str, ranks.values())) == ["1", "2"]:
            return next(names[name] for name, rank in ranks.items() if str(rank) == "1")
    raise UnparsedVerdict(reason("no_ranking_in", text=str(ranking)[:200]))


def rationale_in(value: Mapping[str, Any]) -> str:
    """Return the value of the first key for a rationale."""
    for name in ("explanation", "comparison", "rationale", "reason", "reasons"):
        if isinstance(value.get(name), str):
            return str(value[name]).strip()
    return ""


def is_contradicted(letter: str, after: str, offer: Offer) -> bool:
    """Tell whether the text after a verdict in another form takes it back, or has another one."""
    try:
        verdict = offer.form.find(after)
    except UnparsedVerdict:
        return True
    return (verdict is not None and verdict.letter != letter) or offer.form.is_taken_back(letter, f"\n{after}")


def is_json(completion: str) -> bool:
    """Tell whether an answer is a JSON object, perhaps in a block of code."""
    bare = re.sub(r"\A```(?:json)?\s*+|```\Z", "", visible_answer(completion).strip()).strip()
    return bare.startswith("{") and bare.endswith("}") and '"' in bare


def objects_in(text: str) -> list[tuple[dict[str, Any], str]]:
    """Return the outermost JSON objects in a text, each with the text up to the next one, without quoted ones."""
    text = strip_quotes(text)
    objects: list[tuple[dict[str, Any], int, int]] = []
    end = 0
    for start in [match.start() for match in re.finditer(r"\{", text)][-MOST_OBJECTS:]:
        if start < end or is_quoted_at(text, start):
            continue
        try:
            value, end = DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        objects.append((value, start, end))
    return _with_text_after(objects, text)


def lists_in(text: str) -> list[tuple[Any, str]]:
    """Return the flat lists in a text, in JSON or Python syntax, each with the text up to the next one."""
    text = strip_quotes(text)
    matches = [match for match in re.finditer(r"\[[^][]*+\]", text) if not is_quoted_at(text, match.start())]
    literals = [(literal(match[0]), match.start(), match.end()) for match in matches]
    return _with_text_after([item for item in literals if item[0] is not None], text)


def _with_text_after(spans: list[tuple[Any, int, int]], text: str) -> list[tuple[Any, str]]:
    starts = [start for _, start, _ in spans]
    return [(value, text[end:start]) for (value, _, end), start in zip(spans, [*starts[1:], len(text)], strict=False)]


def strip_quotes(text: str) -> str:
    """Return the answer within a response, without block quotes."""
    return "\n".join(line for line in visible_answer(text).splitlines() if not line.lstrip().startswith(">"))


def is_quoted_at(text: str, position: int) -> bool:
    """Tell whether a quotation mark (not a backtick) precedes this place."""
    return text[position - 1 : position] in set(QUOTES) - {"`"} if position else False


def literal(text: str) -> Any:
    """Evaluate a JSON or Python literal. Return `None` for anything else."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(text) if len(text) <= LONGEST_LITERAL else None
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None


def parse_arguments(value: Any) -> Any:
    """Return arguments as an object: endpoints give them as a JSON string or as an object."""
    return literal(value) if isinstance(value, str) else value
