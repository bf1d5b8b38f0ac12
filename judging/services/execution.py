"""Working on a run from taking its lease to saying how it ended."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from asgiref.sync import async_to_sync
from django.db import transaction

from judging.clients import ChatClient, OpenAIClient
from judging.errors import JudgingError, RunStopped
from judging.judges import Baseline, PromptedMethod, find_method
from judging.models import Endpoint, JudgeRun, Judgment
from judging.services import leases
from judging.services.cells import conclude, open_cells
from judging.services.endpoints import check_host
from judging.services.engine import Engine
from judging.services.progress import OnProgress, Progress, quiet
from judging.services.reading import Reading, reread
from judging.services.retrying import RetryingClient
from judging.services.stopping import StopFlag
from judging.services.store import Filled, write_judgments

log = logging.getLogger(__name__)
BASELINE_CHUNK = 200
MakeClient = Callable[[Endpoint], ChatClient]


@dataclass(frozen=True)
class Ended:
    """How the work on a run ended, and what it took this time."""

    status: str
    message: str
    progress: Progress


def execute(
    run_id: int,
    *,
    stop: StopFlag,
    when_stopped: str = JudgeRun.Status.QUEUED,
    on_progress: OnProgress = quiet,
    make_client: MakeClient = OpenAIClient,
) -> Ended:
    """Work on a run until no cell is open, it fails, or `stop` is set (which leaves it `when_stopped`).

    Raises: RunBusy if another process works on it.
    """
    run = leases.claim(run_id)
    progress = Progress(total=run.judgments.count())
    progress.done = progress.total - run.judgments.filter(status=Judgment.Status.PENDING).count()
    try:
        work(run, stop=stop, progress=progress, on_progress=on_progress, make_client=make_client)
    except JudgingError as error:
        log.warning("%s stopped: %s", run, error)
        leases.release(run, status=JudgeRun.Status.FAILED, message=str(error))
        return Ended(JudgeRun.Status.FAILED, str(error), progress)
    except BaseException as error:
        leases.release(run, status=JudgeRun.Status.FAILED, message=f"unexpected: {type(error).__name__}")
        raise
    status = JudgeRun.objects.values_list("status", flat=True).get(pk=run.pk)
    if status == JudgeRun.Status.RUNNING:
        leases.release(run, status=when_stopped)
        return Ended(when_stopped, "stopped on request", progress)
    return Ended(status, "", progress)


def work(
    run: JudgeRun, *, stop: StopFlag, progress: Progress, on_progress: OnProgress, make_client: MakeClient
) -> None:
    """Fill the open cells, and those added meanwhile; returns early when asked to stop."""
    method = find_method(run.judge.method)
    if isinstance(method, PromptedMethod):
        reread(run, method)
    while not stop.is_set() and not finish(run):
        if isinstance(method, Baseline):
            decide(run, method, stop=stop, progress=progress, on_progress=on_progress)
        elif isinstance(method, PromptedMethod):
            ask(run, method, stop=stop, progress=progress, on_progress=on_progress, make_client=make_client)


@transaction.atomic
def finish(run: JudgeRun) -> bool:
    """Mark a run done unless cells are open; in step with `start_run`, which may be adding some just now."""
    JudgeRun.objects.select_for_update().get(pk=run.pk)
    if run.judgments.filter(status=Judgment.Status.PENDING).exists():
        return False
    if not leases.release(run, status=JudgeRun.Status.DONE):
        raise RunStopped("another process has taken over this run")
    return True


def ask(
    run: JudgeRun,
    method: PromptedMethod,
    *,
    stop: StopFlag,
    progress: Progress,
    on_progress: OnProgress,
    make_client: MakeClient,
) -> None:
    """Fill open cells by asking the judge's endpoint, whose host is checked once more before anything is sent."""
    endpoint = run.judge.endpoint
    if endpoint is None:
        raise RunStopped(f"judge {run.judge} has no endpoint")
    check_host(endpoint.base_url)

    async def work_in_loop() -> None:
        client = RetryingClient(make_client(endpoint))
        engine = Engine(run, method, client, stop=stop, progress=progress, on_progress=on_progress)
        await engine.work()

    async_to_sync(work_in_loop)()


def decide(run: JudgeRun, method: Baseline, *, stop: StopFlag, progress: Progress, on_progress: OnProgress) -> None:
    """Fill open cells with a baseline's verdicts."""
    after = 0
    while not stop.is_set() and (cells := open_cells(run, after=after, limit=BASELINE_CHUNK)):
        after = cells[-1].judgment.pk
        filled = []
        for cell in cells:
            verdict = method.decide(cell.shown, seed=run.judge.seed)
            filled.append(Filled(conclude(cell, method, Reading(Judgment.Status.PARSED, verdict))))
        with transaction.atomic():
            write_judgments(filled)
        if not leases.beat(run):
            raise RunStopped("another process has taken over this run")
        progress.done += len(filled)
        progress.ended[Judgment.Status.PARSED] += len(filled)
        on_progress(progress)
