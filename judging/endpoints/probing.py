"""Testing which features an endpoint supports, by a few real calls."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from asgiref.sync import async_to_sync
from django.db import transaction
from django.utils import timezone

from annotation.core.reasons import NO_REASON, Reason, reason
from judging.core.errors import AccessDenied, CallFailed, EndpointRefused, JudgingError, RejectedCall, TransientFailure
from judging.endpoints.chat_answers import ChatAnswer
from judging.endpoints.checks import check_host, check_key_env
from judging.endpoints.client import OpenAIClient
from judging.endpoints.services import FEATURES
from judging.models import Endpoint

MAX_TOKENS = 64
MAX_RETRY_AFTER = 20.0  # seconds; the longest Retry-After that a retry waits for
DEFAULT_PARAMS = {"temperature": 0, "seed": 1, "max_tokens": MAX_TOKENS}  # as judges send
WORD = "Answer with the single word yes."
SENTENCE = "Write one short sentence about something that you might see on a walk."
SCHEMA = {
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": ["red", "green"]}},
    "required": ["colour"],
    "additionalProperties": False,
}
COLOUR = "Name a colour, red or green."
LONGEST = 12  # characters, shorter than a sentence
SHORT_SCHEMA = {
    **SCHEMA,
    "properties": {"sentence": {"type": "string", "maxLength": LONGEST}},
    "required": ["sentence"],
}


@dataclass(frozen=True)
class Finding:
    """The result of one probe. `works` is `None` if unknown."""

    works: bool | None
    note: Reason = NO_REASON


@dataclass
class Probe:
    """A running test: the parameters of each call, those that the endpoint rejects, and the latencies.

    length : name of the limit on an answer's tokens; empty if it takes none
    """

    client: OpenAIClient
    model: str
    default_params: Mapping[str, Any] = field(default_factory=lambda: dict(DEFAULT_PARAMS))
    rejects: list[str] = field(default_factory=list)
    length: str = "max_tokens"
    latencies: list[float] = field(default_factory=list)

    async def ask(self, text: str, **params: Any) -> ChatAnswer:
        """Make a call. A transient failure is retried once.

        Raises: CallFailed
        """
        body = {"model": self.model, "messages": [{"role": "user", "content": text}], **self.default_params, **params}
        try:
            answer = await self.client.complete(body)
        except TransientFailure as failure:
            wait = failure.retry_after if failure.retry_after is not None else 0.0
            if wait > MAX_RETRY_AFTER:
                raise
            await asyncio.sleep(wait)
            answer = await self.client.complete(body)
        if answer.latency_ms is not None:
            self.latencies.append(answer.latency_ms)
        return answer


def probe_endpoint(endpoint: Endpoint) -> Endpoint:
    """Test an endpoint with a few calls, and store `supports` and `tested_at`. Errors are stored, not raised."""
    try:
        check_host(endpoint.base_url)
        check_key_env(endpoint.key_env)
        features = async_to_sync(run_probes)(endpoint)
    except JudgingError as error:
        features = no_features(error.reason)
    with transaction.atomic():
        stored = Endpoint.objects.select_for_update().get(pk=endpoint.pk)
        stored.supports = features
        stored.tested_at = timezone.now()
        stored.save(update_fields=["supports", "tested_at"])
    return stored


def no_features(why: Reason) -> dict[str, Any]:
    """Return what is stored if the endpoint gives no answer."""
    return dict.fromkeys(FEATURES) | {
        "chat": False,
        "why": dict.fromkeys(FEATURES, reason("not_tried").stored()) | {"chat": why.stored()},
        "latency_ms": None,
        "max_latency_ms": None,
        "rejects": [],
        "length": "max_tokens",
    }


async def run_probes(endpoint: Endpoint) -> dict[str, Any]:
    """Make the calls.

    Raises: JudgingError if the endpoint can't be called at all.
    """
    client = OpenAIClient(endpoint)
    try:
        probe = Probe(client, endpoint.model)
        chat = await chats(probe)
        if not chat.works:
            return no_features(chat.note)
        findings = {"chat": chat} | {name: await finding(PROBES[name](probe)) for name in FEATURES if name in PROBES}
    finally:
        await client.close()
    latencies = sorted(probe.latencies)
    return {name: findings[name].works for name in FEATURES} | {
        "why": {name: row.note.stored() for name, row in findings.items() if row.note},
        "rejects": probe.rejects,
        "length": probe.length,
        "latency_ms": round(latencies[len(latencies) // 2], 1),
        "max_latency_ms": round(latencies[-1], 1),
    }


async def finding(probing: Awaitable[Finding]) -> Finding:
    """Await a probe. A rejected request means that the feature is not supported."""
    try:
        return await probing
    except RejectedCall as error:
        return Finding(False, reason("rejected", why=error.reason))
    except (CallFailed, EndpointRefused) as error:
        return Finding(None, reason("unknown", why=error.reason))


async def chats(probe: Probe) -> Finding:
    """Ask a question as judges do. If its parameters are rejected, find out which."""
    try:
        await probe.ask(WORD)
    except RejectedCall as rejected:
        try:
            await find_rejected(probe)
        except CallFailed as error:
            return Finding(False, explain(error))
        why = rejected.reason
        if not probe.rejects:
            return Finding(True, reason("parameters_rejected_together", why=why))
        if "max_tokens" in probe.rejects and probe.length:
            values = {"parameters": probe.rejects, "length": probe.length}
            return Finding(True, reason("parameters_rejected_but", **values, why=why))
        return Finding(True, reason("parameters_rejected", parameters=probe.rejects, why=why))
    except (CallFailed, EndpointRefused) as error:
        return Finding(False, explain(error))
    return Finding(True)


async def find_rejected(probe: Probe) -> None:
    """Ask without parameters, and then with each one alone. Set what the further calls send.

    Raises: CallFailed if it is rejected without any, too, or gives no answer
    """
    probe.default_params = {}
    await probe.ask(WORD)
    accepted = {name: value for name, value in DEFAULT_PARAMS.items() if await takes(probe, name, value)}
    probe.rejects = [name for name in DEFAULT_PARAMS if name not in accepted]
    if "max_tokens" in probe.rejects:
        probe.length = "max_completion_tokens" if await takes(probe, "max_completion_tokens", MAX_TOKENS) else ""
        accepted |= {probe.length: MAX_TOKENS} if probe.length else {}
    probe.default_params = accepted


async def takes(probe: Probe, name: str, value: int) -> bool:
    """Tell whether a call with one parameter is taken."""
    try:
        await probe.ask(WORD, **{name: value})
    except RejectedCall:
        return False
    return True


def explain(error: JudgingError) -> Reason:
    """Explain a failure to the site admin."""
    codes = {AccessDenied: "check_key", EndpointRefused: "check_address", RejectedCall: "check_model"}
    code = next((code for kind, code in codes.items() if isinstance(error, kind)), "check_service")
    return reason(code, why=error.reason)


async def gives_logprobs(probe: Probe) -> Finding:
    """Ask for the log-probabilities of the answer's tokens."""
    answer = await probe.ask(WORD, logprobs=True, top_logprobs=5)
    logprobs = choice_of(answer).get("logprobs")
    tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(tokens, list) or not tokens:
        return Finding(False, reason("logprobs_missing"))
    top = tokens[0].get("top_logprobs") if isinstance(tokens[0], dict) else None
    if not isinstance(top, list) or not top:
        return Finding(False, reason("logprobs_of_answer"))
    return Finding(True, reason("logprobs_few", number=len(top)) if len(top) < 5 else NO_REASON)


async def keeps_to_schema(probe: Probe) -> Finding:
    """Ask for an answer by a JSON schema."""
    response_format = {"type": "json_schema", "json_schema": {"name": "colour", "strict": True, "schema": SCHEMA}}
    answer = await probe.ask(COLOUR, response_format=response_format)
    return matches_schema(answer.text)


def matches_schema(text: object) -> Finding:
    """Tell whether a text is JSON that conforms to `SCHEMA`."""
    try:
        value = json.loads(str(text))
    except ValueError:
        return Finding(False, reason("answer_not_json", text=str(text)[:80]))
    if not isinstance(value, dict) or value.get("colour") not in ("red", "green") or len(value) != 1:
        return Finding(False, reason("schema_broken", text=str(text)[:80]))
    return Finding(True)


async def keeps_to_lengths(probe: Probe) -> Finding:
    """Ask for a sentence by a JSON schema in which it has no room."""
    response_format = {
        "type": "json_schema",
        "json_schema": {"name": "sentence", "strict": True, "schema": SHORT_SCHEMA},
    }
    text = (await probe.ask(SENTENCE, response_format=response_format)).text
    try:
        value = json.loads(str(text))
    except ValueError:
        return Finding(False, reason("answer_not_json", text=str(text)[:80]))
    sentence = value.get("sentence") if isinstance(value, dict) else None
    if not isinstance(sentence, str) or len(sentence) > LONGEST:
        return Finding(False, reason("length_broken", most=LONGEST, text=text[:80]))
    return Finding(True)


async def calls_functions(probe: Probe) -> Finding:
    """Ask for a function call."""
    function = {"name": "name_colour", "description": "Keep a colour.", "parameters": SCHEMA}
    choice = {"type": "function", "function": {"name": "name_colour"}}
    answer = await probe.ask(COLOUR, tools=[{"type": "function", "function": function}], tool_choice=choice)
    calls = choice_of(answer).get("message", {}).get("tool_calls")
    if not isinstance(calls, list) or not calls:
        return Finding(False, reason("no_function_called"))
    arguments = calls[0].get("function", {}).get("arguments") if isinstance(calls[0], dict) else None
    return matches_schema(arguments)


async def honours_seed(probe: Probe) -> Finding:
    """Ask the same with equal and with different seeds, at a temperature above 0."""
    if {"seed", "temperature"} & set(probe.rejects):
        return Finding(False, reason("seed_not_taken"))
    texts = [(await probe.ask(SENTENCE, temperature=1, seed=seed)).text for seed in (11, 11, 12, 13)]
    if texts[0] != texts[1]:
        return Finding(False, reason("seed_without_effect"))
    if len(set(texts)) == 1:
        return Finding(None, reason("seed_unclear"))
    return Finding(True)


async def gives_several(probe: Probe) -> Finding:
    """Ask for two answers at once."""
    answer = await probe.ask(WORD, n=2)
    count = len(answer.response["choices"])
    return Finding(count == 2, NO_REASON if count == 2 else reason("answers_few", number=count))


async def takes_batches(probe: Probe) -> Finding:
    """List the batches: creating one would cost."""
    try:
        await probe.client.batches()
    except AccessDenied as error:
        return Finding(False, reason("refused", why=error.reason))
    return Finding(True)


def choice_of(answer: ChatAnswer) -> dict[str, Any]:
    """Return the first choice of an answer."""
    choice: dict[str, Any] = answer.response["choices"][0]
    return choice


PROBES: Mapping[str, Callable[[Probe], Awaitable[Finding]]] = {
    "logprobs": gives_logprobs,
    "json_schema": keeps_to_schema,
    "schema_lengths": keeps_to_lengths,
    "tools": calls_functions,
    "seed": honours_seed,
    "n": gives_several,
    "batch": takes_batches,
}
