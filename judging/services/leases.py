"""Who is working on a run: a lease that a process keeps fresh, so that no two execute the same run at once."""

import hashlib
import os
import secrets
import socket
from contextlib import suppress
from datetime import datetime, timedelta

from django.db.models import Q
from django.utils import timezone

from annotation.version import VERSION
from judging.errors import RunBusy
from judging.models import JudgeRun

LEASE = timedelta(seconds=30)
BEAT_SECONDS = 5.0


def this_machine() -> str:
    """Name this machine, or this container on it: where process ids mean the same."""
    space = ""
    with suppress(OSError):
        space = os.readlink("/proc/self/ns/pid")
    return hashlib.sha256(f"{socket.gethostname()}\x00{space}".encode()).hexdigest()[:16]


def has_run_out(since: datetime) -> bool:
    """Tell whether a lease that was last fresh at this time is over."""
    return since < timezone.now() - LEASE


def is_alive(run: JudgeRun) -> bool:
    """Tell whether a process is working on the run: its lease is fresh, and it isn't known to be dead."""
    if run.status != JudgeRun.Status.RUNNING or run.heartbeat_at is None:
        return False
    if has_run_out(run.heartbeat_at):
        return False
    machine, _, rest = run.executor.partition(":")
    process = rest.partition(":")[0]
    if machine != this_machine() or not process.isdigit():
        return True
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def claim(run_id: int) -> JudgeRun:
    """Take the lease on a run and return the run.

    Raises: RunBusy if another process holds it.
    """
    run = JudgeRun.objects.get(pk=run_id)
    if is_alive(run):
        raise RunBusy(
            f"{run} is being worked on by another process; it was last heard of at {run.heartbeat_at:%H:%M:%S}"
        )
    now = timezone.now()
    # Compared with what was just read: of two that saw the same dead lease, one gets it.
    seen = Q(executor=run.executor, status=run.status, heartbeat_at=run.heartbeat_at)
    won = JudgeRun.objects.filter(seen, pk=run_id).update(
        status=JudgeRun.Status.RUNNING,
        executor=f"{this_machine()}:{os.getpid()}:{secrets.token_hex(8)}",
        heartbeat_at=now,
        started_at=run.started_at or now,
        finished_at=None,
        message="",
        software_version=VERSION,
    )
    if not won:
        raise RunBusy(f"{run} was just taken by another process")
    return JudgeRun.objects.select_related("judge__endpoint", "study", "batch").get(pk=run_id)


def beat(run: JudgeRun) -> bool:
    """Keep the lease fresh; False when it was lost."""
    held = JudgeRun.objects.filter(pk=run.pk, executor=run.executor, status=JudgeRun.Status.RUNNING)
    return held.update(heartbeat_at=timezone.now()) == 1


def release(run: JudgeRun, *, status: str, message: str = "") -> bool:
    """Give the lease back and say how it ended; False when it was no longer held."""
    ended = status in (JudgeRun.Status.DONE, JudgeRun.Status.FAILED)
    return (
        JudgeRun.objects.filter(pk=run.pk, executor=run.executor).update(
            status=status,
            message=message,
            heartbeat_at=None,
            executor="",
            finished_at=timezone.now() if ended else None,
        )
        == 1
    )
