"""The parts of a HIT's page that a vote changes: the answered question and the open pairs."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Any

from django.db.models import BooleanField, ExpressionWrapper, QuerySet
from django.db.models.functions import Length
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from annotation.allocation.revision import PERIOD
from annotation.core.database.prepared import Prepared
from annotation.core.keys import owner_key
from annotation.core.markdown import render
from annotation.models import Assignment, Display, Rating, Study
from annotation.models.studies import FirstReason
from annotation.questions.labels import choice_names, isolated, side_names, translate_default
from annotation.questions.questions import LONGEST_REASON, MAIN, Question
from annotation.rating.forms import PAIR_FLAGS
from annotation.rating.votes import asked_in, is_answered

AGAIN = "?again=1"
FIRST, REVISED = Rating.Stage.FIRST, Rating.Stage.REVISED
_PLAIN_KEYS = {"left": ("1", "←"), "none": ("2", "↓"), "right": ("3", "→")}


@dataclass(frozen=True)
class AskedQuestion:
    """A question as raters read it."""

    number: int
    text: SafeString
    description: str
    choices: Mapping[str, SafeString]

    @property
    def place(self) -> int:
        """Its place among a pair's questions, from 1."""
        return self.number + 1

    @cached_property
    def is_graded(self) -> bool:
        """Tell whether it offers more than left, right and no preference."""
        return not _PLAIN_KEYS.keys() >= self.choices.keys()


@dataclass(frozen=True)
class RejectedAnswer:
    """A refused answer on one pair, and why. Its form keeps `choice` and `reason`."""

    key: str
    problem: str
    choice: str = ""
    reason: str = ""
    question: int = MAIN


@dataclass(frozen=True)
class CardAnswer:
    """A question on a pair, with the answer of its rater where there is one.

    key     : of the pair
    version : number of changes of the answer so far
    reason  : why, as stored; `typed` is what came with a refused answer
    """

    asked: AskedQuestion
    key: str
    choice: str | None = None
    saved_at: datetime | None = None
    version: int = 0
    problem: str = ""
    reason: str = ""
    typed: str = ""

    @cached_property
    def id(self) -> str:
        """What the page's ids of this question end with."""
        return f"{self.key}-{self.asked.number}" if self.asked.number else self.key

    @property
    def name(self) -> str:
        """What its field names end with on a page without scripts. No pair's key has a dot."""
        return f"{self.key}.{self.asked.number}" if self.asked.number else self.key


def asked_questions(study: Study) -> Sequence[AskedQuestion]:
    """Return a study's questions as raters read them, the main one first."""
    return _asked(study.questions, study.label_left, study.label_right, get_language())


@lru_cache(maxsize=256)
def _asked(questions: tuple[Question, ...], left: str, right: str, _language: str | None) -> tuple[AskedQuestion, ...]:
    sides = translate_default(left), translate_default(right)
    return tuple(
        AskedQuestion(
            question.number,
            isolated(translate_default(question.text)),
            render(question.description) if question.description else "",
            choice_names(question, sides),
        )
        for question in questions
    )


def key_rows(questions: Sequence[AskedQuestion]) -> list[tuple[Sequence[str], str]]:
    """Return the keys that answer questions, each with its choice, for the list of shortcuts."""
    plain = [question for question in questions if not question.is_graded]
    offered = {choice: name for requested in plain for choice, name in requested.choices.items()}
    rows: list[tuple[Sequence[str], str]] = [
        (keys, offered[choice]) for choice, keys in _PLAIN_KEYS.items() if choice in offered
    ]
    graded = [question for question in questions if question.is_graded]
    if len(questions) == 1:
        names = [name for requested in graded for name in requested.choices.values()]
        return rows + [((str(index),), name) for index, name in enumerate(names, start=1)]
    if graded:
        longest = max(len(requested.choices) for requested in graded)
        rows.append(([str(index) for index in range(1, longest + 1)], _("The choice with this number")))
    return rows


def answer_to(question: AskedQuestion, key: str, rating: Rating | None, version: int, **more: Any) -> CardAnswer:
    """Return a question on a pair with a rater's answer to it."""
    if rating is None:
        return CardAnswer(question, key, version=version, **more)
    return CardAnswer(
        question,
        key,
        choice=rating.choice,
        saved_at=rating.rated_at,
        version=version,
        reason=rating.reason,
        **more,
    )


def answers_on(
    display: Display, questions: Sequence[AskedQuestion], *rejected: RejectedAnswer, stage: str
) -> list[CardAnswer]:
    """Return the questions on a display of `displays_of`, with the answers of a stage."""
    key = display.pair.key
    refused = {item.question: item for item in rejected if item.key == key}
    answers = []
    for question in questions:
        refused_answer = refused.get(question.number)
        refusal = {"problem": refused_answer.problem, "typed": refused_answer.reason} if refused_answer else {}
        rating = display.votes.get((stage, question.number))
        answers.append(answer_to(question, key, rating, display.versions.get(question.number, 0), **refusal))
    return answers


@dataclass(frozen=True)
class OpenPair:
    """A pair on which something of the present stage is missing.

    target  : id of the place on the page where it is asked for
    missing : what, where some of it is there
    """

    place: int
    target: str
    missing: str = ""


@dataclass(frozen=True)
class HitProgress:
    """Progress of a HIT. `open` holds the pairs on which something of the present stage is missing."""

    rated: int
    total: int
    open: list[OpenPair] = field(default_factory=list)
    expires_at: datetime | None = None
    now: datetime | None = None
    late: bool = False
    locks: bool = False
    second: bool = False


def status(assignment: Assignment, now: datetime, displays: Sequence[Display] | None = None) -> HitProgress:
    """Say what is missing of the present stage: in no query if given `displays`, else in one, or two for many questions."""
    second = assignment.locked_at is not None
    stage = REVISED if second else FIRST
    questions_asked = asked_in(assignment.hit.batch.study, stage)
    if displays is not None:
        total = len(displays)
        open_ = [
            _open_pair(display.position, display.pair.key, _given_on(display, stage), **questions_asked)
            for display in displays
        ]
    elif questions_asked == {"questions": 1, "minimum": 0}:
        pairs = _PLACES.all(assignment=assignment.pk, stage=stage, **questions_asked)
        total = len(pairs)
        open_ = [None if done else OpenPair(position + 1, f"pair-{key}") for position, key, done in pairs]
    else:
        keys = _KEYS.all(assignment=assignment.pk)
        answered: dict[int, dict[int, int]] = {display: {} for display, _position, _key in keys}
        for display, question, length in _GIVEN.all(assignment=assignment.pk, stage=stage):
            answered[display][question] = length
        total = len(keys)
        open_ = [_open_pair(position, key, answered[display], **questions_asked) for display, position, key in keys]
    missing = [item for item in open_ if item is not None]
    expires = assignment.expires_at
    return HitProgress(
        rated=total - len(missing),
        total=total,
        open=missing,
        expires_at=expires,
        now=now,
        late=assignment.state == Assignment.State.EXPIRED or (expires is not None and expires <= now),
        locks=bool(assignment.arm) and not second,
        second=second,
    )


def _given_on(display: Display, stage: str) -> dict[int, int]:
    """Return question → length of the reason, of the answers on a display of `displays_of`."""
    return {question: len(rating.reason) for (of, question), rating in display.votes.items() if of == stage}


def _open_pair(position: int, key: str, answered: Mapping[int, int], questions: int, minimum: int) -> OpenPair | None:
    """Describe what is missing on a pair, or None where nothing is."""
    numbers = [number for number in range(questions) if number not in answered]
    needs_reason = answered.get(MAIN, 0) < minimum
    if not numbers and not needs_reason:
        return None
    target = f"reason-{key}" if needs_reason else f"vote-{key}-{numbers[0]}"
    if MAIN in numbers:
        target = f"pair-{key}"
    return OpenPair(position + 1, target, _missing(numbers, needs_reason, minimum) if answered else "")


def _missing(numbers: Sequence[int], needs_reason: bool, minimum: int) -> str:
    parts = []
    if numbers:
        listed = ", ".join(str(number + 1) for number in numbers)
        parts.append(ngettext("question %(places)s", "questions %(places)s", len(numbers)) % {"places": listed})
    if needs_reason:
        parts.append(
            ngettext("reason of %(least)d character or more", "reason of %(least)d characters or more", minimum)
            % {"least": minimum}
        )
    return _(" and ").join(parts)


def _places(assignment: int, stage: str, questions: int, minimum: int) -> "QuerySet[Display, tuple[int, str, bool]]":
    answered = ExpressionWrapper(is_answered(stage, questions, minimum), BooleanField())
    rows = Display.objects.filter(assignment=assignment).annotate(answered=answered).order_by("position")
    return rows.values_list("position", "pair__key", "answered")


def _keys(assignment: int) -> "QuerySet[Display, tuple[int, int, str]]":
    displays = Display.objects.filter(assignment=assignment).order_by("position")
    return displays.values_list("pk", "position", "pair__key")


def _given(assignment: int, stage: str) -> "QuerySet[Rating, tuple[int, int, int]]":
    answers = Rating.objects.filter(display__assignment=assignment, stage=stage).order_by()
    return answers.annotate(length=Length("reason")).values_list("display", "question", "length")


_PLACES, _KEYS, _GIVEN = Prepared(_places), Prepared(_keys), Prepared(_given)


def hit_address(assignment: Assignment) -> str:
    """Return the address of a HIT's page. A submitted HIT has one only while it may be changed."""
    return reverse("annotation:hit", args=[assignment.key]) + (AGAIN if assignment.submitted_at else "")


def base_context(assignment: Assignment, page: str = "") -> dict[str, Any]:
    """Return the context of every part of the page. `page` identifies the loaded page, by default a new one."""
    study = assignment.hit.batch.study
    questions = asked_questions(study)
    address = hit_address(assignment)
    return {
        "assignment": assignment,
        "here": address.removesuffix(AGAIN),
        "page_address": address,
        "revisable_until": assignment.submitted_at and assignment.submitted_at + PERIOD,
        "owner": owner_key(assignment.annotator.user_id),
        "study": study,
        "questions": questions,
        "asks_more": len(questions) > 1 or questions[MAIN].is_graded or study.first_reason != FirstReason.OFF,
        **_labels(study.source_label, study.label_left, study.label_right, get_language()),
        "longest_reason": LONGEST_REASON,
        "tools": lambda: _tools(
            study.questions,
            study.label_left,
            study.label_right,
            get_language(),
            locked=bool(assignment.locked_at),
            with_reason=study.first_reason != FirstReason.OFF,
            with_guidelines=bool(study.guidelines),
        ),
        "page": page or secrets.token_urlsafe(9),
    }


@lru_cache(maxsize=256)
def _tools(questions: tuple[Question, ...], left: str, right: str, language: str | None, **options: bool) -> SafeString:
    """Render the switches and the list of shortcuts, which are the same on all HITs of a study."""
    questions_asked = _asked(questions, left, right, language)
    context = {
        "questions": questions_asked,
        "key_rows": key_rows(questions_asked[:1] if options["locked"] else questions_asked),
        **options,
    }
    return render_to_string("annotation/rating/_tools.html", context)


def flag_choices() -> SafeString:
    """Render the kinds of problems that a rater may report, one of which is chosen."""
    choice = '<label><input type="radio" name="kind" value="{}" required> {}</label>'
    return format_html_join("\n", choice, PAIR_FLAGS)


@lru_cache(maxsize=256)
def _labels(source: str, left: str, right: str, _language: str | None) -> Mapping[str, Any]:
    sides = translate_default(left), translate_default(right)
    return {
        "source_label": translate_default(source),
        "label_left": sides[0],
        "label_right": sides[1],
        "side_names": side_names(sides),
        "flag_choices": flag_choices(),
    }
