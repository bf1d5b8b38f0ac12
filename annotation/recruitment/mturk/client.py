"""The client of Mechanical Turk's API, and requests sent by it, each once."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, partial
from threading import Lock
from typing import Any

from annotation.core.errors import AnnotationError
from annotation.core.reasons import reason
from annotation.models import PlatformAction
from annotation.recruitment.mturk.site import MturkSettings, stand_in_problem
from annotation.recruitment.outbox import Json, PlatformRefused, PlatformUnreachable, State, ask_once, begin

ATTEMPTS = 3  # of one request, with pauses, since MTurk throttles
CONNECT_SECONDS, READ_SECONDS = 5, 20
HASTY_CONNECT, HASTY_READ = 0.5, 2.0  # while a worker waits for a page: at most three seconds with TLS
PAGE = 100
_STAMP = re.compile(r"\s*\([0-9]{10,}( s)?\)\s*$")
_TRANSIENT = frozenset({"ServiceFault", "RequestTimeout", "RequestTimeoutException", "InternalFailure"})
_KEY_REFUSED = frozenset(
    {
        "AccessDeniedException",
        "IncompleteSignature",
        "InvalidSignatureException",
        "MissingAuthenticationToken",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)


_CLIENT_LOCK = Lock()  # making clients is not thread-safe, using them is


@cache
def _session() -> Any:
    """Return the process's session, which reads the API's description once."""
    # Imported here, since boto3 is large and most processes don't need it.
    import boto3  # type: ignore[import-untyped]

    return boto3.session.Session()


class MturkUnreachable(PlatformUnreachable):
    """No usable answer: the request may or may not have taken effect."""


class MturkRefused(PlatformRefused):
    """A refusal by MTurk."""


class KeyMissing(AnnotationError):
    """The channel's environment variables hold no key, or may not be used."""


class MturkClient:
    """A client for one requester account and site.

    Raises: KeyMissing when the channel's variables are unset or another group's, or the address isn't allowed any more.
    """

    def __init__(self, mturk: MturkSettings, *, patient: bool = True) -> None:
        # Imported here, like boto3.
        from botocore.config import Config  # type: ignore[import-untyped]

        if mturk.is_stand_in and (problem := stand_in_problem(mturk.endpoint)):
            raise KeyMissing(problem)
        access, secret = mturk.key
        if not access or not secret:
            if problems := mturk.secret_problems():  # may have changed since the channel was set up
                raise KeyMissing(next(iter(problems.values()))[0])
            missing = " ".join(mturk.text(option, "–") for option in mturk.secrets)
            raise KeyMissing(f"Set these environment variables on the server first: {missing}")
        config = Config(
            connect_timeout=CONNECT_SECONDS if patient else HASTY_CONNECT,
            read_timeout=READ_SECONDS if patient else HASTY_READ,
            retries={"mode": "standard", "total_max_attempts": ATTEMPTS if patient else 1},
        )
        with _CLIENT_LOCK:
            self._client = _session().client(
                "mturk",
                region_name="us-east-1",
                endpoint_url=mturk.endpoint,
                aws_access_key_id=access,
                aws_secret_access_key=secret,
                config=config,
            )

    def call(self, operation: str, **arguments: Any) -> Json:
        """Call an operation, by its name in boto3, with retries.

        Raises: MturkRefused; MturkUnreachable.
        """
        # Imported here, like boto3.
        from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError  # type: ignore[import-untyped]

        try:
            answer: Json = getattr(self._client, operation)(**arguments)
        except ClientError as error:
            raise _error_of(error.response) from None
        except ParamValidationError as error:
            raise MturkRefused(reason("mturk_not_asked", error=str(error))) from None
        except BotoCoreError as error:  # no connection, time-out, or truncated answer
            raise MturkUnreachable(reason("mturk_silent", error=type(error).__name__)) from None
        return answer

    def pages(self, operation: str, key: str, **arguments: Any) -> Iterator[Json]:
        """Yield the items of a paginated list.

        Raises: as `call`.
        """
        token: str | None = None
        while True:
            more = {"NextToken": token} if token else {}
            answer = self.call(operation, MaxResults=PAGE, **arguments, **more)
            yield from answer.get(key, [])
            following = answer.get("NextToken")
            if not following or following == token:
                return
            token = following

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _error_of(response: Mapping[str, Any]) -> AnnotationError:
    """Return the exception for an error response."""
    error = response.get("Error", {})
    code, words = str(error.get("Code", "")), _STAMP.sub("", str(error.get("Message", "")))
    status = int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    if code in _TRANSIENT or "Throttl" in code or status == 429 or status >= 500:
        return MturkUnreachable(reason("mturk_silent", error=code or status))
    if code in _KEY_REFUSED:  # MTurk's message may repeat the key
        return MturkRefused(reason("mturk_key_refused"), code)
    return MturkRefused(words or code, str(response.get("TurkErrorCode") or code))


Send = Callable[[MturkClient, PlatformAction], Json]


@dataclass
class RunSummary:
    """The result of a run. `waiting` counts requests that aren't answered or sent yet. The next run continues them."""

    done: list[str] = field(default_factory=list)
    unchanged: int = 0
    refused: dict[str, str] = field(default_factory=dict)
    waiting: int = 0
    trouble: str = ""

    def summary(self, done: str) -> str:
        """Return the result in one line, which begins with what was done."""
        parts = [f"{done}: {len(self.done)}."]
        if self.unchanged:
            parts.append(f"Done before: {self.unchanged}.")
        if self.refused:
            listed = "; ".join(f"{key}: {words}" for key, words in list(self.refused.items())[:5])
            parts.append(f"Refused: {len(self.refused)} ({listed}).")
        if self.waiting:
            parts.append(f"Not done yet: {self.waiting}. Repeat the action to continue.")
        return " ".join([*parts, self.trouble]).strip()


def send_requests(
    *, client: MturkClient, actions: Iterable[PlatformAction], send: Send, at: datetime, limit: int | None = None
) -> RunSummary:
    """Send the requests that aren't done, one by one. Each attempt is stored before it is sent.

    Stops at the first without an answer, since MTurk is likely unavailable.
    limit : the most requests to send; the rest waits
    """
    summary = RunSummary()
    sent = 0
    for action in actions:
        if action.state == State.DONE:
            summary.unchanged += 1
        elif summary.trouble or (limit is not None and sent >= limit):
            summary.waiting += 1
        else:
            sent += 1
            if not begin(action, at=at):
                summary.unchanged += 1
                continue
            try:
                ask_once(action, partial(send, client), at=at)
                summary.done.append(action.key)
            except MturkUnreachable as trouble:
                summary.waiting += 1
                summary.trouble = str(trouble)
            except MturkRefused as refusal:
                summary.refused[action.key] = str(refusal)
    return summary


def was_done_before(refusal: MturkRefused) -> bool:
    """Tell whether MTurk refuses because it has carried out this request, by its token, already."""
    return "already been processed" in str(refusal) or "already exists" in str(refusal)


def wrong_state(refusal: MturkRefused) -> bool:
    """Tell whether MTurk refuses because of the assignment's state, which may be the intended one."""
    return "can be called with a status of" in str(refusal)


def status_of(client: MturkClient, assignment_id: str) -> Any:
    """Return MTurk's status of a submitted assignment: Submitted, Approved or Rejected.

    Raises: MturkRefused; MturkUnreachable.
    """
    return client.call("get_assignment", AssignmentId=assignment_id)["Assignment"].get("AssignmentStatus")
