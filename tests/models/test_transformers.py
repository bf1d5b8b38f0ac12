"""Models that `transformers` runs: the packaged small one against NumPy's forward pass, a tiny DeBERTa, and refusals.

Run by `make test-models`, in an environment of its own that has PyTorch.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.similarity import registry
from annotation.core.errors import ModelUnavailable
from annotation.models import SeparabilityRun, TextVector
from annotation.separability.encoders import find_model
from annotation.separability.services import compute_separability
from tests.annotation.separability.model_folders import WORDS, words, write
from tests.factories import make_study
from tests.models.test_real_models import BERTSCORES, COLUMNS, COSINES, ROWS

pytestmark = pytest.mark.django_db
TEXTS = ["a cat sat here", "tea", "", "a dog sat here a cat sat here tea", "dog"]


def write_random(folder: Path, family: str, **more: Any) -> Path:
    """Write a model of random weights, as `save_pretrained` does."""
    import torch
    import transformers

    torch.manual_seed(3)
    sizes = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 12}
    config = transformers.AutoConfig.for_model(
        family, vocab_size=len(WORDS), max_position_embeddings=20, pad_token_id=int(family == "mpnet"), **sizes, **more
    )
    transformers.AutoModel.from_config(config).save_pretrained(folder)
    words(WORDS).save(str(folder / "tokenizer.json"))
    return folder


def write_deberta(folder: Path, family: str = "deberta") -> Path:
    return write_random(folder, family, relative_attention=True, pos_att_type=["c2p", "p2c"])


def test_the_small_model_gives_what_numpy_and_its_authors_give() -> None:
    numpy, torch = find_model("small"), find_model("transformers:small")
    assert torch.name == "transformers:small"
    assert torch.fingerprint != numpy.fingerprint
    np.testing.assert_allclose(torch.encode(ROWS), numpy.encode(ROWS), atol=1e-5)
    np.testing.assert_allclose(torch.encode(ROWS) @ torch.encode(COLUMNS).T, COSINES, atol=1e-5)
    for one, other in zip(torch.encode_tokens(ROWS), numpy.encode_tokens(ROWS), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    bertscore = registry.with_model("bertscore-package", tokens=torch)
    np.testing.assert_allclose(bertscore(ROWS, COLUMNS), BERTSCORES, atol=1e-5)


@pytest.mark.parametrize("family", ["bert", "roberta", "mpnet", "xlm-roberta", "camembert"])
def test_every_family_of_numpy_gives_the_same(family: str, tmp_path: Path) -> None:
    write_random(tmp_path / family, family)
    numpy, torch = find_model(str(tmp_path / family)), find_model(f"transformers:{tmp_path / family}")
    # Texts in one batch have other lengths; the last one is cut off at the model's longest.
    texts = [*TEXTS, " ".join(["cat"] * 50)]
    for layer_of_both in (None, 1):
        given = [
            model if layer_of_both is None else find_model(f"{prefix}{tmp_path / family}#{layer_of_both}")
            for prefix, model in (("", numpy), ("transformers:", torch))
        ]
        for one, other in zip(*(model.encode_tokens(texts) for model in given), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("family", ["deberta", "deberta-v2"])
def test_a_tiny_deberta_is_run_and_named_in_the_results(family: str, tmp_path: Path) -> None:
    folder = write_deberta(tmp_path / "deberta-tiny", family)
    with pytest.raises(ModelUnavailable, match=f"type {family} can't be run here.*name it as transformers:MODEL"):
        find_model(str(folder)).encode(["tea"])
    model = find_model(f"transformers:{folder}")
    vectors = model.encode(TEXTS)
    assert vectors.shape == (5, 8)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    # Each text by itself, without padding, has the same vectors.
    TextVector.objects.all().delete()
    np.testing.assert_allclose(np.concatenate([model.encode([text]) for text in TEXTS]), vectors, atol=1e-5)
    tokens = model.encode_tokens(TEXTS)
    assert [len(one) for one in tokens] == [6, 3, 2, 11, 3]
    assert len(model.encode_tokens(["tea " * 50])[0]) == 20
    first, last = find_model(f"transformers:{folder}#1"), find_model(f"transformers:{folder}#2")
    assert not np.allclose(first.encode_tokens(["tea"])[0], tokens[1], atol=1e-3)
    np.testing.assert_allclose(last.encode_tokens(["tea"])[0], tokens[1], atol=1e-5)
    with pytest.raises(ModelUnavailable, match="has layers 1 to 2; there is no layer 3"):
        find_model(f"transformers:{folder}#3").encode_tokens(["tea"])
    compute_separability(study=make_study(), similarity="bertscore", model=f"transformers:{folder}", group="0,1")
    run = SeparabilityRun.objects.get()
    assert (run.model, run.model_fingerprint) == ("transformers:deberta-tiny", model.fingerprint)


def test_weights_in_another_form_and_decoders_are_refused(tmp_path: Path) -> None:
    folder = write_deberta(tmp_path / "broken")
    (folder / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(ModelUnavailable, match="transformers can't load it"):
        find_model(f"transformers:{folder}").encode(["tea"])
    write(folder / "config.json", {"model_type": "t5", "is_encoder_decoder": True})
    with pytest.raises(ModelUnavailable, match="has a decoder; only encoders can be used"):
        find_model(f"transformers:{folder}").encode(["tea"])
