"""Downloads of ratings and judgments, streamed."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from django.conf import settings
from django.http import FileResponse, HttpRequest, StreamingHttpResponse

from annotation.core.http import as_download
from annotation.members.permissions import READERS, study_view
from annotation.models import Study
from reporting.exports.files import EXCEL, PARQUET, export_lines, file_name, write_export

CONTENT_TYPES = {
    "csv": "text/csv; charset=utf-8",
    EXCEL: "text/csv; charset=utf-8",
    "jsonl": "application/jsonl; charset=utf-8",
    PARQUET: "application/vnd.apache.parquet",
}
CHUNK_CHARACTERS = 64 * 1024


@study_view(*READERS)
def download(request: HttpRequest, study: Study, *, kind: str, form: str) -> Any:
    """Stream the rows of one kind."""
    return rows_response(study, kind, form)


def rows_response(study: Study, kind: str, form: str) -> Any:
    """Return the rows of one kind as a file to be saved."""
    response: StreamingHttpResponse
    if form == PARQUET:
        response = FileResponse(_parquet(study, kind), content_type=CONTENT_TYPES[form])
    else:
        lines = export_lines(study, kind, form)
        response = StreamingHttpResponse(_chunks(lines), content_type=CONTENT_TYPES[form])
    return as_download(response, f"{study.slug}-{file_name(kind, form)}")


def _parquet(study: Study, kind: str) -> IO[bytes]:
    """Open a file that is written before the response begins, so that a failure can still be reported."""
    with TemporaryDirectory(dir=settings.DATA_DIR) as folder:
        path = Path(folder) / "rows"
        write_export(path, study, kind, PARQUET)
        return path.open("rb")  # which can be read after the folder is removed


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
