"""Finding a study's questions by their keys, and those that have answers."""

from collections.abc import Mapping

from django.apps import apps

from annotation.core.errors import UnknownName
from annotation.models import Study
from annotation.questions.questions import MAIN, Question


def find_question(study: Study, key: str) -> Question:
    """Find a question by its key. An empty one stands for the main question.

    Raises: UnknownName listing those that exist.
    """
    by_key = {question.key: question for question in study.questions}
    if not key:
        return study.questions[MAIN]
    if key not in by_key:
        raise UnknownName(f"study {study.slug} asks no question {key}; it asks: {', '.join(by_key)}")
    return by_key[key]


def question_named(study: Study, key: str) -> Question | None:
    """Find a question where a study asks several, or None where it asks one, which is not named anywhere.

    Raises: UnknownName listing those that exist.
    """
    question = find_question(study, key)
    return question if len(study.questions) > 1 else None


def answered_questions(study: Study) -> set[int]:
    """Return the numbers of the further questions that have answers, by people or judges, made here or imported."""
    return {
        number
        for model in apps.get_models()
        if (path := getattr(model, "study_path", ""))
        for number in model._default_manager.filter(**{path: study}, question__gt=MAIN)
        .order_by()
        .values_list("question", flat=True)
        .distinct()
    }


def named_questions(study: Study) -> Mapping[int, Question]:
    """Return a study's questions by number, or none where it asks only one, which pages and files don't name."""
    questions = study.questions
    return {question.number: question for question in questions} if len(questions) > 1 else {}
