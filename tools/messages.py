#!/usr/bin/env python3
"""Keeps the translations in locale/ in step with the texts in the code; needs no gettext tools.

usage: messages.py          collect the texts, bring every django.po up to date and compile it to django.mo
       messages.py --check  write nothing; list what is missing or wrong, and fail if there is anything

A folder locale/CODE/LC_MESSAGES makes CODE a language; see docs/howto/translate.md.
"""

import io
import re
import sys
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import DEFAULT_KEYWORDS, extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import PoFileParser, write_po
from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("annotation", "judging", "reporting", "config")
KEYWORDS = {
    **DEFAULT_KEYWORDS,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext_lazy": (1, 2),
    "pgettext_lazy": ((1, "c"), 2),
    "npgettext_lazy": ((1, "c"), 2, 3),
}
FOR_TRANSLATORS = ("Translators:",)  # how a comment for them begins
WIDTH = 110
# A translation has the placeholders and the tags of its source. A lone quotation mark would end an HTML attribute.
PLACE = re.compile(r"%\(\w+\)[a-z]|%[sdi]|(?<!\{)\{\w*\}(?!\})")
MARKUP = re.compile(r'<[^<>]*>|["<>&]')


class Texts(Catalog):
    """The texts of one language. Its header has no date, machine or name, so that the file is reproducible."""

    @property
    def mime_headers(self) -> list[tuple[str, str]]:
        """The lines of the header."""
        headers = [("Project-Id-Version", "Tandem")]
        if self.locale:
            headers += [("Language", str(self.locale)), ("Plural-Forms", self.plural_forms)]
        headers += [("MIME-Version", "1.0"), ("Content-Type", "text/plain; charset=utf-8")]
        return [*headers, ("Content-Transfer-Encoding", "8bit\n")]  # the last line needs a line end too

    @mime_headers.setter
    def mime_headers(self, headers: Any) -> None:
        """Ignore the header of a file."""


def collect(root: Path = ROOT) -> Texts:
    """Find every text that templates and Python code pass to gettext."""
    texts = Texts(fuzzy=False)
    for file in _sources(root):
        place = file.relative_to(root).as_posix()
        for _line, text, comments, context in _texts_of(file, place):
            texts.add(text, locations=[(place, 1)], auto_comments=comments, context=context)
    return texts


def _sources(root: Path) -> Iterator[Path]:
    yield from sorted((root / "templates").rglob("*.html"))
    for package in PACKAGES:
        yield from (file for file in sorted((root / package).rglob("*.py")) if "migrations" not in file.parts)


def _texts_of(file: Path, place: str) -> Iterator[Any]:
    source = file.read_text(encoding="utf-8")
    if file.suffix == ".py" and not any(f"{keyword}(" in source for keyword in KEYWORDS):
        return  # to tokenize it takes long
    if file.suffix == ".html":
        # `templatize` turns a template into gettext calls among Xs; without indentation that parses as Python.
        lines = re.sub(r"[^\S\n]+", " ", templatize(source, origin=place)).split("\n")
        source = "\n".join(line.lstrip() for line in lines)
    stream = io.BytesIO(source.encode("utf-8"))
    yield from extract("python", stream, keywords=KEYWORDS, comment_tags=FOR_TRANSLATORS, strip_comment_tags=True)


def languages(root: Path = ROOT) -> list[str]:
    """Return the codes of the languages that have a folder."""
    return sorted(folder.parent.name for folder in (root / "locale").glob("*/LC_MESSAGES"))


def read(root: Path, language: str) -> Texts:
    """Read a language's django.po; a missing one is empty."""
    texts = Texts(locale=language, fuzzy=False)
    file = _po(root, language)
    if file.exists():
        with file.open("rb") as stream:
            PoFileParser(texts).parse(stream)
    texts.header_comment = f"# Tandem's texts, {language}. `make messages` keeps this file in step with the code."
    return texts


def update(root: Path, language: str, found: Texts) -> Texts:
    """Update a language's files and return its texts: a changed text keeps its old translation, marked fuzzy."""
    texts = read(root, language)
    texts.update(found, no_fuzzy_matching=True, update_creation_date=False)
    _keep_old_words(texts)
    with _po(root, language).open("wb") as stream:
        write_po(stream, texts, width=WIDTH, include_lineno=False, ignore_obsolete=True, include_previous=True)
    _mo(root, language).write_bytes(compiled(texts))
    return texts


def _keep_old_words(texts: Texts) -> None:
    """Give a new text the translation of a similar removed one, marked fuzzy for the translator to check."""
    gone = {_forms(message.id)[0]: message for message in texts.obsolete.values() if all(_forms(message.string))}
    for message in texts:
        alike = get_close_matches(_forms(message.id)[0], gone, n=1) if not any(_forms(message.string)) else []
        if alike and len(_forms(message.id)) == len(_forms(gone[alike[0]].id)):
            old = gone[alike[0]]
            message.string, message.previous_id = old.string, _forms(old.id)
            message.flags.add("fuzzy")


def compiled(texts: Texts) -> bytes:
    """Return the content of django.mo; texts without a translation, or with a fuzzy one, are left out."""
    stream = io.BytesIO()
    write_mo(stream, texts)
    return stream.getvalue()


def problems(root: Path, language: str, found: Texts) -> list[str]:
    """List what is missing, wrong or out of date in a language's files."""
    texts = read(root, language)
    ours, theirs = _by_key(texts), _by_key(found)
    lines = [f"not in django.po: {_quoted(theirs[key])}" for key in theirs if key not in ours]
    lines += [f"no longer in the code: {_quoted(ours[key])}" for key in ours if key not in theirs]
    lines += [f"no longer in the code: {_quoted(message)}" for message in texts.obsolete.values()]
    for message in ours.values():
        lines += [f"{problem}: {_quoted(message)}" for problem in wrong_with(message)]
    mo = _mo(root, language)
    if not mo.exists() or mo.read_bytes() != compiled(texts):
        lines.append("django.mo was not made from this django.po")
    return [f"{language}: {line}" for line in lines]


def wrong_with(message: Message) -> list[str]:
    """List the problems of one translation."""
    if message.fuzzy:
        return ["marked fuzzy"]
    sources, targets = _forms(message.id), _forms(message.string)
    if not all(targets):
        return ["not translated"]
    found = []
    # The singular may leave out the number, as in "one pair"; the plural, which comes last, may not.
    if not _same(PLACE, sources[-1], targets[-1]) or not all(
        any(_same(PLACE, source, target) for source in sources) for target in targets
    ):
        found.append("other placeholders")
    if any(not _same(MARKUP, sources[-1], target) for target in targets):
        found.append("other tags or straight quotes")
    if any(_edges(sources[-1]) != _edges(target) for target in targets):
        found.append("other white space around it")
    if any(_breaks(target) and not _breaks(sources[-1]) for target in targets):
        found.append("a lone % sign (write %%)")
    return found


def main(arguments: list[str]) -> int:
    """Update or check every language; return the exit code."""
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    found = collect()
    if not arguments:
        for language in languages():
            open_ = [message for message in _by_key(update(ROOT, language, found)).values() if wrong_with(message)]
            print(f"{language}: {len(found)} texts, {len(open_)} to translate or check")
        return 0
    lines = [line for language in languages() for line in problems(ROOT, language, found)]
    print(*lines, sep="\n", end="\n" if lines else "")
    if lines:
        print("`make messages` collects and compiles; docs/howto/translate.md says how to translate.", file=sys.stderr)
    return 1 if lines else 0


def _po(root: Path, language: str) -> Path:
    return root / "locale" / language / "LC_MESSAGES" / "django.po"


def _mo(root: Path, language: str) -> Path:
    return _po(root, language).with_suffix(".mo")


def _by_key(texts: Texts) -> dict[Any, Message]:
    """Index texts by context and id; the id includes the plural."""
    return {(message.context, message.id): message for message in texts if message.id}


def _forms(text: Any) -> list[str]:
    return list(text) if isinstance(text, list | tuple) else [text]


def _same(pattern: re.Pattern[str], one: str, other: str) -> bool:
    return sorted(pattern.findall(one)) == sorted(pattern.findall(other))


def _edges(text: str) -> tuple[str, str]:
    return text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]


def _breaks(text: str) -> bool:
    """Tell whether `%`-formatting a text would fail."""
    try:
        text % dict.fromkeys(re.findall(r"%\((\w+)\)", text), 0)
    except (ValueError, TypeError):
        return True
    return False


def _quoted(message: Message) -> str:
    context = f" ({message.context})" if message.context else ""
    return f"{_forms(message.id)[0]!r}{context}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
