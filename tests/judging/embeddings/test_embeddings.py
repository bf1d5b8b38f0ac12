"""Vectors of texts: asked for once, kept, refused when they are none; and the tables that are checked with them."""

import json
import zipfile
from collections.abc import Callable, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from annotation.models import Study
from judging.core.errors import AccessDenied, BadSettings, BadVectors, EndpointRefused, RejectedCall, TransientFailure
from judging.embeddings import services
from judging.embeddings.services import Embedder, with_retries
from judging.models import Embedding, Endpoint, TableCheck
from judging.tables.services import check_tables
from reporting.downloads.jobs import ask_for_file, path_of, queue_file
from tests.judging.builders import make_endpoint, make_study, no_sleep, pairs_in
from tests.judging.tables.table_builders import make_table, row
from tests.standin.process import StandInProcess

pytestmark = [pytest.mark.django_db, pytest.mark.engine]
Body = Mapping[str, Any]


class Scripted:
    """A client without a network: plays failures and answers, then gives each text a vector of its length."""

    def __init__(
        self, script: Any = (), *, make: Callable[[str], list[Any]] = lambda text: [1.0, float(len(text))]
    ) -> None:
        self.script = list(script)
        self.make = make
        self.bodies: list[Body] = []
        self.closed = 0

    async def embeddings(self, body: Body) -> Any:
        self.bodies.append(body)
        entry = self.script.pop(0) if self.script else None
        if isinstance(entry, Exception):
            raise entry
        if entry is not None:
            return entry
        data = [{"index": place, "embedding": self.make(text)} for place, text in enumerate(body["input"])]
        return {"data": data, "usage": {"prompt_tokens": 3}}

    async def close(self) -> None:
        self.closed += 1


@pytest.fixture
def endpoint() -> Endpoint:
    return make_endpoint("https://1.1.1.1/v1")


@pytest.fixture
def study() -> Study:
    return make_study()


def embedder(endpoint: Endpoint, client: Scripted, model: str = "m") -> Embedder:
    return Embedder(endpoint, model, make_client=lambda _endpoint: with_retries(client, sleep=no_sleep))


def given(*vectors: Any) -> dict[str, Any]:
    return {"data": [{"index": place, "embedding": vector} for place, vector in enumerate(vectors)]}


def test_texts_are_asked_for_once_and_in_groups(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "TEXTS_PER_CALL", 2)
    client = Scripted()
    first = embedder(endpoint, client)
    found = first.encode(["a", "bb", "a", "ccc"])
    assert found.tolist() == [[1, 1], [1, 2], [1, 1], [1, 3]]
    assert found.dtype == np.float32
    assert [body["input"] for body in client.bodies] == [["a", "bb"], ["ccc"]]
    assert client.bodies[0].keys() == {"model", "input"}
    assert (first.calls, first.tokens, client.closed) == (2, 6, 1)
    again = embedder(endpoint, client)
    assert again.encode(["ccc", "dddd"]).tolist() == [[1, 3], [1, 4]]
    assert (client.bodies[2]["input"], again.calls, Embedding.objects.count()) == (["dddd"], 1, 4)


def test_what_is_kept_is_of_one_model_at_one_place(endpoint: Endpoint) -> None:
    client = Scripted()
    elsewhere = make_endpoint("https://1.0.0.1/v1", name="other")
    for place, model in ((endpoint, "m"), (endpoint, "n"), (elsewhere, "m")):
        embedder(place, client, model).encode(["a"])
    assert len(client.bodies) == Embedding.objects.count() == 3
    assert not any(str(bytes(one.vector)) == "a" for one in Embedding.objects.all())
    [same, *_] = Embedding.objects.all()
    assert np.frombuffer(bytes(same.vector), "<f4").tolist() == [1.0, 1.0]


def test_order_is_that_of_the_index_that_is_given(endpoint: Endpoint) -> None:
    data = [{"index": 1, "embedding": [2, 2]}, {"index": 0, "embedding": [1, 1]}]
    assert embedder(endpoint, Scripted([{"data": data}])).encode(["a", "b"]).tolist() == [[1, 1], [2, 2]]


def test_no_text_asks_nothing(endpoint: Endpoint) -> None:
    client = Scripted()
    assert embedder(endpoint, client).encode([]).shape == (0, 0)
    assert client.bodies == []


@pytest.mark.any_engine
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        pytest.param(
            given([1.0, None]), "something else than numbers, such as NaN", id="NaN, which is read as nothing"
        ),
        pytest.param(given([1.0, "2"]), "something else than numbers", id="text"),
        pytest.param(given([1.0, True]), "something else than numbers", id="truth value"),
        pytest.param(given([]), "something else than numbers", id="empty"),
        pytest.param(given([1.0, 1e300]), "too large", id="too large"),
        pytest.param(given([1, 10**400]), "too large", id="too large for any number"),
        pytest.param(given([1.0], [1.0]), "2 vectors for 1 texts", id="too many"),
        pytest.param({"data": None}, "no list of vectors", id="no list"),
        pytest.param(["x"], "no list of vectors", id="no object"),
        pytest.param({"data": ["x"]}, "no list of vectors", id="no objects"),
    ],
)
def test_what_is_no_vector_is_refused_and_not_kept(endpoint: Endpoint, answer: Any, reason: str) -> None:
    client = Scripted([answer])
    with pytest.raises(BadVectors, match=reason):
        embedder(endpoint, client).encode(["a"])
    assert (Embedding.objects.count(), client.closed) == (0, 1)


@pytest.mark.any_engine
def test_vectors_of_several_lengths_are_refused(endpoint: Endpoint) -> None:
    client = Scripted(make=lambda text: [1.0] * len(text))
    with pytest.raises(BadVectors, match="has 2 numbers, and others have 1"):
        embedder(endpoint, client).encode(["a", "bb"])
    embedder(endpoint, client).encode(["a"])
    with pytest.raises(BadVectors, match="given has 2 numbers, and others have 1"):
        embedder(endpoint, client).encode(["a", "bb"])


@pytest.mark.any_engine
def test_busy_endpoint_is_asked_again_and_a_refusal_is_not(endpoint: Endpoint) -> None:
    client = Scripted([TransientFailure("HTTP 429", throttled=True), TransientFailure("HTTP 500")])
    assert embedder(endpoint, client).encode(["a"]).tolist() == [[1, 1]]
    assert len(client.bodies) == 3
    denied = Scripted([AccessDenied("HTTP 401")])
    with pytest.raises(AccessDenied):
        embedder(endpoint, denied).encode(["b"])
    assert len(denied.bodies) == 1


def test_what_came_before_a_failure_is_kept(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "TEXTS_PER_CALL", 1)
    client = Scripted([None, RejectedCall("HTTP 400: too long")])
    with pytest.raises(RejectedCall, match="too long"):
        embedder(endpoint, client).encode(["a", "bb", "ccc"])
    assert Embedding.objects.count() == 2


@pytest.mark.any_engine
def test_private_host_is_refused_before_anything_is_sent() -> None:
    client = Scripted()
    with pytest.raises(EndpointRefused):
        embedder(make_endpoint("http://10.0.0.1/v1"), client).encode(["a"])
    assert client.bodies == []


@pytest.mark.any_engine
def test_key_that_is_none_is_refused_before_anything_is_sent(endpoint: Endpoint) -> None:
    Endpoint.objects.filter(pk=endpoint.pk).update(key_env="DATABASE_URL")
    endpoint.refresh_from_db()
    client = Scripted()
    with pytest.raises(BadSettings, match="name an environment variable"):
        embedder(endpoint, client).encode(["a"])
    assert client.bodies == []


def test_tables_are_checked_with_few_calls_and_once(endpoint: Endpoint, study: Study) -> None:
    for pair in pairs_in(study)[:3]:
        make_table(pair)
    make_table(pairs_in(study)[0], table_id="other", variant="c1")
    client = Scripted()
    done = check_tables(study=study, embedder=embedder(endpoint, client), variant="c8")
    assert (done.made, done.kept, done.calls, len(client.bodies)) == (3, 0, 1, 1)
    found = TableCheck.objects.earliest("pk").found
    assert set(found) == {"threshold", "cells", "n", "missing", "supported", "support"}
    assert set(found["cells"][0]) == {"only_a", "both", "only_b"}
    assert (found["n"], found["missing"], found["threshold"], found["supported"]) == (3, 0, 0.5, 1.0)
    again = check_tables(study=study, embedder=embedder(endpoint, client))
    assert (again.made, again.kept) == (1, 3)
    assert len(client.bodies) == 1  # the other table has the same cells: all its texts are kept
    other = check_tables(study=study, embedder=embedder(endpoint, client, "n"))
    assert (other.made, TableCheck.objects.count()) == (4, 8)


def test_stopped_check_resumes(endpoint: Endpoint, study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("judging.tables.services.TABLES_PER_ROUND", 1)
    for number, pair in enumerate(pairs_in(study)[:3]):
        make_table(pair, [row(only_a=f"word{number}")])
    with pytest.raises(AccessDenied):
        check_tables(study=study, embedder=embedder(endpoint, Scripted([None, AccessDenied("HTTP 402")])))
    assert TableCheck.objects.count() == 1
    assert check_tables(study=study, embedder=embedder(endpoint, Scripted())).made == 2


def test_another_threshold_needs_no_call(endpoint: Endpoint, study: Study) -> None:
    make_table(pairs_in(study)[0])
    client = Scripted(make=lambda text: [float("talk" in text), float("length" in text), 1.0])
    check_tables(study=study, embedder=embedder(endpoint, client))
    before = TableCheck.objects.get().found
    check_tables(study=study, embedder=embedder(endpoint, client), threshold=0.99)
    after = TableCheck.objects.get().found
    assert (before["threshold"], before["supported"]) == (0.5, 1.0)
    # “wren” has only the last number, its sentence the first and the last: 0.71; “talk” has these in B, all three in A.
    assert (after["threshold"], after["supported"]) == (0.99, 0.0)
    assert after["cells"] == before["cells"]
    assert len(client.bodies) == 1
    with pytest.raises(BadSettings, match="between -1 and 1"):
        check_tables(study=study, embedder=embedder(endpoint, client), threshold=float("nan"))


def test_same_name_at_another_endpoint_is_refused(endpoint: Endpoint, study: Study) -> None:
    make_table(pairs_in(study)[0])
    check_tables(study=study, embedder=embedder(endpoint, Scripted()))
    other = make_endpoint("https://1.0.0.1/v1", name="other")
    with pytest.raises(BadSettings, match="checked with m at endpoint stand-in; at other"):
        check_tables(study=study, embedder=embedder(other, Scripted()))


def test_table_without_words_needs_no_vectors(endpoint: Endpoint, study: Study) -> None:
    make_table(pairs_in(study)[0], [row(only_a="–", both="", only_b="none")])
    client = Scripted()
    check_tables(study=study, embedder=embedder(endpoint, client))
    found = TableCheck.objects.get().found
    assert (found["n"], found["missing"], found["supported"], client.bodies) == (0, 3, None, [])


def told(*arguments: str) -> str:
    out = StringIO()
    call_command("check_tables", *arguments, stdout=out)
    return out.getvalue()


@pytest.mark.any_engine
def test_command_over_http(standin: StandInProcess, settings: Any, study: Study, tmp_path: Path) -> None:
    settings.ENDPOINT_ALLOWLIST = ["127.0.0.1"]
    make_endpoint(standin.base_url)
    # Cells that are a sentence of their text word for word are as near to it as can be.
    make_table(pairs_in(study)[0], [row(only_a="Heron 0 on talk 0, at length.", both="", only_b="zebra quartz")])
    make_table(pairs_in(study)[2], [row(only_a="heron 0 on talk 1 at length", both="n/a", only_b="–")])
    said = json.loads(told("tea", "--endpoint", "stand-in", "--model", "bag", "--format", "json"))
    assert (said["made"], said["kept"], said["calls"], said["model"]) == (2, 0, 1, "bag")
    assert said["tokens"] > 0
    assert said["variants"]["c8"] == {
        "value": pytest.approx(2 / 3),
        "n": 3,
        "left_out": 3,
        "level": 0.95,
        "n_instances": 2,
        "least": 5,
        "low": None,
        "high": None,
    }
    assert [check.found["cells"][0]["only_a"] for check in TableCheck.objects.order_by("table")] == pytest.approx(
        [1, 1]
    )
    text = told("tea", "--endpoint", "stand-in", "--model", "bag")
    assert text.startswith("0 tables checked, 2 were before; 0 calls, 0 tokens")
    assert "c8: 0.667 of 3 cells have a cosine of 0.5 or more (no interval); empty: 3 cells" in text
    settings.DATA_DIR = tmp_path
    asked = {"endpoint": "stand-in", "model": "bag", "variant": "", "threshold": 0.5}
    made, _ = queue_file(study, "table-checks", {**asked, "params": {}, "max_cost": None, "in_flight": None})
    assert ask_for_file.func(made.pk)
    with zipfile.ZipFile(path_of(made)) as file:
        assert json.loads(file.read("tea-table-checks/checks.json"))["variants"] == said["variants"]
    assert standin.stats()["routes"] == {"POST embeddings": 1}


@pytest.mark.any_engine
def test_command_says_what_is_wrong(study: Study) -> None:
    make_table(pairs_in(study)[0])
    with pytest.raises(CommandError, match="there is no endpoint nobody"):
        told("tea", "--endpoint", "nobody", "--model", "bag")
    with pytest.raises(CommandError, match="no such comparison tables"):
        told("tea", "--endpoint", "nobody", "--model", "bag", "--variant", "c9")


@pytest.mark.any_engine
def test_endpoint_without_vectors_says_so(standin: StandInProcess, settings: Any, study: Study) -> None:
    settings.ENDPOINT_ALLOWLIST = ["127.0.0.1"]
    standin.behave(missing=["embeddings"])
    make_endpoint(standin.base_url)
    make_table(pairs_in(study)[0])
    with pytest.raises(CommandError, match="HTTP 404"):
        told("tea", "--endpoint", "stand-in", "--model", "bag")
