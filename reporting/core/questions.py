"""The choice of a question on pages whose numbers are about one of several."""

from collections.abc import Callable
from typing import Any

from annotation.models import Study
from annotation.questions.labels import translate_default
from annotation.questions.questions import Question


def question_choice(study: Study, current: Question | None, query: Callable[[Question], str]) -> dict[str, Any] | None:
    """Return the current question and each question's link, or None where the study asks only one.

    current : one of the study's questions, or None where it asks one only
    query   : the page's query for a question
    """
    if current is None:
        return None
    return {
        "key": current.key,
        "text": translate_default(current.text),
        "description": current.description,
        "all": [(question.key, query(question), question.number == current.number) for question in study.questions],
    }
