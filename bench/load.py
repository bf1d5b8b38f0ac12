"""Many raters at once, at the pace of people who read: latency of a saved vote beside a bare view's, errors, memory.

    make bench-load
    BENCH_SECONDS=600 make bench-load     the soak of ten minutes

PostgreSQL with its usual, durable settings, and the web server of `make run` with two processes, with a worker beside
it. The memory is the web server's. Raters sign in first, a few at a time, and vote on none to four pairs of their first HIT: without that, all 500 would submit within the same ten
seconds of each fifty, and none in the other forty. Then each takes ten seconds for a pair, votes, and after five pairs
submits and gets the next HIT. The baseline, before that and at the same pace: the same signed-in raters send a form to a
bare view that inserts one row.
"""

import asyncio
import json
import math
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from random import Random
from statistics import quantiles

import aiohttp
import psycopg

from bench._rating_study import INSTANCES, PAIRS
from bench.rating import next_hit, token
from bench.serving import ROOT, memory_of, processor_seconds, wait_for
from tools.with_postgres import find_programs, server

RATERS = int(os.environ.get("BENCH_RATERS", "500"))
SECONDS = float(os.environ.get("BENCH_SECONDS", "60"))
THINKING = 10.0  # seconds for a pair
SIGNING_IN = 4  # raters at a time
SETTLED = min(60.0, SECONDS / 6)  # seconds after which memory may not grow by more than MOST_GROWTH
MOST_P95, MOST_GROWTH = 250.0, 0.05
DURABLE = ("max_connections=100",)
_PAIR = re.compile(r'data-pair="([^"]+)"')
Act = Callable[["Rater", float], Awaitable[None]]


class Rater:
    """One rater's browser."""

    def __init__(self, address: str, link: str, draw: Random) -> None:
        self.address, self.link, self.draw = address, link, draw
        self.times: dict[str, list[float]] = {"before": [], "vote": [], "submit": [], "bare": []}
        self.problems: list[str] = []
        self.votes: set[tuple[str, str]] = set()
        self.page = self.hit = ""
        self.session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(force_close=True),
            cookie_jar=aiohttp.CookieJar(unsafe=True),
            timeout=aiohttp.ClientTimeout(total=60),
        )

    async def sign_in(self, places: asyncio.Semaphore) -> None:
        """Open the link, consent, get the first HIT, and rate some of it."""
        async with places:
            page = await (await self.session.get(self.link)).text()
            answer = await self.session.post(self.link, data={"csrfmiddlewaretoken": token(page)})
            page = await answer.text()
            answer = await self.session.post(answer.url, data={"csrfmiddlewaretoken": token(page), "answer": "accept"})
            self.page, self.hit = await answer.text(), str(answer.url)
            self.study = await (await self.session.get(f"{self.address}/rate/bare/study/")).text()
            for key in self.unrated()[: self.draw.randrange(PAIRS)]:
                await self.vote("before", key)

    def unrated(self) -> list[str]:
        """Return the keys of the HIT's pairs without a vote."""
        return [key for key in dict.fromkeys(_PAIR.findall(self.page)) if (self.hit, key) not in self.votes]

    async def vote(self, step: str, key: str) -> None:
        """Vote on a pair."""
        choice = self.draw.choice(("left", "right"))
        if await self.post(step, f"{self.hit}vote/", pair_key=key, choice=choice):
            self.votes.add((self.hit, key))

    async def post(self, step: str, url: str, **form: str) -> str:
        """Send a form; record its time, or that it failed."""
        sent = {"csrfmiddlewaretoken": token(self.page), **form}
        begun = time.perf_counter()
        try:
            async with self.session.post(url, data=sent, headers={"HX-Request": "true"}) as answer:
                text = await answer.text()
        except (aiohttp.ClientError, TimeoutError) as error:
            self.problems.append(f"{step}: {error!r}")
            return ""
        self.times[step].append(1000 * (time.perf_counter() - begun))
        if answer.status != 200:
            self.problems.append(f"{step}: {answer.status}")
            return ""
        return text

    async def rate(self, until: float) -> None:
        """Vote on pair after pair, each after ten seconds."""
        await asyncio.sleep(self.draw.uniform(0, THINKING))
        while self.hit:
            for key in self.unrated():
                if time.perf_counter() >= until:
                    return
                await self.vote("vote", key)
                await asyncio.sleep(THINKING)
            if not (page := await self.post("submit", f"{self.hit}submit/")):
                return
            self.page, self.hit = page, next_hit(page, self.hit)

    async def insert(self, until: float) -> None:
        """Send a form to the bare view every ten seconds."""
        await asyncio.sleep(self.draw.uniform(0, THINKING))
        while time.perf_counter() < until:
            await self.post("bare", f"{self.address}/rate/bare/", study=self.study)
            await asyncio.sleep(THINKING)


async def measure(address: str, links: list[str], group: int, memory: list[tuple[float, float]]) -> list[Rater]:
    """Sign everyone in, then send bare forms, then rate; note the server's memory meanwhile."""
    raters = [Rater(address, link, Random(number)) for number, link in enumerate(links)]
    places = asyncio.Semaphore(SIGNING_IN)
    try:
        await asyncio.gather(*(rater.sign_in(places) for rater in raters))
        print("all have signed in", flush=True)
        for act, name, seconds in ((Rater.insert, "bare view", min(SECONDS, 60)), (Rater.rate, "rating", SECONDS)):
            begun, before = time.perf_counter(), processor_seconds(group)
            watching = asyncio.create_task(watch(group, begun, memory if name == "rating" else []))
            await asyncio.gather(*(act(rater, begun + seconds) for rater in raters))
            watching.cancel()
            spent = processor_seconds(group) - before
            print(f"{name}: {spent / (time.perf_counter() - begun):.2f} cores of the web server", flush=True)
    finally:
        await asyncio.gather(*(rater.session.close() for rater in raters))
    return raters


async def watch(group: int, begun: float, memory: list[tuple[float, float]]) -> None:
    """Note the memory every two seconds."""
    while True:
        memory.append((time.perf_counter() - begun, await asyncio.to_thread(memory_of, group)))
        await asyncio.sleep(2)


@contextmanager
def serving(database_url: str, folder: str) -> Iterator[tuple[str, list[str], int]]:
    """Fill the database and serve it; yields the address, a sign-in link for each rater, and the process group."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    environment = {
        **os.environ, "TANDEM_DATA_DIR": folder, "DATABASE_URL": database_url, "LOG_LEVEL": "ERROR", "WEB_PROCESSES": "2",
        "DJANGO_SETTINGS_MODULE": "bench._serving_settings", "MALLOC_ARENA_MAX": "1", "OPENBLAS_NUM_THREADS": "1",
    }  # fmt: skip
    hits = RATERS * (2 + math.ceil(SECONDS / (THINKING * PAIRS)))  # none may run out of them before the end
    filled = [sys.executable, "-m", "bench._rating_study", str(RATERS), address, str(math.ceil(hits / INSTANCES))]
    made = subprocess.run(filled, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    gunicorn = [sys.executable, "-m", "gunicorn", "--config", "python:config.gunicorn_config"]
    gunicorn += ["--bind", f"127.0.0.1:{port}", "--log-level", "error"]
    with (
        running(gunicorn, environment) as web,
        running([sys.executable, "-m", "config", "worker"], environment) as worker,
    ):
        wait_for(port, web)
        yield address, json.loads(made.stdout), web.pid
        if worker.poll() is not None:
            raise SystemExit(f"the worker ended with exit code {worker.returncode}")


@contextmanager
def running(command: list[str], environment: dict[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a program in a process group of its own for the time of the `with` block."""
    program = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True)
    try:
        yield program
    finally:
        with suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        program.wait()


def p95_by_fifths(raters: list[Rater]) -> list[float]:
    """Return the p95 of a vote in each fifth of each rater's votes, in order."""
    fifths: list[list[float]] = [[] for _ in range(5)]
    for rater in raters:
        taken = rater.times["vote"]
        for place, one in enumerate(taken):
            fifths[5 * place // len(taken)].append(one)
    return [quantiles(one, n=20, method="inclusive")[18] for one in fifths if len(one) > 1]


def report(raters: list[Rater], memory: list[tuple[float, float]], stored: int, doubled: int) -> list[str]:
    """Print what was measured; return what is not as it must be."""
    p95: dict[str, float] = {}
    for step in ("vote", "submit", "bare"):
        taken = [one for rater in raters for one in rater.times[step]]
        cuts = quantiles(taken, n=100, method="inclusive")
        p95[step] = cuts[94]
        print(
            f"{step:<7} {len(taken):6} times   p50 {cuts[49]:7.1f} ms   p95 {cuts[94]:7.1f} ms   most {max(taken):7.1f} ms"
        )
    print(f"p95 of a saved vote / of the bare view: {p95['vote'] / p95['bare']:.2f}")
    print("p95 of a vote by fifths of the time:", *(f"{one:.0f}" for one in p95_by_fifths(raters)), "ms")
    settled = [megabytes for at, megabytes in memory if at >= SETTLED]
    growth = settled[-1] / settled[0] - 1
    print(f"memory (PSS): {settled[0]:.0f} MB settled, {settled[-1]:.0f} MB at the end ({growth:+.1%})")
    votes = sum(len(rater.votes) for rater in raters)
    print(f"votes confirmed: {votes}, stored: {stored}, stored twice: {doubled}")
    wrong = [problem for rater in raters for problem in rater.problems][:10]
    wrong += [f"{votes} votes were confirmed, {stored} are stored, {doubled} of them twice"] * (
        votes != stored or doubled > 0
    )
    wrong += [f"p95 of a vote is {p95['vote']:.0f} ms, not below {MOST_P95:.0f}"] * (p95["vote"] >= MOST_P95)
    wrong += [f"memory grew by {growth:.1%}"] * (growth >= MOST_GROWTH)
    return wrong


def main() -> None:
    """Measure, compare with what is stored, and fail where something is lost, late or growing."""
    memory: list[tuple[float, float]] = []
    print(f"{RATERS} raters, {THINKING:.0f} s a pair, for {SECONDS:.0f} s, on PostgreSQL", flush=True)
    with tempfile.TemporaryDirectory() as folder, server(find_programs(), settings=DURABLE) as url:
        with serving(url, folder) as (address, links, group):
            raters = asyncio.run(measure(address, links, group, memory))
        with psycopg.connect(url) as connection:
            stored, different = connection.execute(
                "SELECT count(*), count(DISTINCT display_id) FROM annotation_rating"
            ).fetchone() or (0, 0)
    if wrong := report(raters, memory, stored, stored - different):
        raise SystemExit("\n".join(["not as it must be:", *wrong]))


if __name__ == "__main__":
    main()
