"""Verdicts as JSON by a schema that the endpoint holds the model to."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from judging.methods.base import SCHEMA_PARAM, Call, Reply
from judging.methods.parsing.answers import no_verdict, visible_answer
from judging.methods.parsing.parsers import Offer, ParsedAnswer, Parser, json_object
from judging.methods.prompts import load_prompt

PROMPT = "verdict-schema.v1.txt"
REASONS, VERDICT = "comparison", "verdict"


def in_schema(call: Call, letters: str, schema: Mapping[str, Any]) -> Call:
    """Return a call that asks for its verdict by a schema, and falls back to the call as given.

    letters : those on offer, in words
    """
    answers = dict.fromkeys(schema["properties"], f"<{letters}>")
    answers |= {REASONS: "<what stands before the choice>"} if REASONS in answers else {}
    form = load_prompt(PROMPT).render({"answers": json.dumps(answers)}, {}).strip()
    [message] = call.messages
    return replace(
        call,
        messages=[{**message, "content": f"{message['content'].rstrip()}\n\n{form}"}],
        params={**call.params, SCHEMA_PARAM: response_format("verdict", schema)},
        plain=call.messages,
        example=json.dumps({name: 20 * "word " if name == REASONS else "A" for name in schema["properties"]}),
    )


def response_format(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request parameter for a schema."""
    return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}}


def object_of(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an object that has these properties, in this order, and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def verdict_schema(letters: tuple[str, ...], *, reasons: bool) -> dict[str, Any]:
    """Return the schema of a verdict, after the reasons for it where the method asks for any."""
    first = {REASONS: {"type": "string"}} if reasons else {}
    return object_of({**first, VERDICT: {"type": "string", "enum": list(letters)}})


def schema_reader(otherwise: Parser) -> Callable[[Reply, Offer], ParsedAnswer]:
    """Return a reader of such objects. The method's parser reads texts of endpoints without schemas."""

    def read(reply: Reply, offer: Offer) -> ParsedAnswer:
        text = visible_answer(reply.text).strip()
        if text.startswith("```"):
            return json_object(reply, offer)
        if not text.startswith("{"):
            return otherwise(reply, offer)
        record = parse_once(text)
        if record.get(VERDICT) not in offer.letters:
            raise no_verdict(reply.text)
        return ParsedAnswer(record[VERDICT], reasons_in(record))

    return read


def reasons_in(record: Mapping[str, Any]) -> str:
    """Return the reasons of an answer."""
    reasons = record.get(REASONS)
    return reasons.strip() if isinstance(reasons, str) else ""


def parse_once(text: str) -> dict[str, Any]:
    """Parse a JSON object that has each key once.

    Raises: UnparsedVerdict
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError("a key twice")
        return dict(pairs)

    try:
        record = json.loads(text, object_pairs_hook=unique)
    except (ValueError, RecursionError):
        raise no_verdict(text) from None
    if not isinstance(record, dict):
        raise no_verdict(text)
    return record
