"""Golden numbers and seeded randomness for the tests of the measures."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

GOLDEN = Path(__file__).parent.parent / "golden"


@pytest.fixture
def golden() -> Callable[[str], Any]:
    """Reads a file of `tests/golden` by its name without the ending."""
    return lambda name: json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240601)
