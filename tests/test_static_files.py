"""Static files as the server sends them: collected, named after their content, compressed, kept by browsers for ever."""

import gzip
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.staticfiles.finders import get_finder
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.management import call_command
from django.test import Client, override_settings

from config import settings
from reporting.management.commands.serve import static_files_are_current

pytestmark = [pytest.mark.django_db, pytest.mark.slow]  # closing an answer looks after connections
STYLES = "".join(
    path.read_text(encoding="utf-8") for path in sorted((settings.BASE_DIR / "static" / "css").glob("*.css"))
)
NUMBERED = (
    {"errorlist", "user"} | {f"shade-{step}" for step in range(1, 6)} | {f"text-{size}" for size in ("small", "large")}
)
SCRIPTS = sorted((settings.BASE_DIR / "static" / "js").glob("*.js"))


@pytest.fixture(scope="module", autouse=True)
def collected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Collect the files into a folder of this module, as a server does when it starts."""
    folder = tmp_path_factory.mktemp("static")
    with override_settings(STATIC_ROOT=folder, WHITENOISE_USE_FINDERS=False, STORAGES=settings.STORAGES):
        call_command("collectstatic", interactive=False, verbosity=0)
        yield folder


def ask(name: str = "css/tandem.css", **headers: str) -> tuple[Any, bytes]:
    """Ask for a file; return the answer, and its body as it came."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    response: Any = Client().get(staticfiles_storage.url(name), headers=sent)
    body = b"".join(response.streaming_content) if response.streaming else response.content
    response.close()
    return response, body


def test_a_file_is_named_after_its_content_and_kept_for_ever() -> None:
    response, body = ask()
    assert re.fullmatch(r"/static/css/tandem\.[0-9a-f]{12}\.css", staticfiles_storage.url("css/tandem.css"))
    assert body == (settings.BASE_DIR / "static" / "css" / "tandem.css").read_bytes()
    assert "immutable" in response["Cache-Control"]
    outbox = staticfiles_storage.url("js/outbox.js").rsplit("/")[-1]
    assert re.fullmatch(r"outbox\.[0-9a-f]{12}\.js", outbox)
    assert f'from "./{outbox}"' in ask("js/rate.js")[1].decode()


def test_a_file_is_compressed_for_those_who_take_it() -> None:
    packed, smaller = ask(Accept_Encoding="gzip, deflate, br")
    plain, body = ask()
    assert packed["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in plain
    assert gzip.decompress(smaller) == body
    assert all("Accept-Encoding" in one["Vary"] for one in (plain, packed))


def test_files_are_collected_anew_only_where_one_has_come_since(tmp_path: Path) -> None:
    added = tmp_path / "added"
    added.mkdir()
    with override_settings(STATIC_ROOT=tmp_path / "none"):
        assert not static_files_are_current()
    with override_settings(STATICFILES_DIRS=[*settings.STATICFILES_DIRS, added]):
        get_finder.cache_clear()
        assert static_files_are_current()
        (added / "late.css").write_text("p {}")
        os.utime(added / "late.css", (0, 0))  # as an installation may keep it
        assert not static_files_are_current()
    get_finder.cache_clear()


def test_every_file_that_a_page_loads_is_there() -> None:
    page = Client().get("/login/").text
    paths = re.findall(r'(?:href|src)="(/static/[^"]+)"', page)
    assert len(paths) >= 3
    for path in paths:
        response = Client().get(path)
        assert response.status_code == 200, path
        response.close()


def test_scripts_of_pages_are_modules() -> None:
    templates = "".join(path.read_text(encoding="utf-8") for path in (settings.BASE_DIR / "templates").rglob("*.html"))
    own = re.findall(r"<script[^>]*'js/[^>]*>", templates)
    assert len(own) >= len(SCRIPTS) > 0
    assert [tag for tag in own if not tag.startswith('<script type="module" src=')] == []


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_scripts_share_no_global_and_import_what_is_there(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert set(re.findall(r"\bwindow\.(\w+)", text)) <= {"htmx", "Intl"}
    for name in re.findall(r'^import .* from "(.*)";$', text, re.MULTILINE):
        assert (path.parent / name).is_file(), name


def test_every_class_of_the_styles_is_used() -> None:
    folders = ("templates", "static/js", "annotation", "judging", "reporting")
    paths = [path for folder in folders for path in (settings.BASE_DIR / folder).rglob("*.*")]
    texts = [path.read_text(encoding="utf-8") for path in paths if path.suffix in (".html", ".js", ".py")]
    words = {word for text in texts for word in re.findall(r"[\w-]+", text)}
    selectors = re.findall(r"[^{}]+(?={)", re.sub(r"(?s)/\*.*?\*/", "", STYLES))
    classes = {name for selector in selectors for name in re.findall(r"\.([a-zA-Z_][\w-]*)", selector)}
    assert sorted(classes - words - NUMBERED) == []


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour as in WCAG 2.2."""
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4 for channel in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize(("scheme", "page"), [(0, "#ffffff"), (1, "#13171f")], ids=["light", "dark"])
@pytest.mark.parametrize(
    "name", ["--tandem-good", "--tandem-bad", "--tandem-wait", "--tandem-left", "--tandem-right", "--pico-primary"]
)
def test_colours_of_text_are_readable_on_the_page_and_on_a_tint(name: str, scheme: int, page: str) -> None:
    colour, tint = (re.findall(rf"{one}: (#[0-9a-f]{{6}})", STYLES)[scheme] for one in (name, "--tandem-tint"))
    for ground in (page, tint):
        darker, lighter = sorted((luminance(colour), luminance(ground)))
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5, (name, ground)
