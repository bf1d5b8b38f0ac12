"""The choice of a question on pages whose numbers are about one of several."""

from collections.abc import Callable
from typing import Any

from annotation.models import Study
from annotation.questions.labels import translate_default
from annotation.questions.questions import Question


def question_choice(study: Study, asked: Question | None, query: Callable[[Question], str]) -> dict[str, Any] | None:
    """Return the question that a page is about, and each question's link; None where the study asks one only.

    asked : one of the study's questions, or None where it asks one only
    query : the page's query for a question
    """
    if asked is None:
        return None
    return {
        "key": asked.key,
        "text": translate_default(asked.text),
        "description": asked.description,
        "all": [(one.key, query(one), one.number == asked.number) for one in study.questions],
    }
