"""The documentation, as it lies in docs/, as pages of the program: its contents, a search, and each page."""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.core import markdown

DOCS: Path = settings.BASE_DIR / "docs"
FOR_DEVELOPERS = ("How to: extend Tandem", "Decisions")  # groups of the contents
MORE_FOR_DEVELOPERS = ("tutorial/first_change.md", "architecture.md", "benchmarks.md", "explanation/visual_language.md")
MOST_RESULTS = 30
MOST_WORDS = 8
EXCERPT_LENGTH = 200


@dataclass(frozen=True)
class Section:
    """A part of a page of the documentation, from its heading to the next one."""

    page: str
    page_title: str
    title: str
    anchor: str
    level: int
    text: str

    @property
    def is_for_developers(self) -> bool:
        """Tell whether the page is for those who change the code."""
        pages_of_group = (contents().get(group, {}) for group in FOR_DEVELOPERS)
        return self.page in MORE_FOR_DEVELOPERS or any(self.page in names for names in pages_of_group)


@lru_cache(maxsize=1)
def pages() -> frozenset[str]:
    """Return the names of all pages, as links use them. No other file is read but pictures."""
    return frozenset(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


@lru_cache(maxsize=1)
def sections() -> tuple[Section, ...]:
    """Return the sections of all pages."""
    return tuple(section for page in sorted(pages()) for section in _sections_of(page))


def _sections_of(page: str) -> Iterator[Section]:
    parts: list[tuple[int, str, list[str]]] = []
    in_code = False
    for line in (DOCS / page).read_text(encoding="utf-8").splitlines():
        in_code ^= line.lstrip().startswith("```")
        match = None if in_code else re.match(r"(#{1,4}) (.+)", line)
        if match:
            parts.append((len(match[1]), match[2], []))
        elif parts:
            parts[-1][2].append(line)
    anchors = markdown.heading_anchors(heading for _level, heading, _lines in parts)
    for (level, heading, lines), anchor in zip(parts, anchors, strict=True):
        yield Section(page, _plain(parts[0][1]), _plain(heading), anchor, level, "\n".join(lines))


def _plain(text: str) -> str:
    """Return text without the signs of Markdown."""
    return re.sub(r"[*`|]|!?\[([^\]]*)\]\([^)]*\)", r"\1", text).strip()


@lru_cache(maxsize=1)
def contents() -> dict[str, dict[str, str]]:
    """Return the titles of the pages by group, in the order of the site's table of contents."""
    titles = {section.page: section.page_title for section in reversed(sections())}
    groups: dict[str, dict[str, str]] = {}
    for block in (DOCS / "index.rst").read_text(encoding="utf-8").split(".. toctree::")[1:]:
        caption = re.search(r":caption: (.+)", block)
        entries = re.findall(r"(?m)^   (\w[\w/*]+)$", block)
        names = [path.relative_to(DOCS).as_posix() for entry in entries for path in sorted(DOCS.glob(f"{entry}.md"))]
        groups[caption[1] if caption else ""] = {name: titles[name] for name in names}
    return groups


def search(query: str) -> list[tuple[Section, str]]:
    """Return the sections that hold each word of a query, with an excerpt.

    Pages for users come before those for developers, sections with the words in their title before others.
    """
    words = query.lower().split()[:MOST_WORDS]
    matches = [section for section in sections() if words and all(word in _searched(section).lower() for word in words)]
    matches.sort(key=lambda section: _rank(section, words))
    return [(section, _excerpt(section, words)) for section in matches[:MOST_RESULTS]]


def _rank(section: Section, words: list[str]) -> tuple[bool, int, int]:
    in_title = sum(word in section.title.lower() for word in words)
    return section.is_for_developers, -in_title, len(section.title) if in_title else 0


def _searched(section: Section) -> str:
    return f"{section.page_title} {section.title} {section.text}"


def _excerpt(section: Section, words: list[str]) -> str:
    lines = [line for line in map(_plain, section.text.splitlines()) if line.strip("-: ")]
    line = next((line for line in lines if any(word in line.lower() for word in words)), lines[0] if lines else "")
    return line if len(line) <= EXCERPT_LENGTH else f"{line[:EXCERPT_LENGTH]}…"


@login_required
@require_safe
def contents_page(request: HttpRequest) -> HttpResponse:
    """Show the contents of the documentation, or what a search finds."""
    query = request.GET.get("q", "")[:EXCERPT_LENGTH]
    results = search(query)
    return render(
        request, "reporting/study_pages/help.html", {"groups": contents(), "query": query, "results": results}
    )


@login_required
@require_safe
def documentation(request: HttpRequest, page: str) -> HttpResponse:
    """Show a page of the documentation, or a picture of one."""
    if re.fullmatch(r"images/[\w-]+\.png", page) and (DOCS / page).is_file():
        return HttpResponse((DOCS / page).read_bytes(), content_type="image/png")
    if page not in pages():
        raise Http404(f"no page {page}")
    folder = posixpath.dirname(page)
    text = markdown.render_documentation(
        (DOCS / page).read_text(encoding="utf-8"),
        is_target=lambda target: posixpath.normpath(posixpath.join(folder, target)) in pages(),
    )
    on_page = [section for section in sections() if section.page == page]
    context = {
        "text": text,
        "title": on_page[0].title,
        "sections": [section for section in on_page if section.level == 2],
    }
    return render(request, "reporting/study_pages/documentation.html", context)
