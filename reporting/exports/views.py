"""Downloads of ratings and judgments, streamed."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.http import HttpRequest, StreamingHttpResponse

from annotation.core.http import as_download
from annotation.members.permissions import READERS, study_view
from annotation.models import Study
from reporting.exports.files import PARQUET, export_lines, write_export

CONTENT_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/jsonl; charset=utf-8",
    PARQUET: "application/vnd.apache.parquet",
}
CHUNK_CHARACTERS = 64 * 1024


@study_view(*READERS)
def download(request: HttpRequest, study: Study, *, kind: str, form: str) -> Any:
    """Stream the rows of one kind."""
    content = _parquet(study, kind) if form == PARQUET else _chunks(export_lines(study, kind, form))
    response = StreamingHttpResponse(content, content_type=CONTENT_TYPES[form])
    return as_download(response, f"{study.slug}-{kind}.{form}")


def _parquet(study: Study, kind: str) -> Iterator[bytes]:
    """Yield a file that is written first: what is in it is told at its end."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows"
        write_export(path, study, kind, PARQUET)
        with path.open("rb") as file:
            while chunk := file.read(CHUNK_CHARACTERS):
                yield chunk


def _chunks(lines: Iterable[str]) -> Iterator[str]:
    """Join lines into chunks, so that each write is worth a system call."""
    buffer: list[str] = []
    size = 0
    for line in lines:
        buffer.append(line)
        size += len(line)
        if size >= CHUNK_CHARACTERS:
            yield "".join(buffer)
            buffer, size = [], 0
    yield "".join(buffer)
