"""The questions of a pair: what is asked, which answers are offered, and what an answer means.

A study asks one question or up to six; the first, number 0, is the main one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from django.utils.translation import gettext as _

from annotation.core.files.lines import text_problem

MAIN = 0
MOST_QUESTIONS = 6
SLIGHTLY, MUCH = 1, 2
LONGEST_KEY, LONGEST_TEXT, LONGEST_DESCRIPTION = 30, 300, 2000
LONGEST_REASON = 5000  # for a choice, in the words of its rater


@dataclass(frozen=True)
class Answer:
    """An answer to a question: by the sides of a screen (−1 is left) or in study order (−1 is system A).

    verdict  : −1, 0 or +1
    strength : how much one is preferred, 1 slightly or 2 much; None where that was not asked, is not known, or neither is
    tie_kind : of 0, good (both are) or bad; empty where that was not asked, or is not known
    """

    verdict: int
    strength: int | None = None
    tie_kind: str = ""

    def swapped(self) -> "Answer":
        """Return the same answer with the sides exchanged."""
        return replace(self, verdict=-self.verdict)


# A choice on the screen → its answer by sides, in the order on the page.
CHOICES: Mapping[str, Answer] = {
    "left-much": Answer(-1, MUCH),
    "left": Answer(-1),
    "left-slightly": Answer(-1, SLIGHTLY),
    "none": Answer(0),
    "both-good": Answer(0, tie_kind="good"),
    "both-bad": Answer(0, tie_kind="bad"),
    "right-slightly": Answer(1, SLIGHTLY),
    "right": Answer(1),
    "right-much": Answer(1, MUCH),
}
_CHOICE_OF = {answer: choice for choice, answer in CHOICES.items()}


def choice_of(answer: Answer) -> str:
    """Return the choice on the screen that means an answer by sides."""
    return _CHOICE_OF[answer]


@dataclass(frozen=True)
class Question:
    """One question of a study.

    number   : its place among the study's questions; 0 is the main one
    key      : its name in files, addresses and filters
    strength : whether a preference is slight or strong is asked too
    tie_kinds: whether “no preference” is asked as “both good” and “both bad”
    """

    number: int
    key: str
    text: str
    description: str = ""
    ties_allowed: bool = True
    strength: bool = False
    tie_kinds: bool = False

    @property
    def choices(self) -> tuple[str, ...]:
        """The choices on offer, in the order on the page."""
        left, right = (("left-much", "left-slightly"), ("right-slightly", "right-much"))
        middle = ("both-good", "both-bad") if self.tie_kinds else ("none",)
        sides = (left, right) if self.strength else (("left",), ("right",))
        return (*sides[0], *(middle if self.ties_allowed else ()), *sides[1])

    def labels(self, left: str, right: str) -> dict[str, str]:
        """Return the choices on offer with their labels, given the names of the two texts."""
        return {choice: choice_label(choice, left, right) for choice in self.choices}


def choice_label(choice: str, left: str, right: str) -> str:
    """Return the label of a choice, given the names of the two texts."""
    name = {-1: left, 0: "", 1: right}[CHOICES[choice].verdict]
    labels = {
        "none": _("No preference"),
        "both-good": _("Both are good"),
        "both-bad": _("Both are bad"),
        "left-much": _("%(text)s, much"),
        "left-slightly": _("%(text)s, slightly"),
    }
    labels["right-much"], labels["right-slightly"] = labels["left-much"], labels["left-slightly"]
    return labels.get(choice, "%(text)s") % {"text": name}


class BadQuestion(ValueError):
    """A question that cannot be asked. The message says what is wrong with it."""


# How further questions are written in files, commands and the API.
FIELDS = tuple(field.name for field in fields(Question) if field.name != "number")


def further_questions(definitions: Sequence[Mapping[str, Any]]) -> tuple[Question, ...]:
    """Return a study's stored further questions, numbered from 1."""
    return tuple(Question(number=number, **definition) for number, definition in enumerate(definitions, start=1))


def checked_questions(value: Any, main_key: str) -> list[dict[str, Any]]:
    """Return further questions as they are stored, from JSON values.

    Raises: BadQuestion naming the question by its place among all of them.
    """
    if not isinstance(value, list):
        raise BadQuestion("The further questions must be a list.")
    if len(value) >= MOST_QUESTIONS:
        raise BadQuestion(f"A pair may be asked {MOST_QUESTIONS} questions in all.")
    keys, questions = {main_key}, []
    for number, item in enumerate(value, start=2):
        try:
            question = _checked(item)
            if question["key"] in keys:
                raise BadQuestion(f"another question has the key {question['key']}")
        except BadQuestion as error:
            raise BadQuestion(f"Question {number}: {error}.") from None
        keys.add(question["key"])
        questions.append(question)
    return questions


def _checked(item: Any) -> dict[str, Any]:
    if not isinstance(item, Mapping):
        raise BadQuestion("it must be an object with key and text")
    if unknown := sorted(set(map(str, item)) - set(FIELDS)):
        raise BadQuestion(f"it has no {', '.join(unknown)}, but {', '.join(FIELDS)}")
    texts = {
        "key": _checked_text(item, "key", LONGEST_KEY),
        "text": _checked_text(item, "text", LONGEST_TEXT),
        "description": _checked_text(item, "description", LONGEST_DESCRIPTION),
    }
    if (problem := key_problem(texts["key"])) or not texts["text"]:
        raise BadQuestion(problem or "a text is needed")
    switches: dict[str, Any] = {
        name: item.get(name, name == "ties_allowed") for name in ("ties_allowed", "strength", "tie_kinds")
    }
    if not all(isinstance(value, bool) for value in switches.values()):
        raise BadQuestion(f"{', '.join(switches)} must be true or false")
    if switches["tie_kinds"] and not switches["ties_allowed"]:
        raise BadQuestion("kinds of “no preference” need “no preference”")
    return {**texts, **switches}


def _checked_text(definition: Mapping[str, Any], name: str, longest: int) -> str:
    value = definition.get(name, "")
    if not isinstance(value, str) or text_problem(value, longest=longest, may_be_blank=True):
        raise BadQuestion(f"{name} must be a text of at most {longest} characters")
    return value.strip().replace("\r\n", "\n")


def key_problem(key: str) -> str:
    """Return what is wrong with a question's key, or an empty text.

    Keys stand in names of columns and in addresses, so that a dot, a slash or a space would be misread.
    """
    fits = (
        key[:1].isalpha() and key.isascii() and key.replace("_", "").replace("-", "").isalnum() and key == key.lower()
    )
    return "" if fits else "a key has small letters a to z, digits, _ and -, and begins with a letter"


def described(question: Mapping[str, Any]) -> str:
    """Return a stored further question as text: its key and words, and where it is unlike others, what may be answered."""
    usual = {"ties_allowed": True, "strength": False, "tie_kinds": False}
    unlike = [
        f"{name}={'no' if value else 'yes'}" for name, value in usual.items() if question.get(name, value) != value
    ]
    words = [f"{question['key']}: {question['text']}", question.get("description", "")]
    return "; ".join(filter(None, words + unlike))


def without_wording(questions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what votes depend on in stored further questions: all but the words."""
    return [
        {name: value for name, value in question.items() if name not in ("text", "description")}
        for question in questions
    ]
