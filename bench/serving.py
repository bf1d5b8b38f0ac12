"""HITs per second by number of pairs, compared with a bare view.

    make bench-serving
    BENCH_SECONDS=2 BENCH_PAIRS=1000 make bench-serving   (a minute on each database)

HITs have one pair, and each rater's browser sends two requests a HIT without a pause: the vote, and the submission,
whose answer is the next HIT. The baseline, in the same run on the same server, behind the same middleware and as the
same signed-in raters: as many browsers ask a bare view for a pair, which it reads by its number, and send a form to
another that inserts one row.
"""

import asyncio
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles

import aiohttp

from bench.rating import token

ROOT = Path(__file__).resolve().parent.parent
SECONDS = float(os.environ.get("BENCH_SECONDS", "8"))
_PAIRS = os.environ.get("BENCH_PAIRS", "1000,100000,1000000")
TURNS = 4
RATERS = (1, 8, 32)
# pairs → raters per HIT: enough that no rater runs out of HITs
SIZES = {int(pairs): 60 if int(pairs) <= 1_000 else 2 for pairs in _PAIRS.split(",")}
_PAIR = re.compile(r'data-pair="([^"]+)"')
_PAGE = re.compile(r'name="page" value="([^"]+)"')


@dataclass
class RequestTimes:
    """Milliseconds by kind of request, the seconds measured, and the seconds of processor time that the server took."""

    seconds: float = 0.0
    processor: float = 0.0
    times: dict[str, list[float]] = field(default_factory=dict)

    def rate(self, step: str) -> float:
        """Requests of this kind per second."""
        return len(self.times[step]) / self.seconds

    def percentiles(self, step: str) -> tuple[float, float]:
        """Median and 95th percentile in milliseconds."""
        taken = self.times[step]
        cuts = quantiles(taken * 2 if len(taken) == 1 else taken, n=100, method="inclusive")
        return cuts[49], cuts[94]


@dataclass
class Browser:
    """One rater's browser, signed in."""

    session: aiohttp.ClientSession
    address: str
    study: str
    token: str
    hit: str = ""
    page: str = ""

    async def ask(
        self, tally: RequestTimes, step: str, url: str, form: dict[str, str]
    ) -> tuple[str, Mapping[str, str]]:
        """Send a form as htmx does, record its time, and return the body and the headers."""
        begun = time.perf_counter()
        async with self.session.post(url, data=form, headers={"HX-Request": "true"}) as answer:
            text = await answer.text()
            if answer.status != 200:
                raise SystemExit(f"{step}: {answer.status} {text[:300]}")
        tally.times.setdefault(step, []).append(1000 * (time.perf_counter() - begun))
        return text, answer.headers

    async def begin(self) -> None:
        """Get the first HIT, or the one that is open."""
        async with self.session.get(f"{self.address}/rate/") as answer:
            self.page, self.hit = await answer.text(), str(answer.url)

    async def rate(self, tally: RequestTimes, until: float) -> None:
        """Vote and submit until the time is over."""
        while time.perf_counter() < until:
            if "/hit/" not in self.hit:
                raise SystemExit(f"no HIT is free: {self.hit!r}")
            sent = {"csrfmiddlewaretoken": token(self.page), "pair_key": found(_PAIR, self.page), "choice": "left"}
            client_report = {
                "page": found(_PAGE, self.page),
                "version": "0",
                "active_seconds": "0.01",
                "wall_seconds": "0.01",
            }
            await self.ask(tally, "vote", f"{self.hit}vote/", {**sent, **client_report})
            form = {"csrfmiddlewaretoken": sent["csrfmiddlewaretoken"], "times": f"{sent['pair_key']}:0.02:0.02"}
            self.page, headers = await self.ask(tally, "submit", f"{self.hit}submit/", form)
            self.hit = self.address + headers["HX-Push-Url"]

    async def insert(self, tally: RequestTimes, until: float) -> None:
        """Ask the bare view for a pair and send its form until the time is over."""
        form = {"csrfmiddlewaretoken": self.token, "study": self.study}
        while time.perf_counter() < until:
            asked = {**form, "pair": str(random.randint(1, min(SIZES)))}
            await self.ask(tally, "hand out", f"{self.address}/rate/bare/pair/", asked)
            await self.ask(tally, "insert", f"{self.address}/rate/bare/", form)


def found(pattern: re.Pattern[str], page: str) -> str:
    """Return the first group of a pattern that must match the page."""
    match = pattern.search(page)
    if match is None:
        raise SystemExit(f"not on this page: {pattern.pattern}: {page[:300]}")
    return match[1]


async def compare(
    links: list[str], address: str, group: int, database: str, pairs: int
) -> dict[int, tuple[float, float]]:
    """Measure raters and baseline with each number of raters; return the result of `report` by that number."""
    most: dict[int, tuple[float, float]] = {}
    async with asyncio.timeout(3600):
        browsers = [await sign_in(link, address) for link in links]
        for browser in browsers:
            await browser.begin()
        for raters in RATERS:
            # Warm up: each process prepares queries and templates once.
            await together(browsers[:raters], "rate", 1.0, RequestTimes(), group)
            ours, baseline = RequestTimes(), RequestTimes()
            for turn in range(TURNS):  # in turns, so that a slow moment of the machine slows both
                first = turn * raters % len(browsers)  # others each time: one of few would rate all pairs
                working = browsers[first : first + raters]
                await together(working, "rate", SECONDS / TURNS, ours, group)
                await together(working, "insert", SECONDS / TURNS, baseline, group)
            most[raters] = report(database, pairs, raters, ours, baseline)
        for browser in browsers:
            await browser.session.close()
    return most


async def sign_in(link: str, address: str) -> Browser:
    """Open a rater's link."""
    session = aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True))
    looked = await (await session.get(link)).text()
    await (await session.post(link, data={"csrfmiddlewaretoken": token(looked)})).read()
    study = await (await session.get(f"{address}/rate/bare/study/")).text()
    page = await (await session.get(f"{address}/rate/progress/")).text()
    return Browser(session, address, study, token(page))


async def together(browsers: list[Browser], way: str, seconds: float, tally: RequestTimes, group: int) -> None:
    """Run all browsers at once for `seconds`, and add their times to the tally, and those of the server's processes."""
    begun, processor = time.perf_counter(), processor_seconds(group)
    await asyncio.gather(*(getattr(browser, way)(tally, begun + seconds) for browser in browsers))
    tally.seconds += time.perf_counter() - begun
    tally.processor += processor_seconds(group) - processor


def report(database: str, pairs: int, raters: int, ours: RequestTimes, baseline: RequestTimes) -> tuple[float, float]:
    """Print one line, and return the 95th percentiles of a submission and of the bare view."""
    submit, vote, bare = ours.percentiles("submit"), ours.percentiles("vote"), baseline.percentiles("insert")
    hits, pairs_handed = ours.rate("submit"), baseline.rate("insert")
    costs = 1000 * ours.processor / len(ours.times["submit"]), 1000 * baseline.processor / len(baseline.times["insert"])
    print(
        f"{database:<10} {pairs:>9,} pairs {raters:>2} raters: "
        f"{hits:6.1f} HITs/s, bare view {pairs_handed:6.1f}: ratio {hits / pairs_handed:.2f}; "
        f"processor time {costs[0]:.1f} and {costs[1]:.1f} ms: ratio {costs[1] / costs[0]:.2f}; "
        f"submission with the next HIT p50 {submit[0]:6.1f} p95 {submit[1]:6.1f} ms, "
        f"vote p50 {vote[0]:6.1f} p95 {vote[1]:6.1f} ms, bare insert p50 {bare[0]:5.1f} p95 {bare[1]:5.1f} ms",
        flush=True,
    )
    return submit[1], bare[1]


def environment_of(database_url: str, folder: str) -> dict[str, str]:
    """Return the environment of a server whose data lie in a folder."""
    return {
        **os.environ,
        "TANDEM_DATA_DIR": folder,
        "DATABASE_URL": database_url,
        "LOG_LEVEL": "ERROR",
        "DJANGO_SETTINGS_MODULE": "bench._serving_settings",
        "MALLOC_ARENA_MAX": "1",  # both as deploy/ and `serve` set them
        "OPENBLAS_NUM_THREADS": "1",
    }


@contextmanager
def serving(database_url: str, pairs: int, raters_per_hit: int, folder: str) -> Iterator[tuple[list[str], str, int]]:
    """Fill a database and serve it with two processes of four threads, as `make run` does; print its memory and start time."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    environment = environment_of(database_url, folder)
    filled = [sys.executable, "-m", "bench._serving_study", str(pairs), str(raters_per_hit), str(max(RATERS)), address]
    begun = time.perf_counter()
    made = subprocess.run(filled, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    print(f"filled {pairs:,} pairs in {time.perf_counter() - begun:.0f} s", flush=True)
    with server_of(environment, port) as pid:
        yield json.loads(made.stdout), address, pid


def free_port() -> int:
    """Return a port of this machine that is free."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@contextmanager
def server_of(environment: dict[str, str], port: int) -> Iterator[int]:
    """Serve as `make run` does, and yield the process group; print the time to the first answer, and the memory at the end."""
    command = [
        *(sys.executable, "-m", "gunicorn", "--config", "python:config.gunicorn_config"),
        *("--bind", f"127.0.0.1:{port}", "--log-level", "error"),
    ]
    begun = time.perf_counter()
    server = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True)
    try:
        wait_for(port, server)
        print(f"first answer {time.perf_counter() - begun:.2f} s after the start", flush=True)
        yield server.pid
        print(f"memory (PSS) of the server and its two processes: {memory_of(server.pid):.0f} MB", flush=True)
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def wait_for(port: int, server: "subprocess.Popen[bytes]") -> None:
    """Return when the server answers a request."""
    while server.poll() is None:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
                connection.sendall(b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n")
                if connection.recv(16).startswith(b"HTTP/1."):
                    return
        except OSError:
            time.sleep(0.01)
    raise SystemExit(f"the server ended with exit code {server.returncode}")


def memory_of(group: int) -> float:
    """Proportional set size, in MB, of a process group (Linux)."""
    total = 0
    for pid in processes_of(group):
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
        total += int(found(re.compile(r"(?m)^Pss:\s+(\d+)"), rollup))
    return total / 1024


def processor_seconds(group: int) -> float:
    """Processor time, of users and of the system, that a process group has taken so far (Linux)."""
    ticks = 0
    for pid in processes_of(group):
        numbers = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
        ticks += int(numbers[11]) + int(numbers[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def processes_of(group: int) -> list[str]:
    """Process ids of a process group."""
    listed = subprocess.run(["ps", "-o", "pid=", "-g", str(group)], capture_output=True, text=True, check=False)
    return listed.stdout.split()


def measure(database: str, url_of: str) -> None:
    """Measure every size on one kind of database; `url_of` has the placeholders `{folder}` and `{name}`."""
    slowest: dict[int, dict[int, tuple[float, float]]] = {}
    for pairs, raters_per_hit in SIZES.items():
        with tempfile.TemporaryDirectory() as folder:
            url = url_of.format(folder=folder, name=f"bench_{pairs}")
            with serving(url, pairs, raters_per_hit, folder) as (links, address, group):
                slowest[pairs] = asyncio.run(compare(links, address, group, database, pairs))
    least, most = min(SIZES), max(SIZES)
    for raters in RATERS:
        # The bare view does not depend on the number of pairs: its differences are noise of the machine.
        submit, bare = (
            large / small for large, small in zip(slowest[most][raters], slowest[least][raters], strict=True)
        )
        where = f"at {most:,} pairs / at {least:,} pairs, {raters:>2} raters"
        print(f"{database:<10} submission p95 {where}: {submit:.2f} (the bare view's {bare:.2f})")
    sys.stdout.flush()


def on_postgresql() -> None:
    """Measure on the server that DATABASE_URL names, each size in a database of its own."""
    import psycopg

    server = os.environ["DATABASE_URL"].rsplit("/", 1)[0]
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        for pairs in SIZES:
            connection.execute(f"CREATE DATABASE bench_{pairs}")
    measure("PostgreSQL", f"{server}/{{name}}")


def main() -> None:
    """Measure on SQLite, then, where it is installed, on a temporary PostgreSQL."""
    measure("SQLite", "sqlite:///{folder}/bench.sqlite3")
    postgres = [sys.executable, "tools/with_postgres.py", sys.executable, "-m", "bench.serving"]
    subprocess.run(postgres, cwd=ROOT, check=False)  # prints a message when PostgreSQL is missing


if __name__ == "__main__":
    on_postgresql()
