"""Each page and command has its requests in the API, or a reason why it has none: tests/data/api_pages.md."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import get_commands

from tests.routes import routes

ROOT = Path(__file__).resolve().parents[3]
DOCUMENT = ROOT / "tests" / "data" / "api_pages.md"
OURS = ("annotation", "judging", "reporting")
CODE = re.compile(r"`([^`]+)`")
OPTION = re.compile(r"(?<![\w-])--[a-z]+")
WHOLE_COMMAND = re.compile(r"(?:(?:…|%\(command\)s) [a-z_]+|pip install|make install) [^;]*")
OF_COMMANDS_ALONE = ("reporting/backups/restoring.py",)


def test_no_page_and_no_command_is_without_its_request_or_a_reason() -> None:
    rows = [line.strip("|").split(" | ") for line in DOCUMENT.read_text(encoding="utf-8").splitlines() if "`" in line]
    rows = [row for row in rows if len(row) == 3]
    every = {route.name for route in routes()}
    requests = {name for name in every if name.startswith("api:")}
    pages = [name for row in rows for name in CODE.findall(row[0])]
    commands = [name for row in rows for name in CODE.findall(row[1])]

    assert len(pages) == len(set(pages)), "a page in two rows"
    assert set(pages) == every - requests
    assert len(commands) == len(set(commands)), "a command in two rows"
    assert set(commands) == {name for name, app in get_commands().items() if app in OURS}
    for _pages, _commands, answer in rows:
        named = {name for name in CODE.findall(answer) if name.startswith("api:")}
        assert named <= requests, named - requests
        assert named or len(answer.strip()) > 20, answer  # a reason
    told = {name for row in rows for name in CODE.findall(row[2])}
    unnamed = {name for name in requests - told if not name.endswith(("-detail", "-list"))}
    assert unnamed == {"api:docs", "api:schema", "api:api-root"}, "requests that no row names"


def texts_in(tree: ast.AST) -> Iterator[str]:
    """Yield the strings that code may say: no docstrings, and what is filled in as …."""
    silent = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)  # type: ignore[misc]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and not {id(node)} & (silent | parts):
            yield node.value


@pytest.mark.slow
def test_no_refusal_speaks_of_an_option_of_a_command() -> None:
    told = [
        f"{place}: {text}"
        for app in OURS
        for file in (ROOT / app).rglob("*.py")
        if "management" not in file.parts and (place := file.relative_to(ROOT).as_posix()) not in OF_COMMANDS_ALONE
        if OPTION.search(code := file.read_text(encoding="utf-8"))  # of a thousand files a few: to parse takes long
        for text in texts_in(ast.parse(code))
        if OPTION.search(WHOLE_COMMAND.sub("", text)) and not OPTION.fullmatch(text)
    ]
    assert told == []
