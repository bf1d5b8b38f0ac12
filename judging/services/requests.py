"""What is sent to an endpoint, and the name under which its answer is kept."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from judging.judges import Presentation, PromptedMethod
from judging.models import Judge


def request_body(judge: Judge, method: PromptedMethod, shown: Presentation, *, sample: int) -> dict[str, Any]:
    """Return the whole body of a chat completion request; a parameter set to null is left out of it.

    Another sample of the same question differs by its seed, where the endpoint heeds one.
    """
    if judge.endpoint is None:
        raise TypeError(f"judge {judge.name} has no endpoint")
    params = {**method.default_params, "seed": sample_seed(judge.seed, sample), **judge.params}
    kept = {name: value for name, value in params.items() if value is not None}
    return {"model": judge.endpoint.model, "messages": method.messages(shown), **kept}


def sample_seed(seed: int, sample: int) -> int:
    """Derive a seed that every endpoint takes (31 bits)."""
    digest = hashlib.sha256(f"sample\x00{seed}\x00{sample}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def cache_key(base_url: str, body: Mapping[str, Any], sample: int) -> str:
    """Hash everything that decides an answer: where it was asked, what exactly, and which sample of it."""
    canonical = json.dumps(
        [base_url.rstrip("/"), body, sample], ensure_ascii=True, sort_keys=True, separators=(",", ":")
    )
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()
