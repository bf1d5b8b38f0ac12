"""Latency of votes and of the next HIT, with fifty raters on the server of `make run`.

    make bench-rating

Each rater signs in, consents, and then rates HIT after HIT: load the page, vote on its pairs with a pause before each
vote, submit, follow to the next HIT. The baseline, in the same run: as many clients request, as often and at the same
pace, a page that needs no database (the sign-in page).
"""

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import quantiles
from urllib.parse import urljoin

import aiohttp

from bench._rating_study import PAIRS

ROOT = Path(__file__).resolve().parent.parent
RATERS = 50
WARM_UP = 8.0  # seconds that are not counted: all raters sign in at once, which is not realistic
_TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
_PAIR = re.compile(r'data-pair="([^"]+)"')


@dataclass(frozen=True)
class RatingPace:
    """Duration of a measurement, and the range of seconds that a rater takes for one pair."""

    name: str
    seconds: float
    least: float
    most: float


RATING_PACES = (
    RatingPace("reading", 90.0, 4.0, 12.0),
    RatingPace("clicking faster than people read", 40.0, 0.5, 2.0),  # the load of six to seven times as many readers
)


@dataclass
class Timings:
    """Milliseconds by kind of step, and failed requests."""

    steps: dict[str, list[float]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)

    async def measure(self, step: str, action: Awaitable[aiohttp.ClientResponse]) -> str:
        """Await a response and its body; record the time, redirects included."""
        begun = time.perf_counter()
        response = await action
        text = await response.text()
        ended = time.perf_counter()
        if response.status != 200:
            self.problems.append(f"{step}: {response.status} {response.url}")
        if begun - self.started > WARM_UP:
            self.steps.setdefault(step, []).append(1000 * (ended - begun))
        return text

    def percentiles(self, step: str) -> tuple[int, float, float]:
        """Return the count of a step, and its median and 95th percentile in milliseconds."""
        taken = self.steps[step]
        cuts = quantiles(taken, n=100, method="inclusive")
        return len(taken), cuts[49], cuts[94]


@dataclass
class Client:
    """One rater's browser: its cookies, its login link, its own random pauses."""

    session: aiohttp.ClientSession
    link: str
    draw: Random
    pace: RatingPace
    timings: Timings

    def has_time(self) -> bool:
        """Tell whether the measurement is still running."""
        return time.perf_counter() < self.timings.started + WARM_UP + self.pace.seconds

    async def pause(self) -> None:
        """Sleep for the time that a rater takes for one pair."""
        await asyncio.sleep(self.draw.uniform(self.pace.least, self.pace.most))


Way = Callable[[Client], Awaitable[None]]


async def rate(me: Client) -> None:
    """Act as one rater until the time is over."""
    client, timings = me.session, me.timings
    await me.pause()  # raters don't all arrive in the same second
    looked = await client.get(me.link)
    answer = await client.post(me.link, data={"csrfmiddlewaretoken": token(await looked.text())})
    page = await answer.text()
    if "/consent/" in str(answer.url):  # consent is asked once per database
        answer = await client.post(answer.url, data={"csrfmiddlewaretoken": token(page), "answer": "accept"})
        page = await answer.text()
    hit = str(answer.url)
    while me.has_time() and "/hit/" in hit:
        for key in dict.fromkeys(_PAIR.findall(page)):
            await me.pause()
            if not me.has_time():
                return
            vote = {"csrfmiddlewaretoken": token(page), "pair_key": key, "choice": me.draw.choice(("left", "right"))}
            await timings.measure("vote", client.post(f"{hit}vote/", data=vote, headers={"HX-Request": "true"}))
        form = {"csrfmiddlewaretoken": token(page)}
        submitting = client.post(f"{hit}submit/", data=form, headers={"HX-Request": "true"})
        page = await timings.measure("submit → next HIT", submitting)
        hit = next_hit(page, hit)


async def request_baseline(me: Client) -> None:
    """Request the baseline page as often as a rater sends requests."""
    address = urljoin(me.link, "/login/")
    await me.pause()
    while me.has_time():
        for _ in range(PAIRS):
            await me.pause()
            if not me.has_time():
                return
            await me.timings.measure("vote", me.session.get(address))
        await me.timings.measure("submit → next HIT", me.session.get(address))


def token(page: str) -> str:
    """Return the CSRF token of a page's forms."""
    found = _TOKEN.search(page)
    if found is None:
        raise RuntimeError(f"no form on this page: {page[:500]}")
    return found[1]


def next_hit(page: str, hit: str) -> str:
    """Return the address of the HIT that a page shows; empty when it shows none."""
    found = re.search(r'action="(/rate/hit/[^"]+/)submit/"', page)
    return hit.split("/rate/", maxsplit=1)[0] + found[1] if found else ""


async def run_clients(way: Way, links: list[str], pace: RatingPace) -> Timings:
    """Run all clients at once; return the timings."""
    timings = Timings()
    # A new connection for each request, as for people: their pauses are longer than the server's keep-alive.
    clients = [
        Client(
            aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(force_close=True),
                cookie_jar=aiohttp.CookieJar(unsafe=True),
                timeout=aiohttp.ClientTimeout(total=60),
            ),
            link,
            Random(number),
            pace,
            timings,
        )
        for number, link in enumerate(links)
    ]
    try:
        await asyncio.gather(*map(way, clients))
    finally:
        for client in clients:
            await client.session.close()
    return timings


@contextmanager
def serving(database_url: str | None) -> Iterator[list[str]]:
    """Fill a database, by default one of SQLite, and serve it on loopback; yields one invitation for each rater."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        url = database_url or f"sqlite:///{folder}/bench.sqlite3"
        environment = {**os.environ, "TANDEM_DATA_DIR": folder, "DATABASE_URL": url, "LOG_LEVEL": "ERROR"}
        address = f"http://127.0.0.1:{port}"
        made = subprocess.run(
            [sys.executable, "-m", "bench._rating_study", str(RATERS), address],
            cwd=ROOT, env=environment, check=True, capture_output=True, text=True,
        )  # fmt: skip
        server = subprocess.Popen(
            [sys.executable, "-m", "config", "serve"],
            cwd=ROOT, env=environment | {"PORT": str(port)}, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            wait_for(port, server)
            yield json.loads(made.stdout)
        finally:
            server.terminate()
            server.wait()


def wait_for(port: int, server: "subprocess.Popen[bytes]") -> None:
    """Return when the server accepts connections; requests before its start is complete wait."""
    while server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
    raise SystemExit(f"the server ended with exit code {server.returncode}")


def compare(database: str, database_url: str | None) -> None:
    """Measure the raters and the baseline at each pace on one database, and print both."""
    for pace in RATING_PACES:
        with serving(database_url) as links:
            baseline = asyncio.run(run_clients(request_baseline, links, pace))
            ours = asyncio.run(run_clients(rate, links, pace))
        print(
            f"{database}: {RATERS} raters {pace.name}, {pace.least:g} to {pace.most:g} s a pair, {pace.seconds:.0f} s"
        )
        for step in ("vote", "submit → next HIT"):
            count, median, most = ours.percentiles(step)
            _, baseline_median, baseline_most = baseline.percentiles(step)
            print(f"  {step:<18} {count:6} times   p50 {median:7.1f} ms   p95 {most:7.1f} ms")
            print(f"  {'  baseline':<18} {'':12}   p50 {baseline_median:7.1f} ms   p95 {baseline_most:7.1f} ms")
            print(
                f"  {'  ratio':<18} {'':12}   p50 {median / baseline_median:7.1f}      p95 {most / baseline_most:7.1f}"
            )
        sys.stdout.flush()
        refuse_problems([*ours.problems, *baseline.problems])


def refuse_problems(problems: list[str]) -> None:
    """Exit if a request failed: the timings would be meaningless."""
    if problems:
        raise SystemExit("\n".join(["not every request was answered:", *problems[:10]]))


def main() -> None:
    """Measure on SQLite, then, where it is installed, on a temporary PostgreSQL."""
    compare("SQLite", None)
    postgres = [sys.executable, "tools/with_postgres.py", sys.executable, "-m", "bench.rating"]
    subprocess.run(postgres, cwd=ROOT, check=False)  # prints a message when PostgreSQL is missing


if __name__ == "__main__":
    compare("PostgreSQL", os.environ["DATABASE_URL"])
