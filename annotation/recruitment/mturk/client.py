"""The client of Mechanical Turk's API."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from threading import Lock
from typing import Any

from annotation.core.errors import AnnotationError
from annotation.recruitment.mturk.site import MturkSettings, stand_in_problem
from annotation.recruitment.outbox import Json, PlatformRefused, PlatformUnreachable

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

        names = (mturk.access_key_env, mturk.secret_key_env)
        if mturk.is_stand_in and (problem := stand_in_problem(mturk.endpoint)):
            raise KeyMissing(problem)
        access, secret = mturk.key
        if not access or not secret:
            if problem := mturk.key_problem:  # may have changed since the channel was set up
                raise KeyMissing(problem)
            missing = " ".join(name or "–" for name in names)
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
            raise MturkRefused(f"MTurk can't be asked for this: {error}") from None
        except BotoCoreError as error:  # no connection, time-out, or truncated answer
            raise MturkUnreachable(_no_answer(type(error).__name__)) from None
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
        return MturkUnreachable(_no_answer(code or str(status)))
    if code in _KEY_REFUSED:  # MTurk's message may repeat the key
        return MturkRefused("MTurk does not take the key. Check the environment variables, and the site.", code)
    return MturkRefused(words or code, str(response.get("TurkErrorCode") or code))


def _no_answer(operation: str) -> str:
    return f"MTurk did not answer as it should ({operation}). Nothing is lost or doubled: run this again later."
