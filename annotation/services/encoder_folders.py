"""Language models in folders, as Hugging Face and sentence-transformers lay them out."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import file_digest, sha256
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from analysis.encoders import FAMILIES, POOLINGS, Weights, pooled, token_vectors, weights_of
from analysis.errors import AnalysisError, NotFinite
from annotation.errors import NoModel
from annotation.services.text_vectors import vectors_of

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SETTINGS, TOKENIZER, WEIGHTS = "config.json", "tokenizer.json", "model.safetensors"
NEEDED = (SETTINGS, TOKENIZER, WEIGHTS)
MODULES, LENGTH, POOLING = "modules.json", "sentence_bert_config.json", "1_Pooling/config.json"
DECIDING = (*NEEDED, MODULES, LENGTH, POOLING)  # what a vector depends on
FORWARD_PASS = 1  # of `analysis.encoders`: raise it when vectors change, and no stored one is taken any more
TO_INSTALL = "install the extra `metrics`: make install EXTRAS=metrics, or pip install 'tandem[metrics]'"

# The layer whose tokens bert-score compares, found by its authors for each model; for others the last.
BERTSCORE_LAYERS: Mapping[str, int] = {
    "bert-base-chinese": 8,
    "bert-base-multilingual-cased": 9,
    "bert-base-uncased": 9,
    "bert-large-uncased": 18,
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


@dataclass(frozen=True)
class FolderModel:
    """A model in a folder. Nothing of it is read before it is needed.

    name   : as it is recorded
    folder : where it is
    layer  : whose vectors of tokens are given, from 1 on; None for that of bert-score's table, else the last
    """

    name: str
    folder: Path
    layer: int | None = None

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all that its vectors depend on: weights, tokenizer, settings."""
        return sha256(json.dumps([FORWARD_PASS, *_digests(self.folder)]).encode()).hexdigest()

    @property
    def specials(self) -> tuple[int, int]:
        """How many tokens at the start and at the end of a text's are the model's own, such as [CLS]."""
        return self._loaded.specials

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one vector for each text, pooled as the folder says (by default the mean, of length 1); kept in the database.

        returns : (len(texts), d)
        Raises: NoModel for a folder that can't be used; NotFinite naming the text whose vector holds NaN.
        """
        return vectors_of(texts, model=self.fingerprint, encode=self._encode)

    def encode_tokens(self, texts: Sequence[str]) -> list[Vectors]:
        """Return the vectors of each text's tokens after `layer`, special ones included; not kept.

        Texts are cut off at the longest that the model takes.

        returns : an array (tokens, d) for each text
        Raises: as `encode`.
        """
        loaded = self._loaded
        ids = loaded.ids(texts, spaced=loaded.wants_space)
        layers = len(loaded.weights.layers)
        if self.layer is not None and not 1 <= self.layer <= layers:
            raise NoModel(
                f"the model {self.name.split('#')[0]} has layers 1 to {layers}; there is no layer {self.layer}"
            )
        layer = self.layer or min(BERTSCORE_LAYERS.get(self.folder_name, layers), layers)
        found = token_vectors(loaded.weights, ids, layer)
        _check_finite(self.name, found, texts)
        return found

    @property
    def folder_name(self) -> str:
        """The name without whose it is: `bert-base-uncased` of `google-bert/bert-base-uncased`."""
        return self.name.split("#")[0].rsplit("/", 1)[-1]

    @property
    def _loaded(self) -> "_Loaded":
        return _load(self.folder, _stamp(self.folder))

    def _encode(self, texts: Sequence[str]) -> Vectors:
        loaded = self._loaded
        vectors = token_vectors(loaded.weights, loaded.ids(texts, most=loaded.sentence_tokens))
        found = pooled(vectors, loaded.pooling, unit=loaded.unit)
        _check_finite(self.name, found, texts)
        return found


class _Loaded:
    """What a folder holds, read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.settings = _object(folder, SETTINGS)
        self.family = str(self.settings.get("model_type"))
        self.weights = self._weights()
        self.tokenizer = self._tokenizer()
        self.specials = self._specials()

    def ids(self, texts: Sequence[str], *, most: int | None = None, spaced: bool = False) -> list[list[int]]:
        """Numbers of the tokens of texts, cut off at `most`, special ones kept."""
        lower = bool(_optional(self.folder, LENGTH).get("do_lower_case"))
        shown = [text.strip().lower() if lower else text.strip() for text in texts]
        # A lone surrogate is no character, and the tokenizer takes none.
        shown = [(" " if spaced and text else "") + text.encode("utf-8", "replace").decode("utf-8") for text in shown]
        found = [list(one.ids) for one in self.tokenizer.encode_batch(shown)]
        _, last = self.specials
        longest = min(most or self.weights.longest, self.weights.longest)
        return [ids if len(ids) <= longest else ids[: longest - last] + ids[len(ids) - last :] for ids in found]

    @property
    def wants_space(self) -> bool:
        """Whether a text's first word is to be read as one within a text, which bert-score does for RoBERTa."""
        return self.family == "roberta"

    @cached_property
    def sentence_tokens(self) -> int:
        """Most tokens of a text that its vector is made of."""
        told = _optional(self.folder, LENGTH).get("max_seq_length")
        if told and not isinstance(told, int):
            raise NoModel(f"{self.folder / LENGTH}: max_seq_length is {told!r}; it must be a whole number")
        return min(told, self.weights.longest) if told else self.weights.longest

    @cached_property
    def pooling(self) -> list[str]:
        """Names of `analysis.encoders.POOLINGS`: as `1_Pooling/config.json` says, else the mean."""
        told = _optional(self.folder, POOLING)
        if _NEW_POOLING in told:
            found = told[_NEW_POOLING]
            names = [found] if isinstance(found, str) else list(found)
        else:
            modes = [
                key.removeprefix(_POOLING) for key, value in told.items() if key.startswith(_POOLING) and value is True
            ]
            names = [_OLD_POOLING.get(mode, mode) for mode in modes] or ["mean"]
        if unknown := [name for name in names if name not in POOLINGS]:
            raise NoModel(
                f"{self.folder / POOLING}: unknown pooling {', '.join(unknown)}; known: {', '.join(POOLINGS)}"
            )
        return names

    @cached_property
    def unit(self) -> bool:
        """Whether vectors get length 1: unless the folder lists steps and this is none of them.

        Raises: NoModel for steps that are not known here.
        """
        path = self.folder / MODULES
        if not path.is_file():
            return True
        steps = [str(step.get("type", "")).rsplit(".", 1)[-1] for step in _json(self.folder, MODULES)]
        if unknown := set(steps) - {"Transformer", "Pooling", "Normalize"}:
            raise NoModel(f"{path}: the step {', '.join(sorted(unknown))} can't be run here; {_ELSEWHERE}")
        return "Normalize" in steps

    def _weights(self) -> Weights:
        if self.family not in FAMILIES:
            raise NoModel(
                f"{self.folder}: a model of type {self.family} can't be run here, only {', '.join(FAMILIES)}; {_ELSEWHERE}"
            )
        safetensors = _import("safetensors.numpy")
        path = self.folder / WEIGHTS
        try:
            return weights_of(self.settings, safetensors.load_file(path))
        except AnalysisError as error:
            raise NoModel(f"{path}: {error}") from None
        except Exception as error:  # whatever the library says to a file that is cut off or of another kind
            raise NoModel(f"{path} can't be read: {error}") from error

    def _tokenizer(self) -> "Tokenizer":
        path = self.folder / TOKENIZER
        try:
            tokenizer: Tokenizer = _import("tokenizers").Tokenizer.from_file(str(path))
        except NoModel:
            raise
        except Exception as error:  # the library raises nothing more special
            raise NoModel(f"{path} can't be read: {error}") from error
        tokenizer.no_padding()
        tokenizer.no_truncation()
        known, there = tokenizer.get_vocab_size(with_added_tokens=True), len(self.weights.words)
        if known > there:
            raise NoModel(
                f"{self.folder}: {TOKENIZER} knows {known:,} tokens, and {WEIGHTS} has vectors for {there:,}: they are "
                "not of one model. Take both from the same place"
            )
        return tokenizer

    def _specials(self) -> tuple[int, int]:
        marks = self.tokenizer.encode("a").special_tokens_mask
        return sum(takewhile(bool, marks)), sum(takewhile(bool, reversed(marks)))


_ELSEWHERE = (
    "serve it at an endpoint and name it as endpoint:NAME:MODEL, or offer a similarity of your own by the entry point "
    "tandem.similarities"
)
_loading = Lock()


def is_model(folder: Path) -> bool:
    """Tell whether a folder says of itself that it is a model; what else is missing is told when it is used."""
    return (folder / SETTINGS).is_file()


def check_folder(folder: Path) -> None:
    """Refuse a folder in which a file is missing.

    Raises: NoModel naming the files.
    """
    if missing := [name for name in NEEDED if not (folder / name).is_file()]:
        raise NoModel(
            f"{folder} is no language model that can be used: {', '.join(missing)} missing. Needed are {', '.join(NEEDED)}, "
            "as save_pretrained() of transformers or save() of sentence-transformers writes them"
        )


def check_installed() -> None:
    """Refuse to go on without the packages that running a model takes.

    Raises: NoModel saying what to install.
    """
    for name in ("tokenizers", "safetensors.numpy"):
        _import(name)


def _import(name: str) -> Any:
    """Import what only those need who run a model."""
    try:
        return import_module(name)
    except ImportError as error:
        raise NoModel(f"running a language model takes the package {name.split('.')[0]}; {TO_INSTALL}") from error


def _stamp(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Sizes and times of a folder's files: tells without reading them whether they are still the same."""
    return tuple((name, path.stat().st_size, path.stat().st_mtime_ns) for name, path in _files(folder))


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    return ((name, folder / name) for name in DECIDING if (folder / name).is_file())


def _load(folder: Path, stamp: tuple[tuple[str, int, int], ...]) -> _Loaded:
    with _loading:  # two threads that ask at once load it once
        return _cached(folder, stamp)


@lru_cache(maxsize=2)  # each holds its weights in memory
def _cached(folder: Path, stamp: tuple[tuple[str, int, int], ...]) -> _Loaded:
    return _Loaded(folder)


def _digests(folder: Path) -> list[tuple[str, str]]:
    return _digests_of(folder, _stamp(folder))


@lru_cache(maxsize=16)
def _digests_of(folder: Path, stamp: tuple[tuple[str, int, int], ...]) -> list[tuple[str, str]]:
    found = []
    for name, path in _files(folder):
        with path.open("rb") as file:
            found.append((name, file_digest(file, "sha256").hexdigest()))
    return found


def _json(folder: Path, name: str) -> Any:
    path = folder / name
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise NoModel(f"{path} can't be read: {error}") from None


def _object(folder: Path, name: str) -> dict[str, Any]:
    found = _json(folder, name)
    if not isinstance(found, dict):
        raise NoModel(f"{folder / name} holds no JSON object")
    return found


def _optional(folder: Path, name: str) -> dict[str, Any]:
    return _object(folder, name) if (folder / name).is_file() else {}


def _check_finite(name: str, found: Sequence[Vectors] | Vectors, texts: Sequence[str]) -> None:
    bad = [place for place, each in enumerate(found) if not np.isfinite(each).all()]
    if bad:
        text = texts[bad[0]]
        raise NotFinite(
            f"the model {name} gave NaN or infinity for {len(bad)} of {len(texts)} texts, first for text {bad[0] + 1}, "
            f"{text[:60]!r}; leave the text out, or take another model",
            text=text,
        )
