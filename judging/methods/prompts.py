"""Prompt files: loading, checking placeholders, and rendering with words and fenced texts.

A method's file defines what is shown, what is asked, and the answer format. How a task's texts are called, and what
makes one better, is in the task's file (`judging.methods.task_files`).
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from string import Template

from judging.core.errors import BadSettings

FOLDER = Path(__file__).resolve().parent.parent / "prompts"
ABSENT = "(not available)"

# Filled from a task's file; `rules` is a separate block that may be empty.
WORDS = frozenset(
    {
        *("question", "source_label", "label", "reference_label", "one", "many", "alone", "quality", "faults"),
        *("answering", "rules", "intro", "criterion", "choice", "chosen", "offer", "letters"),
        *("number", "comparison", "verdict"),
    }
)
# Untrusted texts, always fenced. Empty generations are shown as such, other empty texts as not available.
GENERATIONS = frozenset({"first", "second", "text"})
TEXTS = (
    GENERATIONS
    | {"source", "reference", "criteria", "aspects", "notes", "notes_first", "notes_second"}
    | {"table", "table_first", "table_second"}
)
PAIR = frozenset({"fence", "source", "first", "second"})
ALLOWED = WORDS | TEXTS | {"fence", "examples"}


@dataclass(frozen=True)
class Prompt:
    """One version of a prompt. A new wording is a new file, never an edit."""

    version: str
    template: Template

    @cached_property
    def placeholders(self) -> frozenset[str]:
        """The names of its placeholders."""
        return frozenset(self.template.get_identifiers())

    def fence_of(self, texts: Mapping[str, str], *others: str) -> str:
        """Return a fence for the texts that this prompt shows, and for `others`.

        It depends on nothing else, so that a call about one text is the same request in every pair.
        """
        return fence_for(*(text for name, text in texts.items() if name in self.placeholders), *others)

    def render(self, words: Mapping[str, str], texts: Mapping[str, str], *, fence: str = "") -> str:
        """Fill the placeholders in one pass, so that placeholders inside a text stay."""
        shown = {name: text for name, text in texts.items() if name in self.placeholders}
        fence = fence or self.fence_of(texts)
        blocks = {
            name: fenced(text, fence) if text.strip() or name in GENERATIONS else ABSENT for name, text in shown.items()
        }
        return without_empty_lines(self.template, words).substitute({**words, **blocks, "fence": fence})


def load_prompt(file_name: str) -> Prompt:
    """Load a method's prompt file.

    Raises: BadSettings naming placeholders that nothing fills.
    """
    return _load(FOLDER / "methods" / file_name)


@cache
def _load(path: Path) -> Prompt:
    return make_prompt(path.name.removesuffix(".txt"), path.read_text(encoding="utf-8"))


def make_prompt(version: str, text: str, *, required: frozenset[str] = frozenset()) -> Prompt:
    """Make a prompt from a text.

    Raises: BadSettings naming missing or unknown placeholders.
    """
    template = Template(text)
    found = set(template.get_identifiers())
    if not template.is_valid() or found - ALLOWED:
        odd = f", not ${', $'.join(sorted(found - ALLOWED))}" if found - ALLOWED else ""
        raise BadSettings(
            f"prompt {version} may only hold ${', $'.join(sorted(ALLOWED))}{odd}; write $$ for a dollar sign"
        )
    if missing := required - found:
        raise BadSettings(f"prompt {version} lacks ${', $'.join(sorted(missing))}")
    return Prompt(version, template)


def without_empty_lines(template: Template, words: Mapping[str, str]) -> Template:
    """Remove lines that consist of a placeholder with an empty value, and the blank line below."""
    for name, value in words.items():
        if not value:
            template = Template(re.sub(rf"(?m)^\${name}\n\n?", "", template.template))
    return template


def fence_for(*texts: str) -> str:
    """Derive a marker from the texts that occurs in none of them."""
    joined = "\x00".join(texts)
    attempt = 0
    while True:
        digest = hashlib.sha256(f"{attempt}\x00{joined}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
        if digest not in joined:
            return digest
        attempt += 1


def fenced(text: str, fence: str) -> str:
    """Put a text between fence lines."""
    return f"[{fence} begin]\n{text}\n[{fence} end]"
