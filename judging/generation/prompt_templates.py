"""Prompt templates for sampling texts: built-in ones by name, and a researcher's own by hash."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from string import Template

from annotation.core.files.lines import text_problem
from annotation.models.studies import TaskKind
from judging.core.errors import BadSettings
from judging.methods.prompts import FOLDER

SOURCE = "source"
LONGEST = 20_000  # characters of a template, and of a system prompt
PLAIN = "plain"
# The current version of each template. A new wording is a new file with the next number.
TEMPLATES: Mapping[str, str] = {
    "summarize-article": "summarize-article.v1",
    "summarize-conversation": "summarize-conversation.v1",
    "translate": "translate.v1",
    "explain": "explain.v1",
    "simplify": "simplify.v1",
    PLAIN: "plain.v1",
}
# Defaults by the study's kind. In all other studies the source itself is the prompt.
DEFAULT_TEMPLATES: Mapping[str, str] = {
    TaskKind.SUMMARIZATION.value: "summarize-article",
    TaskKind.SUMMARIZATION_CONCISE.value: "summarize-article",
    TaskKind.TRANSLATION.value: "translate",
}


@dataclass(frozen=True)
class Wording:
    """A template's text, and its name with the version."""

    version: str
    text: str

    def fill(self, source: str) -> str:
        """Insert a source in one pass, so that placeholders inside it stay, and without a fence."""
        return Template(self.text).substitute({SOURCE: source})


def default_template(kind: str) -> Wording:
    """Return the default template for studies of a kind."""
    return find_template(DEFAULT_TEMPLATES.get(kind, PLAIN))


def find_template(name: str) -> Wording:
    """Return a built-in template, by its name with or without a version.

    Raises: BadSettings listing those that exist.
    """
    plain = name.rpartition(".v")[0] if name in TEMPLATES.values() else name
    if plain not in TEMPLATES:
        raise BadSettings(f"there is no template {name}; there are {', '.join(TEMPLATES)}, or give a file of your own")
    return _load(TEMPLATES[plain])


@cache
def _load(version: str) -> Wording:
    text = (FOLDER / "generate" / f"{version}.txt").read_text(encoding="utf-8")
    return Wording(version, clean_template(text, version))


def own_template(text: str, name: str = "own") -> Wording:
    """Return a researcher's own template. Its version is its hash.

    Raises: BadSettings if it can't be filled.
    """
    template_text = clean_template(text.replace("\r\n", "\n"), name)
    return Wording(f"{name[:80]} sha256:{sha256(template_text.encode()).hexdigest()[:12]}", template_text)


def clean_template(text: str, name: str) -> str:
    """Validate a template and return its text, stripped.

    Raises: BadSettings
    """
    template_text = text.strip()
    if problem := text_problem(template_text, f"template {name}", longest=LONGEST):
        raise BadSettings(problem.text)
    template = Template(template_text)
    if not template.is_valid():
        raise BadSettings(f"template {name} holds a lone dollar sign; write $$ for one")
    identifiers = set(template.get_identifiers())
    if SOURCE not in identifiers:
        raise BadSettings(f"template {name} lacks $source, which stands for the source text")
    if odd := sorted(identifiers - {SOURCE}):
        raise BadSettings(f"template {name} may only hold $source, not ${', $'.join(odd)}; write $$ for a dollar sign")
    return template_text
