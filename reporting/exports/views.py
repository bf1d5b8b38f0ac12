"""Downloads of ratings and judgments, streamed."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.http import HttpRequest, StreamingHttpResponse

from annotation.core.http import as_download
from annotation.members.permissions import READERS, study_view
from annotation.models import Study
from reporting.exports.files import export_lines

CONTENT_TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl; charset=utf-8"}
CHUNK_CHARACTERS = 64 * 1024


@study_view(*READERS)
def download(request: HttpRequest, study: Study, *, kind: str, form: str) -> Any:
    """Stream the rows of one kind."""
    response = StreamingHttpResponse(_chunks(export_lines(study, kind, form)), content_type=CONTENT_TYPES[form])
    return as_download(response, f"{study.slug}-{kind}.{form}")


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
