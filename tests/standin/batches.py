"""Files and batches in the form of OpenAI's Batch API: upload, create, look until it is done, fetch what came of it."""

import json
from random import Random
from typing import Any

from tests.standin import chat
from tests.standin.behaviour import NO_ANSWER
from tests.standin.state import State

OVER = frozenset({"completed", "failed", "expired", "cancelled"})
CHAT = "/v1/chat/completions"


def add_file(state: State, content: bytes, *, purpose: str, name: str) -> dict[str, Any]:
    """Keep a file.

    Raises: chat.Refused without a purpose.
    """
    if purpose not in ("batch", "batch_output"):
        raise chat.Refused(400, f"the purpose {purpose!r} is not offered here")
    file_id = f"file-{len(state.files) + 1}"
    state.files[file_id] = {"content": content, "about": {}}
    about = {
        "id": file_id,
        "object": "file",
        "bytes": len(content),
        "created_at": len(state.files),
        "filename": name,
        "purpose": purpose,
        "status": "processed",
    }
    state.files[file_id]["about"] = about
    return about


def find_file(state: State, file_id: str) -> dict[str, Any]:
    """Return a file.

    Raises: chat.Refused
    """
    if file_id not in state.files:
        raise chat.Refused(404, f"no such file: {file_id}", "not_found")
    return state.files[file_id]


def add_batch(state: State, asked: dict[str, Any]) -> dict[str, Any]:
    """Take a batch on.

    Raises: chat.Refused
    """
    find_file(state, str(asked.get("input_file_id")))
    if asked.get("endpoint") != CHAT or asked.get("completion_window") != "24h":
        raise chat.Refused(400, f"a batch is for {CHAT} within 24h")
    batch_id = f"batch_{len(state.batches) + 1}"
    state.batches[batch_id] = {
        "id": batch_id,
        "object": "batch",
        "endpoint": CHAT,
        "errors": None,
        "input_file_id": asked["input_file_id"],
        "completion_window": "24h",
        "status": "validating",
        "output_file_id": None,
        "error_file_id": None,
        "created_at": len(state.batches) + 1,
        "metadata": asked.get("metadata"),
        "request_counts": {"total": 0, "completed": 0, "failed": 0},
        "looks": 0,
    }
    return shown(state.batches[batch_id])


def find_batch(state: State, batch_id: str) -> dict[str, Any]:
    """Return a batch.

    Raises: chat.Refused
    """
    if batch_id not in state.batches:
        raise chat.Refused(404, f"no such batch: {batch_id}", "not_found")
    return state.batches[batch_id]


def shown(batch: dict[str, Any]) -> dict[str, Any]:
    """Return a batch as it is shown."""
    return {name: value for name, value in batch.items() if name != "looks"}


def look(state: State, batch_id: str) -> dict[str, Any]:
    """Look at a batch: each look brings it further, so that nothing waits for a clock."""
    batch = find_batch(state, batch_id)
    if batch["status"] not in OVER:
        batch["looks"] += 1
        if batch["status"] == "validating" and is_over_queue_limit(state, batch):
            batch["status"] = "failed"
            error = {"code": "token_limit_exceeded", "message": "Enqueued token limit reached. Try again later."}
            batch["errors"] = {"object": "list", "data": [error]}
            return shown(batch)
        batch["status"] = "in_progress"
        if batch["looks"] > state.behaviour.batch_polls:
            finish(state, batch)
    return shown(batch)


def is_over_queue_limit(state: State, batch: dict[str, Any]) -> bool:
    """Tell whether too many requests are queued for a further batch."""
    queued = [other for other in state.batches.values() if other["status"] == "in_progress"]
    requests = sum(find_file(state, one["input_file_id"])["content"].count(b"\n") for one in [*queued, batch])
    return 0 <= state.behaviour.batch_queue < requests


def cancel(state: State, batch_id: str) -> dict[str, Any]:
    """Cancel a batch that isn't over."""
    batch = find_batch(state, batch_id)
    if batch["status"] not in OVER:
        batch["status"] = "cancelled"
    return shown(batch)


def finish(state: State, batch: dict[str, Any]) -> None:
    """Answer every line of a batch, in an order of its own, as providers do."""
    if state.behaviour.batch_broken:
        batch["status"] = "failed"
        batch["errors"] = {"object": "list", "data": [{"code": "invalid_file", "message": "the file can't be read"}]}
        return
    lines = [json.loads(line) for line in find_file(state, batch["input_file_id"])["content"].splitlines() if line]
    Random(state.behaviour.seed).shuffle(lines)
    good: list[dict[str, Any]] = []
    bad: list[dict[str, Any]] = []
    for line in lines:
        result = answer_line(state, line)
        (good if result["error"] is None and result["response"]["status_code"] == 200 else bad).append(result)
    for name, results in (("output_file_id", good), ("error_file_id", bad)):
        if results:
            content = "".join(json.dumps(one) + "\n" for one in results).encode()
            batch[name] = add_file(state, content, purpose="batch_output", name=f"{name}.jsonl")["id"]
    expired = any(one["error"] is not None for one in bad)
    batch["status"] = "expired" if expired else "completed"
    batch["request_counts"] = {"total": len(lines), "completed": len(good), "failed": len(bad)}


def answer_line(state: State, line: dict[str, Any]) -> dict[str, Any]:
    """Answer one line of a batch; it may go wrong as a call may."""
    result: dict[str, Any] = {"id": f"batch_req_{line['custom_id']}", "custom_id": line["custom_id"], "error": None}
    if state.rng.random() < state.behaviour.batch_expired:
        return result | {"response": None, "error": {"code": "batch_expired", "message": "not done in time"}}
    trouble = state.behaviour.trouble(state.rng)
    body: dict[str, Any]
    if trouble in NO_ANSWER:
        status, body = 500, {"error": {"message": "the server had an error", "code": "server_error"}}
    else:
        try:
            chat.check(line["body"], state.behaviour)
            status, body = 200, chat.completion(line["body"], state.behaviour, trouble)
            state.answer(json.dumps(line["body"], sort_keys=True).encode())
            state.outcomes["in a batch"] += 1
        except chat.Refused as refused:
            status, body = refused.status, refused.content
    return result | {"response": {"status_code": status, "request_id": "req_1", "body": body}}
