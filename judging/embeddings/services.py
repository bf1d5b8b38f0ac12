"""Embeddings of texts by an endpoint's `/embeddings`, cached in the database."""

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from asgiref.sync import async_to_sync, sync_to_async

from judging.core.errors import BadVectors
from judging.endpoints.chat_answers import ChatAnswer, error_in
from judging.endpoints.client import OpenAIClient
from judging.endpoints.credentials import check_key_env
from judging.endpoints.rate_limiter import RateLimiter
from judging.endpoints.reported_usage import token_count
from judging.endpoints.retrying import RetryingClient
from judging.endpoints.services import check_host
from judging.models import Embedding, Endpoint

TEXTS_PER_CALL = 64  # texts
IN_FLIGHT = 4  # calls
KEYS_PER_QUERY = 500  # keys
CHARACTERS_PER_TOKEN = 3
STORED = np.dtype("<f4")
Vectors = npt.NDArray[np.float32]
T = TypeVar("T")


class EmbeddingClient:
    """An endpoint's client whose `complete` asks for embeddings, for `RetryingClient`."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.close = client.close

    async def complete(self, body: Mapping[str, Any]) -> ChatAnswer:
        """Return the response, unparsed.

        Raises: CallFailed
        """
        response = await self.client.embeddings(body)
        if isinstance(response, dict) and (failure := error_in(response)):
            raise failure
        usage = response.get("usage") if isinstance(response, dict) else None
        tokens = token_count(usage.get("prompt_tokens")) if isinstance(usage, dict) else None
        return ChatAnswer("", "", response, tokens, None, None)


MakeClient = Callable[[Endpoint], RetryingClient]


def make_client(endpoint: Endpoint) -> RetryingClient:
    """Make the client of an endpoint.

    Raises: BadSettings if its key is not set.
    """
    return with_retries(OpenAIClient(endpoint))


def with_retries(client: Any, **more: Any) -> RetryingClient:
    """Return a client with retries; `more` goes to `RetryingClient`."""
    return RetryingClient(EmbeddingClient(client), **more)


class Embedder:
    """An endpoint's embedding model.

    calls, tokens : answered calls, and the tokens that the endpoint counted
    """

    def __init__(self, endpoint: Endpoint, model: str, *, make_client: MakeClient = make_client) -> None:
        self.endpoint = endpoint
        self.model = model
        self.make_client = make_client
        self.dimensions: int | None = None
        self.calls = 0
        self.tokens = 0

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts, from the cache or the endpoint; new ones are stored, also before an error.

        returns : (len(texts), dimensions), as the endpoint gave them
        Raises: CallFailed; EndpointRefused; BadSettings; BadVectors
        """
        keys = {text: self.key(text) for text in texts}
        known = self._stored(keys.values())
        missing = [text for text, key in keys.items() if key not in known]
        if missing:
            check_host(self.endpoint.base_url)
            check_key_env(self.endpoint.key_env)
            known.update(async_to_sync(self._fetch)(missing, keys))
        found = [known[keys[text]] for text in texts]
        return np.stack(found) if found else np.zeros((0, self.dimensions or 0), np.float32)

    def key(self, text: str) -> str:
        """Return a text's cache key, by base URL, model and text."""
        told = json.dumps([self.endpoint.base_url.rstrip("/"), self.model, text], ensure_ascii=True)
        return sha256(told.encode("ascii")).hexdigest()

    def _stored(self, keys: Iterable[str]) -> dict[str, Vectors]:
        found: dict[str, Vectors] = {}
        for some in _slices(list(keys), KEYS_PER_QUERY):
            rows = Embedding.objects.filter(cache_key__in=some).order_by().values_list("cache_key", "vector")
            found |= {key: np.frombuffer(bytes(vector), STORED).astype(np.float32) for key, vector in rows}
        for vector in found.values():
            self._check_length(len(vector), "stored")
        return found

    async def _fetch(self, texts: Sequence[str], keys: Mapping[str, str]) -> dict[str, Vectors]:
        """Request vectors, a few calls at a time, and store them after each round."""
        client = self.make_client(self.endpoint)
        limiter = RateLimiter(IN_FLIGHT)
        limiter.set_limits(self.endpoint.requests_per_minute, self.endpoint.tokens_per_minute)
        found: dict[str, Vectors] = {}
        try:
            for several in _slices(_slices(texts, TEXTS_PER_CALL), IN_FLIGHT):
                asked = await asyncio.gather(
                    *(self._ask(client, limiter, some) for some in several), return_exceptions=True
                )
                answered = [one for one in asked if not isinstance(one, BaseException)]
                fresh = {keys[text]: vector for text, vector in chain.from_iterable(one.items() for one in answered)}
                await sync_to_async(self._store)(fresh)
                found |= fresh
                for failure in asked:
                    if isinstance(failure, BaseException):
                        raise failure
        finally:
            await client.close()
        return found

    async def _ask(self, client: RetryingClient, limiter: RateLimiter, texts: Sequence[str]) -> dict[str, Vectors]:
        body = {"model": self.model, "input": list(texts)}
        answer = await client.complete(body, limiter=limiter, tokens=sum(map(len, texts)) / CHARACTERS_PER_TOKEN)
        limiter.release()
        self.calls += 1
        self.tokens += answer.prompt_tokens or 0
        return dict(zip(texts, self._read(answer.response, len(texts)), strict=True))

    def _read(self, response: Any, wanted: int) -> list[Vectors]:
        """Parse the vectors of a response, in the order of the texts.

        Raises: BadVectors
        """
        data = response.get("data") if isinstance(response, dict) else None
        if not isinstance(data, list) or not all(isinstance(one, dict) for one in data):
            raise BadVectors(f"{self._label()} gave no list of vectors")
        placed = (
            sorted(data, key=lambda one: one["index"]) if all(_is_number(one.get("index")) for one in data) else data
        )
        if len(placed) != wanted:
            raise BadVectors(f"{self._label()} gave {len(placed)} vectors for {wanted} texts")
        return [self._vector(one.get("embedding")) for one in placed]

    def _vector(self, numbers: Any) -> Vectors:
        if not isinstance(numbers, list) or not numbers or not all(map(_is_number, numbers)):
            raise BadVectors(f"{self._label()} gave a vector that holds something else than numbers, such as NaN")
        try:
            with np.errstate(over="ignore"):
                vector = np.asarray(numbers, np.float64).astype(np.float32)
        except OverflowError:  # a whole number beyond any float
            vector = np.full(len(numbers), np.inf, np.float32)
        if not np.isfinite(vector).all():
            raise BadVectors(f"{self._label()} gave a vector with numbers that are too large to be stored")
        self._check_length(len(vector), "given")
        return vector

    def _check_length(self, length: int, how: str) -> None:
        if self.dimensions is None:
            self.dimensions = length
        if length != self.dimensions:
            raise BadVectors(
                f"{self._label()}: a vector that was {how} has {length} numbers, and others have {self.dimensions}: they "
                "can't be compared. Is another model served under this name now? Then give it a name of its own"
            )

    def _label(self) -> str:
        return f"{self.model} at endpoint {self.endpoint.name}"

    def _store(self, vectors: Mapping[str, Vectors]) -> None:
        rows = [
            Embedding(cache_key=key, model=self.model, vector=vector.astype(STORED).tobytes())
            for key, vector in vectors.items()
        ]
        Embedding.objects.bulk_create(rows, ignore_conflicts=True, batch_size=KEYS_PER_QUERY)


def _slices(values: Sequence[T], size: int) -> list[Sequence[T]]:
    return [values[start : start + size] for start in range(0, len(values), size)]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
