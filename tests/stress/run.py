"""A stress run: raters as HTTP clients, real server processes, and the faults injected meanwhile."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import aiohttp

ROOT = Path(__file__).resolve().parent.parent.parent
CHOICES = {"left": -1, "none": 0, "right": 1}
_TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
_PAIR = re.compile(r'data-pair="([^"]+)"')
_HIT = re.compile(r'data-assignment="([^"]+)"')
SILENT = 180.0  # seconds without any answer, after which a run is given up
_LOST = (aiohttp.ClientError, asyncio.TimeoutError, ConnectionError)


@dataclass(frozen=True)
class Plan:
    """Sizes of a run, and how often raters misbehave and faults are injected.

    Intervals are counted in responses, not in seconds, so that slow and fast machines get equally many faults.
    """

    raters: int
    hits: int
    raters_per_hit: int
    processes: int
    threads: int
    pairs: int = 2
    kill_every: int = 250  # responses between kills of a server process
    expire_every: int = 80  # responses between expiries of leases
    expire_share: float = 0.2
    returns: float = 0.08
    leaves: float = 0.08
    double_submits: float = 0.25
    unavailable: bool = False  # a database that is away is among the faults: 503 is an answer then
    seed: int = 1


class NoAnswer(Exception):
    """The server has answered nobody for long; the message holds what its processes were at."""


@dataclass
class Observations:
    """What the raters did, and which votes the server confirmed."""

    acknowledged: dict[tuple[str, str], int] = field(default_factory=dict)  # (HIT, pair) → choice on the screen
    unsure: set[tuple[str, str]] = field(default_factory=set)  # the response was lost: the vote may be stored or not
    steps: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    answers: int = 0
    answered: asyncio.Event = field(default_factory=asyncio.Event)

    def count_response(self) -> None:
        """Count a response."""
        self.answers += 1
        self.answered.set()


class DatabaseProcess:
    """The process `tests.stress.database`, or another with more commands, which has the ORM."""

    def __init__(self, environment: dict[str, str], module: str = "tests.stress.database") -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", module],
            cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def ask(self, command: str, **values: Any) -> Any:
        """Send a command and return its result."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"command": command, **values}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{command}: the database process has ended")
        return json.loads(line)

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()


@contextmanager
def serving(
    plan: Plan, database_url: str, folder: str
) -> Iterator[tuple[str, list[str], DatabaseProcess, "subprocess.Popen[bytes]"]]:
    """Fill a database and serve it with the plan's number of processes.

    Yields the address, the raters' links, the database process and the server.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        environment = {**os.environ, "TANDEM_DATA_DIR": folder, "DATABASE_URL": database_url, "LOG_LEVEL": "ERROR"}
        database = DatabaseProcess(environment)
        # Before the server starts, which reads the names of collected static files once.
        links = database.ask(
            "fill",
            raters=plan.raters,
            hits=plan.hits,
            pairs=plan.pairs,
            raters_per_hit=plan.raters_per_hit,
            address=address,
        )
        with log_of(folder).open("wb") as log:
            server = subprocess.Popen(
                [
                    *(sys.executable, "-m", "gunicorn", "config.wsgi", "--bind", f"fd://{listener.fileno()}"),
                    *("--workers", str(plan.processes), "--threads", str(plan.threads)),
                    *("--timeout", "60", "--graceful-timeout", "1", "--log-level", "error", "--no-control-socket"),
                    "--preload",  # as in production: the process after a killed one is a fork
                ],
                cwd=ROOT, env=environment | {"PYTHONFAULTHANDLER": "1"}, pass_fds=(listener.fileno(),),
                start_new_session=True, stderr=log,
            )  # fmt: skip
        try:
            yield address, links, database, server
        finally:
            with suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGKILL)
            server.wait()
            database.close()


def log_of(folder: str) -> Path:
    """Return where the server's processes write their errors."""
    return Path(folder) / "server.log"


def last_words(server: "subprocess.Popen[bytes]", folder: str) -> str:
    """End a server that does not answer; return its errors, and where each thread of its processes was."""
    if (code := server.poll()) is None:
        for pid in (*children_of(server.pid), server.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSEGV)  # answered by Python's faulthandler
        server.wait()
    told = "it was still running" if code is None else f"it had ended with exit code {code}"
    return f"the server gave no answer; {told}:\n{log_of(folder).read_text(errors='replace')}"


class Rater:
    """One rater's browser, which retries lost requests."""

    def __init__(self, link: str, address: str, draw: Random, seen: Observations, plan: Plan) -> None:
        self.link, self.address, self.draw, self.seen, self.plan = link, address, draw, seen, plan
        self.session: aiohttp.ClientSession

    async def work(self, done: asyncio.Event) -> None:
        """Rate until every slot is filled."""
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(force_close=True),
            cookie_jar=aiohttp.CookieJar(unsafe=True),
            timeout=aiohttp.ClientTimeout(total=30),
        ) as self.session:
            page = self.link, ""
            while not done.is_set():
                if "/login/" in page[0]:  # the same browser may use its link again
                    page = await self.post(self.link, (await self.get(self.link))[1])
                if "/consent/" in page[0] and token(page[1]):
                    page = await self.post(page[0], page[1], answer="accept")
                elif found := _HIT.search(page[1]):
                    page = await self.rate(found[1], page[1])
                else:  # nothing free at the moment
                    with suppress(asyncio.TimeoutError):
                        await asyncio.wait_for(done.wait(), 0.3)
                    page = await self.get(f"{self.address}/rate/")

    async def rate(self, key: str, html: str) -> tuple[str, str]:
        """Rate a HIT, or leave or return it."""
        hit = f"{self.address}/rate/hit/{key}/"
        for pair in dict.fromkeys(_PAIR.findall(html)):
            if self.draw.random() < self.plan.leaves / 2:
                self.seen.steps["left"] += 1
                return await self.get(
                    f"{self.address}/rate/"
                )  # leads back to the HIT, or to another when the lease has expired
            await self.vote(hit, key, pair, html)
        if self.draw.random() < self.plan.returns:
            self.seen.steps["returned"] += 1
            await self.post(f"{hit}return/", html, reason="unclear")
            return await self.get(f"{self.address}/rate/")
        times = 2 if self.draw.random() < self.plan.double_submits else 1
        self.seen.steps["submitted twice" if times == 2 else "submitted"] += 1
        pages = await asyncio.gather(*(self.submit(f"{hit}submit/", html) for _ in range(times)))
        return next((page for page in pages if _HIT.search(page[1])), None) or await self.get(f"{self.address}/rate/")

    async def vote(self, hit: str, key: str, pair: str, html: str) -> None:
        """Send a vote until the server confirms or refuses it."""
        choice = self.draw.choice(list(CHOICES))
        for _ in range(50):
            self.seen.unsure.add((key, pair))
            try:
                async with self.session.post(
                    f"{hit}vote/",
                    data={"csrfmiddlewaretoken": token(html), "pair_key": pair, "choice": choice},
                    headers={"HX-Request": "true"},
                ) as answer:
                    text = await answer.text()
                    self.seen.count_response()
            except _LOST:
                self.seen.steps["response lost"] += 1
                continue
            if answer.status == 200:
                self.seen.acknowledged[key, pair] = CHOICES[choice]
                self.seen.unsure.discard((key, pair))
            elif await self.is_expected(answer.status):
                continue
            elif answer.status >= 500:
                self.problem("vote", answer.status, text)
            else:
                self.seen.steps[f"vote refused {answer.status}"] += 1
            return

    async def get(self, url: str) -> tuple[str, str]:
        """Load a page; retry until it arrives."""
        return await self.ask("GET", url)

    async def post(self, url: str, html: str, **fields: str) -> tuple[str, str]:
        """Send a form once; when the response is lost, load the page that shows the current state."""
        return await self.ask("POST", url, {"csrfmiddlewaretoken": token(html), **fields})

    async def submit(self, url: str, html: str) -> tuple[str, str]:
        """Submit a HIT; the answer holds the next one."""
        return await self.ask("POST", url, {"csrfmiddlewaretoken": token(html)}, {"HX-Request": "true"})

    async def ask(
        self, method: str, url: str, data: dict[str, str] | None = None, headers: dict[str, str] | None = None
    ) -> tuple[str, str]:
        """Send a request and follow redirects; return the address and the page."""
        while True:
            try:
                async with self.session.request(method, url, data=data, headers=headers) as answer:
                    text = await answer.text()
                    self.seen.count_response()
                    if answer.status >= 500 and not await self.is_expected(answer.status):
                        self.problem(method, answer.status, text)
                    return str(answer.url), text
            except _LOST:
                self.seen.steps["response lost"] += 1
                if method == "POST":
                    method, url, data, headers = "GET", f"{self.address}/rate/", None, None

    async def is_expected(self, status: int) -> bool:
        """Tell whether the database may be away, and wait a moment then."""
        if not (self.plan.unavailable and status == 503):
            return False
        self.seen.steps["said to be unavailable"] += 1
        await asyncio.sleep(0.2)
        return True

    def problem(self, what: str, status: int, text: str) -> None:
        """Record a response that must never occur."""
        shown = re.sub(r"<[^>]+>|\s+", " ", text)[:200]
        self.seen.problems.append(f"{what}: {status} {shown}")


def token(html: str) -> str:
    """Return the CSRF token of a page's forms; empty for a page without a form."""
    found = _TOKEN.search(html)
    return found[1] if found else ""


async def _inject_faults(
    plan: Plan,
    database: DatabaseProcess,
    server: "subprocess.Popen[bytes]",
    folder: str,
    done: asyncio.Event,
    seen: Observations,
) -> None:
    """Kill server processes and expire leases, until every slot is filled.

    Raises: NoAnswer when the raters get none.
    """
    draw, turn = Random(plan.seed), 0
    next_kill, next_expiry = plan.kill_every, plan.expire_every
    while True:
        while seen.answers < next_expiry:
            seen.answered.clear()
            try:
                await asyncio.wait_for(seen.answered.wait(), SILENT)
            except TimeoutError:
                raise NoAnswer(last_words(server, folder)) from None
        turn += 1
        if await asyncio.to_thread(database.ask, "open_slots") == 0:
            done.set()
            return
        if turn > 2000:
            seen.problems.append("the run does not end: slots stay open")
            done.set()
            return
        expired = await asyncio.to_thread(database.ask, "expire", share=plan.expire_share, seed=plan.seed + turn)
        seen.steps["lease expired"] += expired
        # A short run has few turns: one that found no lease is made up for at the next response.
        next_expiry = seen.answers + (plan.expire_every if expired else 1)
        if seen.answers >= next_kill:
            next_kill = seen.answers + plan.kill_every
            if workers := children_of(server.pid):
                with suppress(ProcessLookupError):
                    os.kill(draw.choice(workers), signal.SIGKILL)
                    seen.steps["server process killed"] += 1


def children_of(pid: int) -> list[int]:
    """Return the child processes of a process."""
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(line) for line in found.stdout.split()]


def stress(plan: Plan, database_url: str = "") -> tuple[dict[str, Any], Observations]:
    """Do a whole run on an empty database (SQLite unless one is named); return the rows' counts and what the raters saw."""
    seen = Observations()
    with tempfile.TemporaryDirectory() as folder:
        url = database_url or f"sqlite:///{folder}/stress.sqlite3"
        with serving(plan, url, folder) as (address, links, database, server):
            asyncio.run(_run_all(plan, links, address, database, server, folder, seen))
            if seen.problems:
                seen.problems.append(f"the server's log: {log_of(folder).read_text(errors='replace')}")
            return database.ask("count"), seen


async def _run_all(
    plan: Plan,
    links: list[str],
    address: str,
    database: DatabaseProcess,
    server: "subprocess.Popen[bytes]",
    folder: str,
    seen: Observations,
) -> None:
    done = asyncio.Event()
    raters = [Rater(link, address, Random(plan.seed * 1000 + n), seen, plan) for n, link in enumerate(links)]
    await asyncio.gather(
        _inject_faults(plan, database, server, folder, done, seen), *(rater.work(done) for rater in raters)
    )


def violations(plan: Plan, counted: dict[str, Any], seen: Observations) -> list[str]:
    """List the invariants that do not hold."""
    wanted = {str(plan.raters_per_hit): plan.hits * plan.pairs}
    slots = [list(range(1, plan.raters_per_hit + 1))]
    broken = list(seen.problems)
    if counted["ratings_per_pair"] != wanted:
        broken.append(f"ratings per pair are {counted['ratings_per_pair']}, not {wanted}")
    if counted["slots_of_hits"] != slots:
        broken.append(f"slots are numbered {counted['slots_of_hits']}, not {slots}")
    for name in ("twice_by_one_rater", "incomplete", "submitted_without_a_slot"):
        if counted[name]:
            broken.append(f"{counted[name]} {name.replace('_', ' ')}")
    for (hit, pair), choice in seen.acknowledged.items():
        stored = counted["votes"].get(f"{hit} {pair}")
        if stored is None:
            broken.append(f"a vote on {pair} was confirmed and is not stored")
        elif (hit, pair) not in seen.unsure and stored[0] != (choice if stored[1] else -choice):
            broken.append(f"a vote on {pair} was confirmed as {choice} and is stored as {stored}")
    return broken
