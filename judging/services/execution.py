"""Working on a run from joining it to saying how it ended."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from asgiref.sync import async_to_sync
from django.utils.translation import gettext as _

from judging.clients import OpenAIClient
from judging.credentials import check_key_env
from judging.errors import EndpointRefused, JudgingError, RunBusy, RunStopped
from judging.hosts import UnresolvedHost
from judging.judges import AskingMethod, Baseline, Outcome, find_method
from judging.models import Endpoint, JudgeRun, Judgment
from judging.services import leases
from judging.services.claims import claim, free_cells, load
from judging.services.endpoints import check_host
from judging.services.engine import CapReached, Engine, StatusChanged
from judging.services.progress import Job, OnProgress, Progress, quiet
from judging.services.provider_batches import BatchWork, ComeBack, cancel_batches
from judging.services.reading import parsed
from judging.services.requests import setting_of
from judging.services.rereading import reread
from judging.services.retrying import RetryingClient
from judging.services.stopping import StopFlag
from judging.services.store import Group, Result, stamp_of, write

log = logging.getLogger(__name__)
BASELINE_CHUNK = 500
MakeClient = Callable[[Endpoint], RetryingClient]


@dataclass(frozen=True)
class Ended:
    """How the work on a run ended, and what it took this time.

    as_asked : it stopped after as many cells as it was told to fill
    signal   : it stopped because this process was told to
    come_back, left : it waits for a provider's batch; go on later, with so many cells if not with all
    """

    status: str
    message: str
    progress: Progress
    as_asked: bool = False
    signal: bool = False
    come_back: bool = False
    left: int | None = None


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
    limit: int | None = None,
    patient: bool = True,
) -> Ended:
    """Work on a run until no cell is open, it fails, or `stop` is set (which leaves it `when_stopped`).

    Others may work on it at the same time. A run that was stopped or is done is left as it is.
    limit   : cells to begin this time
    patient : stay while a provider is at work on a batch
    """
    run, worker = leases.join(run_id)
    progress = Progress()
    if worker is None:
        cancel_batches(run)
        return Ended(run.status, run.message, progress)
    job = Job(run, worker, progress, stop, on_progress, limit, patient)
    job.count_done()
    try:
        return work(job, when_stopped, make_client)
    except BaseException as error:
        leases.leave(worker, status=JudgeRun.Status.FAILED, message=f"unexpected: {type(error).__name__}")
        raise


def work(job: Job, when_stopped: str, make_client: MakeClient) -> Ended:
    """Fill cells until there is a reason to stop, leave the run, and say what the reason was."""
    try:
        if fill(job, make_client):
            return Ended(JudgeRun.Status.DONE, "", job.progress)
    except StatusChanged:
        return changed(job)
    except ComeBack as error:
        status = leases.leave(job.worker, status=JudgeRun.Status.QUEUED, message=str(error))
        return Ended(status, str(error), job.progress, come_back=status == JudgeRun.Status.QUEUED, left=error.left)
    except RunBusy as error:
        status = leases.leave(job.worker, status=JudgeRun.Status.PAUSED, only_if_last=True)
        return Ended(status, str(error), job.progress)
    except CapReached as error:
        status = leases.leave(job.worker, status=JudgeRun.Status.PAUSED, message=str(error))
        return Ended(status, str(error), job.progress)
    except JudgingError as error:
        log.warning("%s stopped: %s", job.run, error)
        # Others may fare better, as where this machine lacks the key.
        leases.leave(job.worker, status=JudgeRun.Status.FAILED, message=str(error), only_if_last=True)
        return Ended(JudgeRun.Status.FAILED, str(error), job.progress)
    if job.stop.is_set():
        status = leases.leave(job.worker, status=when_stopped, only_if_last=True)
        return Ended(status, _("stopped on request"), job.progress, signal=True)
    status = leases.leave(job.worker, status=JudgeRun.Status.PAUSED, only_if_last=True)
    return Ended(status, _("stopped after as many cells as were asked for"), job.progress, as_asked=True)


def changed(job: Job) -> Ended:
    """Leave a run that somebody else has stopped."""
    leases.leave(job.worker, status=JudgeRun.Status.PAUSED, only_if_last=True)
    job.run.refresh_from_db(fields=["status", "message"])
    cancel_batches(job.run)
    return Ended(job.run.status, job.run.message or _("stopped from elsewhere"), job.progress)


def fill(job: Job, make_client: MakeClient) -> bool:
    """Fill the open cells, those added meanwhile and those of others that die; False when stopped before the end."""
    method = find_method(job.run.judge.method)
    if isinstance(method, AskingMethod):
        reread(job.run, method)
    while not leases.finish(job.run, job.worker):
        if job.stop.is_set() or job.left == 0:
            return False
        if not free_cells(job.run).exists():
            watch(job)
        elif isinstance(method, Baseline):
            decide(job, method)
        elif isinstance(method, AskingMethod):
            ask(job, method, make_client)
        else:
            raise RunStopped(f"verdicts of method {method.name} are made elsewhere")
    return True


def watch(job: Job) -> None:
    """Wait a moment while other workers fill the last cells."""
    job.stop.wait_for(leases.BEAT_SECONDS)
    if not leases.beat(job.worker).go_on:
        raise StatusChanged
    job.count_done()
    job.on_progress(job.progress)


def ask(job: Job, method: AskingMethod, make_client: MakeClient) -> None:
    """Fill open cells by asking the judge's endpoint, whose host is checked once more before anything is sent."""
    endpoint = job.run.judge.endpoint
    if endpoint is None:
        raise RunStopped(f"judge {job.run.judge} has no endpoint")

    async def work_in_loop() -> None:
        await Engine(job, method, endpoint, make_client(endpoint)).work()

    try:
        check_host(endpoint.base_url)
        check_key_env(endpoint.key_env)
        if job.run.way == JudgeRun.Way.BATCH:
            BatchWork(job, method, endpoint).work()
        else:
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
    run = job.run
    stamp = stamp_of(run, method, setting_of(run.judge), worker=job.worker.pk)
    while not job.stop.is_set():
        limit = BASELINE_CHUNK if job.left is None else min(job.left, BASELINE_CHUNK)
        ids = claim(run, job.worker, limit=limit) if limit else []
        if not ids:
            return
        group = Group()
        for cell in load(run.judge, ids):
            verdict = method.decide(cell.shown, seed=run.judge.seed)
            group.results.append(Result(cell.pk, cell.order, parsed(Outcome(verdict))))
        write(group, stamp)
        if job.left is not None:
            job.left -= len(ids)
        job.progress.done += len(ids)
        job.progress.ended[Judgment.Status.PARSED] += len(ids)
        job.on_progress(job.progress)
        if not leases.beat(job.worker).go_on:
            raise StatusChanged
