"""Validating a researcher's prompt, and previewing its messages. No database."""

import re
from collections.abc import Callable, Mapping, Sequence
from string import Template

from judging.core.errors import BadSettings
from judging.methods import AskingMethod, Presentation, PromptedMethod, Setting, find_method, method_names
from judging.methods.own_wording import OF_ONE_TEXT, OWN_PLACEHOLDERS, SCORE, listed, split_calls
from judging.methods.parsing.parsers import FIRST, NAMES, NEUTRAL, PARSERS, SECOND
from judging.methods.pointwise import Pointwise
from judging.methods.prompted import check_wording
from judging.methods.prompts import PAIR
from judging.wordings.prompt_text import unstorable

# Labels of a verdict line; `$choice` is the task's own.
LABELS = "|".join([r"\$\{?choice\}?", "preferred", "better", *NEUTRAL])
NO_LETTERS = "The text offers no letters: write $offer or $letters, or A and B."

TextCheck = Callable[[str], bool]


def contains_all(*patterns: str) -> TextCheck:
    """Return a check that a text matches all patterns, in linear time."""
    return lambda text: all(re.search(pattern, text) for pattern in patterns)


def offers_letters(text: str) -> bool:
    """Tell whether a prompt names the letters on offer."""
    sides = (rf"(?<![\w$]){letter}\b" for letter in (FIRST, SECOND))
    return contains_all(r"\$\{?(?:letters|offer)\b")(text) or contains_all(*sides)(text)


asks_for_marks = contains_all(r"\[\[|\[RESULT\]|\\boxed")

# By parser: what a prompt must contain for its answers to be parsed, and the message if it doesn't.
ANSWER_FORMS: Mapping[str, Sequence[tuple[TextCheck, str]]] = {
    "verdict-line": [
        (
            contains_all(rf"(?i:{LABELS})[*_\"'`”]*\s*[:=]"),
            "The parser verdict-line reads a line like “Verdict: B” or “$choice: B”; the text asks for none.",
        ),
        (offers_letters, NO_LETTERS),
    ],
    "letter": [(offers_letters, NO_LETTERS)],
    "brackets": [
        (
            asks_for_marks,
            "The parser brackets reads [[A]], [RESULT] A or \\boxed{A}; the text asks for none of them.",
        )
    ],
    "sentence": [
        (
            contains_all(r"(?i)\bis\s+(?:the\s+)?(?:\$\{?choice\b|better|preferred)"),
            "The parser sentence reads “Text A is better.”; the text asks for no such sentence.",
        )
    ],
    "json": [
        (
            contains_all(r"(?i)[\"'](?:verdict|choice)[\"']"),
            "The parser json reads an object with the key “verdict”; the text asks for none.",
        ),
        (offers_letters, NO_LETTERS),
    ],
    "ranked-list": [
        (
            contains_all(*NAMES, "rank"),
            "The parser ranked-list reads ranks of text_1 and text_2; the text doesn’t ask for them.",
        )
    ],
    "model-letter": [
        (
            contains_all(r"\bm\b", r"\bM\b"),
            "The parser model-letter reads m or M; the text asks for neither.",
        )
    ],
    SCORE: [
        (
            contains_all(r"(?i)(?:score|rating)[*_\"'`”]*\s*[:=]", "1", "5"),
            "The parser score reads a line like “Score: 4”, from 1 to 5; the text asks for none.",
        )
    ],
    "function": [
        (
            contains_all(*NAMES, "ranking"),
            "The parser function reads a ranking of text_1 and text_2; the text doesn’t ask for one.",
        )
    ],
}


PARSER_HELP: Mapping[str, str] = {
    "verdict-line": "the last line like “Verdict: B”",
    "letter": "nothing but a letter, or a letter and then the reasons",
    "brackets": "the last [[B]], [[B>A]], [RESULT] B or \\boxed{B}",
    "sentence": "the last line like “Text B is better.”",
    "json": "the last JSON object with a “verdict”",
    "ranked-list": "a list that gives text_1 and text_2 their ranks",
    "model-letter": "the last line, nothing but m or M, as AlpacaEval’s shorter forms ask for",
    "function": "a ranking of text_1 and text_2 as a JSON object",
    SCORE: "the score of one text, as “Score: 4”; for pointwise",
}
READERS = (*PARSERS, SCORE)  # a prompt of one's own may name


def problems_of(text: str, parser: str, *, form: str = "") -> list[str]:
    """List all problems of a prompt with this parser, or an empty string if it can be used.

    form : published form that it had, in which texts have no fences and answers are asked for in other words
    """
    if not text:
        return ["There is no text."]
    if problems := unstorable(text):
        return problems
    try:
        earlier, last = split_calls(text)
    except BadSettings as error:
        return [str(error)]
    required = frozenset({"fence", "source", "text"}) if parser == SCORE else PAIR
    placeholders = OF_ONE_TEXT if parser == SCORE else OWN_PLACEHOLDERS
    problems = []
    if parser not in READERS:
        what = f"Unknown parser {parser[:80]}" if parser else "It names no parser"
        problems.append(f"{what}. Allowed: {', '.join(READERS)}.")
    stray = next((match for match in Template(text).pattern.finditer(text) if match["invalid"] is not None), None)
    if stray is not None:
        line = text.count("\n", 0, stray.start()) + 1
        problems.append(f"A dollar sign in line {line} stands alone: write $$ for one.")
    problems += _placeholders(last, required - {"fence"} if form else required, placeholders, any_answer=bool(earlier))
    problems += [str(problem) for needed, problem in ANSWER_FORMS.get(parser, []) if not form and not needed(last)]
    if not problems:
        try:
            check_wording(text, parser)
        except BadSettings as error:
            problems = [str(error)]
    return problems


def _placeholders(text: str, required: frozenset[str], allowed: frozenset[str], *, any_answer: bool) -> list[str]:
    """List problems of the last call's placeholders. Earlier calls and their answers are checked later."""
    used = set(Template(text).get_identifiers())
    problems = []
    if missing := required - used:
        problems.append(f"These placeholders are missing: {listed(missing)}.")
    if not any_answer and (unknown := used - allowed):
        problems.append(f"Unknown placeholders: {listed(unknown)}. Allowed: {listed(allowed)}.")
    return problems


def fitting_methods(parser: str = "") -> list[str]:
    """Return the methods that accept a researcher's prompt with this parser."""
    if parser == SCORE:
        return [Pointwise.name]
    methods = ((name, find_method(name)) for name in method_names())
    return [name for name, method in methods if isinstance(method, PromptedMethod) and method.own_wording]


def preview(text: str, parser: str, presentation: Presentation, *, system: str = "") -> list[dict[str, str]]:
    """Return the messages that a judge with this prompt sends about a presentation, the same in all methods.

    Of several calls each follows the one before, with a note where its answer will stand.
    Raises: BadSettings for an invalid prompt.
    """
    setting = Setting(wording=text, wording_parser=parser)
    method = find_method(fitting_methods(parser)[0])
    if not isinstance(method, AskingMethod):
        raise TypeError(method.name)
    first = [{"role": "system", "content": system}] if system else []
    procedure, sent = method.ask(presentation, setting), []
    calls = next(procedure)
    while True:
        for call in calls:
            sent += [*first, *map(dict, call.messages)]
        if calls[0].kind in ("verdict", "score"):
            return sent
        calls = procedure.send([f"(the model’s answer to the call {call.kind})" for call in calls])
