"""The commands of a page of the documentation, in its order, and a way to run them."""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management import call_command

from annotation.core.markdown import heading_anchors

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = "./manage.py"


def text_of(page: str) -> str:
    """Return the text of a page, named from the top of the tree; of one section with its heading's anchor, as in `a.md#b-c`."""
    name, _, anchor = page.partition("#")
    text = (ROOT / name).read_text(encoding="utf-8")
    if not anchor:
        return text
    parts = re.split(r"(?m)^## ", text)[1:]
    anchors = heading_anchors(part.split("\n")[0] for part in parts)
    [section] = [part for part, name in zip(parts, anchors, strict=True) if name == anchor]
    return section


def blocks(page: str, language: str) -> list[str]:
    """Return the fenced blocks of that language, of a page or a section as `text_of` names it."""
    return [
        block for marked, block in re.findall(r"(?ms)^ *```(\w*)\n(.*?)^ *```$", text_of(page)) if marked == language
    ]


def commands(page: str) -> list[list[str]]:
    """Return each command of the blocks marked `sh`, as what comes after ./manage.py and before a `>`."""
    found: list[list[str]] = []
    for block in blocks(page, "sh"):
        for word in shlex.split(block.replace("\\\n", " "), comments=True):
            if word == PROGRAM:
                found.append([])
            else:
                found[-1].append(word)
    return [line[: line.index(">")] if ">" in line else line for line in found]


def walk(page: str, instead: Mapping[str, str] | None = None) -> list[str]:
    """Run the page's commands in their order and return their names; `instead` exchanges what stands for the reader's own."""
    found = commands(page)
    for name, *arguments in found:
        for word, mine in (instead or {}).items():
            arguments = [argument.replace(word, mine) for argument in arguments]
        call_command(name, *arguments)
    return [name for name, *_ in found]


def run(code: str) -> dict[str, Any]:
    """Run Python code of a page, which is ours, and return the names that it makes."""
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(code, "a page of the documentation", "exec"), names)
    return names


def run_tests(code: str) -> list[str]:
    """Run a page's tests, and return their names."""
    names = run(code)
    tests = [name for name in names if name.startswith("test_")]
    for name in tests:
        names[name]()
    return tests
