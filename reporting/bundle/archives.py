"""Bundles packed as one file, as the page of files gives them."""

import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from django.conf import settings

from annotation.core.files.file_bounds import MOST_BYTES
from annotation.core.files.sent_files import is_zip, unpack
from reporting.bundle.layout import MANIFEST, NUMBERS, BadBundle

MOST_UNPACKED = 16 * MOST_BYTES


def is_bundle(path: Path) -> bool:
    """Tell whether a ZIP archive has the files of a bundle in its folder."""
    try:
        with zipfile.ZipFile(path) as packed:
            names = set(packed.namelist())
    except (OSError, zipfile.BadZipFile, NotImplementedError, ValueError):
        return False
    folder = next(iter(names), "").partition("/")[0]
    return {f"{folder}/{MANIFEST}", f"{folder}/{NUMBERS}"} <= names


@contextmanager
def unpacked(path: Path, name: str = "") -> Iterator[Path]:
    """Give the folder of a bundle. A ZIP archive is unpacked into a temporary one.

    name : of the archive, where it is not that of its path

    Raises: BadBundle for an archive of anything but one folder; AnnotationError if it can't be unpacked.
    """
    if not (os.path.isfile(path) and is_zip(path.name)):  # noqa: PTH113  # Path.is_file raises for a name that is too long
        yield path
        return
    name = name or path.name
    with TemporaryDirectory(prefix="tandem-bundle-", dir=settings.DATA_DIR) as folder:
        unpack(path, Path(folder) / "packed", name, limit=MOST_UNPACKED)
        folders = list((Path(folder) / "packed").iterdir())
        if len(folders) != 1:
            raise BadBundle(f"{name} holds more than the folder of one bundle")
        yield folders[0]
