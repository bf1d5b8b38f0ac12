"""The open cells of a run, loaded a chunk at a time with everything that asking about them takes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from judging.judges import Method, Presentation, PromptedMethod
from judging.models import Completion, JudgeRun, Judgment
from judging.services.presentations import present
from judging.services.reading import Reading, apply
from judging.services.requests import cache_key, request_body

RELATED = (
    "pair__matchup__instance__study",
    "pair__matchup__system_a",
    "pair__matchup__system_b",
    "pair__generation_a",
    "pair__generation_b",
)


@dataclass(frozen=True)
class Cell:
    """An open judgment and what its judge is shown."""

    judgment: Judgment
    shown: Presentation


@dataclass(frozen=True)
class Question:
    """One sample of a cell's request, its name in the cache, and the answer where the cache has it."""

    body: Mapping[str, Any]
    key: str
    sample: int
    cached: Completion | None


def open_cells(run: JudgeRun, *, after: int, limit: int) -> list[Cell]:
    """Load the next open cells behind a primary key."""
    judgments = (
        run.judgments.filter(status=Judgment.Status.PENDING, pk__gt=after).select_related(*RELATED).order_by("pk")
    )
    return [Cell(judgment, present(judgment.pair, judgment.order)) for judgment in judgments[:limit]]


def questions(run: JudgeRun, method: PromptedMethod, cells: list[Cell], *, sample: int) -> list[Question]:
    """Make the requests for one sample of each cell; the cache is asked once for all of them."""
    endpoint = run.judge.endpoint
    if endpoint is None:
        raise TypeError(f"judge {run.judge} has no endpoint")
    bodies = [request_body(run.judge, method, cell.shown, sample=sample) for cell in cells]
    keys = [cache_key(endpoint.base_url, body, sample) for body in bodies]
    known = {completion.cache_key: completion for completion in Completion.objects.filter(cache_key__in=keys)}
    return [Question(body, key, sample, known.get(key)) for body, key in zip(bodies, keys, strict=True)]


def conclude(cell: Cell, method: Method, reading: Reading, *, calls: int = 0, cached: int = 0) -> Judgment:
    """Write into a cell's judgment how it ended. Saves nothing."""
    judgment = cell.judgment
    apply(judgment, reading)
    judgment.calls = calls
    judgment.cached = cached
    judgment.prompt_version = method.prompt_version(cell.shown.task_kind)
    judgment.parser_version = method.parser_version
    judgment.judged_at = timezone.now()
    return judgment
