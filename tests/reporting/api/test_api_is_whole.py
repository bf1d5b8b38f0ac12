"""Each page and command has its requests in the API, or a reason why it has none: tests/data/api_pages.md."""

import re
from pathlib import Path

from django.core.management import get_commands

from tests.routes import routes

ROOT = Path(__file__).resolve().parents[3]
DOCUMENT = ROOT / "tests" / "data" / "api_pages.md"
OURS = ("annotation", "judging", "reporting")
CODE = re.compile(r"`([^`]+)`")


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
