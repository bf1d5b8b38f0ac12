"""Prompt files: loading, checking placeholders, and rendering with words and fenced texts.

A method's file defines what is shown, what is asked, and the answer format. How a task's texts are called, and what
makes one better, is in the task's file (`judging.methods.task_files`).

Endpoints keep prefixes of prompts in a cache, so calls about the same texts begin with the same words: version 2 of a
method's prompt says the same as version 1 and begins with the texts.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from string import Template

from judging.core.errors import BadSettings
from judging.methods.base import Setting

FOLDER = Path(__file__).resolve().parent.parent / "prompts"
ABSENT = "(not available)"

# Filled from a task's file; `rules` is a separate block that may be empty.
WORDS = frozenset(
    {
        *("question", "source_label", "label", "reference_label", "one", "many", "alone", "quality", "faults"),
        *("answering", "rules", "intro", "criterion", "choice", "chosen", "offer", "letters"),
        *("number", "comparison", "verdict", "questions", "answers"),
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
    stable_fence: bool = False  # the source's own, unless another text contains it
    bare: bool = False  # texts stand without fences, as in a published prompt

    @cached_property
    def placeholders(self) -> frozenset[str]:
        """The names of its placeholders."""
        return frozenset(self.template.get_identifiers())

    def fence_of(self, texts: Mapping[str, str], *more_texts: str) -> str:
        """Return a fence for the texts that this prompt shows, and for `more_texts`.

        It depends on nothing else, so that a call about one text is the same request in every pair.
        """
        inserted = (*(text for name, text in texts.items() if name in self.placeholders), *more_texts)
        return fence_for(*inserted, drawn_from=texts.get("source", "") if self.stable_fence else None)

    def render(self, words: Mapping[str, str], texts: Mapping[str, str], *, fence: str = "") -> str:
        """Fill the placeholders in one pass, so that placeholders inside a text stay."""
        inserted = {name: text for name, text in texts.items() if name in self.placeholders}
        fence = fence or self.fence_of(texts)
        blocks = {
            name: (text if self.bare else fenced(text, fence)) if text.strip() or name in GENERATIONS else ABSENT
            for name, text in inserted.items()
        }
        text = self.template.template
        for name in (name for name, value in words.items() if not value):
            text = re.sub(rf"(?m)^\${name}\n\n?", "", text)  # a line of nothing else, and the blank line below
        return Template(text).substitute({**words, **blocks, "fence": fence})


def files_named(versions: Iterable[str]) -> list[Path]:
    """Return the files named by a version such as `direct.v1+summarization.v1`. A researcher's own names none."""
    named = {name for version in versions for name in version.split("+")}
    return [path for path in sorted(FOLDER.rglob("*.v*.*")) if path.stem in named]


def load_prompt(file_name: str, setting: Setting | None = None) -> Prompt:
    """Load a method's prompt file: for a judge whose texts come first, version 2 of it if there is one, with a stable fence.

    Raises: BadSettings naming placeholders that nothing fills.
    """
    return _load(FOLDER, file_name, setting is not None and setting.texts_first)


@cache
def _load(folder: Path, file_name: str, texts_first: bool) -> Prompt:
    path = folder / "methods" / file_name
    second = path.with_name(path.name.replace(".v1.", ".v2."))
    path = second if texts_first and second.exists() else path
    prompt = make_prompt(path.name.removesuffix(".txt"), path.read_text(encoding="utf-8"))
    return replace(prompt, stable_fence=texts_first)


def make_prompt(
    version: str, text: str, *, required: frozenset[str] = frozenset(), also: frozenset[str] = frozenset()
) -> Prompt:
    """Make a prompt from a text. `also`: further placeholders that may stand in it.

    Raises: BadSettings naming missing or unknown placeholders.
    """
    template = Template(text)
    identifiers = set(template.get_identifiers())
    allowed = ALLOWED | also
    if not template.is_valid() or identifiers - allowed:
        odd = f", not ${', $'.join(sorted(identifiers - allowed))}" if identifiers - allowed else ""
        raise BadSettings(
            f"prompt {version} may only hold ${', $'.join(sorted(allowed))}{odd}; write $$ for a dollar sign"
        )
    if missing := required - identifiers:
        raise BadSettings(f"prompt {version} lacks ${', $'.join(sorted(missing))}")
    return Prompt(version, template)


def fence_for(*texts: str, drawn_from: str | None = None) -> str:
    """Derive a marker, from one text or from all of them, that occurs in none of the texts."""
    joined = "\x00".join(texts)
    origin = joined if drawn_from is None else drawn_from
    attempt = 0
    while True:
        digest = hashlib.sha256(f"{attempt}\x00{origin}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
        if digest not in joined:
            return digest
        attempt += 1


def fenced(text: str, fence: str) -> str:
    """Put a text between fence lines."""
    return f"[{fence} begin]\n{text}\n[{fence} end]"
