"""What sampling texts would take, before anything is asked."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from itertools import islice
from typing import Any

from judging.judges import Call
from judging.models import Completion, GenerationRun
from judging.services.budget import LENGTH_FIELDS
from judging.services.estimates import ANY_ANSWER, expected_tokens
from judging.services.generating import KIND, SampleRequests, calls_of
from judging.services.generating_instances import CHUNK, Standing, Where, open_instances, standing_of
from judging.services.pricing import cost_of
from judging.services.rehearsal import rehearsed
from judging.services.requests import Request
from judging.services.statements import parts

ON_A_PAGE = 1000  # instances whose questions are made while somebody waits


@dataclass(frozen=True)
class Expected:
    """What a session would take, if every call is answered at the first try.

    instances     : how the chosen ones stand
    calls, cached : answers to be asked for, and those that are there already
    cost          : in `currency`; `None` where the endpoint has no prices
    looked_at     : instances whose questions were made; the figures are scaled from them to all that are open
    answer_tokens : of one text; `learned`: as others from this endpoint had, and no guess
    """

    instances: Standing
    samples: int
    calls: int
    cached: int
    prompt_tokens: int
    completion_tokens: int
    cost: Decimal | None
    currency: str
    looked_at: int
    answer_tokens: int
    learned: bool

    @property
    def is_exact(self) -> bool:
        """Tell whether every question was made, so that calls are counted."""
        return self.looked_at == self.instances.open

    def as_dict(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return {**asdict(self), "cost": None if self.cost is None else float(self.cost), "exact": self.is_exact}


def estimate_generating(run: GenerationRun, where: Where, *, most: int | None = None) -> Expected:
    """Count the calls of a run, which need not be stored; nobody is asked.

    most : instances whose questions are made; all without it
    """
    standing = standing_of(run.study, run.name, where)
    requests = SampleRequests(run)
    seen: set[str] = set()
    calls = cached = looked_at = 0
    tokens = 0.0
    instances = islice(open_instances(run.study, run.name, where), most)
    while chunk := list(islice(instances, CHUNK)):
        looked_at += len(chunk)
        asked = _asked(requests, [call for _, _, source in chunk for call in calls_of(run, source)])
        new = {key: request for key, request in asked.items() if key not in seen}
        known = _stored(list(new))
        seen.update(new)
        cached += len(known)
        calls += len(new) - len(known)
        missing = (request for key, request in new.items() if key not in known)
        tokens += sum(expected_tokens(rehearsed(KIND, request.body, False)) for request in missing)
    scale = standing.open / looked_at if looked_at else 0.0
    answer, learned = answer_tokens(run)
    prompt, completion = round(tokens * scale), round(calls * scale) * answer
    return Expected(
        instances=standing,
        samples=run.samples,
        calls=round(calls * scale),
        cached=round(cached * scale),
        prompt_tokens=prompt,
        completion_tokens=completion,
        cost=cost_of(run.endpoint, prompt, completion),
        currency=run.endpoint.currency,
        looked_at=looked_at,
        answer_tokens=answer,
        learned=learned,
    )


def _asked(requests: SampleRequests, calls: Sequence[Call]) -> dict[str, Request]:
    made = (requests.request(call, repeat=0, attempt=0) for call in calls)
    return {request.key: request for request in made}


def _stored(keys: Sequence[str]) -> set[str]:
    found: set[str] = set()
    for part in parts(keys):
        rows = Completion.objects.filter(cache_key__in=part).order_by().values_list("cache_key", flat=True)
        found.update(str(key) for key in rows)
    return found


def answer_tokens(run: GenerationRun) -> tuple[int, bool]:
    """Return how many tokens a text will have: as those so far, of this run or of others of its model; else a guess."""
    runs = GenerationRun.objects.filter(base_url=run.base_url, model=run.model, calls__gt=0).exclude(
        completion_tokens=None
    )
    known = runs.filter(study=run.study, name=run.name).first() or runs.order_by("-pk").first()
    if known is not None and known.completion_tokens is not None:
        return max(1, round(known.completion_tokens / known.calls)), True
    limits = [run.params[name] for name in LENGTH_FIELDS if isinstance(run.params.get(name), int)]
    return min([ANY_ANSWER, *limits]), False
