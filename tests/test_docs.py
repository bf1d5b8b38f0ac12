"""The documents speak of what is there: commands, targets, settings, files."""

import re
from pathlib import Path

import pytest
from django.core.management import get_commands

from annotation.core.markdown import heading_anchors
from tools.docs import PAGES as GENERATED

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.md")])
OWN = {name for name, app in get_commands().items() if app in ("annotation", "judging", "reporting")}


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and the site form them."""
    outside = re.sub(r"(?ms)^```.*?^```$", "", page.read_text(encoding="utf-8"))
    heads = re.findall(r"(?m)^#+ (.+)$", outside)
    return set(heading_anchors(heads))


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_of_a_page_leads_to_a_file_and_a_heading(page: Path) -> None:
    missing = []
    for target in re.findall(r"\]\(([^)\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
        name, _, anchor = target.partition("#")
        file = page.parent / name if name else page
        if "://" not in target and not (file.exists() and (not anchor or anchor in anchors(file))):
            missing.append(target)
    assert missing == []


def test_every_page_is_in_the_contents_of_the_site() -> None:
    contents = re.findall(r"(?m)^   (\w[\w/*]+)$", text_of("docs/index.rst"))
    named = {path for entry in contents for path in ROOT.glob(f"docs/{entry}.md")}
    assert sorted(page for page in PAGES if page.is_relative_to(ROOT / "docs") and page not in named) == []
    assert {entry for entry in contents if not list(ROOT.glob(f"docs/{entry}.md"))} == {
        f"reference/{name}" for name in GENERATED
    }


@pytest.mark.slow
def test_generated_pages_hold_what_the_program_has() -> None:
    commands = GENERATED["commands"]()
    assert sorted(name for name in OWN if f"\n### {name}\n" not in commands) == []
    assert "| `DATABASE_URL` | SQLite" in GENERATED["settings"]()
    assert "| `pairs_per_hit` | Pairs per HIT (N) | `5` |" in GENERATED["study_settings"]()
    assert "| `prepair` | 3 |" in GENERATED["methods"]()
    assert "| `rouge1` | nothing |" in GENERATED["similarities"]()
    assert "| `pair_index` | integer |" in GENERATED["export_columns"]()
    assert "| `GET /api/v1/ratings/` |" in GENERATED["api_paths"]()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_command_that_a_page_names_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    known = set(get_commands())
    assert [name for name in re.findall(r"manage\.py ([a-z0-9_]+)", text) if name not in known] == []
    targets = set(re.findall(r"(?m)^([a-z-]+):.*## ", text_of("Makefile")))
    named = {word for words in re.findall(r"`make ([a-z -]+)`", text) for word in words.split()}
    assert named - targets == set()


def test_every_own_command_is_documented() -> None:
    documents = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert sorted(name for name in OWN if name not in documents) == []


def test_every_promise_of_safety_names_a_test_that_exists() -> None:
    rows = re.findall(r"(?m)^\| (?!promise|-)(.+) \| (.+) \|$", text_of("docs/security.md"))
    assert len(rows) > 15
    for promise, tests in rows:
        named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", tests)
        assert named, promise
        for file, test in named:
            assert f"\ndef {test}(" in text_of(file), f"{promise}: {file} has no {test}"


def test_every_setting_has_its_row() -> None:
    settings = set(re.findall(r"""env\.\w+\(\s*"([A-Z_]+)\"""", text_of("config/env.py")))
    settings |= set(re.findall(r'secret\("([A-Z_]+)"\)', text_of("config/env.py")))
    assert len(settings) > 5
    assert settings == set(re.findall(r"(?m)^\| `([A-Z_]+)` \|", text_of("docs/architecture.md")))


def test_every_command_of_the_page_of_the_papers_exists() -> None:
    named = set(re.findall(r"`([a-z0-9]+_[a-z_]+)(?: [^`]*)?`", text_of("docs/papers.md")))
    assert len(named) > 15
    assert named - set(get_commands()) == {"bradley_terry"}  # a way of ranking
