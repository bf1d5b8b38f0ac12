"""What the stand-in says: an answer in the form that the question asks for, as a model that follows its instructions."""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from tests.standin.behaviour import Behaviour
from tests.standin.tables import table_answer

Body = Mapping[str, Any]
CONFIDENCE = 0.8  # probability of the answer's own token
SENTENCE = "One of them stays closer to what was asked"
ENDLESS = f"{SENTENCE}, and so on. " * 100
REFUSAL = "I'm sorry, but I can't help with that."
UNREADABLE = "Both have their merits and it depends on what one looks for."
# A line of a form to be filled in: `Preferred: <A or B>`, perhaps in several parts.
FORM_LINE = re.compile(r"^[^\n<>]{0,80}<[^<>\n]{1,200}>[^\n]*$", re.MULTILINE)
SLOT = re.compile(r"<([^<>\n]{1,200})>")
OFFER = re.compile(r"^\W*(\w{1,12})\W*(?:,\s*\W*(\w{1,12})\W*)?(?:,)?\s+or\s+\W*(\w{1,12})\W*$")
FILLERS = re.compile(r"\b(?:either|the letter|letter)\s+", re.IGNORECASE)
LETTERS = re.compile(r"\b(A|1|m)\b\W{1,3}(?:or|/|and)\W{1,3}\b(B|2|M)\b")
NUMBER = re.compile(r"\b(?:number|score|digit|integer|rating|grade)\b|\b1\b.{0,12}\b(?:5|7|10)\b", re.IGNORECASE)
RANGE = re.compile(r"\b(\d{1,2})\b\s*(?:to|and|–|-|—)\s*\b(\d{1,2})\b")
FENCED = re.compile(r"^\[(?P<fence>[0-9a-f]{16}) begin\]\n(?P<text>.*?)\n\[(?P=fence) end\]$", re.MULTILINE | re.DOTALL)
# Marks that published prompts ask for, and what is on offer then: the first text, the second, a tie where there is one.
MARKS = {
    "[[A>B]]": ("[[A>B]]", "[[B>>A]]", "[[A=B]]"),
    "[[A]]": ("[[A]]", "[[B]]", "[[C]]"),
    "[RESULT]": ("[RESULT] A", "[RESULT] B"),
    "\\boxed{": ("\\boxed{A}", "\\boxed{B}"),
}
MODELS = ("m", "M")  # AlpacaEval's letters, which stand alone
UNLIKELY = [(f"~{number}", 1e-9) for number in range(20)]
TOKEN = re.compile(r"\s*(?:[^\W_]+|[\W_])")


def question_of(body: Body) -> str:
    """Return the text of the last message."""
    messages = body.get("messages") or [{}]
    content = messages[-1].get("content") or ""
    return content if isinstance(content, str) else "".join(str(part.get("text", "")) for part in content)


def choose(body: Body, behaviour: Behaviour, *, seed: object, offered: tuple[str, ...]) -> str:
    """Choose the first or the second of what is on offer."""
    how = behaviour.answer
    if how == "longer":
        texts = [found["text"] for found in FENCED.finditer(question_of(body))][-2:]
        how = "second" if len(texts) == 2 and len(texts[1]) > len(texts[0]) else "first"
    if how == "random":
        how = "second" if drawn(body, seed) & 1 else "first"
    return offered[1] if how == "second" else offered[0]


def drawn(body: Body, seed: object) -> int:
    """Draw a number from the question and the seed: the same for the same."""
    told = json.dumps([body.get("messages"), seed], sort_keys=True).encode()
    return hashlib.sha256(told).digest()[0]


def answer_text(body: Body, behaviour: Behaviour, *, seed: object) -> str:
    """Return the answer: of a rule that matches, the one for everything, or one in the form that is asked for."""
    if behaviour.rules or behaviour.text:
        question = question_of(body)
        for pattern, text in behaviour.rules:
            if re.search(pattern, question, re.DOTALL):
                return text
        if behaviour.text:
            return behaviour.text
    schema = None if "json_schema" in behaviour.ignores else schema_of(body)
    if (made := table_answer(question_of(body), seed=seed)) is not None:
        return made if schema is None else json.dumps(in_lengths(json.loads(made), schema, behaviour))
    if schema is not None:
        return json.dumps(in_lengths(filled(schema, body, behaviour, seed=seed), schema, behaviour))
    return in_the_form(question_of(body), body, behaviour, seed=seed)


def in_the_form(question: str, body: Body, behaviour: Behaviour, *, seed: object) -> str:
    """Fill in the form at the end of the question; without a form, compare in a sentence and choose."""
    instructions = instructions_in(question)
    form = form_of(instructions)
    if form:
        return "\n".join(
            SLOT.sub(lambda slot: value_for(slot[1], instructions, body, behaviour, seed=seed), line) for line in form
        )
    asked = "\n".join(str(message.get("content") or "") for message in body["messages"][:-1]) + instructions
    if marks := next((marks for mark, marks in MARKS.items() if mark in asked), ()):
        return f"Comparison: {SENTENCE}.\n{choose(body, behaviour, seed=seed, offered=marks)}"
    offered = offer_in(instructions) or ("A", "B")
    said = choose(body, behaviour, seed=seed, offered=offered)
    return said if offered == MODELS else f"Comparison: {SENTENCE}.\nPreferred: {said}"


def instructions_in(question: str) -> str:
    """Return a question without the texts that it is about."""
    return FENCED.sub("", question)


@lru_cache(maxsize=512)
def form_of(instructions: str) -> tuple[str, ...]:
    """Return the last run of lines that are to be filled in."""
    lines = instructions.rstrip().splitlines()
    places = [place for place, line in enumerate(lines) if FORM_LINE.match(line)]
    form: list[str] = []
    for place in reversed(places):
        if form and places[len(places) - len(form)] != place + 1:
            break
        form.insert(0, lines[place])
    return tuple(form)


@lru_cache(maxsize=512)
def offer_in(text: str) -> tuple[str, ...]:
    """Return the choices that a text names: `A or B`, `A, B or tie`."""
    if found := OFFER.match(FILLERS.sub("", text.strip())):
        first, second, third = found.groups()
        return (first, second, third) if second else (first, third)
    if found := LETTERS.search(text):
        return (found[1], found[2])
    return ()


def value_for(slot: str, instructions: str, body: Body, behaviour: Behaviour, *, seed: object) -> str:
    """Return what goes into one place of a form."""
    if offered := offer_in(slot):
        return choose(body, behaviour, seed=seed, offered=offered)
    if slot.startswith("the other") and (offered := next(filter(None, map(offer_in, SLOT.findall(instructions))), ())):
        chosen = choose(body, behaviour, seed=seed, offered=offered)
        return offered[1] if chosen == offered[0] else offered[0]
    if len(slot) < 60 and NUMBER.search(slot):
        return str(score(slot, instructions, body, seed))
    return SENTENCE


def score(slot: str, instructions: str, body: Body, seed: object) -> int:
    """Return a number in the range that is named; it depends on what is to be judged."""
    low, high = next(((int(a), int(b)) for a, b in RANGE.findall(f"{slot}\n{instructions}")), (1, 5))
    return low + drawn(body, seed) % max(1, high - low + 1)


def schema_of(body: Body) -> Mapping[str, Any] | None:
    """Return the JSON schema that the answer has to keep to, if any."""
    wanted = body.get("response_format") or {}
    if wanted.get("type") == "json_schema":
        schema: Mapping[str, Any] = wanted["json_schema"]["schema"]
        return schema
    return {"type": "object"} if wanted.get("type") == "json_object" else None


def filled(schema: Mapping[str, Any], body: Body, behaviour: Behaviour, *, seed: object) -> Any:
    """Make a value that keeps to a JSON schema; a choice goes by what the stand-in prefers."""
    if "const" in schema:
        return schema["const"]
    if options := schema.get("enum"):
        return choose(body, behaviour, seed=seed, offered=tuple(options[:3])) if len(options) > 1 else options[0]
    kind = schema.get("type", "object")
    if kind == "object":
        return {name: filled(one, body, behaviour, seed=seed) for name, one in schema.get("properties", {}).items()}
    if kind == "array":
        return ranked(schema, body, behaviour, seed=seed)
    if kind in ("integer", "number"):
        low, high = schema.get("minimum", 1), schema.get("maximum", 5)
        return low + drawn(body, seed) % max(1, int(high - low) + 1)
    return True if kind == "boolean" else f"{SENTENCE}."


def in_lengths(value: Any, schema: Mapping[str, Any], behaviour: Behaviour) -> Any:
    """Keep a value's texts to the longest of their schema; a model that goes on for ever fills them up to there."""
    if isinstance(value, dict):
        parts = schema.get("properties", {})
        return {name: in_lengths(one, parts.get(name, {}), behaviour) for name, one in value.items()}
    if isinstance(value, list):
        return [in_lengths(one, schema.get("items", {}), behaviour) for one in value]
    if not isinstance(value, str) or "enum" in schema:
        return value
    text = f"{value} {ENDLESS}" if behaviour.endless else value
    return text if "schema_lengths" in behaviour.ignores else text[: schema.get("maxLength")]


def ranked(schema: Mapping[str, Any], body: Body, behaviour: Behaviour, *, seed: object) -> list[Any]:
    """Make a list; one of a name with its rank ranks the names that are on offer."""
    items = schema.get("items", {})
    parts = items.get("properties", {})
    named = next((name for name, one in parts.items() if one.get("enum") or one.get("type") == "string"), "")
    place = next((name for name, one in parts.items() if one.get("type") in ("integer", "number")), "")
    if not (named and place):
        return [filled(items, body, behaviour, seed=seed) for _ in range(max(1, schema.get("minItems", 1)))]
    offered = tuple(parts[named].get("enum") or offer_in(instructions_in(question_of(body))) or ("A", "B"))[:2]
    best = choose(body, behaviour, seed=seed, offered=offered)
    other = offered[1] if best == offered[0] else offered[0]
    return [{named: best, place: 1}, {named: other, place: 2}]


def tool_call(body: Body, behaviour: Behaviour, *, seed: object) -> dict[str, Any] | None:
    """Return the call of the function that is asked for, if one is."""
    tools = body.get("tools")
    if not tools or "tools" in behaviour.ignores or body.get("tool_choice") == "none":
        return None
    wanted = body.get("tool_choice")
    name = wanted["function"]["name"] if isinstance(wanted, dict) else tools[0]["function"]["name"]
    function = next(one["function"] for one in tools if one["function"]["name"] == name)
    arguments = filled(function.get("parameters") or {"type": "object"}, body, behaviour, seed=seed)
    return {"id": "call_1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def tokens_of(text: str) -> list[str]:
    """Cut a text into pieces about as long as a model's tokens."""
    return TOKEN.findall(text)


def log_probabilities(text: str, alternatives: int) -> dict[str, Any]:
    """Return the log-probabilities of a text's tokens; choices and digits have alternatives that make sense."""
    content = []
    for token in tokens_of(text):
        top = probable(token)
        content.append(
            {
                "token": token,
                "logprob": math.log(top[0][1]),
                "bytes": list(token.encode()),
                "top_logprobs": [
                    {"token": one, "logprob": math.log(p), "bytes": list(one.encode())} for one, p in top[:alternatives]
                ],
            }
        )
    return {"content": content, "refusal": None}


@lru_cache(maxsize=1024)
def probable(token: str) -> list[tuple[str, float]]:
    """Return a token and what might have stood in its place, most probable first."""
    bare = token.strip()
    edge = token[: len(token) - len(bare)]
    for group in (("A", "B"), ("m", "M"), ("1", "2", "3", "4", "5")):
        if bare in group:
            others = [one for one in group if one != bare]
            rest = (1 - CONFIDENCE) / len(others)
            found = [(token, CONFIDENCE), *((edge + one, rest) for one in others)]
            return [*sorted(((one, p) for one, p in found if p > 0), key=lambda pair: -pair[1]), *UNLIKELY]
    return [(token, 0.99), *UNLIKELY]
