"""A run with faults: what happens when, and what must hold at the end."""

import asyncio
import os
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from tests.faults.machine import Disk, Machine, listening
from tests.faults.postgres import Cluster
from tests.faults.researcher import INSTANCES, Done, Researcher
from tests.standin.process import StandInProcess, running
from tests.stress.run import SILENT, DatabaseProcess, NoAnswer, Observations, Plan, Rater, violations

IN_FLIGHT = 4
ANSWERS_PER_FAULT = 30  # of raters, from the end of a fault to the next one
ROUNDS = 1
ANSWERS_IN_TROUBLE = 20  # while the disk is full or the clock is wrong
MEGABYTES = {"SQLite": 96, "PostgreSQL": 288}  # of the disk
LAST_WORK_SECONDS = 300.0
PLAN = Plan(raters=40, hits=40, raters_per_hit=5, processes=2, threads=4, pairs=2, unavailable=True)
Fault = Callable[[], Awaitable[None] | None]  # what it returns goes on while raters are answered


@dataclass
class Run:
    """One installation on one engine, and what was done to it."""

    engine: str
    machine: Machine
    disk: Disk
    database: DatabaseProcess
    cluster: Cluster | None
    standin: StandInProcess
    seen: Observations
    faults: Counter[str] = field(default_factory=Counter)
    begun: Counter[str] = field(default_factory=Counter)  # long tasks that a fault met

    def table(self) -> dict[str, Fault]:
        """Return the faults by name."""
        machine = self.machine
        faults: dict[str, Fault] = {
            "a web process killed": machine.kill_web_process,
            "a worker killed": lambda: machine.kill(f"worker {machine.draw.randrange(2)}"),
            "disk full": self.fill_disk,
            "web server killed": lambda: machine.kill("web"),
            "clock three hours ahead": lambda: self.set_clock(3),
            "everything killed": lambda: machine.kill("web", "worker 0", "worker 1"),
            "clock an hour behind": lambda: self.set_clock(-1),
        }
        if self.cluster is not None:
            faults |= {
                "database killed": self.cluster.kill,
                "database restarted": self.cluster.restart,
                "connections dropped": self.cluster.drop_connections,
            }
        for kind in (
            "report",
            "bundle",
            "upload",
        ):  # the last ones: raters may be done while a task waits for its worker
            faults[f"workers killed during a task: {kind}"] = partial(self.interrupt, kind)
            faults[f"disk full during a task: {kind}"] = partial(self.interrupt, kind, by_full_disk=True)
        return faults

    async def interrupt(self, kind: str, *, by_full_disk: bool = False) -> None:
        """Kill the workers, or leave no space, while one of them is at a long task."""
        self.begun[kind] += await asyncio.to_thread(self.database.ask, "begin", kind=kind)
        if by_full_disk:
            await self.fill_disk()
        else:
            self.machine.kill(*(name for name in self.machine.running if name.startswith("worker")))

    async def fill_disk(self) -> None:
        """Leave no space for a while."""
        self.disk.fill()
        await self.answers(ANSWERS_IN_TROUBLE, patience=10)
        self.disk.free()

    async def set_clock(self, hours: int) -> None:
        """Let the clock jump, and back after a while."""
        self.machine.set_clock(hours)
        await self.answers(ANSWERS_IN_TROUBLE, patience=10)
        self.machine.set_clock(0)

    async def answers(self, number: int, *, patience: float = SILENT) -> bool:
        """Wait for so many answers to raters; False when there are none for too long."""
        wanted = self.seen.answers + number
        while self.seen.answers < wanted:
            self.seen.answered.clear()
            try:
                await asyncio.wait_for(self.seen.answered.wait(), patience)
            except TimeoutError:
                return False
        return True

    def revive(self) -> None:
        """Start what has ended, the database first."""
        if self.cluster is not None:
            self.cluster.start()
        self.machine.start_ended()

    async def disturb(self, done: asyncio.Event) -> None:
        """Let the faults happen one after the other, `ROUNDS` times each, until all have and every slot is filled."""
        table = self.table()
        names = deque([*table] * ROUNDS)
        turn, begun = 0, time.monotonic()
        while True:
            await asyncio.to_thread(self.revive)
            is_open = await asyncio.to_thread(self.database.ask, "open_slots")
            if not (is_open or names):
                break
            if is_open and not await self.answers(ANSWERS_PER_FAULT):
                raise NoAnswer(f"{self.engine}: no rater was answered for {SILENT:.0f} s after {self.faults}")
            if not names:  # the raters finish
                continue
            name, turn = names.popleft(), turn + 1
            await asyncio.to_thread(self.database.ask, "expire", share=0.1, seed=turn)
            self.faults[name] += 1
            print(
                f"  {time.monotonic() - begun:4.0f} s: {self.seen.answers} answers; {name}", file=sys.stderr, flush=True
            )
            happening = await asyncio.to_thread(table[name])
            if happening is not None:
                await happening
        done.set()

    async def finish(self) -> int:
        """Let the workers do what is queued, without faults; return how many runs had to be taken up by hand."""
        resumed = 0
        for _ in range(int(LAST_WORK_SECONDS)):
            await asyncio.to_thread(self.revive)
            resumed += await asyncio.to_thread(self.database.ask, "resume")
            if not any((await asyncio.to_thread(self.database.ask, "open_work")).values()):
                break
            await asyncio.sleep(1)
        return resumed


@contextmanager
def installation(engine: str) -> Iterator[tuple[str, Run, Path]]:
    """Set up everything that a run needs; yields its address too."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tandem-faults-")))
        folder.chmod(0o711)  # PostgreSQL's account goes through it
        for name in ("disk", "programs"):
            (folder / name).mkdir()
        disk = Disk(folder / "disk", MEGABYTES[engine])
        stack.callback(disk.close)
        (disk.folder / "data").mkdir()
        cluster = None
        if engine == "PostgreSQL":
            (disk.folder / "cluster").mkdir()
            cluster = Cluster(disk.folder / "cluster")
            stack.callback(cluster.close)
            cluster.start()
        standin = stack.enter_context(running(delay=0.7, keep=0))
        environment = {
            **os.environ,
            "TANDEM_DATA_DIR": str(disk.folder / "data"),
            "DATABASE_URL": cluster.url if cluster else f"sqlite:///{disk.folder}/tandem.sqlite3",
            "ENDPOINT_ALLOWLIST": "127.0.0.1",
            "LOG_LEVEL": "ERROR",
            "WEB_PROCESSES": str(PLAN.processes),
            "WEB_THREADS": str(PLAN.threads),
        }
        database = DatabaseProcess(environment, "tests.faults.database")
        stack.callback(database.close)
        listener = stack.enter_context(listening())
        machine = Machine(listener, environment, folder / "programs", Random(1))
        stack.callback(machine.close)
        run = Run(engine, machine, disk, database, cluster, standin, Observations())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", run, folder / "programs" / "programs.log"


async def all_at_once(
    run: Run, researcher: Researcher, raters: list[Rater]
) -> tuple[int, dict[str, Any], dict[str, Any]]:
    """Let raters, researcher and faults go on together, then the workers alone; return runs taken up by hand, and what is stored."""
    done = asyncio.Event()
    await asyncio.gather(run.disturb(done), researcher.work(done), *(rater.work(done) for rater in raters))
    resumed = await run.finish()
    # Here, since a database that a thread of this loop has started ends with it.
    uploads = researcher.done.uploads
    return resumed, run.database.ask("count"), run.database.ask("examine", uploads=uploads, instances=INSTANCES)


def faults(engine: str) -> tuple[list[str], list[str]]:
    """Do a run; return lines to print, and what does not hold."""
    with installation(engine) as (address, run, log):
        sizes = {"raters": PLAN.raters, "hits": PLAN.hits, "pairs": PLAN.pairs, "raters_per_hit": PLAN.raters_per_hit}
        links = run.database.ask("fill", address=address, **sizes)
        link = run.database.ask("hire", address=address, standin=run.standin.base_url, in_flight=IN_FLIGHT)
        run.machine.start_ended()
        researcher = Researcher(link, address, Random(2))
        raters = [Rater(one, address, Random(1000 + n), run.seen, PLAN) for n, one in enumerate(links)]
        try:
            resumed, counted, examined = asyncio.run(all_at_once(run, researcher, raters))
        except BaseException:
            print(log.read_text(errors="replace")[-6000:])
            raise
        broken = [*violations(PLAN, counted, run.seen), *researcher.done.problems, *examined["problems"]]
        return report(run, researcher.done, examined, resumed), broken + lost_completions(run, examined)


def lost_completions(run: Run, examined: dict[str, Any]) -> list[str]:
    """Compare what the endpoint has answered with what is stored: a worker that ends may lose its calls in flight."""
    stats = run.standin.stats()
    found = [f"{name} did not happen" for name in run.table() if not run.faults[name]]
    found += [f"no fault met a {kind} at work" for kind in ("report", "bundle", "upload") if not run.begun[kind]]
    disturbed = run.machine.ends + sum(run.faults.values())
    if stats["distinct"] > examined["completions"]:  # a further attempt at the same question is stored apart
        found.append(f"{stats['distinct']} completions were answered, {examined['completions']} are stored")
    if stats["repeated"] > IN_FLIGHT * disturbed:
        found.append(f"{stats['repeated']} calls were repeated, with {IN_FLIGHT} in flight and {disturbed} faults")
    return found


def report(run: Run, done: Done, examined: dict[str, Any], resumed: int) -> list[str]:
    """Say what was done."""
    stored = Counter({True: "confirmed", False: "refused", None: "unanswered"}[said] for said in done.uploads.values())
    stats = run.standin.stats()
    steps = run.seen.steps
    return [
        f"{run.engine}: {PLAN.raters} raters, {PLAN.hits} HITs × {PLAN.raters_per_hit} raters × {PLAN.pairs} pairs",
        "  faults: " + ", ".join(f"{name} {times}" for name, times in run.faults.items()),
        f"  ends of workers: {run.machine.ends}; answers to raters: {run.seen.answers}",
        f"  confirmed votes: {len(run.seen.acknowledged)}; responses lost: {steps['response lost']}; "
        f"“not saved yet”: {steps['said to be unavailable']}",
        f"  researcher: {dict(done.steps)}; uploads: {dict(stored)}",
        f"  met at work: {dict(run.begun)}; sent files: {examined['sent']}",
        f"  files: {examined['files']} {examined['failures']}; separability: {examined['separability']}",
        f"  completions: {examined['completions']}, calls repeated: {stats['repeated']}; runs taken up by hand: {resumed}",
    ]
