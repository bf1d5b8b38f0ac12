"""Replaying a judgment: its method's procedure, run again on the stored answers without any call."""

import json
from dataclasses import dataclass
from typing import Any

from annotation.models import Pair
from judging.calls.cases import Case, Cell, StoredAnswer
from judging.calls.presentations import PAIR_FIELDS, present
from judging.calls.requests import Requests, marked_refusal, read_reply, setting_of, worded_refusal
from judging.calls.store import tables_shown
from judging.core.errors import CallFailed, JudgingError, UnparsedVerdict
from judging.endpoints.chat_answers import UNUSABLE, read_answer
from judging.methods import AskingMethod, Call, Outcome, Presentation, Reply, find_method
from judging.models import Completion, Judgment
from judging.models.runs import LEFT_OUT

READ, UNPARSED, REFUSED, UNUSED = "read", "unparsed", "refused", "unused"
MOST_SHOWN = 2000


@dataclass(frozen=True)
class ReplayStep:
    """One answer and its present reading.

    status  : `read`, `unparsed`, `refused`; `unused` if the procedure no longer makes this call; `unusable` for a
              response without an answer that was charged for
    value   : the value read, or the reason why there is none
    attempt : from 1; unparsed answers are followed by further attempts
    before  : whether the answer existed before the run started
    """

    completion: Completion
    status: str
    value: str
    attempt: int
    before: bool

    @property
    def settings(self) -> dict[str, Any]:
        """The other parameters of the request."""
        return {name: value for name, value in self.completion.request.items() if name != "messages"}


@dataclass(frozen=True)
class Replay:
    """The steps of a judgment, and the next calls if it is open."""

    shown: Presentation
    steps: tuple[ReplayStep, ...]
    next_calls: tuple[Call, ...]


def replay(judgment: Judgment) -> Replay:
    """Replay a judgment's procedure on its stored answers."""
    judge, started, questions = judgment.run.judge, judgment.run.started_at, judgment.run.study.questions
    presentation = present(
        judge,
        Pair.objects.values_list(*PAIR_FIELDS).get(pk=judgment.pair_id),
        question=questions[judgment.question],
        order=judgment.order,
        repeat=judgment.repeat,
        negated=judgment.negated,
        table=tables_shown(judge, [judgment.pair_id]).get(judgment.pair_id),
        together=[questions[number] for number in judgment.run.questions],
    )

    def step(completion: Completion, status: str, value: str = "", attempt: int = 0) -> ReplayStep:
        before = started is not None and completion.created_at < started
        return ReplayStep(completion, status, value, attempt, before)

    every = list(judgment.completions.exclude(LEFT_OUT).order_by("pk"))
    completions = [item for item in every if not is_unusable(item)]
    method = find_method(judge.method)
    if not isinstance(method, AskingMethod) or judge.endpoint is None:
        return Replay(presentation, tuple(step(item, UNUSED) for item in every), ())
    requests = Requests(judge, method)
    steps: list[ReplayStep] = []
    try:
        case = Case(
            Cell(judgment.pk, judgment.order, judgment.repeat, presentation),
            method.ask(presentation, setting_of(judge)),
        )
        while answer := _next_answer(case, requests, judgment.repeat, completions):
            state, completion = answer
            completions.remove(completion)
            reply = Reply(completion.text, completion.finish_reason, completion.response)
            steps.append(step(completion, *_read(state.call, reply), state.attempt + 1))
            case.take(state, StoredAnswer(completion.cache_key or "", reply, pk=completion.pk), paid=False)
        waiting = tuple(state.call for state in case.open_calls())
    except JudgingError:
        waiting = ()  # the method no longer has a prompt for this task: show the stored answers only
    steps += [step(item, UNUSED) for item in completions]
    steps += [step(item, UNUSABLE, _why_unusable(item)) for item in every if is_unusable(item)]
    return Replay(presentation, tuple(steps), waiting)


def _next_answer(case: Case, requests: Requests, repeat: int, completions: list[Completion]) -> Any:
    """Find an open call that one of the completions answers.

    They are matched by request, not by cache key: a refusal has none, and the endpoint's base URL may have changed.
    """
    for state in case.open_calls():
        for call in (state.call, *([state.call.without_schema()] if state.call.plain is not None else [])):
            request = requests.request(call, repeat=repeat, attempt=state.attempt)
            for completion in completions:
                if completion.sample == request.sample and completion.request == request.body:
                    state.call = call
                    return state, completion
    return None


def _read(call: Call, reply: Reply) -> tuple[str, str]:
    if declined := marked_refusal(reply):
        return REFUSED, declined.text
    try:
        return READ, _format_value(read_reply(call, reply))
    except UnparsedVerdict as error:
        declined = worded_refusal(reply)
        return (REFUSED, declined.text) if declined else (UNPARSED, str(error))


def _format_value(value: Any) -> str:
    """Format the value read from an answer: the preferred text of a verdict, or any other value."""
    if isinstance(value, Outcome):
        text = {-1: "first", 0: "tie", 1: "second"}[int(value.verdict)]
        return text if value.p_second is None else f"{text}, P(second) = {value.p_second:.3f}"
    return str(value)[:MOST_SHOWN]


def is_unusable(completion: Completion) -> bool:
    """Tell whether a completion is stored for its cost only."""
    return completion.cache_key is None and completion.finish_reason == UNUSABLE


def _why_unusable(completion: Completion) -> str:
    try:
        read_answer(json.dumps(completion.response))
    except CallFailed as failure:
        return str(failure)
    return ""
