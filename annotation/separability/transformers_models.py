"""Language models of any family run by PyTorch and `transformers` (extra `transformers`), on a GPU where there is one.

Named `transformers:MODEL`, so that the results of NumPy's forward pass, the default, and of this one can be distinguished.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from annotation.core.errors import ModelUnavailable
from annotation.core.reasons import reason
from annotation.separability.encoder_folders import FolderModel, LoadedFolder, Vectors, import_optional

PREFIX = "transformers"
NEEDED = "needs_transformers"  # code of the refusal where a package is missing
BATCH = 32  # texts of similar length that are run together
DEFAULT_LENGTH = 512  # tokens, of models that say nothing


class TransformersFolder(LoadedFolder):
    """A loaded folder."""

    @cached_property
    def network(self) -> Any:
        """The encoder, in 32 bits. Code that a folder brings along is not run."""
        torch, transformers = (import_optional(name, NEEDED) for name in ("torch", "transformers"))
        if self.settings.get("is_encoder_decoder"):
            raise ModelUnavailable(reason("model_decodes", folder=str(self.folder), family=self.family))
        transformers.utils.logging.disable_progress_bar()  # on standard error, where commands have their own
        try:
            network = transformers.AutoModel.from_pretrained(
                str(self.folder),
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
                dtype=torch.float32,
            )
        except Exception as error:  # the library raises many types
            why = " ".join(str(error).split())[:300]
            raise ModelUnavailable(reason("model_not_loaded", folder=str(self.folder), error=why)) from error
        return network.to("cuda" if torch.cuda.is_available() else "cpu").eval()

    @property
    def layers(self) -> int:
        """Number of layers."""
        return int(self.network.config.num_hidden_layers)

    @property
    def known_tokens(self) -> int:
        """Number of tokens that have a vector."""
        return int(self.network.get_input_embeddings().num_embeddings)

    @cached_property
    def max_tokens(self) -> int:
        """Largest number of tokens of a text. Positions that start after the padding token leave fewer."""
        embeddings = getattr(getattr(self.network, "embeddings", None), "position_embeddings", None)
        padding = getattr(embeddings, "padding_idx", None)
        length = getattr(self.network.config, "max_position_embeddings", None) or DEFAULT_LENGTH
        return int(length) - (0 if padding is None else padding + 1)

    def token_vectors(self, texts: Sequence[Sequence[int]], layer: int | None = None) -> list[Vectors]:
        """Return the token vectors of texts after a layer, by default the last, in batches of similar lengths."""
        torch = import_optional("torch", NEEDED)
        vectors: list[Vectors] = [np.zeros((0, 0), np.float32)] * len(texts)
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        for start in range(0, len(order), BATCH):
            indexes = order[start : start + BATCH]
            longest = max(len(texts[index]) for index in indexes)
            ids = torch.zeros((len(indexes), longest), dtype=torch.long)
            mask = torch.zeros_like(ids)
            for row, index in enumerate(indexes):
                ids[row, : len(texts[index])] = torch.tensor(list(texts[index]))
                mask[row, : len(texts[index])] = 1
            ids[mask == 0] = int(self.network.config.pad_token_id or 0)
            device = self.network.device
            with torch.inference_mode():
                out = self.network(
                    input_ids=ids.to(device), attention_mask=mask.to(device), output_hidden_states=layer is not None
                )
            states = out.last_hidden_state if layer is None else out.hidden_states[layer]
            rows = states.float().cpu().numpy()
            for row, index in enumerate(indexes):
                vectors[index] = rows[row, : len(texts[index])].copy()
        return vectors


@dataclass(frozen=True)
class TransformersModel(FolderModel):
    """A model in a folder, run by `transformers`."""

    loads = TransformersFolder

    @property
    def backend(self) -> list[str]:
        """The software that its vectors depend on, without the device, which changes them by some 10⁻⁶."""
        return [PREFIX, *versions()]

    @property
    def folder_name(self) -> str:
        """The name without backend and owner."""
        return super().folder_name.removeprefix(f"{PREFIX}:")


def versions() -> list[str]:
    """Return the versions of the packages that run a model, without importing them: web processes look for models too.

    Raises: ModelUnavailable if one is not installed
    """
    try:
        return [version(name) for name in ("torch", "transformers")]
    except PackageNotFoundError as error:
        raise ModelUnavailable(reason(NEEDED, package=error.name)) from None
