"""Endpoints' embedding models as similarity models: `endpoint:NAME:MODEL`."""

from collections.abc import Sequence
from hashlib import sha256

import numpy as np
import numpy.typing as npt

from annotation.core.errors import ModelUnavailable
from annotation.separability.encoders import KnownModel, Source, register
from judging.core.errors import CallFailed
from judging.embeddings.services import Embedder
from judging.endpoints.services import find_endpoint
from judging.models import Endpoint

SOURCE = "endpoint"
FORM = "endpoint:NAME:MODEL"


class EndpointModel:
    """An endpoint's embedding model: one vector per text, none per token."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder

    @property
    def name(self) -> str:
        """Its name in settings and commands."""
        return f"{SOURCE}:{self.embedder.endpoint.name}:{self.embedder.model}"

    @property
    def fingerprint(self) -> str:
        """SHA-256 of base URL and model name, since its weights can't be hashed."""
        return sha256(f"{self.embedder.endpoint.base_url.rstrip('/')} {self.embedder.model}".encode()).hexdigest()

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return one vector per text, from the cache or the endpoint.

        Raises: ModelUnavailable for a call that failed; EndpointRefused; BadVectors.
        """
        try:
            return self.embedder.encode(texts)
        except CallFailed as error:
            raise ModelUnavailable(f"{self.name} did not answer: {error}. What it answered before is kept") from error

    def encode_tokens(self, texts: Sequence[str]) -> Sequence[npt.NDArray[np.float32]]:
        """Refuse: endpoints give no vectors for tokens.

        Raises: ModelUnavailable.
        """
        raise ModelUnavailable(
            f"{self.name} gives one vector for each text, and BERTScore takes one for each token; take the similarity "
            "cosine, or a model in a folder"
        )


def find(rest: str) -> EndpointModel:
    """Return the model of `NAME:MODEL`; the endpoint's own model for `NAME` alone.

    Raises: ModelUnavailable for another form; UnknownJudge for an endpoint that there is not.
    """
    name, _, model = rest.partition(":")
    if not name:
        raise ModelUnavailable(f"a model at an endpoint is named as {FORM}")
    endpoint = find_endpoint(name)
    return EndpointModel(Embedder(endpoint, model or endpoint.model))


def known() -> list[KnownModel]:
    """List the endpoints; whether one serves embeddings is not known before the first call."""
    return [
        KnownModel(f"{SOURCE}:{endpoint.name}:{endpoint.model}", False, "at an endpoint, if it serves vectors of texts")
        for endpoint in Endpoint.objects.order_by("name")
    ]


def offer() -> None:
    """Register endpoints' models for separability."""
    register(SOURCE, Source(find=find, known=known, form=FORM))
