"""Language models in folders of Hugging Face's or sentence-transformers' layout."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import file_digest, sha256
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from analysis.encoders.families import FAMILIES, weights_of
from analysis.encoders.transformer import POOLINGS, Weights, pooled, token_vectors
from analysis.errors import AnalysisError, NotFinite
from annotation.core.errors import ModelUnavailable
from annotation.core.reasons import reason
from annotation.models import TextVector

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SETTINGS, TOKENIZER, WEIGHTS = "config.json", "tokenizer.json", "model.safetensors"
REQUIRED_FILES = (SETTINGS, TOKENIZER, WEIGHTS)
MODULES, LENGTH, POOLING = "modules.json", "sentence_bert_config.json", "1_Pooling/config.json"
FINGERPRINTED = (*REQUIRED_FILES, MODULES, LENGTH, POOLING)  # the files that vectors depend on
FORWARD_PASS_VERSION = 1  # of `analysis.encoders`; raising it invalidates stored vectors
QUERY_SIZE = 500  # texts
STEP_SIZE = 1000  # texts encoded between two writes
STORED = np.dtype("<f4")

# The layers that the authors of bert-score chose for these models; for others it is the last.
BERTSCORE_LAYERS: Mapping[str, int] = {
    "bert-base-chinese": 8,
    "bert-base-multilingual-cased": 9,
    "bert-base-uncased": 9,
    "bert-large-uncased": 18,
    "deberta-base": 9,
    "deberta-base-mnli": 9,
    "deberta-large": 16,
    "deberta-large-mnli": 18,
    "deberta-xlarge": 18,
    "deberta-xlarge-mnli": 40,
    "distilbert-base-multilingual-cased": 5,
    "distilbert-base-uncased": 5,
    "distilroberta-base": 5,
    "roberta-base": 10,
    "roberta-large": 17,
    "roberta-large-mnli": 19,
}
_POOLING = "pooling_mode_"
_OLD_POOLING = {"cls_token": "cls", "mean_tokens": "mean", "max_tokens": "max"}
_NEW_POOLING = "pooling_mode"
Vectors = npt.NDArray[np.float32]

_loading = Lock()


class LoadedFolder:
    """A loaded folder, whose weights are run by NumPy."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.settings = _read(folder, SETTINGS)
        self.family = str(self.settings.get("model_type"))
        self.tokenizer = self._tokenizer()
        marks = self.tokenizer.encode("a").special_tokens_mask
        self.specials = sum(takewhile(bool, marks)), sum(takewhile(bool, reversed(marks)))

    def ids(self, texts: Sequence[str], *, limit: int | None = None, spaced: bool = False) -> list[list[int]]:
        """Token ids of texts, truncated to `limit`, with the special tokens."""
        lower = bool(_read(self.folder, LENGTH).get("do_lower_case"))
        cleaned = [text.strip().lower() if lower else text.strip() for text in texts]
        # The tokenizer refuses lone surrogates.
        cleaned = [
            (" " if spaced and text else "") + text.encode("utf-8", "replace").decode("utf-8") for text in cleaned
        ]
        encoded = [list(encoding.ids) for encoding in self.tokenizer.encode_batch(cleaned)]
        _, last = self.specials
        longest = min(limit or self.max_tokens, self.max_tokens)
        return [ids if len(ids) <= longest else ids[: longest - last] + ids[len(ids) - last :] for ids in encoded]

    def token_vectors(self, texts: Sequence[Sequence[int]], layer: int | None = None) -> list[Vectors]:
        """Return the token vectors of texts after a layer, by default the last."""
        return token_vectors(self.weights, texts, layer)

    @property
    def layers(self) -> int:
        """Number of layers."""
        return len(self.weights.layers)

    @property
    def known_tokens(self) -> int:
        """Number of tokens that have a vector."""
        return len(self.weights.words)

    @property
    def max_tokens(self) -> int:
        """Most tokens of a text."""
        return self.weights.max_tokens

    @property
    def wants_space(self) -> bool:
        """True where texts are tokenized with a leading space, as by bert-score for RoBERTa."""
        return self.family == "roberta"

    @cached_property
    def sentence_tokens(self) -> int:
        """Maximum number of tokens of a text's vector."""
        limit = _read(self.folder, LENGTH).get("max_seq_length")
        if limit and not isinstance(limit, int):
            raise ModelUnavailable(reason("model_length", path=str(self.folder / LENGTH), value=repr(limit)))
        return min(limit, self.max_tokens) if limit else self.max_tokens

    @cached_property
    def pooling(self) -> list[str]:
        """A name of `analysis.encoders.transformer.POOLINGS`, from `1_Pooling/config.json`, by default the mean."""
        settings = _read(self.folder, POOLING)
        if _NEW_POOLING in settings:
            pooling_name = settings[_NEW_POOLING]
            names = [pooling_name] if isinstance(pooling_name, str) else list(pooling_name)
        else:
            modes = [
                key.removeprefix(_POOLING)
                for key, value in settings.items()
                if key.startswith(_POOLING) and value is True
            ]
            names = [_OLD_POOLING.get(mode, mode) for mode in modes] or ["mean"]
        if unknown := [name for name in names if name not in POOLINGS]:
            path = str(self.folder / POOLING)
            raise ModelUnavailable(reason("model_pooling", path=path, names=unknown, known=list(POOLINGS)))
        return names

    @cached_property
    def unit(self) -> bool:
        """True where vectors are normalised to length 1, by default or as the folder lists.

        Raises: ModelUnavailable for unknown steps.
        """
        steps = [str(step.get("type", "")).rsplit(".", 1)[-1] for step in _read(self.folder, MODULES, kind=list)]
        if unknown := set(steps) - {"Transformer", "Pooling", "Normalize"}:
            raise ModelUnavailable(reason("model_steps", path=str(self.folder / MODULES), steps=sorted(unknown)))
        return not steps or "Normalize" in steps

    @cached_property
    def weights(self) -> Weights:
        """The weights."""
        if self.family not in FAMILIES:
            values = {"folder": str(self.folder), "family": self.family, "families": list(FAMILIES)}
            raise ModelUnavailable(reason("model_family", **values))
        safetensors = import_optional("safetensors.numpy")
        path = self.folder / WEIGHTS
        try:
            return weights_of(self.settings, safetensors.load_file(path))
        except AnalysisError as error:
            raise ModelUnavailable(reason("model_weights", path=str(path), error=str(error))) from None
        except Exception as error:  # the library raises many types
            raise ModelUnavailable(reason("file_unreadable", name=str(path), error=str(error))) from error

    def _tokenizer(self) -> "Tokenizer":
        path = self.folder / TOKENIZER
        try:
            tokenizer: Tokenizer = import_optional("tokenizers").Tokenizer.from_file(str(path))
        except ModelUnavailable:
            raise
        except Exception as error:  # the library raises no subclass
            raise ModelUnavailable(reason("file_unreadable", name=str(path), error=str(error))) from error
        tokenizer.no_padding()
        tokenizer.no_truncation()
        size, known_tokens = tokenizer.get_vocab_size(with_added_tokens=True), self.known_tokens
        if size > known_tokens:
            values = {"folder": str(self.folder), "tokens": size, "vectors": known_tokens}
            raise ModelUnavailable(reason("model_of_two", **values))
        return tokenizer


@dataclass(frozen=True)
class FolderModel:
    """A model in a folder, loaded when first used.

    name  : as recorded with results
    layer : of the token vectors, from 1; None for that of bert-score's table, else the last
    """

    name: str
    folder: Path
    layer: int | None = None

    loads: ClassVar[type[LoadedFolder]] = LoadedFolder

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of weights, tokenizer and settings, and of what runs them."""
        digests = []
        for name in FINGERPRINTED:
            if (path := self.folder / name).is_file():
                with path.open("rb") as file:
                    digests.append((name, file_digest(file, "sha256").hexdigest()))
        return sha256(json.dumps([*self.backend, *digests]).encode()).hexdigest()

    @property
    def backend(self) -> list[Any]:
        """The software that its vectors depend on."""
        return [FORWARD_PASS_VERSION]

    @property
    def specials(self) -> tuple[int, int]:
        """Number of special tokens, such as [CLS], at the start and at the end."""
        return self._loaded.specials

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return a vector for each text, pooled as the folder says (by default the unit mean), from the cache or new.

        returns : (len(texts), d)
        Raises: ModelUnavailable for an unusable folder; NotFinite naming a text whose vector has NaN.
        """
        return vectors_of(texts, model=self.fingerprint, encode=self._encode)

    def encode_tokens(self, texts: Sequence[str]) -> list[Vectors]:
        """Return the vectors of each text's tokens after `layer`, with special ones. Not cached.

        Texts are truncated to the model's maximum length.

        returns : an array (tokens, d) for each text
        Raises: as `encode`.
        """
        loaded = self._loaded
        ids = loaded.ids(texts, spaced=loaded.wants_space)
        layers = loaded.layers
        if self.layer is not None and not 1 <= self.layer <= layers:
            name = self.name.split("#")[0]
            raise ModelUnavailable(reason("model_layer", model=name, layers=layers, layer=self.layer))
        layer = self.layer or min(BERTSCORE_LAYERS.get(self.folder_name, layers), layers)
        vectors = loaded.token_vectors(ids, layer)
        _check_finite(self.name, vectors, texts)
        return vectors

    @property
    def folder_name(self) -> str:
        """The name without its owner: `bert-base-uncased` of `google-bert/bert-base-uncased`."""
        return self.name.split("#")[0].rsplit("/", 1)[-1]

    @cached_property
    def _loaded(self) -> LoadedFolder:
        with _loading:  # so that concurrent threads load it once
            return _cached(self.loads, self.folder, self.fingerprint)  # type: ignore[arg-type]  # classes are hashable

    def _encode(self, texts: Sequence[str]) -> Vectors:
        loaded = self._loaded
        vectors = loaded.token_vectors(loaded.ids(texts, limit=loaded.sentence_tokens))
        embeddings = pooled(vectors, loaded.pooling, unit=loaded.unit)
        _check_finite(self.name, embeddings, texts)
        return embeddings


def is_model(folder: Path) -> bool:
    """Tell whether a folder has a model's config.json. `check_folder` finds other missing files."""
    return (folder / SETTINGS).is_file()


def check_folder(folder: Path) -> None:
    """Raise ModelUnavailable naming the missing files of a folder."""
    if missing := [name for name in REQUIRED_FILES if not (folder / name).is_file()]:
        values = {"folder": str(folder), "missing": missing, "needed": list(REQUIRED_FILES)}
        raise ModelUnavailable(reason("model_incomplete", **values))


def check_installed() -> None:
    """Raise ModelUnavailable if packages for running a model are not installed."""
    for name in ("tokenizers", "safetensors.numpy"):
        import_optional(name)


def import_optional(name: str, code: str = "needs_metrics") -> Any:
    """Import an optional package.

    code : of the reason where it is missing
    Raises: ModelUnavailable saying how to install it
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise ModelUnavailable(reason(code, package=name.partition(".")[0])) from error


def _read(folder: Path, name: str, *, kind: type[Any] = dict) -> Any:
    """Return the content of a folder's JSON file, empty where the file is missing."""
    path = folder / name
    if not path.is_file():
        return kind()
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelUnavailable(reason("file_unreadable", name=str(path), error=str(error))) from None
    if not isinstance(content, kind):
        word = "list" if kind is list else "object"
        raise ModelUnavailable(reason("model_file_of_other_kind", path=str(path), kind=word))
    return content


@lru_cache(maxsize=2)  # each holds its weights in memory
def _cached(kind: type[LoadedFolder], folder: Path, fingerprint: str) -> LoadedFolder:
    return kind(folder)


def _check_finite(name: str, vectors: Sequence[Vectors] | Vectors, texts: Sequence[str]) -> None:
    bad = [index for index, each in enumerate(vectors) if not np.isfinite(each).all()]
    if bad:
        text = texts[bad[0]]
        raise NotFinite(
            f"the model {name} gave NaN or infinity for {len(bad)} of {len(texts)} texts, first for text {bad[0] + 1}, "
            f"{text[:60]!r}; leave the text out, or take another model",
            text=text,
        )


def vectors_of(texts: Sequence[str], *, model: str, encode: Callable[[Sequence[str]], Vectors]) -> Vectors:
    """Return one vector for each text, stored or computed by `encode`. New ones are stored.

    model   : fingerprint of the model
    returns : (len(texts), d)
    Raises: what `encode` raises; vectors of completed steps are stored.
    """
    keys = {text: sha256(text.encode("utf-8", "surrogatepass")).hexdigest() for text in texts}
    vectors = _stored(model, list(keys.values()))
    missing = [text for text, key in keys.items() if key not in vectors]
    for start in range(0, len(missing), STEP_SIZE):
        step = missing[start : start + STEP_SIZE]
        fresh = {keys[text]: vector for text, vector in zip(step, encode(step), strict=True)}
        rows = [
            TextVector(model=model, text_sha256=key, vector=vector.astype(STORED).tobytes())
            for key, vector in fresh.items()
        ]
        TextVector.objects.bulk_create(rows, ignore_conflicts=True, batch_size=QUERY_SIZE)
        vectors |= fresh
    return np.stack([vectors[keys[text]] for text in texts]) if texts else np.zeros((0, 0), np.float32)


def _stored(model: str, keys: Sequence[str]) -> dict[str, Vectors]:
    vectors: dict[str, Vectors] = {}
    for start in range(0, len(keys), QUERY_SIZE):
        step = TextVector.objects.filter(model=model, text_sha256__in=keys[start : start + QUERY_SIZE]).order_by()
        rows = step.values_list("text_sha256", "vector")
        vectors |= {key: np.frombuffer(bytes(vector), STORED).astype(np.float32) for key, vector in rows}
    return vectors
