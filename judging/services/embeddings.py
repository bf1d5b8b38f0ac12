"""Texts to vectors, by an endpoint's `/embeddings`: asked for in groups, each text once, kept for good."""

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import chain
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from asgiref.sync import async_to_sync, sync_to_async

from judging.clients import Answer, OpenAIClient, count
from judging.credentials import check_key_env
from judging.errors import BadVectors
from judging.models import Embedding, Endpoint
from judging.services.endpoints import check_host
from judging.services.gate import Gate
from judging.services.retrying import RetryingClient

A_CALL = 64  # texts
IN_FLIGHT = 4  # calls
A_QUERY = 500  # keys
CHARACTERS_A_TOKEN = 3
STORED = np.dtype("<f4")
Vectors = npt.NDArray[np.float32]
T = TypeVar("T")


class EmbeddingClient(Protocol):
    """Puts one request for vectors to a model."""

    async def embeddings(self, body: Mapping[str, Any]) -> Any:
        """Send a request body as it is; raise a `CallFailed` of the fitting kind."""

    async def close(self) -> None:
        """Give the connections back."""


class _Asking:
    """An embedding client in the form of those that `RetryingClient` takes."""

    def __init__(self, client: EmbeddingClient) -> None:
        self.client = client

    async def complete(self, body: Mapping[str, Any]) -> Answer:
        """Return what came back, unread."""
        response = await self.client.embeddings(body)
        usage = response.get("usage") if isinstance(response, dict) else None
        tokens = count(usage.get("prompt_tokens")) if isinstance(usage, dict) else None
        return Answer("", "", response, tokens, None, None)

    async def close(self) -> None:
        """Close the client."""
        await self.client.close()


MakeClient = Callable[[Endpoint], RetryingClient]


def make_client(endpoint: Endpoint) -> RetryingClient:
    """Make the client of a real endpoint.

    Raises: BadSettings for a key that is not there.
    """
    return asking(OpenAIClient(endpoint))


def asking(client: EmbeddingClient, **more: Any) -> RetryingClient:
    """Have a client try again; `more` goes to `RetryingClient`."""
    return RetryingClient(_Asking(client), **more)


class Embedder:
    """One endpoint's model for texts, and what it took.

    calls, tokens : calls that were answered, and the tokens that the endpoint counted in them
    """

    def __init__(self, endpoint: Endpoint, model: str, *, make_client: MakeClient = make_client) -> None:
        self.endpoint = endpoint
        self.model = model
        self.make_client = make_client
        self.dimensions: int | None = None
        self.calls = 0
        self.tokens = 0

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts: those that are stored, and all others from the endpoint, which are then stored.

        returns : (len(texts), dimensions), as the endpoint gave them
        Raises: CallFailed; EndpointRefused; BadSettings; BadVectors. What was answered before is stored and not asked for again.
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
        """Name a text's vector in the cache: by where it was asked for, of which model, and the text."""
        told = json.dumps([self.endpoint.base_url.rstrip("/"), self.model, text], ensure_ascii=True)
        return sha256(told.encode("ascii")).hexdigest()

    def _stored(self, keys: Iterable[str]) -> dict[str, Vectors]:
        found: dict[str, Vectors] = {}
        for some in _slices(list(keys), A_QUERY):
            rows = Embedding.objects.filter(cache_key__in=some).order_by().values_list("cache_key", "vector")
            found |= {key: np.frombuffer(bytes(vector), STORED).astype(np.float32) for key, vector in rows}
        for vector in found.values():
            self._check_length(len(vector), "stored")
        return found

    async def _fetch(self, texts: Sequence[str], keys: Mapping[str, str]) -> dict[str, Vectors]:
        """Ask for vectors, a few calls at a time, and store those of each few before the next are sent."""
        client = self.make_client(self.endpoint)
        gate = Gate(IN_FLIGHT)
        gate.set_limits(self.endpoint.requests_per_minute, self.endpoint.tokens_per_minute)
        found: dict[str, Vectors] = {}
        try:
            for several in _slices(_slices(texts, A_CALL), IN_FLIGHT):
                asked = await asyncio.gather(
                    *(self._ask(client, gate, some) for some in several), return_exceptions=True
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

    async def _ask(self, client: RetryingClient, gate: Gate, texts: Sequence[str]) -> dict[str, Vectors]:
        body = {"model": self.model, "input": list(texts)}
        answer = await client.complete(body, gate=gate, tokens=sum(map(len, texts)) / CHARACTERS_A_TOKEN)
        gate.leave()
        self.calls += 1
        self.tokens += answer.prompt_tokens or 0
        return dict(zip(texts, self._read(answer.response, len(texts)), strict=True))

    def _read(self, response: Any, wanted: int) -> list[Vectors]:
        """Read the vectors of an answer, in the order of what was asked.

        Raises: BadVectors
        """
        data = response.get("data") if isinstance(response, dict) else None
        if not isinstance(data, list) or not all(isinstance(one, dict) for one in data):
            raise BadVectors(f"{self._named()} gave no list of vectors")
        placed = (
            sorted(data, key=lambda one: one["index"]) if all(_is_number(one.get("index")) for one in data) else data
        )
        if len(placed) != wanted:
            raise BadVectors(f"{self._named()} gave {len(placed)} vectors for {wanted} texts")
        return [self._vector(one.get("embedding")) for one in placed]

    def _vector(self, numbers: Any) -> Vectors:
        if not isinstance(numbers, list) or not numbers or not all(map(_is_number, numbers)):
            raise BadVectors(f"{self._named()} gave a vector that holds something else than numbers, such as NaN")
        try:
            with np.errstate(over="ignore"):
                vector = np.asarray(numbers, np.float64).astype(np.float32)
        except OverflowError:  # a whole number beyond any float
            vector = np.full(len(numbers), np.inf, np.float32)
        if not np.isfinite(vector).all():
            raise BadVectors(f"{self._named()} gave a vector with numbers that are too large to be stored")
        self._check_length(len(vector), "given")
        return vector

    def _check_length(self, length: int, how: str) -> None:
        if self.dimensions is None:
            self.dimensions = length
        if length != self.dimensions:
            raise BadVectors(
                f"{self._named()}: a vector that was {how} has {length} numbers, and others have {self.dimensions}: they "
                "can't be compared. Is another model served under this name now? Then give it a name of its own"
            )

    def _named(self) -> str:
        return f"{self.model} at endpoint {self.endpoint.name}"

    def _store(self, vectors: Mapping[str, Vectors]) -> None:
        rows = [
            Embedding(cache_key=key, model=self.model, vector=vector.astype(STORED).tobytes())
            for key, vector in vectors.items()
        ]
        Embedding.objects.bulk_create(rows, ignore_conflicts=True, batch_size=A_QUERY)


def _slices(values: Sequence[T], size: int) -> list[Sequence[T]]:
    return [values[start : start + size] for start in range(0, len(values), size)]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
