"""What is sent to an endpoint, and the name under which its answer is kept."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from judging.errors import RunStopped
from judging.judges import AskingMethod, Call, Method, Setting, find_method
from judging.models import Judge

DRAWS = 1000  # of the same question, at most, in one repeat
ATTEMPT = 1_000_000  # what a further try adds to the number of a sample


@dataclass(frozen=True, slots=True)
class Request:
    """One sample of one question, ready to be sent.

    key    : its name in the cache
    length : characters of the body, for guesses at its tokens
    """

    key: str
    body: Mapping[str, Any]
    sample: int
    kind: str
    length: int


class Requests:
    """Makes the requests of one judge."""

    def __init__(self, judge: Judge, method: AskingMethod) -> None:
        if judge.endpoint is None:
            raise RunStopped(f"judge {judge} has no endpoint")
        self.base_url = judge.endpoint.base_url
        self.model = judge.endpoint.model
        self.seed = judge.seed
        self.defaults = dict(method.default_params)
        self.params = {name: value for name, value in judge.params.items() if name not in method.options}

    def request(self, call: Call, *, repeat: int, attempt: int) -> Request:
        """Return the request for a call; a further attempt differs by its seed, where the endpoint heeds one."""
        sample = sample_of(call, repeat=repeat, attempt=attempt)
        seed = sample_seed("" if call.reusable else self.seed, sample)
        body = self.body(call, seed)
        canonical = canonical_form(self.base_url, body, sample)
        return Request(hash_of(canonical), body, sample, call.kind, len(canonical))

    def body(self, call: Call, seed: int) -> dict[str, Any]:
        """Return the whole body of a chat completion request; a parameter set to null is left out of it."""
        params = {**self.defaults, **call.params, "seed": seed, **self.params}
        kept = {name: value for name, value in params.items() if value is not None}
        return {"model": self.model, "messages": list(call.messages), **kept}


def setting_of(judge: Judge) -> Setting:
    """Return what was set up on a judge, as its method takes it."""
    method: Method = find_method(judge.method)
    own = judge.prompt_file
    return Setting(
        seed=judge.seed,
        options={name: value for name, value in judge.params.items() if name in method.options},
        wording=own.text if own else "",
        wording_version=str(own) if own else "",
        wording_parser=own.parser if own else "",
        schema=bool(judge.endpoint and judge.endpoint.supports.get("json_schema")),
    )


def sample_of(call: Call, *, repeat: int, attempt: int) -> int:
    """Number a sample: a repeat is asked all anew, also what its pairs share, and a further attempt is another one."""
    return repeat * DRAWS + call.draw + attempt * ATTEMPT


def sample_seed(seed: object, sample: int) -> int:
    """Derive a seed that every endpoint takes (31 bits)."""
    digest = hashlib.sha256(f"sample\x00{seed}\x00{sample}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def cache_key(base_url: str, body: Mapping[str, Any], sample: int) -> str:
    """Hash everything that decides an answer: where it was asked, what exactly, and which sample of it."""
    return hash_of(canonical_form(base_url, body, sample))


def canonical_form(base_url: str, body: Mapping[str, Any], sample: int) -> str:
    """Write down what decides an answer, always in the same way."""
    return json.dumps([base_url.rstrip("/"), body, sample], ensure_ascii=True, sort_keys=True, separators=(",", ":"))


def hash_of(canonical: str) -> str:
    """Hash a canonical form."""
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()
