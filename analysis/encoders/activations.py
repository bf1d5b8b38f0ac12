"""Activation functions, computed in place and in blocks that fit the processor's cache."""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
BLOCK = 2**16

# Of the approximation of the error function, 7.1.26 in Abramowitz and Stegun; its error is 1.5e-7 at most.
_AT = np.float32(0.3275911 / math.sqrt(2))
_BY = tuple(np.float32(0.5 * factor) for factor in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592))


def gelu(x: Floats) -> None:
    """x times the share of a normal distribution below x, in place.

    source : Hendrycks and Gimpel 2016, Gaussian error linear units
    """
    room = [np.empty(min(BLOCK, x.size), np.float32) for _ in range(3)]
    for start in range(0, x.size, BLOCK):
        part = x[start : start + BLOCK]
        size, factor_sum, tail = (buffer[: part.size] for buffer in room)
        np.abs(part, out=size)
        np.multiply(size, _AT, out=factor_sum)
        factor_sum += np.float32(1)
        np.reciprocal(factor_sum, out=factor_sum)
        np.multiply(factor_sum, _BY[0], out=tail)
        for factor in _BY[1:]:
            tail += factor
            tail *= factor_sum
        np.multiply(size, size, out=factor_sum)
        factor_sum *= np.float32(-0.5)
        np.exp(factor_sum, out=factor_sum)
        tail *= factor_sum  # the share beyond |x|
        tail *= size
        np.maximum(part, np.float32(0), out=part)
        part -= tail


def gelu_by_tanh(x: Floats) -> None:
    """The approximation of `gelu` by a hyperbolic tangent, which some encoders were trained with."""
    for start in range(0, x.size, BLOCK):
        part = x[start : start + BLOCK]
        inner = part * part
        inner *= np.float32(0.044715)
        inner += np.float32(1)
        inner *= part
        inner *= np.float32(math.sqrt(2 / math.pi))
        np.tanh(inner, out=inner)
        inner += np.float32(1)
        inner *= np.float32(0.5)
        part *= inner


def relu(x: Floats) -> None:
    """Rectified linear unit, in place."""
    np.maximum(x, np.float32(0), out=x)


ACTIVATIONS: Mapping[str, Callable[[Floats], None]] = MappingProxyType(
    {
        "gelu": gelu,
        "gelu_new": gelu_by_tanh,
        "gelu_pytorch_tanh": gelu_by_tanh,
        "relu": relu,
    }
)
