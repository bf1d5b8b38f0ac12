"""Uploaded files (one, several, a folder or a ZIP archive), read as one."""

import json
import os
import shutil
import stat
import zipfile
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from django.conf import settings

from annotation.core.errors import AnnotationError, BadFile, BadLine
from annotation.core.files.file_bounds import Bound
from annotation.core.files.lines import FileData, first_json_record, is_csv, is_json_array, read_json, refuse
from annotation.core.files.parquet import FORMS, as_json_lines
from annotation.core.reasons import reason

DATA_FILES = (".jsonl", ".json", ".parquet", ".arrow")
# What the library `datasets` writes beside the rows.
DESCRIPTIONS = ("dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json")
MOST_FILES = 10_000


@dataclass(frozen=True)
class Joined:
    """One file, or the bytes of several files, one after the other.

    name   : of the whole
    starts : the number of lines before each file, and its name; empty for a single file
    """

    data: FileData
    name: str
    starts: Sequence[tuple[int, str]] = ()

    @contextmanager
    def own_lines(self) -> Iterator[None]:
        """Give the lines of a BadFile the numbers that they have in their own files."""
        try:
            yield
        except BadFile as error:
            if not self.starts:
                raise
            raise BadFile(self.name, [self._own(line) for line in error.lines]) from None

    def _own(self, line: BadLine) -> BadLine:
        before, name = self.starts[bisect_right(self.starts, line.number - 1, key=lambda start: start[0]) - 1]
        return replace(line, number=line.number - before, file=name)


def read_sent(path: Path, name: str, *, limit: int, bound: Bound) -> Joined:
    """Return a file, or the data files of a folder in the order of their names. Rows of Parquet and Arrow become JSON Lines.

    limit  : bytes that all of it may take
    bound : on the rows of each Parquet or Arrow file
    Raises: AnnotationError if it can't be read or is too large; BadFile.
    """
    if not os.path.isdir(path):  # noqa: PTH112  # Path.is_dir raises OSError for a name that is too long
        return Joined(_rows_of(path, name, limit, bound), name)
    files = sorted(
        item
        for item in path.rglob("*")
        if item.suffix.lower() in DATA_FILES and item.name not in DESCRIPTIONS and not item.name.startswith(".")
    )
    if not files:
        raise AnnotationError(reason("no_data_file", name=name, endings=list(DATA_FILES)))
    return join([(file, file.relative_to(path).as_posix()) for file in files], name, limit=limit, bound=bound)


def join(files: Sequence[tuple[Path, str]], name: str, *, limit: int, bound: Bound) -> Joined:
    """Read several files, given with their names, as one of JSON Lines. Arguments and errors as of `read_sent`."""
    parts: list[bytes] = []
    starts: list[tuple[int, str]] = []
    lines = size = 0
    for path, own in files:
        if is_csv(own):
            raise AnnotationError(reason("csv_of_several", name=own))
        data = _rows_of(path, own, limit, bound)
        data = data if isinstance(data, bytes) else data.read_bytes()
        data = (_as_lines(data, own) if is_json_array(data) else data).rstrip(b"\r\n") + b"\n"
        starts.append((lines, own))
        parts.append(data)
        lines += data.count(b"\n")
        size += len(data)
        if size > limit:
            raise _too_large(name, limit)
    return Joined(b"".join(parts), name, starts)


def _rows_of(path: Path, name: str, limit: int, bound: Bound) -> FileData:
    """Return a file, or its rows where they are written in another form."""
    try:
        if path.stat().st_size > limit:
            raise _too_large(name, limit)
        if path.suffix.lower() in FORMS:
            data: FileData = as_json_lines(path, name, limit=limit, bound=bound)
        elif path.is_file():
            path.open("rb").close()
            data = path
        else:  # a pipe, which is read once
            data = path.read_bytes()
    except OSError as error:
        raise AnnotationError(reason("file_unreadable", name=name, error=error.strerror)) from None
    # Outputs that name no system are of the one that their file is named after.
    fields = set() if is_csv(name) else first_json_record(data).keys()
    is_nameless = "generator" not in fields and fields >= {"instruction", "output"}
    return _as_lines(data, name, generator=PurePosixPath(name).stem) if is_nameless else data


def _too_large(name: str, limit: int) -> AnnotationError:
    return AnnotationError(reason("file_too_large", name=name, limit=limit // 2**20))


def _as_lines(data: FileData, name: str, **more: str) -> bytes:
    """Return JSON as JSON Lines with more fields, each object on the line on which it starts, or on a later one."""
    records, bad = read_json(data)
    lines: list[bytes] = []
    for number, record in records:
        lines.extend([b""] * (number - 1 - len(lines)))
        lines.append(json.dumps({**more, **record}, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    refuse(name, bad)
    return b"\n".join(lines)


def is_zip(name: str) -> bool:
    """Tell whether a file's name ends with .zip."""
    return name.lower().endswith(".zip")


def is_packed(name: str) -> bool:
    """Tell whether a file may unpack to far more than its size."""
    return is_zip(name) or PurePosixPath(name).suffix.lower() in FORMS


def unpack(archive: Path, folder: Path, name: str, *, limit: int) -> None:
    """Unpack a ZIP archive into a new folder, within bounds. Nothing is written outside it.

    limit : bytes that its files may take, counted while they are unpacked; they may not fill the disk either
    Raises: AnnotationError for an archive that can't be read, is too large, or holds a link or a way out of the folder.
    """
    try:
        room = shutil.disk_usage(folder.parent).free - settings.LEAST_FREE_BYTES
        remaining = min(limit, max(0, room))
        folder.mkdir()
        with zipfile.ZipFile(archive) as packed:
            if len(packed.infolist()) > MOST_FILES:
                raise AnnotationError(reason("too_many_files", name=name, most=MOST_FILES))
            for member in packed.infolist():
                target = folder / _place(member, name)
                if member.is_dir():
                    continue
                target.parent.mkdir(parents=True, exist_ok=True)
                with packed.open(member) as file, target.open("xb") as out:
                    while chunk := file.read(min(2**20, remaining + 1)):
                        remaining -= len(chunk)
                        if remaining < 0:
                            code = "no_room_to_unpack" if room < limit else "unpacks_too_large"
                            raise AnnotationError(reason(code, name=name, limit=limit // 2**20))
                        out.write(chunk)
    except FileExistsError:
        raise AnnotationError(reason("file_twice", name=name)) from None
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError) as error:
        raise AnnotationError(reason("no_archive", name=name, error=str(error))) from None
    except OSError as error:
        raise AnnotationError(reason("not_unpacked", name=name, error=error.strerror or str(error))) from None


def _place(member: zipfile.ZipInfo, name: str) -> PurePosixPath:
    path = PurePosixPath(member.filename)
    kind = member.external_attr >> 16
    if path.is_absolute() or ".." in path.parts or "\\" in member.filename or not path.parts:
        raise AnnotationError(reason("leads_out", name=name, member=repr(member.filename)))
    if kind and stat.S_IFMT(kind) not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise AnnotationError(reason("link_or_no_file", name=name, member=repr(member.filename)))
    return path
