"""Requests to an endpoint, and their cache keys."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotation.core.reasons import reason
from judging.core.errors import RunStopped
from judging.methods import AskingMethod, Call, Method, Setting, find_method
from judging.methods.sc2.record import MAKING
from judging.models import Endpoint, Judge

DRAWS_PER_REPEAT = 1000  # of the same call, at most
SAMPLES_PER_ATTEMPT = 1_000_000  # offset of a further attempt in sample numbers


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
        base_url = self.base_url_for(call.kind)
        canonical = canonical_form(base_url, body, sample)
        return Request(hash_of(canonical), body, sample, call.kind, len(canonical), base_url)

    def base_url_for(self, kind: str) -> str:
        """Return where calls of a kind are sent."""
        return self.tables.base_url if self.tables and kind in MAKING else self.base_url

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
