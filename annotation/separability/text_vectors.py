"""A cache of text vectors in the database."""

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256

import numpy as np
import numpy.typing as npt

from annotation.models import TextVector

QUERY_SIZE = 500  # texts
STEP_SIZE = 1000  # texts encoded between two writes
STORED = np.dtype("<f4")
Vectors = npt.NDArray[np.float32]


def vectors_of(texts: Sequence[str], *, model: str, encode: Callable[[Sequence[str]], Vectors]) -> Vectors:
    """Return one vector for each text, stored or computed by `encode`; new ones are stored.

    model   : fingerprint of the model
    returns : (len(texts), d)
    Raises: what `encode` raises; vectors of completed steps are stored.
    """
    keys = {text: sha256(text.encode("utf-8", "surrogatepass")).hexdigest() for text in texts}
    known = _stored(model, list(keys.values()))
    missing = [text for text, key in keys.items() if key not in known]
    for start in range(0, len(missing), STEP_SIZE):
        step = missing[start : start + STEP_SIZE]
        fresh = {keys[text]: vector for text, vector in zip(step, encode(step), strict=True)}
        _store(model, fresh)
        known |= fresh
    return np.stack([known[keys[text]] for text in texts]) if texts else np.zeros((0, 0), np.float32)


def _stored(model: str, keys: Sequence[str]) -> dict[str, Vectors]:
    found: dict[str, Vectors] = {}
    for start in range(0, len(keys), QUERY_SIZE):
        some = TextVector.objects.filter(model=model, text_sha256__in=keys[start : start + QUERY_SIZE]).order_by()
        rows = some.values_list("text_sha256", "vector")
        found |= {key: np.frombuffer(bytes(vector), STORED).astype(np.float32) for key, vector in rows}
    return found


def _store(model: str, vectors: Mapping[str, Vectors]) -> None:
    rows = [
        TextVector(model=model, text_sha256=key, vector=vector.astype(STORED).tobytes())
        for key, vector in vectors.items()
    ]
    TextVector.objects.bulk_create(rows, ignore_conflicts=True, batch_size=QUERY_SIZE)
