"""The questions on a pair's card as its rater reads them, each with the answer where there is one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.utils.safestring import SafeString
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from annotation.core.markdown import render
from annotation.models import Display, Rating, Study
from annotation.questions.labels import choice_names, translate_default
from annotation.questions.questions import MAIN, Question
from annotation.rating.votes import rated_choice

_PLAIN_KEYS = {"left": ("1", "←"), "none": ("2", "↓"), "right": ("3", "→")}


@dataclass(frozen=True)
class AskedQuestion:
    """A question as raters read it."""

    number: int
    text: str
    description: str
    choices: Mapping[str, SafeString]

    @property
    def place(self) -> int:
        """Its place among a pair's questions, from 1."""
        return self.number + 1

    @property
    def is_graded(self) -> bool:
        """Tell whether it offers more than left, right and no preference."""
        return not _PLAIN_KEYS.keys() >= self.choices.keys()

    @property
    def in_ids(self) -> str:
        """What ids of the page end in."""
        return f"-{self.number}" if self.number else ""

    @property
    def in_names(self) -> str:
        """What names of a form's fields end in; a pair's key has no dot, so that both can be told apart."""
        return f".{self.number}" if self.number else ""


@dataclass(frozen=True)
class RejectedAnswer:
    """A refused answer on one pair, and why; its form keeps `choice` and `reason`."""

    key: str
    problem: str
    choice: str = ""
    reason: str = ""
    question: int = MAIN


@dataclass(frozen=True)
class CardAnswer:
    """A question on a pair, with the answer of its rater where there is one.

    version : number of changes of the answer so far
    reason  : why, as stored; `typed` is what came with a refused answer
    """

    asked: AskedQuestion
    choice: str | None = None
    saved_at: datetime | None = None
    version: int = 0
    problem: str = ""
    reason: str = ""
    typed: str = ""


def asked_questions(study: Study) -> Sequence[AskedQuestion]:
    """Return a study's questions as raters read them, the main one first."""
    return _asked(study.questions, study.label_left, study.label_right, get_language())


@lru_cache(maxsize=256)
def _asked(questions: tuple[Question, ...], left: str, right: str, _language: str | None) -> tuple[AskedQuestion, ...]:
    sides = translate_default(left), translate_default(right)
    return tuple(
        AskedQuestion(
            question.number,
            translate_default(question.text),
            render(question.description) if question.description else "",
            choice_names(question, sides),
        )
        for question in questions
    )


def key_rows(questions: Sequence[AskedQuestion]) -> list[tuple[Sequence[str], str]]:
    """Return the keys that answer questions, each with its choice, for the list of shortcuts."""
    plain = [asked for asked in questions if not asked.is_graded]
    offered = {choice: name for asked in plain for choice, name in asked.choices.items()}
    rows: list[tuple[Sequence[str], str]] = [
        (keys, offered[choice]) for choice, keys in _PLAIN_KEYS.items() if choice in offered
    ]
    graded = [asked for asked in questions if asked.is_graded]
    if len(questions) == 1:
        names = [name for asked in graded for name in asked.choices.values()]
        return rows + [((str(place),), name) for place, name in enumerate(names, start=1)]
    if graded:
        most = max(len(asked.choices) for asked in graded)
        rows.append(([str(place) for place in range(1, most + 1)], _("The choice with this number")))
    return rows


def answer_to(asked: AskedQuestion, rating: Rating | None, version: int, **more: Any) -> CardAnswer:
    """Return a question with a rater's answer to it."""
    if rating is None:
        return CardAnswer(asked, version=version, **more)
    return CardAnswer(
        asked,
        choice=rated_choice(rating),
        saved_at=rating.rated_at,
        version=version,
        reason=rating.reason,
        **more,
    )


def answers_on(
    display: Display, questions: Sequence[AskedQuestion], *rejected: RejectedAnswer, stage: str
) -> list[CardAnswer]:
    """Return the questions on a display of `displays_of`, with the answers of a stage."""
    refused = {one.question: one for one in rejected if one.key == display.pair.key}
    answers = []
    for asked in questions:
        found = refused.get(asked.number)
        refusal = {"problem": found.problem, "typed": found.reason} if found else {}
        rating = display.votes.get((stage, asked.number))
        answers.append(answer_to(asked, rating, display.versions.get(asked.number, 0), **refusal))
    return answers
