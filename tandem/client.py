"""A client of the API.

    from tandem.client import Tandem

    with Tandem("https://tandem.example.org", token) as tandem:
        for rating in tandem.rows("ratings", study="cnndm"):
            ...

Paths are those of the page /api/v1/docs/, without /api/v1/. A POST is sent again where its answer was lost or the server was busy; it is done
once, by its `Idempotency-Key`.
"""

import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx2
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    retry_if_result,
    stop_after_attempt,
)

Json = dict[str, Any]
TRIES = 5
LONGEST_PAUSE = 60.0  # seconds between two tries
DONE, FAILED, ENDED = "done", "failed", ("done", "failed", "cancelled", "paused", "stopped")


class ApiError(Exception):
    """A request that was refused: status, the server's reason, and what is wrong with which field or line."""

    def __init__(self, status: int, answer: Mapping[str, Any]) -> None:
        self.status = status
        self.fields: dict[str, list[str]] = answer.get("fields", {})
        self.lines: list[Json] = answer.get("lines", [])
        super().__init__(f"{status}: {answer.get('detail', answer)}")


class Tandem:
    """A Tandem server, used in the name of a token's owner."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float = 60,
        transport: httpx2.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._http = httpx2.Client(
            base_url=f"{url.rstrip('/')}/api/v1/",
            headers={"Authorization": f"Token {token}"},
            timeout=timeout,
            transport=transport,
        )
        self._sleep = sleep

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def get(self, path: str, **query: Any) -> Any:
        """Return what is at a path, as JSON."""
        return self._send("GET", path, params=query).json()

    def post(self, path: str, **values: Any) -> Any:
        """Send values and return the answer, None where there is none."""
        answer = self._send("POST", path, json=values, headers={"Idempotency-Key": uuid.uuid4().hex})
        return answer.json() if answer.content else None

    def patch(self, path: str, **values: Any) -> Any:
        """Change values and return the answer."""
        return self._send("PATCH", path, json=values).json()

    def rows(self, path: str, *, page_size: int = 1000, **query: Any) -> Iterator[Json]:
        """Yield the rows of a list, page by page."""
        page = self.get(path if path.endswith("/") else f"{path}/", page_size=page_size, **query)
        yield from page["results"]
        while page["next"]:
            page = self._send("GET", page["next"]).json()
            yield from page["results"]

    def create_study(self, slug: str, **settings: Any) -> Json:
        """Create a study."""
        study: Json = self.post("studies/", slug=slug, **settings)
        return study

    def upload(self, slug: str, file: Path | str | Sequence[Path | str], *, kind: str = "study", **options: str) -> str:
        """Import a file, or several of one data set, waiting for the worker where they are large. Return what was added.

        kind : as of `import/`; auto for that which the fields of the file show
        Raises: ApiError, with the bad `lines`, if it was refused; nothing is stored then.
        """
        paths = [Path(item) for item in ([file] if isinstance(file, Path | str) else file)]
        with ExitStack() as stack:
            sent = [("file", (path.name, stack.enter_context(path.open("rb")))) for path in paths]
            data = {"kind": kind, **options}
            answer = self._send("POST", f"studies/{slug}/import/", data=data, files=sent, tries=1)
        result: Json = answer.json()
        if result["status"] != DONE:
            result = self.wait(f"studies/{slug}/imports/{result['key']}/")
        if result["status"] == FAILED:
            raise ApiError(422, result)
        return str(result["detail"])

    def members(self, slug: str) -> list[Json]:
        """Return who has which role in a study. Takes a token with the scope personal."""
        return list(self.rows(f"studies/{slug}/members"))

    def add_member(self, slug: str, username: str, role: str, *, new: bool = False) -> Json:
        """Give an account a role in a study."""
        member: Json = self.post(f"studies/{slug}/members/", username=username, role=role, new=new)
        return member

    def set_aspects(self, slug: str, aspects: Sequence[str]) -> Json:
        """Store a list of aspects, the most important one first, as the next version."""
        version: Json = self.post(f"studies/{slug}/aspects/", aspects=list(aspects))
        return version

    def distil_aspects(self, slug: str, endpoint: str, **settings: Any) -> Json:
        """Have a worker distil the aspects of a study's texts, wait for it, and return them."""
        path = f"studies/{slug}/aspects/"
        self.post(f"{path}distil/", endpoint=endpoint, **settings)
        return self._done(path, lambda result: result["distillation"])

    def sample_texts(self, slug: str, system: str, endpoint: str, **settings: Any) -> Json:
        """Have a worker sample a system's texts, wait for it, and return the system with its settings."""
        path = f"studies/{slug}/sampling/"
        self.post(path, system=system, endpoint=endpoint, **settings)
        work = self._done(path, lambda result: _named(result["systems"], system)["work"])
        return _named(work["systems"], system)

    def make_tables(self, slug: str, endpoint: str, **settings: Any) -> Json:
        """Queue a run that makes comparison tables. See `wait`."""
        run: Json = self.post(f"studies/{slug}/tables/", endpoint=endpoint, **settings)
        return run

    def add_judge(self, name: str, method: str, **settings: Any) -> Json:
        """Add a judge."""
        judge: Json = self.post("judges/", name=name, method=method, **settings)
        return judge

    def add_jury(self, slug: str, name: str, members: Sequence[str], *, rule: str = "majority") -> Json:
        """Add a jury of judges that have run on a study and return its run, which is done."""
        run: Json = self.post(f"studies/{slug}/juries/", name=name, members=list(members), rule=rule)
        return run

    def tune_judge(self, slug: str, judge: str, budget: int, **settings: Any) -> Json:
        """Queue the tuning of a judge on people's votes. `tunings/` of the study has its progress."""
        tuning: Json = self.post(f"studies/{slug}/tunings/", judge=judge, budget=budget, **settings)
        return tuning

    def create_batch(self, slug: str, name: str, *, dataset: str, systems: tuple[str, str], **settings: Any) -> Json:
        """Create a batch of a configuration."""
        batch: Json = self.post("batches/", study=slug, name=name, dataset=dataset, systems=list(systems), **settings)
        return batch

    def invite(self, slug: str, count: int, **settings: Any) -> list[Json]:
        """Create nameless raters, and a one-time link for each."""
        links: list[Json] = self.post(f"studies/{slug}/invitations/", count=count, **settings)
        return links

    def estimate(self, slug: str, judge: str, **pairs: Any) -> Json:
        """Estimate the calls, tokens and cost of a run."""
        estimate_: Json = self.post("runs/estimate/", study=slug, judge=judge, **pairs)
        return estimate_

    def run_judge(self, slug: str, judge: str, **settings: Any) -> Json:
        """Queue a run of a judge for the server's worker. See `wait`."""
        run: Json = self.post("runs/", study=slug, judge=judge, **settings)
        return run

    def wait(self, path: str, *, every: float = 2.0, longest: float = 86_400) -> Json:
        """Return a run or a file once it has ended, by its path. What has failed is returned too.

        Raises: TimeoutError after `longest` seconds.
        """
        return self._ended(path, lambda resource: resource, every=every, longest=longest)

    def findings(self, slug: str, **filters: Any) -> Json:
        """Return the findings of a study. Waits while they are computed for the first time."""
        numbers: Json = self.get(f"studies/{slug}/findings/", **filters)
        return numbers

    def accuracy(self, slug: str) -> Json:
        """Return how often judges are right where there is gold."""
        numbers: Json = self.get(f"studies/{slug}/accuracy/")
        return numbers

    def logic(self, slug: str, **query: str) -> Json:
        """Return how consistent raters are with themselves."""
        numbers: Json = self.get(f"studies/{slug}/logic/", **query)
        return numbers

    def disagreements(self, slug: str, *, page_size: int = 100, **filters: Any) -> Iterator[Json]:
        """Yield the pairs on which raters disagree, the largest disagreement first."""
        page = 0
        while True:
            page += 1
            results = self.get(f"studies/{slug}/disagreements/", page=page, page_size=page_size, **filters)["results"]
            if not results:
                return
            yield from results

    def export(self, slug: str, kind: str, out: Path | str, *, form: str = "jsonl") -> Path:
        """Save the rows of one kind as a file."""
        return self._save(f"studies/{slug}/exports/{kind}/", Path(out), format=form)

    def make_file(self, slug: str, kind: str, out: Path | str, **choices: Any) -> Path:
        """Have a file of one kind made (`POST studies/SLUG/files/`), wait for it, and save it as a zip file.

        Raises: ApiError if it can't be made.
        """
        file = self.post(f"studies/{slug}/files/", kind=kind, **choices)
        file = self.wait(f"studies/{slug}/files/{file['key']}/")
        if file["status"] != DONE:
            raise ApiError(409, {"detail": file["message"]})
        return self._save(f"studies/{slug}/files/{file['key']}/content/", Path(out))

    def _done(self, path: str, work: Callable[[Json], Json]) -> Json:
        """Return what is at a path once the work that it tells of has ended.

        Raises: ApiError if that failed; TimeoutError after a day.
        """
        state = self._ended(path, work)
        if (ended := work(state))["status"] == FAILED:
            raise ApiError(409, {"detail": ended["error"]})
        return state

    def _ended(self, path: str, work: Callable[[Json], Json], *, every: float = 2.0, longest: float = 86_400) -> Json:
        until = time.monotonic() + longest
        while (status := work(state := self.get(path))["status"]) not in ENDED:
            if time.monotonic() > until:
                raise TimeoutError(f"{path} is {status} after {longest:g} seconds")
            self._sleep(every)
        return dict(state)

    def _save(self, path: str, out: Path, **query: str) -> Path:
        """Save a file under its name once it is complete."""
        partial = out.with_name(f".{out.name}.part")
        with self._http.stream("GET", path, params=query) as answer, partial.open("wb") as file:
            if answer.is_error:
                answer.read()
                partial.unlink()
                raise _refusal(answer)
            for chunk in answer.iter_bytes():
                file.write(chunk)
        return partial.replace(out)

    def _send(self, method: str, path: str, *, tries: int = TRIES, **content: Any) -> httpx2.Response:
        """Send a request, again while the server is busy or can't be reached. PATCH sets the same values again."""
        retrying = Retrying(
            retry=retry_if_exception_type(httpx2.TransportError) | retry_if_result(_is_busy),
            stop=stop_after_attempt(tries),
            wait=_pause,
            sleep=self._sleep,
            retry_error_callback=lambda state: state.outcome.result(),  # type: ignore[union-attr]  # it has one
        )
        answer: httpx2.Response = retrying(self._http.request, method, path, **content)
        if answer.is_error:
            raise _refusal(answer)
        return answer


def _is_busy(answer: httpx2.Response) -> bool:
    return answer.status_code == 503


def _pause(state: RetryCallState) -> float:
    """Return the seconds that the server asks to wait, or a pause that doubles where it can't be reached."""
    if state.outcome is None or state.outcome.failed:
        return 2.0**state.attempt_number
    return min(LONGEST_PAUSE, float(state.outcome.result().headers.get("Retry-After", "2")))


def _named(systems: list[Json], name: str) -> Json:
    return next(system for system in systems if system["name"] == name)


def _refusal(answer: httpx2.Response) -> ApiError:
    try:
        refusal = answer.json()
    except ValueError:
        refusal = {"detail": answer.text[:500]}
    return ApiError(answer.status_code, refusal if isinstance(refusal, dict) else {"detail": refusal})
