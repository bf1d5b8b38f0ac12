"""Requests to an endpoint, their cache keys, and the reading of the replies: a verdict, or why there is none."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotation.core.reasons import NO_REASON, Reason, reason
from judging.core.constants import RESERVED_PARAMS
from judging.core.errors import BadSettings, RunStopped, UnparsedVerdict
from judging.methods import AskingMethod, Call, Method, Outcome, Reply, Setting, find_method
from judging.methods.parsing.answers import is_refusal
from judging.methods.sc2.record import MAKING
from judging.models import Endpoint, Judge, Judgment

DRAWS_PER_REPEAT = 1000  # of the same call, at most
SAMPLES_PER_ATTEMPT = 1_000_000  # offset of a further attempt in sample numbers
MAX_SAMPLES = 3
THOUGHT_FIELDS = ("reasoning_content", "reasoning")  # of DeepSeek and llama.cpp; of vLLM, OpenRouter and Ollama
THOUGHT_PARTS = frozenset({"thinking", "reasoning"})
LONGEST_ANSWER = 200_000  # characters
DETERMINISTIC_PARAMS: Mapping[str, Any] = {"temperature": 0}


@dataclass(frozen=True, slots=True)
class Request:
    """One sample of a call, ready to be sent.

    key    : its cache key
    length : characters of the body, for estimates of its tokens
    base_url : of the endpoint that it is sent to
    """

    key: str
    body: Mapping[str, Any]
    sample: int
    kind: str
    length: int
    base_url: str


class Requests:
    """Makes the requests of one judge.

    tables : the endpoint of the calls that make a table, where it is another one
    """

    system_prompt = ""
    tables: Endpoint | None = None

    def __init__(self, judge: Judge, method: AskingMethod) -> None:
        if judge.endpoint is None:
            raise RunStopped(reason("no_endpoint", judge=str(judge)))
        self.base_url = judge.endpoint.base_url
        self.model = judge.endpoint.model
        self.tables = judge.table_endpoint
        self.system_prompt = judge.system_prompt or (judge.prompt_file.system_prompt if judge.prompt_file else "")
        self.seed = judge.seed
        self.defaults = dict(method.default_params)
        self.params = {name: value for name, value in judge.params.items() if name not in method.options}

    def request(self, call: Call, *, repeat: int, attempt: int) -> Request:
        """Return the request for a call. A further attempt has another seed."""
        sample = sample_of(call, repeat=repeat, attempt=attempt)
        seed = sample_seed("" if call.reusable else self.seed, sample)
        body = self.body(call, seed)
        base_url = self.tables.base_url if self.tables and call.kind in MAKING else self.base_url
        canonical = canonical_form(base_url, body, sample)
        return Request(hash_of(canonical), body, sample, call.kind, len(canonical), base_url)

    def body(self, call: Call, seed: int) -> dict[str, Any]:
        """Return the body of a chat completion request. Parameters set to null are left out."""
        params = {**self.defaults, **call.params, "seed": seed, **self.params}
        values = {name: value for name, value in params.items() if value is not None}
        first = [{"role": "system", "content": self.system_prompt}] if self.system_prompt else []
        model = self.tables.model if self.tables and call.kind in MAKING else self.model
        return {"model": model, "messages": [*first, *call.messages], **values}


def setting_of(judge: Judge) -> Setting:
    """Return a judge's settings for its method."""
    method: Method = find_method(judge.method)
    own, makes_tables = judge.prompt_file, judge.table_endpoint or judge.endpoint
    return Setting(
        seed=judge.seed,
        options={name: value for name, value in judge.params.items() if name in method.options},
        wording=own.text if own else "",
        wording_version=str(own) if own else "",
        wording_parser=own.parser if own else "",
        system_prompt=judge.system_prompt,
        table_variant=judge.table_variant,
        texts_first=judge.texts_first,
        schema=bool(makes_tables and makes_tables.supports.get("json_schema")),
        verdict_schema=bool(judge.endpoint and judge.endpoint.supports.get("json_schema")),
    )


def sample_of(call: Call, *, repeat: int, attempt: int) -> int:
    """Number a sample: repeats and further attempts are different samples, also of calls that pairs share."""
    return repeat * DRAWS_PER_REPEAT + call.draw + attempt * SAMPLES_PER_ATTEMPT


def sample_seed(seed: object, sample: int) -> int:
    """Derive a seed of 31 bits, which every endpoint accepts."""
    digest = hashlib.sha256(f"sample\x00{seed}\x00{sample}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def cache_key(base_url: str, body: Mapping[str, Any], sample: int) -> str:
    """Hash everything that determines an answer: base URL, request body and sample number."""
    return hash_of(canonical_form(base_url, body, sample))


def canonical_form(base_url: str, body: Mapping[str, Any], sample: int) -> str:
    """Serialise what determines an answer in a canonical form."""
    return json.dumps([base_url.rstrip("/"), body, sample], ensure_ascii=True, sort_keys=True, separators=(",", ":"))


def hash_of(canonical: str) -> str:
    """Hash a canonical form."""
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


@dataclass(frozen=True)
class Reading:
    """The end of a cell. Only parsed cells have an outcome (an `Outcome` in screen order for judgments).

    made       : the record of a table that was made, in screen order, whatever the outcome
    token_mass : see `Outcome`; of an unparsed cell, the mass that is too small
    cause, code : of a failed call that this is the result of; `code`: its kind
    """

    status: str
    outcome: Any = None
    failure: Reason = NO_REASON
    made: Mapping[str, Any] | None = None
    token_mass: float | None = None
    cause: str = ""
    code: str = ""


def parsed(outcome: Any) -> Reading:
    """Return the reading of a procedure that gave a result."""
    if not isinstance(outcome, Outcome):
        return Reading(Judgment.Status.PARSED, outcome)
    return Reading(Judgment.Status.PARSED, outcome, made=outcome.made, token_mass=outcome.token_mass)


def read_reply(call: Call, reply: Reply) -> Any:
    """Read a reply by its call's reader. One that is far too long or malformed is unparsed.

    Raises: UnparsedVerdict
    """
    if len(reply.text) > LONGEST_ANSWER:
        raise UnparsedVerdict(reason("answer_too_long", number=len(reply.text), most=LONGEST_ANSWER))
    try:
        return call.read(reply)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        # The answer is stored: any other error would stop the run each time that it is resumed.
        raise UnparsedVerdict(reason("answer_unreadable", error=type(error).__name__)) from error


def recurs(reply: Reply) -> bool:
    """Tell whether asking again would probably end the same way: the answer is cut off, or too long to be read."""
    return reply.is_cut_off or len(reply.text) > LONGEST_ANSWER


def unparsed(reply: Reply | None, why: Reason) -> Reading:
    """Return the reading of an unparsed reply, noting if it was cut off or held nothing but reasoning."""
    if reply is not None and not reply.text.strip() and has_thoughts(reply.response):
        why = reason("thoughts_alone")
    if reply is not None and reply.is_cut_off:
        why = reason("cut_off", why=why)
    return Reading(Judgment.Status.UNPARSED, failure=why)


def marked_refusal(reply: Reply) -> Reason:
    """Return a refusal that the API marks outside of the text, or `NO_REASON` without one."""
    message = message_in(reply.response)
    for part in (message, *parts_in(message)):
        if isinstance(refusal := part.get("refusal"), str) and refusal.strip():
            return reason("text", text=refusal[:300])
    return reason("content_filter") if reply.finish_reason == "content_filter" else NO_REASON


def has_thoughts(response: Mapping[str, Any]) -> bool:
    """Tell whether a response holds reasoning outside of its text, in a field or in content parts."""
    message = message_in(response)
    return any(message.get(name) for name in THOUGHT_FIELDS) or any(
        part.get("type") in THOUGHT_PARTS for part in parts_in(message)
    )


def message_in(response: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the message of the first choice, or an empty one."""
    choices = response.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    return message if isinstance(message, dict) else {}


def parts_in(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the parts of a message whose content is a list."""
    content = message.get("content")
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def worded_refusal(reply: Reply) -> Reason:
    """Return the start of a reply that declines in words. To be called only for unparsed replies."""
    return reason("text", text=reply.text[:300]) if is_refusal(reply.text) else NO_REASON


class AdhocRequests(Requests):
    """Makes requests without a judge. Their cache keys depend on endpoint, parameters and seed.

    params : sent with each call, like a judge's; null leaves a default out
    Raises: BadSettings for a reserved parameter
    """

    def __init__(self, endpoint: Endpoint, *, params: Mapping[str, Any] | None = None, seed: int = 0) -> None:
        if reserved := RESERVED_PARAMS & set(params or {}):
            raise BadSettings(f"these parameters are set by the engine: {', '.join(sorted(reserved))}")
        self.base_url = endpoint.base_url
        self.model = endpoint.model
        self.seed = seed
        self.defaults = dict(DETERMINISTIC_PARAMS)
        self.params = dict(params or {})
