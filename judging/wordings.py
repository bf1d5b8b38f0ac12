"""What is wrong with a researcher's wording, said all at once, and how it looks to a judge. No database."""

import re
from collections.abc import Callable, Mapping, Sequence
from string import Template

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.errors import BadSettings
from judging.judges import Presentation, PromptedMethod, Setting, find_method, method_names
from judging.judges.parsers import FIRST, NAMES, PARSERS, SECOND
from judging.judges.prompted import NEUTRAL, OWN_PLACEHOLDERS, PAIR, check_wording
from judging.prompt_text import unstorable

# Start a verdict line in every task; `$choice` stands for the task's own.
LABELS = "|".join([r"\$\{?choice\}?", "preferred", "better", *NEUTRAL])
NO_LETTERS = gettext_lazy("The text offers no letters: write $offer or $letters, or A and B.")

Holds = Callable[[str], bool]


def holds(*patterns: str) -> Holds:
    """Return the question whether a text holds all of some patterns: one after the other, each in linear time."""
    return lambda text: all(re.search(pattern, text) for pattern in patterns)


def offers_letters(text: str) -> bool:
    """Tell whether a wording says which letters may be answered."""
    sides = (rf"(?<![\w$]){letter}\b" for letter in (FIRST, SECOND))
    return holds(r"\$\{?(?:letters|offer)\b")(text) or holds(*sides)(text)


# By parser: what a wording must hold for its answers to be read, and what is said when it doesn't.
ANSWER_FORMS: Mapping[str, Sequence[tuple[Holds, Promise]]] = {
    "verdict-line": [
        (
            holds(rf"(?i:{LABELS})[*_\"'`”]*\s*[:=]"),
            gettext_lazy(
                "The parser verdict-line reads a line like “Verdict: B” or “$choice: B”; the text asks for none."
            ),
        ),
        (offers_letters, NO_LETTERS),
    ],
    "letter": [(offers_letters, NO_LETTERS)],
    "brackets": [
        (holds(r"\[\["), gettext_lazy("The parser brackets reads [[A]] or [[B]]; the text asks for no such brackets."))
    ],
    "sentence": [
        (
            holds(r"(?i)\bis\s+(?:the\s+)?(?:\$\{?choice\b|better|preferred)"),
            gettext_lazy("The parser sentence reads “Text A is better.”; the text asks for no such sentence."),
        )
    ],
    "json": [
        (
            holds(r"(?i)[\"'](?:verdict|choice)[\"']"),
            gettext_lazy("The parser json reads an object with the key “verdict”; the text asks for none."),
        ),
        (offers_letters, NO_LETTERS),
    ],
    "ranked-list": [
        (
            holds(*NAMES, "rank"),
            gettext_lazy("The parser ranked-list reads ranks of text_1 and text_2; the text doesn’t speak of them."),
        )
    ],
    "function": [
        (
            holds(*NAMES, "ranking"),
            gettext_lazy("The parser function reads a ranking of text_1 and text_2; the text doesn’t speak of one."),
        )
    ],
}


PARSER_HELP: Mapping[str, Promise] = {
    "verdict-line": gettext_lazy("the last line like “Verdict: B”"),
    "letter": gettext_lazy("nothing but a letter, or a letter and then the reasons"),
    "brackets": gettext_lazy("the last [[B]]"),
    "sentence": gettext_lazy("the last line like “Text B is better.”"),
    "json": gettext_lazy("the last JSON object with a “verdict”"),
    "ranked-list": gettext_lazy("a list that gives text_1 and text_2 their ranks"),
    "function": gettext_lazy("a ranking of text_1 and text_2 as a JSON object"),
}


def parser_names() -> list[str]:
    """List the parsers that a wording can name."""
    return list(PARSERS)


def problems_of(text: str, parser: str) -> list[str]:
    """Say everything that keeps a wording from being asked with this parser; nothing when it can be."""
    if not text:
        return [_("There is no text.")]
    if problems := unstorable(text):
        return problems
    problems = [*_parser(parser), *_placeholders(text)]
    problems += [str(told) for needed, told in ANSWER_FORMS.get(parser, []) if not needed(text)]
    if not problems:
        try:
            check_wording(text, parser)
        except BadSettings as error:
            problems = [str(error)]
    return problems


def _parser(parser: str) -> list[str]:
    known = ", ".join(parser_names())
    if not parser:
        return [_("It names no parser. There are: %(known)s.") % {"known": known}]
    if parser not in PARSERS:
        return [_("There is no parser %(parser)s. There are: %(known)s.") % {"parser": parser[:80], "known": known}]
    return []


def _placeholders(text: str) -> list[str]:
    template = Template(text)
    found = set(template.get_identifiers())
    problems = []
    if missing := PAIR - found:
        problems.append(_("These placeholders are missing: %(names)s.") % {"names": listed(missing)})
    if unknown := found - OWN_PLACEHOLDERS:
        told = _("Nothing fills %(names)s. There are: %(known)s.")
        problems.append(told % {"names": listed(unknown), "known": listed(OWN_PLACEHOLDERS)})
    for match in template.pattern.finditer(text):
        if match["invalid"] is not None:
            line = text.count("\n", 0, match.start()) + 1
            problems.append(_("A dollar sign in line %(line)d stands alone: write $$ for one.") % {"line": line})
            break
    return problems


def listed(names: set[str] | frozenset[str]) -> str:
    """Write placeholders as they stand in a text."""
    return ", ".join(f"${name}" for name in sorted(names))


def fitting_methods() -> list[str]:
    """List the methods in which a researcher's wording can stand in for the method's own."""
    return [method.name for method in _fitting()]


def _fitting() -> list[PromptedMethod]:
    methods = map(find_method, method_names())
    return [method for method in methods if isinstance(method, PromptedMethod) and method.own_wording]


def preview(text: str, parser: str, shown: Presentation) -> list[dict[str, str]]:
    """Return the messages in which a judge with this wording asks about a presentation; the same in all methods.

    Raises: BadSettings for a wording with problems.
    """
    method = next(method for method in _fitting() if method.name == "direct")
    setting = Setting(wording=text, wording_parser=parser)
    return [dict(message) for message in method.verdict_call(shown, setting, {}).messages]
