"""Testing an endpoint: a few real calls that find out what it supports, with the reason for each thing that it doesn't."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from asgiref.sync import async_to_sync
from django.db import transaction
from django.utils import timezone

from judging.clients import Answer, OpenAIClient
from judging.credentials import check_key_env
from judging.errors import AccessDenied, CallFailed, EndpointRefused, JudgingError, RejectedCall, TransientFailure
from judging.models import Endpoint
from judging.services.endpoints import check_host
from judging.supported import FEATURES

MOST_TOKENS = 64
LONGEST_WAIT = 20.0  # seconds that an endpoint may ask to wait before a call is tried once more
USUAL = {"temperature": 0, "seed": 1, "max_tokens": MOST_TOKENS}  # what the judges' calls hold, in short
WORD = "Answer with the single word yes."
SENTENCE = "Write one short sentence about something that you might see on a walk."
SCHEMA = {
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": ["red", "green"]}},
    "required": ["colour"],
    "additionalProperties": False,
}
COLOUR = "Name a colour, red or green."


@dataclass(frozen=True)
class Finding:
    """What one probe found; `None`: it can't be told."""

    works: bool | None
    note: str = ""


@dataclass
class Probe:
    """A test under way: which parameters go with each call, and how long the calls took."""

    client: OpenAIClient
    model: str
    usual: Mapping[str, Any] = field(default_factory=lambda: dict(USUAL))
    latencies: list[float] = field(default_factory=list)

    async def ask(self, text: str, **params: Any) -> Answer:
        """Put one question; a transient failure is tried once more.

        Raises: CallFailed
        """
        body = {"model": self.model, "messages": [{"role": "user", "content": text}], **self.usual, **params}
        try:
            answer = await self.client.complete(body)
        except TransientFailure as failure:
            wait = failure.retry_after if failure.retry_after is not None else 0.0
            if wait > LONGEST_WAIT:
                raise
            await asyncio.sleep(wait)
            answer = await self.client.complete(body)
        if answer.latency_ms is not None:
            self.latencies.append(answer.latency_ms)
        return answer


def probe_endpoint(endpoint: Endpoint) -> Endpoint:
    """Test an endpoint with a few calls and store what was found: `supports` and `tested_at`.

    What went wrong is part of what was found; nothing is raised for it.
    """
    try:
        check_host(endpoint.base_url)
        check_key_env(endpoint.key_env)
        found = async_to_sync(find_out)(endpoint)
    except JudgingError as error:
        found = nothing_but(str(error))
    with transaction.atomic():
        stored = Endpoint.objects.select_for_update().get(pk=endpoint.pk)
        stored.supports = found
        stored.tested_at = timezone.now()
        stored.save(update_fields=["supports", "tested_at"])
    return stored


def nothing_but(reason: str) -> dict[str, Any]:
    """Return what is stored when the endpoint answers nothing."""
    untold = "not tried: it answers no question"
    return dict.fromkeys(FEATURES) | {
        "chat": False,
        "why": dict.fromkeys(FEATURES, untold) | {"chat": reason},
        "latency_ms": None,
        "max_latency_ms": None,
    }


async def find_out(endpoint: Endpoint) -> dict[str, Any]:
    """Make the calls.

    Raises: JudgingError when there is no asking this endpoint at all.
    """
    client = OpenAIClient(endpoint)
    try:
        probe = Probe(client, endpoint.model)
        chat = await chats(probe)
        if not chat.works:
            return nothing_but(chat.note)
        findings = {"chat": chat} | {name: await finding(PROBES[name](probe)) for name in FEATURES if name in PROBES}
    finally:
        await client.close()
    latencies = sorted(probe.latencies)
    return {name: findings[name].works for name in FEATURES} | {
        "why": {name: one.note for name, one in findings.items() if one.note},
        "latency_ms": round(latencies[len(latencies) // 2], 1),
        "max_latency_ms": round(latencies[-1], 1),
    }


async def finding(probing: Awaitable[Finding]) -> Finding:
    """Return what a probe finds; an endpoint that rejects what it was sent does not support it."""
    try:
        return await probing
    except RejectedCall as error:
        return Finding(False, f"rejected: {error}")
    except (CallFailed, EndpointRefused) as error:
        return Finding(None, f"could not be told: {error}")


async def chats(probe: Probe) -> Finding:
    """Ask a question as judges do; an endpoint that doesn't take its parameters is asked without."""
    try:
        await probe.ask(WORD)
    except RejectedCall as rejected:
        probe.usual = {}
        try:
            await probe.ask(WORD)
        except CallFailed as error:
            return Finding(False, explained(error))
        return Finding(
            True,
            "takes no temperature, seed or max_tokens; add its judges with --param temperature=null --param seed=null "
            f"({rejected})",
        )
    except (CallFailed, EndpointRefused) as error:
        return Finding(False, explained(error))
    return Finding(True)


def explained(error: JudgingError) -> str:
    """Say what a failure means for whoever sets the endpoint up."""
    if isinstance(error, AccessDenied):
        return f"it refuses access; check the key and the account: {error}"
    if isinstance(error, EndpointRefused):
        return f"its address may not be asked: {error}"
    if isinstance(error, RejectedCall):
        return f"it rejects the question; check the model's name and the base URL: {error}"
    return f"no answer; check the base URL and whether the service is up: {error}"


async def gives_logprobs(probe: Probe) -> Finding:
    """Ask for the log-probabilities of the answer's tokens."""
    answer = await probe.ask(WORD, logprobs=True, top_logprobs=5)
    told = choice_of(answer).get("logprobs")
    tokens = told.get("content") if isinstance(told, dict) else None
    if not isinstance(tokens, list) or not tokens:
        return Finding(False, "the answer comes without them")
    top = tokens[0].get("top_logprobs") if isinstance(tokens[0], dict) else None
    if not isinstance(top, list) or not top:
        return Finding(False, "only of the tokens of the answer, not of those that might have stood in their place")
    return Finding(True, f"of up to {len(top)} tokens at a place, where 5 were asked for" if len(top) < 5 else "")


async def keeps_to_schema(probe: Probe) -> Finding:
    """Ask for an answer that keeps to a JSON schema."""
    wanted = {"type": "json_schema", "json_schema": {"name": "colour", "strict": True, "schema": SCHEMA}}
    answer = await probe.ask(COLOUR, response_format=wanted)
    return keeps_to(answer.text)


def keeps_to(text: object) -> Finding:
    """Tell whether a text is an object as `SCHEMA` wants it."""
    try:
        value = json.loads(str(text))
    except ValueError:
        return Finding(False, f"the answer is no JSON: {str(text)[:80]}")
    if not isinstance(value, dict) or value.get("colour") not in ("red", "green") or len(value) != 1:
        return Finding(False, f"the answer doesn't keep to the schema: {str(text)[:80]}")
    return Finding(True)


async def calls_functions(probe: Probe) -> Finding:
    """Ask for a function call."""
    function = {"name": "name_colour", "description": "Keep a colour.", "parameters": SCHEMA}
    choice = {"type": "function", "function": {"name": "name_colour"}}
    answer = await probe.ask(COLOUR, tools=[{"type": "function", "function": function}], tool_choice=choice)
    calls = choice_of(answer).get("message", {}).get("tool_calls")
    if not isinstance(calls, list) or not calls:
        return Finding(False, "the answer calls no function")
    arguments = calls[0].get("function", {}).get("arguments") if isinstance(calls[0], dict) else None
    return keeps_to(arguments)


async def heeds_seed(probe: Probe) -> Finding:
    """Ask the same with the same seed twice, and with others, at a temperature that lets answers differ."""
    if not probe.usual:
        return Finding(False, "takes no seed or no temperature")
    texts = [(await probe.ask(SENTENCE, temperature=1, seed=seed)).text for seed in (11, 11, 12, 13)]
    if texts[0] != texts[1]:
        return Finding(False, "the same question with the same seed got two answers")
    if len(set(texts)) == 1:
        return Finding(None, "can't be told: another seed got the same answer as well")
    return Finding(True)


async def gives_several(probe: Probe) -> Finding:
    """Ask for two answers at once."""
    answer = await probe.ask(WORD, n=2)
    given = len(answer.response["choices"])
    return Finding(given == 2, "" if given == 2 else f"{given} answer where 2 were asked for")


async def takes_batches(probe: Probe) -> Finding:
    """Ask for the list of batches: handing one in would cost."""
    try:
        await probe.client.batches()
    except AccessDenied as error:
        return Finding(False, f"refused: {error}")
    return Finding(True)


def choice_of(answer: Answer) -> dict[str, Any]:
    """Return the first choice of an answer."""
    choice: dict[str, Any] = answer.response["choices"][0]
    return choice


PROBES: Mapping[str, Callable[[Probe], Awaitable[Finding]]] = {
    "logprobs": gives_logprobs,
    "json_schema": keeps_to_schema,
    "tools": calls_functions,
    "seed": heeds_seed,
    "n": gives_several,
    "batch": takes_batches,
}
