"""Models at endpoints as models for similarities: `endpoint:NAME:MODEL`."""

from collections.abc import Sequence
from hashlib import sha256

import numpy as np
import numpy.typing as npt

from annotation.errors import NoModel
from annotation.services.encoders import Known, Source, register
from judging.clients import CallFailed
from judging.models import Endpoint
from judging.services.embeddings import Embedder
from judging.services.endpoints import find_endpoint

SOURCE = "endpoint"
FORM = "endpoint:NAME:MODEL"


class EndpointModel:
    """A model that an endpoint serves under `/embeddings`: one vector for each text, none for its tokens."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder

    @property
    def name(self) -> str:
        """As it is asked for."""
        return f"{SOURCE}:{self.embedder.endpoint.name}:{self.embedder.model}"

    @property
    def fingerprint(self) -> str:
        """SHA-256 of where it is served and under which name: its weights can't be looked at from here."""
        return sha256(f"{self.embedder.endpoint.base_url.rstrip('/')} {self.embedder.model}".encode()).hexdigest()

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return one vector for each text: those stored, the others from the endpoint, which are then stored.

        Raises: NoModel for a call that failed; EndpointRefused; BadVectors.
        """
        try:
            return self.embedder.encode(texts)
        except CallFailed as error:
            raise NoModel(f"{self.name} did not answer: {error}. What it answered before is kept") from error

    def encode_tokens(self, texts: Sequence[str]) -> Sequence[npt.NDArray[np.float32]]:
        """Refuse: an endpoint gives none.

        Raises: NoModel.
        """
        raise NoModel(
            f"{self.name} gives one vector for each text, and BERTScore takes one for each token; take the similarity "
            "cosine, or a model in a folder"
        )


def find(rest: str) -> EndpointModel:
    """Return the model of `NAME:MODEL`; the endpoint's own model for `NAME` alone.

    Raises: NoModel for another form; UnknownJudge for an endpoint that there is not.
    """
    name, _, model = rest.partition(":")
    if not name:
        raise NoModel(f"a model at an endpoint is named as {FORM}")
    endpoint = find_endpoint(name)
    return EndpointModel(Embedder(endpoint, model or endpoint.model))


def known() -> list[Known]:
    """List the endpoints; whether one serves vectors is only found out by asking."""
    return [
        Known(f"{SOURCE}:{endpoint.name}:{endpoint.model}", False, "at an endpoint, if it serves vectors of texts")
        for endpoint in Endpoint.objects.order_by("name")
    ]


def offer() -> None:
    """Offer models at endpoints to separability."""
    register(SOURCE, Source(find=find, known=known, form=FORM))
