"""Downloads of ratings and judgments, streamed."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.http import HttpRequest, StreamingHttpResponse
from django.views.decorators.http import require_safe

from annotation.access import READERS, study_view
from annotation.models import Study
from reporting.exports import export_lines

CONTENT_TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl; charset=utf-8"}
CHUNK_CHARACTERS = 64 * 1024


@require_safe
@study_view(*READERS)
def download(request: HttpRequest, study: Study, *, kind: str, form: str) -> Any:
    """Send every rating or judgment of the study, one a row, as a `StreamingHttpResponse`."""
    response = StreamingHttpResponse(_chunks(export_lines(study, kind, form)), content_type=CONTENT_TYPES[form])
    response["Content-Disposition"] = f'attachment; filename="{study.slug}-{kind}.{form}"'
    response["Cache-Control"] = "private, no-store"
    return response


def _chunks(lines: Iterable[str]) -> Iterator[str]:
    """Join lines into pieces worth a system call each."""
    held: list[str] = []
    size = 0
    for line in lines:
        held.append(line)
        size += len(line)
        if size >= CHUNK_CHARACTERS:
            yield "".join(held)
            held, size = [], 0
    yield "".join(held)
