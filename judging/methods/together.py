"""Several questions on a pair in one call: every cell of a question makes the same call, and reads its own verdict."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from annotation.core.reasons import reason
from judging.core.errors import UnparsedVerdict
from judging.methods.base import Asked, Presentation, Reply
from judging.methods.parsing.answers import has_words, no_verdict, visible_answer, whole
from judging.methods.parsing.parsers import NOUNS, TIE, ParsedAnswer
from judging.methods.parsing.verdict_forms import VerdictForm
from judging.methods.task_files import find_task
from judging.methods.verdict_schema import REASONS, object_of, parse_once, reasons_in

Answers = Mapping[int, ParsedAnswer]  # by place; without the questions whose verdict can't be read


def words_together(presentation: Presentation, letters: str) -> dict[str, str]:
    """Return the words for the questions and for the lines that answer them."""
    numbered = list(enumerate(presentation.together, start=1))
    return {
        "questions": "\n".join(
            f"{number}. {_criterion(question, presentation.negated)}" for number, question in numbered
        ),
        "answers": "\n".join(f"Question {number}: <{letters}>" for number, _question in numbered),
    }


@cache
def _criterion(question: Asked, negated: bool) -> str:
    return find_task(question.task).words(question=question.question, negated=negated)["criterion"]


def schema_together(count: int, letters: Sequence[str]) -> dict[str, Any]:
    """Return the schema of the verdicts on so many questions, after the reasons for them."""
    verdicts = {_name(index): {"type": "string", "enum": list(letters)} for index in range(count)}
    return object_of({REASONS: {"type": "string"}, **verdicts})


def _name(index: int) -> str:
    return f"question_{index + 1}"


@cache
def _form(index: int, letters: tuple[str, ...], better: bool) -> VerdictForm:
    """Return the form of a question's line, which needs the question's number."""
    labels = (f"question {index + 1}", f"answer {index + 1}", f"preferred {index + 1}", f"choice {index + 1}")
    tie = TIE if TIE in letters else ""
    return VerdictForm(labels, NOUNS, letters, tie=tie, better=better, unlabelled=False)


def reader_together(presentation: Presentation, letters: tuple[str, ...]) -> Callable[[Reply], Answers]:
    """Return a reader of the verdicts on all questions. An answer with one verdict is not asked for again."""
    count = len(presentation.together)

    def in_words(reply: Reply) -> dict[int, ParsedAnswer]:
        answers: dict[int, ParsedAnswer] = {}
        for index in range(count):
            try:
                reply_part = _form(index, letters, not presentation.negated).find(reply.text)
                if reply_part is not None:
                    # The lines behind it answer other questions.
                    letter = reply_part.letter if has_words(reply_part.after) else whole(reply_part, reply).letter
                    answers[index] = ParsedAnswer(letter, reply_part.rationale)
            except UnparsedVerdict:
                continue  # this verdict alone is doubtful
        # The reasons stand before the first verdict.
        reasons = min((parsed.rationale for parsed in answers.values()), key=len, default="")
        return {index: ParsedAnswer(parsed.letter, reasons) for index, parsed in answers.items()}

    def in_json(text: str) -> dict[int, ParsedAnswer]:
        reply_part = parse_once(text)
        letters_given = {index: reply_part.get(_name(index)) for index in range(count)}
        return {
            index: ParsedAnswer(parsed, reasons_in(reply_part))
            for index, parsed in letters_given.items()
            if parsed in letters
        }

    def read(reply: Reply) -> Answers:
        text = visible_answer(reply.text).strip()
        answers = in_json(text) if text.startswith("{") else in_words(reply)
        if not answers:
            raise no_verdict(reply.text)
        return answers

    return read


def own_verdict(presentation: Presentation, answers: Answers) -> ParsedAnswer:
    """Return the verdict on the presentation's own question.

    Raises: UnparsedVerdict
    """
    if presentation.place not in answers:
        numbers = ", ".join(str(index + 1) for index in sorted(answers))
        question, count = presentation.place + 1, len(presentation.together)
        raise UnparsedVerdict(reason("no_verdict_on_question", question=question, count=count, numbers=numbers))
    return answers[presentation.place]


def example_together(count: int) -> str:
    """Return an answer of usual length, for estimates."""
    return "\n".join(["Comparison: " + 20 * count * "word ", *(f"Question {index + 1}: A" for index in range(count))])
