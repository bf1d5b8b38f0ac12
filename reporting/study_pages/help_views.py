"""The documentation, as it lies in docs/, as pages of the program."""

from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.core import markdown

DOCS: Path = settings.BASE_DIR / "docs"


@lru_cache(maxsize=1)
def pages() -> frozenset[str]:
    """Return the names of all pages, as links use them. No other file is read."""
    return frozenset(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


@login_required
@require_safe
def documentation(request: HttpRequest, page: str) -> HttpResponse:
    """Show a page of the documentation."""
    if page not in pages():
        raise Http404(f"no page {page}")
    text = markdown.render((DOCS / page).read_text(encoding="utf-8"))
    return render(request, "reporting/study_pages/documentation.html", {"text": text, "page": page})
