"""A stress run: raters as clients over HTTP, real server processes, and what is done to them meanwhile."""

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
_LOST = (aiohttp.ClientError, asyncio.TimeoutError, ConnectionError)


@dataclass(frozen=True)
class Plan:
    """How much of everything, and how often a rater does what a rater shouldn't.

    Trouble comes after so many answers, not so many seconds: on a slow machine just as often as on a fast one.
    """

    raters: int
    hits: int
    raters_per_hit: int
    processes: int
    threads: int
    pairs: int = 2
    kill_every: int = 250  # answers between kills of a server process
    expire_every: int = 80  # and between moments at which claims run out
    expire_share: float = 0.2
    returns: float = 0.08
    leaves: float = 0.08
    double_submits: float = 0.25
    seed: int = 1


@dataclass
class Seen:
    """What the raters did and were told."""

    acknowledged: dict[tuple[str, str], int] = field(default_factory=dict)  # (HIT, pair) → choice on the screen
    unsure: set[tuple[str, str]] = field(default_factory=set)  # an answer was lost: it may have been taken or not
    steps: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    answers: int = 0
    answered: asyncio.Event = field(default_factory=asyncio.Event)

    def count_answer(self) -> None:
        """Note that the server has answered."""
        self.answers += 1
        self.answered.set()


class World:
    """The program at the database."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.stress.world"],
            cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def ask(self, command: str, **values: Any) -> Any:
        """Send a command and return its answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"command": command, **values}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{command}: the program at the database has ended")
        return json.loads(line)

    def close(self) -> None:
        """End it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()


@contextmanager
def serving(plan: Plan, database_url: str, folder: str) -> Iterator[tuple[str, World, "subprocess.Popen[bytes]"]]:
    """Serve a database with as many processes as the plan says; yields the address, the world and the server."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        environment = {**os.environ, "TANDEM_DATA_DIR": folder, "DATABASE_URL": database_url, "LOG_LEVEL": "CRITICAL"}
        world = World(environment)
        server = subprocess.Popen(
            [
                *(sys.executable, "-m", "gunicorn", "config.wsgi", "--bind", f"fd://{listener.fileno()}"),
                *("--workers", str(plan.processes), "--threads", str(plan.threads)),
                *("--timeout", "60", "--graceful-timeout", "1", "--log-level", "critical", "--no-control-socket"),
            ],
            cwd=ROOT, env=environment, pass_fds=(listener.fileno(),), start_new_session=True,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            yield f"http://127.0.0.1:{port}", world, server
        finally:
            with suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGKILL)
            server.wait()
            world.close()


class Rater:
    """One rater's browser, which tries again whatever got lost."""

    def __init__(self, link: str, address: str, draw: Random, seen: Seen, plan: Plan) -> None:
        self.link, self.address, self.draw, self.seen, self.plan = link, address, draw, seen, plan
        self.session: aiohttp.ClientSession

    async def work(self, done: asyncio.Event) -> None:
        """Rate until everything is done."""
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(force_close=True),
            cookie_jar=aiohttp.CookieJar(unsafe=True),
            timeout=aiohttp.ClientTimeout(total=30),
        ) as self.session:
            page = await self.post(self.link, (await self.get(self.link))[1])
            while not done.is_set():
                if "/consent/" in page[0]:
                    page = await self.post(page[0], page[1], answer="accept")
                elif found := _HIT.search(page[1]):
                    page = await self.rate(found[1], page[1])
                else:  # nothing free at the moment, or not signed in yet
                    with suppress(asyncio.TimeoutError):
                        await asyncio.wait_for(done.wait(), 0.3)
                    page = await self.get(f"{self.address}/rate/")

    async def rate(self, key: str, html: str) -> tuple[str, str]:
        """Do a HIT, or what raters do with HITs besides."""
        hit = f"{self.address}/rate/hit/{key}/"
        for pair in dict.fromkeys(_PAIR.findall(html)):
            if self.draw.random() < self.plan.leaves / 2:
                self.seen.steps["left"] += 1
                return await self.get(f"{self.address}/rate/")  # which leads back, or on where the time ran out
            await self.vote(hit, key, pair, html)
        if self.draw.random() < self.plan.returns:
            self.seen.steps["returned"] += 1
            await self.post(f"{hit}return/", html, reason="unclear")
            return await self.get(f"{self.address}/rate/")
        times = 2 if self.draw.random() < self.plan.double_submits else 1
        self.seen.steps["submitted twice" if times == 2 else "submitted"] += 1
        pages = await asyncio.gather(*(self.post(f"{hit}submit/", html) for _ in range(times)))
        return next((page for page in pages if _HIT.search(page[1])), None) or await self.get(f"{self.address}/rate/")

    async def vote(self, hit: str, key: str, pair: str, html: str) -> None:
        """Vote until the server says that it has the vote, or that it takes none."""
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
                    self.seen.count_answer()
            except _LOST:
                self.seen.steps["answer lost"] += 1
                continue
            if answer.status == 200:
                self.seen.acknowledged[key, pair] = CHOICES[choice]
                self.seen.unsure.discard((key, pair))
            elif answer.status >= 500:
                self.problem("vote", answer.status, text)
            else:
                self.seen.steps[f"vote refused {answer.status}"] += 1
            return

    async def get(self, url: str) -> tuple[str, str]:
        """Load a page until it is there."""
        return await self.ask("GET", url)

    async def post(self, url: str, html: str, **fields: str) -> tuple[str, str]:
        """Send a form; one whose answer was lost is not sent again, since its page says how things are."""
        return await self.ask("POST", url, {"csrfmiddlewaretoken": token(html), **fields})

    async def ask(self, method: str, url: str, data: dict[str, str] | None = None) -> tuple[str, str]:
        """Ask, and follow to the page that comes of it."""
        while True:
            try:
                async with self.session.request(method, url, data=data) as answer:
                    text = await answer.text()
                    self.seen.count_answer()
                    if answer.status >= 500:
                        self.problem(method, answer.status, text)
                    return str(answer.url), text
            except _LOST:
                self.seen.steps["answer lost"] += 1
                if url == self.link:  # used up or not: this browser may use it again
                    pass
                elif method == "POST":
                    method, url, data = "GET", f"{self.address}/rate/", None

    def problem(self, what: str, status: int, text: str) -> None:
        """Note an answer that no server should give."""
        told = re.sub(r"<[^>]+>|\s+", " ", text)[:200]
        self.seen.problems.append(f"{what}: {status} {told}")


def token(html: str) -> str:
    """Return the CSRF token of a page's forms; a page without one gets none."""
    found = _TOKEN.search(html)
    return found[1] if found else ""


async def _trouble(
    plan: Plan, world: World, server: "subprocess.Popen[bytes]", done: asyncio.Event, seen: Seen
) -> None:
    """Kill server processes and let claims run out, until every slot is filled."""
    draw, turn = Random(plan.seed), 0
    next_kill, next_expiry = plan.kill_every, plan.expire_every
    while True:
        while seen.answers < next_expiry:
            seen.answered.clear()
            await seen.answered.wait()
        next_expiry = seen.answers + plan.expire_every
        turn += 1
        if await asyncio.to_thread(world.ask, "open_slots") == 0:
            done.set()
            return
        if turn > 2000:
            seen.problems.append("it doesn't come to an end")
            done.set()
            return
        seen.steps["ran out"] += await asyncio.to_thread(
            world.ask, "expire", share=plan.expire_share, seed=plan.seed + turn
        )
        if seen.answers >= next_kill:
            next_kill = seen.answers + plan.kill_every
            if workers := children_of(server.pid):
                with suppress(ProcessLookupError):
                    os.kill(draw.choice(workers), signal.SIGKILL)
                    seen.steps["server process killed"] += 1


def children_of(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(line) for line in found.stdout.split()]


def stress(plan: Plan, database_url: str = "") -> tuple[dict[str, Any], Seen]:
    """Do a whole run on an empty database (SQLite unless one is named); return what was counted and what was seen."""
    seen = Seen()
    with tempfile.TemporaryDirectory() as folder:
        url = database_url or f"sqlite:///{folder}/stress.sqlite3"
        with serving(plan, url, folder) as (address, world, server):
            links = world.ask(
                "fill",
                raters=plan.raters,
                hits=plan.hits,
                pairs=plan.pairs,
                raters_per_hit=plan.raters_per_hit,
                address=address,
            )
            asyncio.run(_everybody(plan, links, address, world, server, seen))
            return world.ask("count"), seen


async def _everybody(
    plan: Plan, links: list[str], address: str, world: World, server: "subprocess.Popen[bytes]", seen: Seen
) -> None:
    done = asyncio.Event()
    raters = [Rater(link, address, Random(plan.seed * 1000 + n), seen, plan) for n, link in enumerate(links)]
    await asyncio.gather(_trouble(plan, world, server, done, seen), *(rater.work(done) for rater in raters))


def broken_promises(plan: Plan, counted: dict[str, Any], seen: Seen) -> list[str]:
    """Say what of all that must hold doesn't."""
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
            broken.append(f"a vote on {pair} was confirmed and is not there")
        elif (hit, pair) not in seen.unsure and stored[0] != (choice if stored[1] else -choice):
            broken.append(f"a vote on {pair} was confirmed as {choice} and is stored as {stored}")
    return broken
