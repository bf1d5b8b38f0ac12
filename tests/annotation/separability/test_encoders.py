"""Models by name: what can be named, what each gives, what is kept, and what is said of those that can't be used."""

import json
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import huggingface_hub
import numpy as np
import pytest
from huggingface_hub import constants
from safetensors.numpy import load_file
from tokenizers import pre_tokenizers

from analysis.encoders.families import weights_of
from analysis.encoders.transformer import token_vectors
from analysis.errors import NotFinite
from analysis.similarity import registry
from annotation.core.errors import ModelUnavailable
from annotation.models import TextVector
from annotation.separability import encoder_folders, encoders, transformers_models
from annotation.separability.encoders import KnownModel, default_model, find_model, list_models
from tests.analysis.encoders.tiny import COUNT, POSITIONS, TOKENS, WIDTH, tiny
from tests.annotation.separability.model_folders import CLS, SEP, WORDS, with_weights, words, write_model

pytestmark = pytest.mark.django_db
IDS = {word: number for number, word in enumerate(WORDS)}


@pytest.fixture(autouse=True)
def only_what_a_test_makes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """No model of this machine: neither the extra's, nor one of its cache of the hub."""
    settings.MODEL_FOLDER = tmp_path / "models"
    settings.MODEL_DOWNLOADS = False
    monkeypatch.setattr(encoders, "SMALL_PACKAGES", (("no_such_package", "model"),))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_model(tmp_path / "models" / "tiny")


def vectors_of(folder: Path, *text: str, layers: int = COUNT, family: str = "bert") -> np.ndarray:
    """What the forward pass gives for one text's words, with its own special tokens."""
    weights = weights_of(tiny(family)[0], load_file(folder / "model.safetensors"))
    return token_vectors(weights, [[CLS, *(IDS.get(word, IDS["[UNK]"]) for word in text), SEP]], layers)[0]


def unit(vector: np.ndarray) -> np.ndarray:
    return np.asarray(vector / np.linalg.norm(vector))


def test_vectors_are_means_of_all_tokens_at_length_one(folder: Path) -> None:
    found = find_model("tiny").encode(["A cat sat here", " tea\n", "a zebra"])

    assert found.dtype == np.float32
    for row, text in zip(found, (["a", "cat", "sat", "here"], ["tea"], ["a", "zebra"]), strict=True):
        np.testing.assert_allclose(row, unit(vectors_of(folder, *text).mean(axis=0)), atol=1e-5)


@pytest.mark.parametrize(
    "told", [{"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, {"pooling_mode": "cls"}]
)
def test_the_folder_says_how_vectors_are_pooled(tmp_path: Path, told: dict[str, Any]) -> None:
    steps = [{"type": "sentence_transformers.models.Transformer"}, {"type": "sentence_transformers.models.Pooling"}]
    folder = write_model(tmp_path / "cls", pooling=told, modules=steps)

    found = find_model(str(folder)).encode(["a cat"])

    np.testing.assert_allclose(found, [vectors_of(folder, "a", "cat")[0]], atol=1e-5)  # no step makes its length 1


def test_texts_are_cut_off_where_the_folder_says_and_not_where_the_tokenizer_does(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "short", sentence_bert_config={"max_seq_length": 5, "do_lower_case": True})
    model = find_model(str(folder))

    assert np.array_equal(model.encode(["a cat sat"]), model.encode(["A CAT sat tea dog dog"]))
    assert [len(vectors) for vectors in model.encode_tokens(["a cat sat here tea", "dog " * 99])] == [7, POSITIONS]


def test_tokens_have_vectors_special_ones_too(folder: Path) -> None:
    model = find_model("tiny")

    found = model.encode_tokens(["a cat", "tea", ""])

    assert encoder_folders.FolderModel("tiny", folder).specials == (1, 1)
    for vectors, text in zip(found, (["a", "cat"], ["tea"], []), strict=True):
        np.testing.assert_allclose(vectors, vectors_of(folder, *text), atol=1e-5)
    assert not TextVector.objects.exists()  # they would take a hundred times as much


def test_the_layer_of_the_tokens_can_be_named(folder: Path) -> None:
    model = find_model("tiny#1")

    assert model.name == "tiny#1"
    np.testing.assert_allclose(model.encode_tokens(["tea"])[0], vectors_of(folder, "tea", layers=1), atol=1e-5)
    with pytest.raises(ModelUnavailable, match="tiny has layers 1 to 2; there is no layer 3"):
        find_model("tiny#3").encode_tokens(["tea"])
    for layer in ("last", "0", "9" * 5000):  # of so many digits Python makes no number
        with pytest.raises(ModelUnavailable, match="after # comes the number of a layer"):
            find_model(f"tiny#{layer}")


def test_a_model_of_bertscores_table_takes_its_layer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder_folders, "BERTSCORE_LAYERS", {"tiny": 1})
    found = find_model("tiny").encode_tokens(["tea"])[0]
    np.testing.assert_allclose(found, vectors_of(folder, "tea", layers=1), atol=1e-5)


def test_the_first_word_is_read_as_one_within_a_text_by_roberta(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "roberta", "roberta")
    tokenizer = words(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "tea", "Ġtea"])
    tokenizer.normalizer = None
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.save(str(folder / "tokenizer.json"))
    model = find_model(str(folder))
    weights = weights_of(tiny("roberta")[0], load_file(folder / "model.safetensors"))

    within, first = token_vectors(weights, [[CLS, 5, SEP], [CLS, 4, SEP]])

    np.testing.assert_allclose(model.encode_tokens(["tea"])[0], within, atol=1e-5)
    np.testing.assert_allclose(model.encode(["tea"])[0], unit(first.mean(axis=0)), atol=1e-5)


def test_each_text_is_encoded_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Sequence[str]] = []
    real = encoder_folders.FolderModel._encode

    def counting(self: Any, texts: Sequence[str]) -> np.ndarray:
        shown.append(list(texts))
        return real(self, texts)

    monkeypatch.setattr(encoder_folders.FolderModel, "_encode", counting)
    first = find_model("tiny").encode(["tea", "a cat", "tea"])
    again = find_model("tiny").encode(["a cat", "dog", "\ud800"])

    assert shown == [["tea", "a cat"], ["dog", "\ud800"]]
    assert np.array_equal(first[0], first[2])
    assert np.array_equal(first[1], again[0])
    assert TextVector.objects.count() == 4
    assert find_model("tiny").encode([]).shape[0] == 0


def test_what_was_encoded_before_a_failure_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotation.separability.encoder_folders.STEP_SIZE", 1)
    with_weights(folder, {"embeddings.word_embeddings.weight": nan_at("dog")})

    with pytest.raises(NotFinite):
        find_model("tiny").encode(["tea", "dog"])

    assert TextVector.objects.count() == 1


def test_other_weights_are_another_model(folder: Path) -> None:
    before = find_model("tiny")
    print_before, vector_before = before.fingerprint, before.encode(["tea"])
    changed = tiny("bert")[1]["embeddings.LayerNorm.bias"] + np.linspace(0, 1, WIDTH, dtype=np.float32)
    with_weights(folder, {"embeddings.LayerNorm.bias": changed})

    after = find_model("tiny")

    assert len(print_before) == 64
    assert after.fingerprint != print_before
    assert not np.allclose(after.encode(["tea"]), vector_before)
    assert TextVector.objects.count() == 2


def test_a_copy_elsewhere_is_the_same_model(folder: Path, tmp_path: Path) -> None:
    other = write_model(tmp_path / "elsewhere" / "copy")
    named = find_model(str(other))
    assert named.name == "copy"  # not where it is
    assert named.fingerprint == find_model("tiny").fingerprint
    assert find_model(str(write_model(tmp_path / "third", seed=2))).fingerprint != named.fingerprint


def test_nan_names_the_text_and_its_place(folder: Path) -> None:
    with_weights(folder, {"embeddings.word_embeddings.weight": nan_at("dog")})
    model = find_model("tiny")
    for give in (model.encode, model.encode_tokens):
        with pytest.raises(
            NotFinite, match="tiny gave NaN or infinity for 2 of 3 texts, first for text 2, 'a dog'"
        ) as error:
            give(["tea", "a dog", "dog sat"])
        assert error.value.text == "a dog"
    assert not TextVector.objects.exists()


def nan_at(word: str) -> np.ndarray:
    table = tiny("bert")[1]["embeddings.word_embeddings.weight"].copy()
    table[IDS[word]] = np.nan
    return table


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(
        ModelUnavailable, match=rf"{name} missing. Needed are config.json, tokenizer.json, model.safetensors"
    ):
        find_model(str(folder))


def test_a_tokenizer_of_another_model_is_refused(folder: Path) -> None:
    words([f"word{number}" for number in range(TOKENS)] + WORDS).save(str(folder / "tokenizer.json"))
    with pytest.raises(
        ModelUnavailable, match=f"knows {TOKENS + len(WORDS)} tokens, and model.safetensors has vectors for {TOKENS}"
    ):
        find_model("tiny").encode(["tea"])


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        *(
            (name, "{", f"odd/{name} can't be read")
            for name in ("config.json", "tokenizer.json", "model.safetensors", "1_Pooling/config.json")
        ),
        ("config.json", "[]", "config.json holds no JSON object"),
        ("sentence_bert_config.json", "7", "sentence_bert_config.json holds no JSON object"),
        ("sentence_bert_config.json", '{"max_seq_length": "long"}', "is 'long'; it must be a whole number"),
        ("config.json", {**tiny("bert")[0], "model_type": "t5"}, "of type t5 can't be run here, only bert"),
        ("config.json", {**tiny("bert")[0], "num_hidden_layers": 3}, "layer.2.* are missing"),
        ("modules.json", [{"type": "x.Dense"}], "step Dense can't be run here; offer"),
        ("1_Pooling/config.json", {"pooling_mode": "lasttoken"}, "unknown pooling lasttoken"),
    ],
    ids=lambda value: value if isinstance(value, str) else "content",
)
def test_a_file_that_can_not_be_read_or_run_says_so(tmp_path: Path, name: str, content: Any, reason: str) -> None:
    folder = write_model(tmp_path / "odd", pooling={})
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    with pytest.raises(ModelUnavailable, match=reason):
        find_model(str(folder)).encode(["tea"])


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["nothing", "", "../tiny/x", "org/none", "a b", "other:thing", "x" * 300])
def test_an_unknown_name_lists_what_there_is(folder: Path, spec: str) -> None:
    with pytest.raises(ModelUnavailable, match=r"there is no model .*; there now: tiny"):
        find_model(spec)


@pytest.mark.parametrize("package", ["tokenizers", "safetensors.numpy"])
def test_a_missing_extra_says_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        ModelUnavailable, match=r"takes the package \w+; install the extra `metrics`: make install EXTRAS=metrics"
    ):
        find_model("tiny")
    assert default_model() == ""


def test_a_model_that_pytorch_runs_is_named_so_and_says_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = {"torch": "2.9", "transformers": "5.1"}

    def version(name: str) -> str:
        if name not in installed:
            raise PackageNotFoundError(name)
        return installed[name]

    monkeypatch.setattr(transformers_models, "version", version)
    model = find_model("transformers:tiny#1", listed_only=True)
    assert model.name == "transformers:tiny#1"
    before = model.fingerprint
    assert before != find_model("tiny#1").fingerprint
    installed["transformers"] = "5.2"
    assert find_model("transformers:tiny#1").fingerprint != before
    with pytest.raises(
        ModelUnavailable, match=r"there is no model 'transformers:nothing'.*one of these after transformers:"
    ):
        find_model("transformers:nothing", listed_only=True)
    del installed["torch"]
    with pytest.raises(ModelUnavailable, match=r"takes the package torch; pip install 'tandem-eval\[transformers\]'"):
        find_model("transformers:tiny")


def test_the_small_model_is_that_of_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    with pytest.raises(ModelUnavailable, match="make install EXTRAS=metrics"):
        find_model("small")
    assert default_model() == "tiny"

    package = tmp_path / "site" / "a_small_model"
    write_model(package / "model", seed=4)
    (package / "__init__.py").write_text("raise RuntimeError('its code is not run')", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.setattr(encoders, "SMALL_PACKAGES", (("a_small_model", "model"),))

    assert default_model() == find_model("small").name == "small"
    assert [known.spec for known in list_models()] == ["small", "tiny"]
    assert find_model("small").encode(["tea"]).shape == (1, WIDTH)


def test_a_model_of_the_hub_is_taken_from_the_cache(tmp_path: Path) -> None:
    cached = tmp_path / "hub" / "models--org--model"
    write_model(cached / "snapshots" / "abc")
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text("abc", encoding="utf-8")

    assert find_model("org/model").name == "org/model"
    assert list_models() == [KnownModel("org/model", "in this machine's cache of the Hugging Face hub")]
    assert default_model() == ""  # what others left in a cache is only taken by name
    (cached / "snapshots" / "abc" / "tokenizer.json").unlink()
    assert list_models() == []
    with pytest.raises(ModelUnavailable, match=r"tokenizer\.json missing"):
        find_model("org/model")


@pytest.mark.parametrize("online", [False, True])
def test_nothing_is_fetched_unless_that_is_on(monkeypatch: pytest.MonkeyPatch, settings: Any, online: bool) -> None:
    asked: list[dict[str, Any]] = []

    def snapshot(name: str, **how: Any) -> str:
        asked.append(how)
        raise OSError(f"{name} is out of reach\nlong details")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    settings.MODEL_DOWNLOADS = online

    with pytest.raises(
        ModelUnavailable, match="fetched from the .*: org/model is out of reach$" if online else "MODEL_DOWNLOADS=on"
    ):
        find_model("org/model")

    assert [how["local_files_only"] for how in asked] == [not online]


def test_names_from_a_page_lead_to_no_other_folder(folder: Path, tmp_path: Path, settings: Any) -> None:
    outside = write_model(tmp_path / "outside")
    settings.MODEL_DOWNLOADS = True
    assert find_model("tiny#1", listed_only=True).name == "tiny#1"
    for spec in (str(outside), str(folder), "../outside", "org/model"):
        with pytest.raises(ModelUnavailable, match=r"there is no model .* there now: tiny$"):
            find_model(spec, listed_only=True)


def test_a_page_says_how_to_install_the_small_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotation.separability.encoders._small_folder", lambda: None)
    with pytest.raises(ModelUnavailable) as refusal:
        find_model("small", listed_only=True)
    assert refusal.value.reason.code == "no_small_model"


def test_a_found_model_is_what_similarities_take(folder: Path) -> None:
    model, texts = find_model("tiny"), ["a cat sat", "tea", "", "a cat sat"]
    for name, argument in (("cosine", "encoder"), ("bertscore", "tokens")):
        values = registry.with_model(name, **{argument: model})(texts, texts)
        np.testing.assert_allclose(values[[0, 1, 2, 0], [0, 1, 2, 3]], 1, atol=1e-6)
        assert values[0, 1] < 1
        assert values[0, 2] == 0
