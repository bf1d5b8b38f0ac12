"""What a run would take, before anything is asked: calls, tokens and money, from a sample of its questions."""

import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from typing import Any

from django.db.models import QuerySet

from annotation.models import Batch, Pair, Study
from judging.errors import BadSettings
from judging.judges import AskingMethod, find_method
from judging.judges.tasks import task_of
from judging.models import Completion, Endpoint, Judge, JudgeRun, Judgment
from judging.services.pair_filters import EVERY_PAIR, PairFilter
from judging.services.presentations import IDENTITY_FIELDS, SHOWN_FIELDS, identity_of, orders_for, present
from judging.services.pricing import cost_of
from judging.services.rehearsal import Rehearsed, rehearse_by_key, rehearsed
from judging.services.requests import Requests, setting_of
from judging.services.runs import pairs_of

SAMPLE = 300  # presentations, about, whose questions are made; their instances are drawn, each with all its pairs
LEARN_FROM = 300  # stored answers, at most, that the guesses are corrected by
ASCII_PER_TOKEN = 4.0
OTHERS_PER_TOKEN = 2.0
# Tokens of an answer, where there is no stored one to go by.
USUAL_ANSWER = {"verdict": 120, "critique": 250, "metrics": 200, "reference": 300, "aspects": 100, "score": 60} | {
    "table": 350,
    "comparator": 80,
}
ANY_ANSWER = 150


@dataclass(frozen=True)
class KindOfCall:
    """Calls of one kind: those to be made, what they send and get, and answers that the cache has."""

    kind: str
    calls: int
    cached: int
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True)
class Estimate:
    """What a run would take. Repeated tries after failures are not counted in.

    presentations : of the whole run; `pending`: those without a result so far, within the limit
    calls         : to be made; `cached`: answers that are there already
    cost          : in `currency`; `None` where the endpoint has no prices
    sampled       : presentations whose questions were made to estimate the others
    learned_from  : stored answers that the token counts go by; 0: they go by the number of characters alone
    """

    presentations: int
    pending: int
    calls: int
    cached: int
    prompt_tokens: int
    completion_tokens: int
    cost: Decimal | None
    currency: str
    sampled: int
    learned_from: int
    kinds: tuple[KindOfCall, ...]

    @property
    def is_exact(self) -> bool:
        """Tell whether every question was made, so that calls are counted and not estimated."""
        return self.sampled == self.pending

    def as_dict(self) -> dict[str, Any]:
        """Return everything for JSON."""
        kinds = [{name: getattr(kind, name) for name in KindOfCall.__dataclass_fields__} for kind in self.kinds]
        plain = {name: getattr(self, name) for name in Estimate.__dataclass_fields__}
        cost = None if self.cost is None else float(self.cost)
        return {
            **plain,
            "cost": cost,
            "kinds": kinds,
            "tokens_by": "stored answers" if self.learned_from else "characters",
        }


@dataclass(frozen=True)
class Lessons:
    """What stored answers of the same method at the same endpoint teach.

    ratio   : tokens that a question has for each one that its characters let expect
    answers : tokens of an answer by kind; `lengths`: its characters
    """

    count: int
    ratio: float
    answers: dict[str, float]
    lengths: dict[str, int]


class Shared:
    """The calls of several judges that run one after the other, so that each is counted with the first that makes it.

    A verdict that depends on answers which are not there yet is everybody's own: which table it will show, for
    instance, is not known. The number of calls is then at most what is counted.
    """

    def __init__(self) -> None:
        self._keys: set[str] = set()

    def new(self, found: Mapping[str, Rehearsed]) -> list[Rehearsed]:
        """Return the calls that no judge before has made, and remember them."""
        new = [one for key, one in found.items() if (one.guessed and one.kind == "verdict") or key not in self._keys]
        self._keys.update(found)
        return new


def estimate(
    *,
    study: Study,
    judge: Judge,
    batch: Batch | None = None,
    only: PairFilter = EVERY_PAIR,
    limit: int | None = None,
    way: str = JudgeRun.Way.CALLS,
    sample: int | None = None,
    shared: Shared | None = None,
) -> Estimate:
    """Estimate what a judge's run on a study, a batch or a part of either would take; makes nothing and asks nobody.

    sample : presentations, about, whose questions are made; `SAMPLE` when left out
    shared : calls of judges that will have run before; they are not counted, and this judge's are added to them
    Raises: BadSettings when the judge can't judge the study; UnknownName when the filter names what isn't there.
    """
    method = find_method(judge.method)
    method.check(judge.task or task_of(study.task_kind), setting_of(judge))
    pairs = pairs_of(study, batch, only)
    runs = JudgeRun.objects.filter(study=study, judge=judge.pk, batch=batch, filter_key=only.key)
    run = runs.first() if judge.pk else None
    presentations = pairs.count() * len(settings_of(judge)) * (2 if judge.order == Judge.Order.BOTH else 1)
    pending = presentations - (done_in(run).count() if run else 0)
    pending = max(0, pending if limit is None else min(limit, pending))
    if not isinstance(method, AskingMethod):
        return Estimate(presentations, pending, 0, 0, 0, 0, Decimal(0), "", pending, 0, ())
    if judge.endpoint is None:
        raise BadSettings(f"judge {judge} has no endpoint")
    lessons = learn(judge, judge.endpoint)
    cells = sample_of_cells(judge, run, pairs, share=(sample or SAMPLE) / max(1, presentations))[: pending or None]
    found = rehearse_by_key(
        cells, method=method, setting=setting_of(judge), requests=Requests(judge, method), lengths=lessons.lengths
    )
    scale = pending / len(cells) if cells else 0.0
    kinds = kinds_of(list(found.values()) if shared is None else shared.new(found), lessons, scale)
    prompt, completion = sum(kind.prompt_tokens for kind in kinds), sum(kind.completion_tokens for kind in kinds)
    return Estimate(
        presentations=presentations,
        pending=pending,
        calls=sum(kind.calls for kind in kinds),
        cached=sum(kind.cached for kind in kinds),
        prompt_tokens=prompt,
        completion_tokens=completion,
        cost=cost_of(judge.endpoint, prompt, completion, batch=way == JudgeRun.Way.BATCH),
        currency=judge.endpoint.currency,
        sampled=min(len(cells), pending),
        learned_from=lessons.count,
        kinds=kinds,
    )


def settings_of(judge: Judge) -> list[tuple[int, bool]]:
    """List the repeats and questions of each pair and order, as a run has them: (repeat, negated)."""
    return list(product(range(judge.repeats), [False, True] if judge.negated else [False]))


def done_in(run: JudgeRun) -> QuerySet[Judgment]:
    """Return a run's cells that will not be asked about again; errors will."""
    return run.judgments.exclude(status__in=[Judgment.Status.PENDING, Judgment.Status.ERROR])


def sample_of_cells(
    judge: Judge, run: JudgeRun | None, pairs: QuerySet[Pair], *, share: float
) -> list[tuple[int, Any]]:
    """Return open cells of some instances (all of them where they are few): the repeat, and what is shown.

    Whole instances: what is asked once per instance or text is then counted as often as in the run.
    """
    instances = sorted(set(pairs.order_by().values_list("matchup__instance_id", flat=True)))
    if share < 1:
        # Drawn, but always the same ones: an estimate that is asked for again should not change.
        instances = random.Random(0).sample(instances, max(1, round(len(instances) * share)))
    rows = list(
        pairs.filter(matchup__instance__in=instances).order_by("pk").values_list("pk", *IDENTITY_FIELDS, *SHOWN_FIELDS)
    )
    done: set[tuple[Any, ...]] = set()
    if run is not None:
        filled = done_in(run).filter(pair__in=[row[0] for row in rows]).order_by()
        done = set(filled.values_list("pair_id", "order", "repeat", "negated"))
    cells = []
    for pk, *fields in rows:
        identity, shown = tuple(fields[: len(IDENTITY_FIELDS)]), tuple(fields[len(IDENTITY_FIELDS) :])
        for order, (repeat, negated) in product(orders_for(judge, identity_of(*identity)), settings_of(judge)):
            if (pk, order, repeat, negated) not in done:
                cells.append((repeat, present(judge, identity, shown, order=order, repeat=repeat, negated=negated)))
    return cells


def kinds_of(found: Sequence[Rehearsed], lessons: Lessons, scale: float) -> tuple[KindOfCall, ...]:
    """Add the sample's calls up by kind, and scale them to the run."""
    calls: Counter[str] = Counter()
    cached: Counter[str] = Counter()
    sent: dict[str, float] = defaultdict(float)
    for one in found:
        if one.cached:
            cached[one.kind] += 1
        else:
            calls[one.kind] += 1
            sent[one.kind] += expected_tokens(one) * lessons.ratio
    return tuple(
        KindOfCall(
            kind=kind,
            calls=round(calls[kind] * scale),
            cached=round(cached[kind] * scale),
            prompt_tokens=round(sent[kind] * scale),
            completion_tokens=round(
                calls[kind] * scale * lessons.answers.get(kind, USUAL_ANSWER.get(kind, ANY_ANSWER))
            ),
        )
        for kind in dict.fromkeys(one.kind for one in found)
    )


def expected_tokens(question: Rehearsed) -> float:
    """Guess the tokens of a question by its characters."""
    return question.ascii / ASCII_PER_TOKEN + question.others / OTHERS_PER_TOKEN


def learn(judge: Judge, endpoint: Endpoint) -> Lessons:
    """Learn from the last answers that judges of this method got at this endpoint."""
    runs = JudgeRun.objects.filter(judge__method=judge.method, judge__endpoint=endpoint).order_by("-pk")[:5]
    recent = Judgment.objects.filter(run__in=list(runs), status=Judgment.Status.PARSED).order_by("-pk")[:LEARN_FROM]
    rows = list(
        Completion.objects.filter(judgments__in=list(recent.values_list("pk", flat=True)))
        .exclude(prompt_tokens=None)
        .exclude(completion_tokens=None)
        .order_by("-pk")
        .distinct()
        .values_list("kind", "request", "text", "prompt_tokens", "completion_tokens")[:LEARN_FROM]
    )
    guessed, counted = 0.0, 0
    answers: dict[str, list[int]] = defaultdict(list)
    lengths: dict[str, list[int]] = defaultdict(list)
    for kind, request, text, prompt_tokens, completion_tokens in rows:
        guessed += expected_tokens(rehearsed(kind, request, True))
        counted += prompt_tokens or 0
        answers[kind].append(completion_tokens or 0)
        lengths[kind].append(len(text))
    return Lessons(
        count=len(rows),
        ratio=counted / guessed if guessed and counted else 1.0,
        answers={kind: sum(values) / len(values) for kind, values in answers.items()},
        lengths={kind: sum(values) // len(values) for kind, values in lengths.items()},
    )
