"""The database's side: that of runs with faults, and which hosts are at work.

python -m tests.hosts.database
"""

from functools import partial

from tests.faults.database import hire, open_work, patiently
from tests.stress.database import COMMANDS
from tests.stress.database import main as answer


def at_work() -> dict[str, int]:
    """Count the stored verdicts and the hosts that are at work on the run."""
    from judging.jobs.leases import is_alive
    from judging.models import JudgeRun

    run = JudgeRun.objects.get()
    machines = {worker.executor.partition(":")[0] for worker in run.workers.all() if is_alive(worker)}
    return {"parsed": run.judgments.filter(status="parsed").count(), "hosts": len(machines)}


def totals() -> dict[str, int | str]:
    """Return what there is at the end, and what was paid for it."""
    from django.db.models import Sum

    from judging.models import Completion, JudgeRun

    run = JudgeRun.objects.get()
    return {
        "status": f"{run.status} {run.message}".strip(),
        "cells": run.judgments.count(),
        "parsed": run.judgments.filter(status="parsed").count(),
        "completions": Completion.objects.count(),
        "calls": run.judgments.aggregate(calls=Sum("calls"))["calls"] or 0,
        "repeated": run.judgments.filter(calls__gt=1).count(),
    }


if __name__ == "__main__":
    commands = {**COMMANDS, **{one.__name__: one for one in (hire, open_work, at_work, totals)}}
    answer({name: partial(patiently, command) for name, command in commands.items()})
