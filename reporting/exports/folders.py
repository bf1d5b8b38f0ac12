"""Writing a folder of files that appears under its name as a whole, or not at all."""

import gzip
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO

from annotation.core.errors import AnnotationError
from annotation.core.reasons import Reason, reason

LEVEL = 5  # of gzip: a third of the time of the default, files a few per cent larger


def as_json(value: Any) -> str:
    """Return a value as JSON in one line, with times as ISO 8601 and money as text."""
    return _ENCODER.encode(value)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, Reason):
        return value.stored() if value else ""
    raise TypeError(f"{value!r} has no place in JSON")


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain)


class Folder:
    """The files of a folder that is being written. `files` has what the manifest says of each."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.files: dict[str, dict[str, Any]] = {}

    def write_rows(self, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write JSON objects, one a line, compressed. The same rows give the same bytes."""
        count = 0
        with self._new(name) as file, gzip.GzipFile("", "wb", LEVEL, file, mtime=0) as packed:
            for row in rows:
                packed.write(as_json(row).encode() + b"\n")
                count += 1
        self._list(name, rows=count)

    def write_text(self, name: str, text: str) -> None:
        """Write a text."""
        with self._new(name) as file:
            file.write(text.encode())
        self._list(name)

    def write_json(self, name: str, document: Any) -> None:
        """Write a document."""
        self.write_text(
            name, json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1, default=_plain) + "\n"
        )

    def write_file(self, name: str, write: Callable[[Path], object]) -> None:
        """Have a file written at its path."""
        path = self.path / name
        write(path)
        with path.open("rb") as file:
            os.fsync(file.fileno())
        self._list(name)

    @contextmanager
    def _new(self, name: str) -> Iterator[BinaryIO]:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())

    def _list(self, name: str, **more: Any) -> None:
        path = self.path / name
        self.files[name] = {"sha256": sha256_of(path), "bytes": path.stat().st_size, **more}


def sha256_of(path: Path) -> str:
    """Return the hash of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def new_folder(path: Path) -> Iterator[Folder]:
    """Write a folder under another name beside it, which `path` replaces when all is written and on the disk.

    Raises: AnnotationError if something of that name is there, or it can't be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink() or path.is_file() or (path.is_dir() and any(path.iterdir())):
            raise AnnotationError(f"{path} exists already; name a new folder")
        part_folder = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.partial-"))
        try:
            yield Folder(part_folder)
            part_folder.chmod(0o755)  # mkdtemp makes it private
            part_folder.replace(path)
        except BaseException:
            shutil.rmtree(part_folder, ignore_errors=True)
            raise
    except OSError as error:
        why = reason("not_written_to", name=path.name, error=error.strerror)  # a page may show it
        raise AnnotationError(why) from None
