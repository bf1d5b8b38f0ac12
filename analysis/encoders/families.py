"""Names of settings and weights in each family of encoders, and their conversion to `Weights`."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.encoders.activations import ACTIVATIONS
from analysis.encoders.transformer import Layer, Linear, Norm, Weights
from analysis.errors import ShapeError, UnknownValue

Floats = npt.NDArray[np.float32]
Tensors = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Family:
    """Names of one family.

    prefix        : of weight names in a model saved with a head
    parts         : names of a layer's weights
    after_padding : whether position ids begin after that of padding, not at 0
    relative      : name of the relative position bias, where there is one
    """

    prefix: str
    parts: Mapping[str, str]
    after_padding: bool = False
    relative: str = ""


_BERT = MappingProxyType(
    {
        "query": "attention.self.query",
        "key": "attention.self.key",
        "value": "attention.self.value",
        "attention_output": "attention.output.dense",
        "attention_norm": "attention.output.LayerNorm",
        "feed_forward_in": "intermediate.dense",
        "feed_forward_out": "output.dense",
        "norm": "output.LayerNorm",
    }
)
_OF_ATTENTION = {"query": "q", "key": "k", "value": "v", "attention_output": "o"}
_MPNET = MappingProxyType(
    {
        **_BERT,
        **{part: f"attention.attn.{name}" for part, name in _OF_ATTENTION.items()},
        "attention_norm": "attention.LayerNorm",
    }
)
_ROBERTA = Family("roberta.", _BERT, after_padding=True)

# By `model_type`; those of RoBERTa's family differ in what they were trained on.
FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "bert": Family("bert.", _BERT),
        "camembert": _ROBERTA,
        "mpnet": Family("mpnet.", _MPNET, after_padding=True, relative="encoder.relative_attention_bias.weight"),
        "roberta": _ROBERTA,
        "xlm-roberta": _ROBERTA,
    }
)
LAYER = "encoder.layer.{}."
_DEFAULT_EPS = 1e-12
_PADDING = 1  # default position id of padding


def weights_of(settings: Mapping[str, Any], tensors: Tensors) -> Weights:
    """Convert settings and weights from a model's folder to the form that `token_vectors` takes.

    settings : `config.json`
    tensors  : weights by name, of any precision
    raises   : UnknownValue for a family or a setting that is not known here; ShapeError for weights that are
               missing or don't fit
    """
    family = FAMILIES.get(str(settings.get("model_type")))
    if family is None:
        raise UnknownValue(f"unknown kind of encoder {settings.get('model_type')!r}; known: {', '.join(FAMILIES)}")
    activation = str(settings.get("hidden_act", "gelu"))
    if activation not in ACTIVATIONS:
        raise UnknownValue(f"unknown activation {activation!r}; known: {', '.join(ACTIVATIONS)}")
    if settings.get("position_embedding_type", "absolute") != "absolute":
        raise UnknownValue(f"unknown kind of positions {settings['position_embedding_type']!r}; known: absolute")
    if settings.get("is_decoder"):
        raise UnknownValue("the model is a decoder; similarities need an encoder")
    width, heads, count = (
        _number(settings, name) for name in ("hidden_size", "num_attention_heads", "num_hidden_layers")
    )
    if width % heads:
        raise ShapeError(f"a width of {width} can't be divided among {heads} heads")
    reader = _TensorReader(family, tensors, width)
    return Weights(
        words=reader.array("embeddings.word_embeddings.weight", (None, width)),
        positions=_positions(family, settings, reader),
        norm=reader.norm("embeddings.LayerNorm"),
        layers=tuple(_layer(family, reader, number, heads) for number in range(count)),
        heads=heads,
        eps=float(settings.get("layer_norm_eps", _DEFAULT_EPS)),
        activation=activation,
        relative=reader.array(family.relative, (None, heads)) if family.relative else None,
    )


def _number(settings: Mapping[str, Any], name: str) -> int:
    value = settings.get(name)
    if not isinstance(value, int) or value < 1:
        raise ShapeError(f"the setting {name} is {value!r}; needed a whole number from 1 on")
    return value


class _TensorReader:
    """Reads weights by their names without prefix, and checks their shapes."""

    def __init__(self, family: Family, tensors: Tensors, width: int) -> None:
        words = "embeddings.word_embeddings.weight"
        self.prefix = family.prefix if family.prefix + words in tensors else ""
        self.tensors = tensors
        self.width = width

    def has(self, name: str) -> bool:
        return self.prefix + name in self.tensors

    def array(self, name: str, shape: tuple[int | None, ...]) -> Floats:
        if not self.has(name):
            raise ShapeError(f"the weights {self.prefix + name} are missing")
        array = self.tensors[self.prefix + name]
        if len(array.shape) != len(shape) or any(
            want not in (None, have) for want, have in zip(shape, array.shape, strict=True)
        ):
            expected = " × ".join("any" if want is None else str(want) for want in shape)
            raise ShapeError(f"the weights {self.prefix + name} are {array.shape}; needed {expected}")
        return np.ascontiguousarray(array, dtype=np.float32)

    def linear(self, name: str, into: int | None = None, out: int | None = None) -> Linear:
        weight = self.array(f"{name}.weight", (out, into))
        return Linear(weight, self.array(f"{name}.bias", (len(weight),)))

    def norm(self, name: str) -> Norm:
        # The oldest files have the names that TensorFlow gave.
        weight, bias = ("gamma", "beta") if self.has(f"{name}.gamma") else ("weight", "bias")
        return Norm(self.array(f"{name}.{weight}", (self.width,)), self.array(f"{name}.{bias}", (self.width,)))


def _positions(family: Family, settings: Mapping[str, Any], reader: _TensorReader) -> Floats:
    positions = reader.array("embeddings.position_embeddings.weight", (None, reader.width))
    if family.after_padding:
        padding = settings.get("pad_token_id")
        positions = positions[(_PADDING if padding is None else int(padding)) + 1 :]
    if reader.has("embeddings.token_type_embeddings.weight"):
        positions = positions + reader.array("embeddings.token_type_embeddings.weight", (None, reader.width))[0]
    return positions


def _layer(family: Family, reader: _TensorReader, number: int, heads: int) -> Layer:
    names = {part: LAYER.format(number) + name for part, name in family.parts.items()}
    width = reader.width
    query, key, value = (reader.linear(names[part], width, width) for part in ("query", "key", "value"))
    scale = np.float32(1 / np.sqrt(width // heads))
    return Layer(
        qkv=Linear(
            np.concatenate([query.weight * scale, key.weight, value.weight]),
            np.concatenate([query.bias * scale, key.bias, value.bias]),
        ),
        attention_output=reader.linear(names["attention_output"], width, width),
        attention_norm=reader.norm(names["attention_norm"]),
        feed_forward_in=(feed_forward_in := reader.linear(names["feed_forward_in"], width)),
        feed_forward_out=reader.linear(names["feed_forward_out"], len(feed_forward_in.weight), width),
        norm=reader.norm(names["norm"]),
    )
