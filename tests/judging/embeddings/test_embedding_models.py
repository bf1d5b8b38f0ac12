"""Models at endpoints, as separability names them."""

from typing import Any

import numpy as np
import pytest

from annotation.core.errors import ModelUnavailable
from annotation.separability.encoders import default_model, find_model, list_models
from judging.core.errors import AccessDenied, JudgingError
from judging.embeddings import similarity_models
from judging.embeddings.services import Embedder, with_retries
from judging.embeddings.similarity_models import EndpointModel
from judging.models import Embedding, Endpoint
from tests.judging.builders import make_endpoint, no_sleep

pytestmark = pytest.mark.django_db


class Scripted:
    """A client without a network: gives each text a vector of its length, or fails."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.failure = failure
        self.asked: list[str] = []

    async def embeddings(self, body: Any) -> Any:
        if self.failure:
            raise self.failure
        self.asked += body["input"]
        return {"data": [{"index": place, "embedding": [3.0, len(text)]} for place, text in enumerate(body["input"])]}

    async def close(self) -> None:
        pass


@pytest.fixture
def endpoint() -> Endpoint:
    return make_endpoint("https://1.1.1.1/v1")


def over(client: Scripted, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, spec: str) -> Any:
    """Find the model, its endpoint's client replaced."""

    def embedder(endpoint: Endpoint, model: str) -> Embedder:
        return Embedder(endpoint, model, make_client=lambda _endpoint: with_retries(client, sleep=no_sleep))

    monkeypatch.setattr(similarity_models, "Embedder", embedder)
    return find_model(spec)


def test_a_model_at_an_endpoint_is_found_by_name(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Scripted()
    model = over(client, endpoint, monkeypatch, f"endpoint:{endpoint.name}:embed:v2")

    found = model.encode(["tea", "a cat", "tea"])
    again = over(client, endpoint, monkeypatch, f"endpoint:{endpoint.name}:embed:v2").encode(["a cat"])

    assert model.name == f"endpoint:{endpoint.name}:embed:v2"
    assert found.tolist() == [[3, 3], [3, 5], [3, 3]]
    assert np.array_equal(again, found[1:2])
    assert client.asked == ["tea", "a cat"]  # each once
    assert Embedding.objects.count() == 2


def test_its_fingerprint_tells_places_and_models_apart(endpoint: Endpoint) -> None:
    prints = {find_model(f"endpoint:{endpoint.name}:{model}").fingerprint for model in ("one", "two", "one")}
    other = Endpoint(base_url="https://2.2.2.2/v1", name="other")
    prints.add(EndpointModel(Embedder(other, "one")).fingerprint)
    assert len(prints) == 3
    assert {len(one) for one in prints} == {64}


def test_the_endpoints_own_model_is_taken_where_none_is_named(endpoint: Endpoint) -> None:
    assert find_model(f"endpoint:{endpoint.name}").name == f"endpoint:{endpoint.name}:{endpoint.model}"


def test_endpoints_are_listed_and_never_taken_unasked(endpoint: Endpoint) -> None:
    listed = {known.spec: known.tokens for known in list_models()}
    assert listed[f"endpoint:{endpoint.name}:{endpoint.model}"] is False
    assert not default_model().startswith("endpoint:")


def test_vectors_of_tokens_are_refused_with_the_way_out(endpoint: Endpoint) -> None:
    with pytest.raises(
        ModelUnavailable, match="BERTScore takes one for each token; take the similarity cosine, or a model in a folder"
    ):
        find_model(f"endpoint:{endpoint.name}:embed").encode_tokens(["tea"])


@pytest.mark.parametrize(
    ("rest", "reason"), [("", "named as endpoint:NAME:MODEL"), (":model", "NAME:MODEL"), ("nobody:m", "nobody")]
)
def test_an_unknown_endpoint_is_named(endpoint: Endpoint, rest: str, reason: str) -> None:
    with pytest.raises((ModelUnavailable, JudgingError), match=reason):
        find_model(f"endpoint:{rest}")


def test_a_call_that_fails_is_told(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    model = over(Scripted(AccessDenied("401: no key")), endpoint, monkeypatch, f"endpoint:{endpoint.name}:embed")
    with pytest.raises(ModelUnavailable, match=f"endpoint:{endpoint.name}:embed did not answer: 401: no key"):
        model.encode(["tea"])
