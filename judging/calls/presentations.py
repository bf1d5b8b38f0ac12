"""From a pair to a judge's presentation, and from its verdict back to study order. No other code swaps sides."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from analysis.types import Verdict
from annotation.core.conversations import transcript
from annotation.questions.questions import MAIN, Question
from judging.methods import Method, Outcome, Presentation, Setting
from judging.methods.base import Asked
from judging.methods.sc2.record import TableRow, swap_row
from judging.methods.task_files import CRITERION, find_task, task_of
from judging.models import Judge, Judgment

AB, BA = Judgment.Order.AB, Judgment.Order.BA
IDENTITY_FIELDS = (
    "matchup__instance__study__slug",
    "matchup__instance__instance_id",
    "matchup__system_a__name",
    "matchup__system_b__name",
    "index",
)
# What a presentation is made from.
PAIR_FIELDS = (
    *IDENTITY_FIELDS,
    "matchup__instance__study__task_kind",
    "matchup__instance__source",
    "matchup__instance__messages",
    "matchup__instance__metadata__reference",
    "generation_a__messages",
    "generation_b__messages",
    "generation_a__text",
    "generation_b__text",
)


def identity_of(*fields: object) -> str:
    """Name a pair by its `IDENTITY_FIELDS`, with which the fields begin: unlike primary keys, they are the same in any database."""
    return json.dumps(fields[: len(IDENTITY_FIELDS)], ensure_ascii=False)


def orders_for(judge: Judge, identity: str) -> list[str]:
    """Return the orders in which a judge is shown a pair. A random one is drawn by the judge's seed."""
    if judge.order == Judge.OrderPolicy.BOTH:
        return [AB, BA]
    if judge.order == Judge.OrderPolicy.RANDOM:
        digest = hashlib.sha256(f"order\x00{judge.seed}\x00{identity}".encode()).digest()
        return [AB if digest[0] & 1 else BA]
    return [judge.order]


def task_for(judge: Judge, task_kind: str, question: int = MAIN) -> str:
    """Return the task whose wording a judge uses on studies of a kind. A further question is asked in a wording of its own."""
    if question != MAIN:
        return CRITERION
    return judge.task or task_of(task_kind)


def wording_of(question: Question) -> str:
    """Return a question as judges read it, with its description."""
    return f"{question.text} (What is meant: {question.description})" if question.description else question.text


def prompt_version(method: Method, setting: Setting, presentation: Presentation) -> str:
    """Return the version of a prompt. That of a further question says which words it had, and so does a system prompt."""
    version = method.version_of(presentation, setting)
    if not version:
        return version
    words = [item.question for item in presentation.together or (presentation,) if item.task == CRITERION]
    for name, text in {"system": setting.system_prompt, "question": "\x00".join(words)}.items():
        if text:
            version += f"+{name}-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
    return version


def asked_about(
    judge: Judge, task_kind: str, question: Question, together: Sequence[Question] = (), *, negated: bool = False
) -> Presentation:
    """Return what a question asks, as of a pair without texts.

    together : the questions of the run, which a judge with the option `together` is asked in one call
    """
    each = tuple(Asked(task_for(judge, task_kind, item.number), wording_of(item)) for item in together)
    if len(each) < 2 or not judge.params.get("together"):
        each = ()
    return Presentation(
        task=task_for(judge, task_kind, question.number),
        question=wording_of(question),
        source="",
        first="",
        second="",
        identity="",
        negated=negated,
        together=each,
        place=[item.number for item in together].index(question.number) if each else 0,
    )


def present(
    judge: Judge,
    pair: Sequence[Any],
    *,
    question: Question,
    order: str,
    repeat: int = 0,
    negated: bool = False,
    table: Sequence[TableRow] | None = None,
    together: Sequence[Question] = (),
) -> Presentation:
    """Return the presentation of a pair, given by its `PAIR_FIELDS`, in one order.

    table : a stored one of the pair, for a judge that is shown it
    together : the questions of the run, see `asked_about`

    Repeats, negated and further questions have identities of their own, so that their random choices are independent.
    """
    task_kind, source, messages, reference, messages_a, messages_b, text_a, text_b = pair[len(IDENTITY_FIELDS) :]
    name = f"{identity_of(*pair)} {order}"
    if repeat:
        name += f" repeat {repeat}"
    if negated:
        name += " negated"
    if question.number != MAIN:
        name += f" question {question.key}"
    presentation = asked_about(judge, task_kind, question, together, negated=negated)
    speakers = find_task(presentation.task).speakers
    text_a, text_b = _written(text_a, messages_a, speakers), _written(text_b, messages_b, speakers)
    return replace(
        presentation,
        source=_written(source, messages, speakers),
        first=text_a if order == AB else text_b,
        second=text_b if order == AB else text_a,
        identity=name,
        reference=reference if isinstance(reference, str) else "",
        table=table if table is None or order == AB else [swap_row(row) for row in table],
    )


def _written(text: str, messages: str | None, speakers: Mapping[str, str]) -> str:
    """Return a text, or the transcript of its messages with the speakers' names in a task."""
    return transcript(json.loads(messages), speakers) if messages and speakers else text


def in_study_order(outcome: Outcome, order: str) -> tuple[int, float | None, float | None, float | None]:
    """Convert an outcome from screen order to study order: verdict, P(B), score of A, score of B."""
    verdict, p_b = outcome.verdict, outcome.p_second
    if order == AB:
        return int(verdict), p_b, outcome.score_first, outcome.score_second
    return int(Verdict(-verdict)), None if p_b is None else 1 - p_b, outcome.score_second, outcome.score_first
