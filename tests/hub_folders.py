"""Folders of data sets, loaded by the library of the Hugging Face hub without the hub."""

import os
from pathlib import Path
from typing import Any


def hub_library() -> Any:
    """Return the module `datasets`, kept from the network. Importing it takes a second: only those do who use it."""
    os.environ["HF_HUB_OFFLINE"] = "1"  # read when the library is imported
    import datasets

    return datasets


def load_folder(folder: Path, **options: Any) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each split, as `load_dataset` gives them; what it keeps goes beside the folder."""
    found = hub_library().load_dataset(str(folder), cache_dir=str(folder.parent / f"{folder.name}.cache"), **options)
    return {split: list(rows) for split, rows in found.items()}
