"""Parsing a researcher's prompt file into head and text. No database."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from judging.core.errors import BadPrompt

LONGEST = 50_000  # characters; each call repeats them
LONGEST_FILE = 4 * LONGEST  # bytes
HEAD = re.compile(r"\A---[ \t]*\n(?P<lines>.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
KEYS = ("name", "parser", "system")


@dataclass(frozen=True)
class PromptText:
    """A parsed prompt file. Name, parser and system prompt are empty if it doesn't give them.

    form : published form in which it was written; empty for our own
    """

    text: str
    name: str = ""
    parser: str = ""
    system: str = ""
    form: str = ""


def read_prompt(data: bytes) -> PromptText:
    """Parse a prompt file.

    Raises: BadPrompt if it isn't UTF-8, is too long, or has an invalid head.
    """
    if len(data) > LONGEST_FILE:
        raise BadPrompt([too_long()])
    return split_prompt(decode(data))


def decode(data: bytes) -> str:
    """Return a file's text.

    Raises: BadPrompt if it isn't UTF-8
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadPrompt([f"Line {line} is not UTF-8."]) from None


def split_prompt(text: str) -> PromptText:
    """Split off the head: lines `name: …`, `parser: …` and `system: …` between two lines of three dashes.

    Raises: BadPrompt
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if problems := unstorable(text):
        raise BadPrompt(problems)
    if not text.startswith("---\n"):
        return PromptText(text.strip())
    matched = HEAD.match(text)
    if matched is None:
        raise BadPrompt(["The head that begins with --- has no second line of three dashes."])
    settings = _head(matched["lines"].splitlines())
    return PromptText(text[matched.end() :].strip(), **settings)


def _head(lines: Sequence[str]) -> dict[str, str]:
    """Parse `key: value` lines."""
    settings: dict[str, str] = {}
    for line in filter(str.strip, lines):
        key, colon, value = (part.strip() for part in line.partition(":"))
        if not colon or key not in KEYS:
            allowed = ", ".join(f"{allowed_key}: …" for allowed_key in KEYS)
            raise BadPrompt([f"The head may hold {allowed}; it holds: {line[:80]}"])
        if key in settings:
            raise BadPrompt([f"The head says {key} twice."])
        settings[key] = value
    return settings


def unstorable(text: str) -> list[str]:
    """List the reasons why a text can't be stored."""
    problems = []
    if len(text) > LONGEST:
        problems.append(too_long())
    if "\x00" in text:
        problems.append("The text holds a NUL character.")
    if any("\ud800" <= character <= "\udfff" for character in text):
        problems.append("The text holds half of a surrogate pair.")
    return problems


def too_long() -> str:
    """Return the message for a text that is too long."""
    return f"The text is longer than {LONGEST:,} characters."
