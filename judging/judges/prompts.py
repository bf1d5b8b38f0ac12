"""Prompt files: loaded once, checked for their placeholders, and filled with fenced texts."""

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Template

from judging.errors import BadSettings

FOLDER = Path(__file__).resolve().parent.parent / "prompts"
REQUIRED = frozenset({"fence", "source", "first", "second"})
ALLOWED = REQUIRED | {"question"}


@dataclass(frozen=True)
class Prompt:
    """One version of a wording. A new wording is a new file, never an edit."""

    version: str
    template: Template

    def render(self, *, question: str, source: str, first: str, second: str) -> str:
        """Fill the placeholders in one pass, so that a placeholder inside a text stays as it is."""
        fence = fence_for(source, first, second)
        return self.template.substitute(
            fence=fence,
            question=question,
            source=fenced(source, fence) if source.strip() else "(not available)",
            first=fenced(first, fence),
            second=fenced(second, fence),
        )


@cache
def load_prompt(file_name: str) -> Prompt:
    """Read a prompt file.

    Raises: BadSettings naming placeholders that it lacks or that nothing fills.
    """
    template = Template((FOLDER / file_name).read_text(encoding="utf-8"))
    found = set(template.get_identifiers())
    if not template.is_valid() or found - ALLOWED:
        raise BadSettings(
            f"prompt {file_name} may only hold ${', $'.join(sorted(ALLOWED))}; write $$ for a dollar sign"
        )
    if missing := REQUIRED - found:
        raise BadSettings(f"prompt {file_name} lacks ${', $'.join(sorted(missing))}")
    return Prompt(file_name.removesuffix(".txt"), template)


def fence_for(*texts: str) -> str:
    """Derive a marker from the texts that occurs in none of them: the same texts always give the same request."""
    joined = "\x00".join(texts)
    attempt = 0
    while True:
        digest = hashlib.sha256(f"{attempt}\x00{joined}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
        if digest not in joined:
            return digest
        attempt += 1


def fenced(text: str, fence: str) -> str:
    """Put a text between the lines that mark it as material."""
    return f"[{fence} begin]\n{text}\n[{fence} end]"
