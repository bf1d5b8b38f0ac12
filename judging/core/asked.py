"""Naming the question of a judgment, where a study asks several."""

from collections.abc import Mapping

from annotation.core.questions import Question
from annotation.models import Study


def named_questions(study: Study) -> Mapping[int, Question]:
    """Return a study's questions by number; none where it asks only one, which pages and files don't name."""
    asked = study.questions
    return {question.number: question for question in asked} if len(asked) > 1 else {}
