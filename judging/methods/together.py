"""Several questions on a pair in one call: every cell of a question makes the same call, and reads its own verdict."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from judging.core.errors import UnparsedVerdict
from judging.methods.base import Asked, Presentation, Reply
from judging.methods.parsing.answers import has_words, no_verdict, visible_answer, whole
from judging.methods.parsing.parsers import NOUNS, TIE, ParsedAnswer
from judging.methods.parsing.verdict_forms import VerdictForm
from judging.methods.task_files import find_task
from judging.methods.verdict_schema import REASONS, object_of, parse_once, reasons_in

Answers = Mapping[int, ParsedAnswer]  # by place; without the questions whose verdict can't be read


def words_together(shown: Presentation, letters: str) -> dict[str, str]:
    """Return the words for the questions and for the lines that answer them."""
    numbered = list(enumerate(shown.together, start=1))
    return {
        "questions": "\n".join(f"{number}. {_criterion(one, shown.negated)}" for number, one in numbered),
        "answers": "\n".join(f"Question {number}: <{letters}>" for number, _one in numbered),
    }


@cache
def _criterion(asked: Asked, negated: bool) -> str:
    return find_task(asked.task).words(question=asked.question, negated=negated)["criterion"]


def schema_together(count: int, letters: Sequence[str]) -> dict[str, Any]:
    """Return the schema of the verdicts on so many questions, after the reasons for them."""
    verdicts = {_name(place): {"type": "string", "enum": list(letters)} for place in range(count)}
    return object_of({REASONS: {"type": "string"}, **verdicts})


def _name(place: int) -> str:
    return f"question_{place + 1}"


@cache
def _form(place: int, letters: tuple[str, ...], better: bool) -> VerdictForm:
    """Return the form of a question's line; one without its number is no answer to it."""
    labels = (f"question {place + 1}", f"answer {place + 1}", f"preferred {place + 1}", f"choice {place + 1}")
    tie = TIE if TIE in letters else ""
    return VerdictForm(labels, NOUNS, letters, tie=tie, better=better, unlabelled=False)


def reader_together(shown: Presentation, letters: tuple[str, ...]) -> Callable[[Reply], Answers]:
    """Return a reader of the verdicts on all questions; an answer with at least one of them is not asked for again."""
    count = len(shown.together)

    def in_words(reply: Reply) -> dict[int, ParsedAnswer]:
        found: dict[int, ParsedAnswer] = {}
        for place in range(count):
            try:
                said = _form(place, letters, not shown.negated).find(reply.text)
                if said is not None:
                    # The lines behind it answer other questions.
                    letter = said.letter if has_words(said.after) else whole(said, reply).letter
                    found[place] = ParsedAnswer(letter, said.rationale)
            except UnparsedVerdict:
                continue  # this verdict alone is doubtful
        # The reasons stand before the first verdict.
        reasons = min((one.rationale for one in found.values()), key=len, default="")
        return {place: ParsedAnswer(one.letter, reasons) for place, one in found.items()}

    def in_json(text: str) -> dict[int, ParsedAnswer]:
        said = parse_once(text)
        given = {place: said.get(_name(place)) for place in range(count)}
        return {place: ParsedAnswer(one, reasons_in(said)) for place, one in given.items() if one in letters}

    def read(reply: Reply) -> Answers:
        text = visible_answer(reply.text).strip()
        found = in_json(text) if text.startswith("{") else in_words(reply)
        if not found:
            raise no_verdict(reply.text)
        return found

    return read


def own_verdict(shown: Presentation, answers: Answers) -> ParsedAnswer:
    """Return the verdict on the presentation's own question.

    Raises: UnparsedVerdict
    """
    if shown.place not in answers:
        others = ", ".join(str(place + 1) for place in sorted(answers))
        raise UnparsedVerdict(f"no verdict on question {shown.place + 1} of {len(shown.together)}; one on {others}")
    return answers[shown.place]


def example_together(count: int) -> str:
    """Return an answer of usual length, for estimates."""
    return "\n".join(["Comparison: " + 20 * count * "word ", *(f"Question {place + 1}: A" for place in range(count))])
