"""Reading a bundle's files: its manifest, its hashes, its rows; also packed as one file, as the page of files gives them."""

import gzip
import json
import os
import re
import zipfile
import zlib
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.conf import settings

from annotation.core.files.file_bounds import MOST_BYTES
from annotation.core.files.json_values import read_value
from annotation.core.files.sent_files import is_zip, unpack
from annotation.core.reasons import Reason, reason
from annotation.core.version import VERSION
from reporting.bundle.layout import (
    CHOICES,
    FORMAT_VERSION,
    KIND,
    MANIFEST,
    NUMBERS,
    STUDY,
    BadBundle,
    Contents,
    Progress,
    row_file,
    silent,
)
from reporting.exports.folders import sha256_of

LONGEST_LINE = 64 * 2**20
LONGEST_DOCUMENT = 1024 * 2**20
NAME = re.compile(r"([\w-]+/)*[\w.-]+")  # of a file: no way out of the folder, and nothing hidden


@dataclass(frozen=True)
class Bundle:
    """An opened bundle. Only files of the manifest are read.

    reworded : how many texts this code words otherwise; known after verification
    """

    folder: Path
    manifest: dict[str, Any]
    reworded: int = 0

    @property
    def result(self) -> Reason:
        """What verifying has found, in a line."""
        summary = reason("files_as_written", number=len(self.manifest["files"]))
        if not self.reworded:
            return summary
        version = str(self.manifest.get("software_version"))
        return reason("texts_reworded", summary=summary, number=self.reworded, here=VERSION, version=version)

    @cached_property
    def study(self) -> dict[str, Any]:
        """The study's settings, questions, systems and amendments."""
        document: dict[str, Any] = self._document(STUDY)
        return document

    @cached_property
    def numbers(self) -> dict[str, Any]:
        """The numbers that the bundle states."""
        document: dict[str, Any] = self._document(NUMBERS)
        return document

    @property
    def contents(self) -> Contents:
        """The parts of the study that the bundle has beside the numbers."""
        return Contents(**{choice: self.manifest["contents"].get(choice) is True for choice in CHOICES})

    def rows(self, name: str) -> Iterator[dict[str, Any]]:
        """Yield the rows of a file.

        Raises: BadBundle naming the line that is no JSON object.
        """
        file = row_file(name)
        for number, line in enumerate(self.lines(name), start=1):
            try:
                row = read_value(line.decode())
            except ValueError as error:
                raise BadBundle(reason("bundle_line", file=file, number=number, error=str(error))) from None
            if not isinstance(row, dict):
                raise BadBundle(reason("bundle_line_not_object", file=file, number=number))
            yield row

    def lines(self, name: str) -> Iterator[bytes]:
        """Yield the lines of a file of rows."""
        file, number = row_file(name), 0
        try:
            with gzip.open(self._path(file), "rb") as lines:
                while line := lines.readline(LONGEST_LINE + 1):
                    number += 1
                    if len(line) > LONGEST_LINE:
                        why = reason("bundle_line_too_long", file=file, number=number, most=LONGEST_LINE // 2**20)
                        raise BadBundle(why)
                    yield line
        except (OSError, EOFError, zlib.error) as error:
            raise BadBundle(reason("not_unpacked", name=file, error=str(error))) from None
        if number != self.manifest["files"][file].get("rows"):
            raise BadBundle(reason("rows_not_as_listed", file=file, number=number))

    def check_files(self, progress: Progress = silent) -> None:
        """Compare every file with the manifest: its bytes, and how many rows it has.

        Raises: BadBundle for a changed, missing, or further file.
        """
        listed = self.manifest["files"]
        for done, (name, entry) in enumerate(listed.items(), start=1):
            if sha256_of(self._path(name)) != entry.get("sha256"):
                raise BadBundle(reason("changed_in_bundle", file=name))
            if "rows" in entry:
                deque(self.lines(name.removesuffix(row_file(""))), maxlen=0)  # which counts them
            progress(done, len(listed))
        present = {
            path.relative_to(self.folder).as_posix()
            for path in self.folder.rglob("*")
            if path.is_symlink() or not path.is_dir()
        }
        if unlisted := sorted(present - set(listed) - {MANIFEST}):
            raise BadBundle(reason("unlisted_in_bundle", file=unlisted[0]))

    def _document(self, name: str) -> Any:
        return _read_document(self._path(name))

    def _path(self, name: str) -> Path:
        if name not in self.manifest["files"]:
            raise BadBundle(reason("bundle_without_file", file=name))
        return _file_of(self.folder, name)


def _file_of(folder: Path, name: str) -> Path:
    """Return the path of a file of the bundle.

    Raises: BadBundle for a name that leads elsewhere, a missing file, a symbolic link.
    """
    if not NAME.fullmatch(name) or ".." in name:
        raise BadBundle(reason("no_name_in_bundle", name=repr(name)))
    path = folder
    for part in Path(name).parts:
        path /= part
        if os.path.islink(path):  # noqa: PTH114  # methods of Path raise OSError for a name that is too long
            raise BadBundle(reason("link_in_bundle", file=name))
    if not os.path.isfile(path):  # noqa: PTH113
        raise BadBundle(reason("missing_in_bundle", file=name))
    return path


def _read_document(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            data = file.read(LONGEST_DOCUMENT + 1)
        if len(data) > LONGEST_DOCUMENT:
            raise BadBundle(reason("document_too_large", file=path.name, most=LONGEST_DOCUMENT // 2**20))
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadBundle(reason("document_not_json", file=path.name, error=str(error))) from None
    except OSError as error:
        raise BadBundle(reason("file_unreadable", name=path.name, error=error.strerror)) from None


def open_bundle(folder: Path) -> Bundle:
    """Read the manifest of a bundle. Its files are not checked yet.

    Raises: BadBundle if it is none, or one of a newer format.
    """
    if not os.path.isdir(folder):  # noqa: PTH112
        raise BadBundle(reason("no_folder", folder=str(folder)))
    manifest = _read_document(_file_of(folder, MANIFEST))
    if not isinstance(manifest, dict) or manifest.get("kind") != KIND or not isinstance(manifest.get("files"), dict):
        raise BadBundle(reason("no_bundle"))
    version = manifest.get("format_version")
    if version != FORMAT_VERSION:
        # As texts that can be stored: a manifest may have anything here.
        number, made_by = (
            str(value).encode(errors="replace").decode() for value in (version, manifest.get("software_version"))
        )
        raise BadBundle(reason("bundle_of_other_format", number=number, version=made_by, here=FORMAT_VERSION))
    if not all(isinstance(entry, dict) for entry in manifest["files"].values()):
        raise BadBundle(reason("bundle_without_hashes"))
    for name in manifest["files"]:
        _file_of(folder, name)
    return Bundle(folder, manifest)


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
            raise BadBundle(reason("bundle_and_more", name=name))
        yield folders[0]
