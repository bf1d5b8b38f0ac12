"""Working on a run from taking its lease to saying how it ended."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from asgiref.sync import async_to_sync
from django.db import transaction

from judging.clients import OpenAIClient
from judging.errors import EndpointRefused, JudgingError, RunStopped
from judging.hosts import UnresolvedHost
from judging.judges import Baseline, PromptedMethod, find_method
from judging.models import Endpoint, JudgeRun, Judgment
from judging.services import leases
from judging.services.cells import conclude, open_cells
from judging.services.endpoints import check_host, check_key_env
from judging.services.engine import Engine
from judging.services.progress import Job, OnProgress, Progress, quiet
from judging.services.reading import Reading, reread
from judging.services.retrying import RetryingClient
from judging.services.stopping import StopFlag
from judging.services.store import Filled, write_judgments

log = logging.getLogger(__name__)
BASELINE_CHUNK = 200
MakeClient = Callable[[Endpoint], RetryingClient]


@dataclass(frozen=True)
class Ended:
    """How the work on a run ended, and what it took this time."""

    status: str
    message: str
    progress: Progress


def patient_client(endpoint: Endpoint) -> RetryingClient:
    """Return the client for real work."""
    return RetryingClient(OpenAIClient(endpoint))


def execute(
    run_id: int,
    *,
    stop: StopFlag,
    when_stopped: str = JudgeRun.Status.QUEUED,
    on_progress: OnProgress = quiet,
    make_client: MakeClient = patient_client,
) -> Ended:
    """Work on a run until no cell is open, it fails, or `stop` is set (which leaves it `when_stopped`).

    Raises: RunBusy if another process works on it.
    """
    run = leases.claim(run_id)
    progress = Progress(total=run.judgments.count())
    progress.done = progress.total - run.judgments.filter(status=Judgment.Status.PENDING).count()
    try:
        finished = work(Job(run, progress, stop, on_progress), make_client)
    except JudgingError as error:
        log.warning("%s stopped: %s", run, error)
        leases.release(run, status=JudgeRun.Status.FAILED, message=str(error))
        return Ended(JudgeRun.Status.FAILED, str(error), progress)
    except BaseException as error:
        leases.release(run, status=JudgeRun.Status.FAILED, message=f"unexpected: {type(error).__name__}")
        raise
    if finished:
        return Ended(JudgeRun.Status.DONE, "", progress)
    leases.release(run, status=when_stopped)
    return Ended(when_stopped, "stopped on request", progress)


def work(job: Job, make_client: MakeClient) -> bool:
    """Fill the open cells, and those added meanwhile; False when it was stopped before the end."""
    method = find_method(job.run.judge.method)
    if isinstance(method, PromptedMethod):
        reread(job.run, method)
    while not finish(job.run):
        if job.stop.is_set():
            return False
        if isinstance(method, Baseline):
            decide(job, method)
        elif isinstance(method, PromptedMethod):
            ask(job, method, make_client)
    return True


@transaction.atomic
def finish(run: JudgeRun) -> bool:
    """Mark a run done unless cells are open; in step with `start_run`, which may be adding some just now."""
    JudgeRun.objects.select_for_update().get(pk=run.pk)
    if run.judgments.filter(status=Judgment.Status.PENDING).exists():
        return False
    if not leases.release(run, status=JudgeRun.Status.DONE):
        raise RunStopped("another process has taken over this run")
    return True


def ask(job: Job, method: PromptedMethod, make_client: MakeClient) -> None:
    """Fill open cells by asking the judge's endpoint, whose host is checked once more before anything is sent."""
    endpoint = job.run.judge.endpoint
    if endpoint is None:
        raise RunStopped(f"judge {job.run.judge} has no endpoint")

    async def work_in_loop() -> None:
        await Engine(job, method, make_client(endpoint)).work()

    try:
        check_host(endpoint.base_url)
        check_key_env(endpoint.key_env)
        async_to_sync(work_in_loop)()
    except EndpointRefused as error:
        log.warning("endpoint %s: %s", endpoint, error)
        raise RunStopped(f"endpoint {endpoint} {refusal(error)}; the server's log has the details") from None


def refusal(error: EndpointRefused) -> str:
    """Say why an endpoint isn't asked, without its address: that is for site admins."""
    if isinstance(error, UnresolvedHost):
        return "can't be asked: its host has no address at present"
    return "may not be asked: its host is not public, and the setting ENDPOINT_ALLOWLIST does not name it"


def decide(job: Job, method: Baseline) -> None:
    """Fill open cells with a baseline's verdicts."""
    after = 0
    while not job.stop.is_set() and (cells := open_cells(job.run, after=after, limit=BASELINE_CHUNK)):
        after = cells[-1].judgment.pk
        filled = []
        for cell in cells:
            verdict = method.decide(cell.shown, seed=job.run.judge.seed)
            filled.append(Filled(conclude(cell, method, Reading(Judgment.Status.PARSED, verdict))))
        with transaction.atomic():
            write_judgments(filled)
        if not leases.beat(job.run):
            raise RunStopped("another process has taken over this run")
        job.progress.done += len(filled)
        job.progress.ended[Judgment.Status.PARSED] += len(filled)
        job.on_progress(job.progress)
