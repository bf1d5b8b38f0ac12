"""The documents speak of what is there: commands, targets, settings, files."""

import re
from pathlib import Path

import pytest
from django.core.management import get_commands

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.md")])
OWN = {name for name, app in get_commands().items() if app in ("annotation", "judging", "reporting")}


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_of_a_page_leads_to_a_file(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    missing = [target for target in targets if "://" not in target and not (page.parent / target).exists()]
    assert missing == []


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
    assert sorted(name for name in settings if f"`{name}`" not in text_of("docs/architecture.md")) == []
