"""Answers as codes in the cells of Mechanical Turk's files, by place on the page.

−1 is the text shown first, 0 neither, 1 the second. Where a question asks for strengths, 2 and −2 are strong preferences and 1 and −1
slight ones; where it asks for kinds of ties, 0good and 0bad are the two.
"""

from annotation.questions.questions import CHOICES, MAIN, Answer, Question


def column_of(column: str, question: Question) -> str:
    """Return the column of a question, given that of the main one."""
    return column if question.number == MAIN else f"{column}_{question.key}"


def code_of(answer: Answer) -> str:
    """Return the code of an answer."""
    return f"{answer.verdict * (answer.strength or 1)}{answer.tie_kind}"


def codes_of(question: Question) -> dict[str, str]:
    """Return the choices on offer, each with its code, in the order on the page."""
    return {choice: code_of(CHOICES[choice]) for choice in question.choices}


def answers_of(question: Question) -> dict[str, Answer]:
    """Return the codes that mean an answer to a question. A tie may be of unknown kind."""
    offered = {code: CHOICES[choice] for choice, code in codes_of(question).items()}
    return {**({"0": Answer(0)} if question.ties_allowed else {}), **offered}
