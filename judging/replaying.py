"""How a judgment came about: its method's procedure, walked again with the answers that are stored. Makes no call."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from annotation.models import Pair
from judging.errors import JudgingError, UnparsedVerdict
from judging.judges import AskingMethod, Call, Outcome, Presentation, Reply, find_method
from judging.models import Completion, Judgment
from judging.services.cases import Case, Cell, Stored
from judging.services.presentations import IDENTITY_FIELDS, SHOWN_FIELDS, present
from judging.services.reading import marked_refusal, read_reply, worded_refusal
from judging.services.requests import Requests, setting_of

READ, UNPARSED, REFUSED, UNUSED = "read", "unparsed", "refused", "unused"
MOST_SHOWN = 2000
Messages = Sequence[dict[str, Any]]


@dataclass(frozen=True)
class Step:
    """One answer and how it is read today.

    status : `read`, `unparsed`, `refused`; `unused` when the procedure, as it is now, does not ask this
    value  : what was made of it, or why nothing was
    attempt : 1 for the first; answers that could not be read are asked for again
    before : whether the answer was there before the run began
    """

    completion: Completion
    status: str
    value: str
    attempt: int
    before: bool

    @property
    def messages(self) -> Messages:
        """What was sent."""
        messages: Messages = self.completion.request.get("messages", [])
        return messages

    @property
    def settings(self) -> dict[str, Any]:
        """What else the request held."""
        return {name: value for name, value in self.completion.request.items() if name != "messages"}


@dataclass(frozen=True)
class Replay:
    """The steps of a judgment, and what would be asked next if it is open."""

    shown: Presentation
    steps: tuple[Step, ...]
    next_calls: tuple[Call, ...]


def replay(judgment: Judgment) -> Replay:
    """Walk through a judgment's procedure with its stored answers."""
    judge = judgment.run.judge
    shown = shown_in(judgment)
    completions = list(judgment.completions.order_by("pk"))
    method = find_method(judge.method)
    if not isinstance(method, AskingMethod) or judge.endpoint is None:
        return Replay(shown, tuple(_unused(judgment, one) for one in completions), ())
    requests = Requests(judge, method)
    steps: list[Step] = []
    try:
        case = Case(Cell(judgment.pk, judgment.order, judgment.repeat, shown), method, setting_of(judge))
        while found := _next_answer(case, requests, judgment.repeat, completions):
            ask, completion = found
            completions.remove(completion)
            reply = Reply(completion.text, completion.finish_reason, completion.response)
            status, value = _read(ask.call, reply)
            steps.append(Step(completion, status, value, ask.attempt + 1, _before(judgment, completion)))
            case.take(ask, Stored(completion.cache_key or "", reply, pk=completion.pk), paid=False)
        waiting = tuple(ask.call for ask in case.open_asks())
    except JudgingError:
        waiting = ()  # the method has no wording for this task any more: the stored answers are all there is
    steps += [_unused(judgment, one) for one in completions]
    return Replay(shown, tuple(steps), waiting)


def shown_in(judgment: Judgment) -> Presentation:
    """Return what the judge of a judgment is shown."""
    fields = Pair.objects.values_list(*IDENTITY_FIELDS, *SHOWN_FIELDS).get(pk=judgment.pair_id)
    identity, shown = fields[: len(IDENTITY_FIELDS)], fields[len(IDENTITY_FIELDS) :]
    return present(
        judgment.run.judge,
        identity,
        shown,
        order=judgment.order,
        repeat=judgment.repeat,
        negated=judgment.negated,
    )


def _next_answer(case: Case, requests: Requests, repeat: int, completions: list[Completion]) -> Any:
    """Find an open question that one of the completions answers.

    By what was sent, not by its name in the cache: a refusal has none, and the endpoint's address may have changed.
    """
    for ask in case.open_asks():
        wanted = requests.request(ask.call, repeat=repeat, attempt=ask.attempt)
        for completion in completions:
            if completion.sample == wanted.sample and completion.request == wanted.body:
                return ask, completion
    return None


def _read(call: Call, reply: Reply) -> tuple[str, str]:
    if declined := marked_refusal(reply):
        return REFUSED, declined
    try:
        return READ, _said(read_reply(call, reply))
    except UnparsedVerdict as error:
        declined = worded_refusal(reply)
        return (REFUSED, declined) if declined else (UNPARSED, str(error))


def _said(value: Any) -> str:
    """Write what an answer was read as: a verdict by place, or whatever a step in between makes of it."""
    if isinstance(value, Outcome):
        place = {-1: "first", 0: "tie", 1: "second"}[int(value.verdict)]
        return place if value.p_second is None else f"{place}, P(second) = {value.p_second:.3f}"
    return str(value)[:MOST_SHOWN]


def _before(judgment: Judgment, completion: Completion) -> bool:
    started = judgment.run.started_at
    return started is not None and completion.created_at < started


def _unused(judgment: Judgment, completion: Completion) -> Step:
    return Step(completion, UNUSED, "", 0, _before(judgment, completion))
