"""Chat completions: the answer to a request body, or the error that it gets."""

import json
from collections.abc import Mapping
from typing import Any

from tests.standin import answers
from tests.standin.behaviour import Behaviour

Body = Mapping[str, Any]
NEEDS_BODY = ("model", "messages")
THOUGHTS = "Preferred: B, at first sight. Then again, the other one has its points."


class Refused(Exception):
    """The request can't be answered; becomes an error in OpenAI's form."""

    def __init__(self, status: int, message: str, code: str = "invalid_request") -> None:
        super().__init__(message)
        self.status = status
        self.content = {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}


def features_of(body: Body) -> list[str]:
    """Name what a body asks for beyond an answer."""
    asked = {
        "logprobs": bool(body.get("logprobs")),
        "tools": bool(body.get("tools")),
        "json_schema": bool(body.get("response_format")),
        "schema_lengths": "maxLength" in json.dumps(body.get("response_format")),
        "seed": body.get("seed") is not None,
        "n": (body.get("n") or 1) > 1,
        **{name: body.get(name) is not None for name in ("temperature", "max_tokens", "max_completion_tokens")},
    }
    return [name for name, is_asked in asked.items() if is_asked]


def check(body: Body, behaviour: Behaviour) -> None:
    """Refuse what no endpoint takes, and what this one is told not to.

    Raises: Refused
    """
    if "chat" in behaviour.missing:
        raise Refused(404, "no such page", "not_found")
    if missing := [name for name in NEEDS_BODY if not body.get(name)]:
        raise Refused(400, f"missing required parameter: {', '.join(missing)}")
    if body.get("stream"):
        raise Refused(400, "streaming is not offered here")
    if (body.get("top_logprobs") or 0) > 20 or (body.get("top_logprobs") and not body.get("logprobs")):
        raise Refused(400, "top_logprobs must lie between 0 and 20 and needs logprobs")
    for name in features_of(body):
        if name in behaviour.rejects:
            raise Refused(400, f"unsupported parameter: {name}", "unsupported_parameter")


def completion(body: Body, behaviour: Behaviour, trouble: str = "") -> dict[str, Any]:
    """Answer a request body in the form of a chat completion, with the trouble that was drawn for it."""
    count = 1 if "n" in behaviour.ignores else body.get("n") or 1
    if trouble == "error_body":
        return {"error": {"message": f"it went wrong: {behaviour.error_code}", "code": behaviour.error_code}}
    choices = [choice(body, behaviour, trouble, index) for index in range(count)]
    prompt = sum(len(str(message.get("content") or "")) for message in body["messages"])
    prompt_tokens = min(max(1, prompt // 4), behaviour.window or prompt)
    served = behaviour.served or [[body["model"], "fp_stand_in", ""]]
    model, fingerprint, provider = served[answers.drawn(body, "served") % len(served)]
    completion_tokens = sum(-(-len(str(one["message"].get("content") or "")) // 4) for one in choices)
    return {
        "id": "chatcmpl-stand-in",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "system_fingerprint": fingerprint,
        **({"provider": provider} if provider else {}),
        "seed": body.get("seed"),
        "choices": [] if trouble == "no_choices" else choices,
        "usage": usage(prompt_tokens, completion_tokens, behaviour),
    }


def usage(prompt_tokens: int, completion_tokens: int, behaviour: Behaviour) -> dict[str, Any]:
    """Count the tokens as the provider does that is acted."""
    if behaviour.no_counts:
        return dict.fromkeys(("prompt_tokens", "completion_tokens", "total_tokens"), 0)
    shown = {"within": completion_tokens + behaviour.reasoning, "none": 0}.get(
        behaviour.reasoning_in, completion_tokens
    )
    details = {"completion_tokens_details": {"reasoning_tokens": behaviour.reasoning}}
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": shown,
        "total_tokens": prompt_tokens + completion_tokens + behaviour.reasoning,
        **(details if behaviour.reasoning and behaviour.reasoning_in in ("within", "beside") else {}),
        **({"cost": behaviour.billed} if behaviour.billed else {}),
    }


def choice(body: Body, behaviour: Behaviour, trouble: str, index: int) -> dict[str, Any]:
    """Make one of the answers; those after the first differ by what they are drawn from."""
    seed = None if "seed" in behaviour.ignores else body.get("seed")
    drawn_from = seed if index == 0 else [seed, index]
    message: dict[str, Any] = {"role": "assistant", "content": None, "refusal": None}
    made = {"index": index, "finish_reason": "stop", "message": message, "logprobs": None}
    call = answers.tool_call(body, behaviour, seed=drawn_from)
    if call is not None and trouble in ("", "parts"):
        message["tool_calls"] = [call]
        return made | {"finish_reason": "tool_calls"}
    text = answers.answer_text(body, behaviour, seed=drawn_from)
    if trouble == "thoughts":
        message["reasoning_content"] = THOUGHTS
        return made | {"finish_reason": "length"}
    if trouble == "declined":
        message["refusal"] = answers.REFUSAL
        return made
    if trouble == "refuse":
        message["content"] = answers.REFUSAL
        return made
    message["content"] = answers.UNREADABLE if trouble == "unreadable" else text
    limit = body.get("max_tokens") or body.get("max_completion_tokens")
    if limit and len(tokens := answers.tokens_of(message["content"])) > limit:
        message["content"] = "".join(tokens[:limit])
        made["finish_reason"] = "length"
    if body.get("logprobs") and "logprobs" not in behaviour.ignores:
        made["logprobs"] = answers.log_probabilities(message["content"], body.get("top_logprobs") or 0)
    if trouble == "parts":
        thinking = {"type": "thinking", "thinking": [{"type": "text", "text": THOUGHTS}]}
        message["content"] = [thinking, {"type": "text", "text": message["content"]}]
    return made
