"""The commands of a page of the documentation, in its order, and a way to run them."""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from django.core.management import call_command

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = "./manage.py"


def blocks(page: str, language: str) -> list[str]:
    """Return the page's fenced blocks of that language; a page is named from the top of the tree."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return [block for marked, block in re.findall(r"(?ms)^ *```(\w*)\n(.*?)^ *```$", text) if marked == language]


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
