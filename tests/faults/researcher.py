"""The researcher of a run with faults, in a browser: uploads, downloads, and work for the worker, one after the other."""

import asyncio
import csv
import io
from collections import Counter
from dataclasses import dataclass, field
from random import Random

import aiohttp

from tests.faults.database import lines
from tests.stress.database import STUDY
from tests.stress.run import token

LOST = (aiohttp.ClientError, asyncio.TimeoutError, ConnectionError)
INSTANCES = 30  # of an upload


@dataclass
class Done:
    """What the researcher did.

    uploads : by the study's name, whether the server said that it is stored; None when it gave no answer
    """

    uploads: dict[str, bool | None] = field(default_factory=dict)
    steps: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


class Researcher:
    """Takes random steps until told to stop."""

    def __init__(self, link: str, address: str, draw: Random) -> None:
        self.link, self.address, self.draw = link, address, draw
        self.done = Done()
        self.session: aiohttp.ClientSession

    async def work(self, ended: asyncio.Event) -> None:
        """Work until the raters are done."""
        study = f"{self.address}/studies/{STUDY}/"
        steps = (
            self.upload,
            lambda: self.rows(f"{study}export/ratings.csv"),
            lambda: self.read(f"{study}findings.json"),
            lambda: self.send("bundle", f"{study}files/bundle/", contents="texts"),
            lambda: self.send("report", f"{study}files/report/"),
            lambda: self.send(
                "separability", f"{study}separability/", similarity=self.draw.choice(["rouge1", "chrf"]), group="0,1"
            ),
        )
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(force_close=True),
            cookie_jar=aiohttp.CookieJar(unsafe=True),
            timeout=aiohttp.ClientTimeout(total=60),
        ) as self.session:
            while not await self.send("sign-in", self.link):
                await asyncio.sleep(1)
            while not ended.is_set():
                await self.draw.choice(steps)()

    async def upload(self) -> None:
        """Make a study of a file."""
        name = f"upload-{len(self.done.uploads)}"
        form = aiohttp.FormData({"slug": name, "title": name, "template": "blank"})
        form.add_field("file", lines(INSTANCES), filename="study.jsonl")
        self.done.uploads[name] = await self.send("upload", f"{self.address}/studies/new/", form)

    async def rows(self, address: str) -> None:
        """Download rows: a file that has arrived whole has whole rows, and none of them twice."""
        if (text := await self.read(address)) is not None:
            head, *rows = map(tuple, csv.reader(io.StringIO(text, newline="")))
            if {len(row) for row in rows} - {len(head)} or len(set(rows)) < len(rows):
                self.done.problems.append(f"{address}: rows are broken or doubled")

    async def read(self, address: str) -> str | None:
        """Load an address; None when the answer did not arrive or the database is away."""
        try:
            async with self.session.get(address) as answer:
                text = await answer.text()
        except LOST:
            self.done.steps["response lost"] += 1
            return None
        if answer.url.path.startswith("/login/"):  # the browser may use its link again
            await self.send("sign-in", self.link)
            return None
        return text if self.took(address.rsplit("/", 1)[-1], answer.status, text) else None

    async def send(self, what: str, address: str, form: aiohttp.FormData | None = None, **fields: str) -> bool | None:
        """Send a form; tell whether the server took it, None when it did not say."""
        try:
            async with self.session.get(self.link if what == "sign-in" else f"{self.address}/studies/new/") as page:
                form = form or aiohttp.FormData(fields)
                form.add_field("csrfmiddlewaretoken", token(await page.text()))
            async with self.session.post(address, data=form, allow_redirects=False) as answer:
                if what == "upload" and answer.headers.get("Location", "").endswith("/upload/"):
                    self.done.steps["said to be without its file"] += 1
                    return False
                return self.took(what, answer.status, await answer.text())
        except LOST:
            self.done.steps["response lost"] += 1
            return None

    def took(self, what: str, status: int, text: str) -> bool:
        """Count an answer: 503 says that the database is away, 409 or 422 that the disk is full; other errors must never occur."""
        if status == 503:
            self.done.steps["said to be unavailable"] += 1
        elif status in (409, 422) and "No space left on device" in text:
            self.done.steps["said to have no space"] += 1
        elif status >= 400 and not (status == 403 and not text.count("csrfmiddlewaretoken")):
            self.done.problems.append(f"{what}: {status} {text[:300]}")
        else:
            self.done.steps[what] += 1
        return status < 400
