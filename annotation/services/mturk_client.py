"""The one place that talks to Mechanical Turk: requests out, answers or plain words back."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from threading import Lock
from typing import Any

from django.utils.translation import gettext as _

from annotation.errors import AnnotationError
from annotation.services.mturk_site import MturkSettings, stand_in_problem

Json = dict[str, Any]
ATTEMPTS = 3  # of one request, with pauses between them: MTurk slows down whoever asks often
CONNECT_SECONDS, READ_SECONDS = 5, 20
HASTY_CONNECT, HASTY_READ = 0.5, 2.0  # while a worker waits for a page: three seconds in all, with TLS
PAGE = 100
_STAMP = re.compile(r"\s*\([0-9]{10,}( s)?\)\s*$")
_PASSING = frozenset({"ServiceFault", "RequestTimeout", "RequestTimeoutException", "InternalFailure"})
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


_MAKING = Lock()  # a session makes one client at a time; the clients may be used at the same time


@cache
def _session() -> Any:
    """Return the process's session, which reads the description of the API once."""
    # Loaded here only: boto3 is large, and pages that don't talk to MTurk do without it.
    import boto3  # type: ignore[import-untyped]

    return boto3.session.Session()


class MturkUnreachable(AnnotationError):
    """No answer, or none that says yes or no: whether the request took effect is not known."""


class MturkRefused(AnnotationError):
    """MTurk's no, in its own words."""

    def __init__(self, words: str, code: str = "") -> None:
        self.code = code
        super().__init__(words)


class KeyMissing(AnnotationError):
    """The environment holds no key under the names that the channel gives, or none that it may use so."""


class MturkClient:
    """Requests of one requester account to one site.

    Raises: KeyMissing when the channel's variables are not set, or another group's, or the address isn't allowed any more.
    """

    def __init__(self, given: MturkSettings, *, patient: bool = True) -> None:
        # Loaded here only, as boto3 is.
        from botocore.config import Config  # type: ignore[import-untyped]

        names = (given.access_key_env, given.secret_key_env)
        if given.is_stand_in and (problem := stand_in_problem(given.endpoint)):
            raise KeyMissing(problem)
        if problem := given.key_problem:  # what was allowed when it was set may not be any more
            raise KeyMissing(problem)
        access, secret = given.key
        if not access or not secret:
            missing = " ".join(name or "–" for name in names)
            raise KeyMissing(_("Set these environment variables on the server first: %(names)s") % {"names": missing})
        config = Config(
            connect_timeout=CONNECT_SECONDS if patient else HASTY_CONNECT,
            read_timeout=READ_SECONDS if patient else HASTY_READ,
            retries={"mode": "standard", "total_max_attempts": ATTEMPTS if patient else 1},
        )
        with _MAKING:
            self._client = _session().client(
                "mturk",
                region_name="us-east-1",
                endpoint_url=given.endpoint,
                aws_access_key_id=access,
                aws_secret_access_key=secret,
                config=config,
            )

    def call(self, operation: str, **arguments: Any) -> Json:
        """Ask once, with the pauses and retries of the settings; `operation` as boto3 names it.

        Raises: MturkRefused; MturkUnreachable.
        """
        # As above: loaded with boto3 only.
        from botocore.exceptions import (  # type: ignore[import-untyped]
            BotoCoreError,
            ClientError,
            ParamValidationError,
        )

        try:
            answer: Json = getattr(self._client, operation)(**arguments)
        except ClientError as error:
            raise _told(error.response) from None
        except ParamValidationError as error:
            raise MturkRefused(_("MTurk can't be asked for this: %(why)s") % {"why": error}) from None
        except BotoCoreError as error:  # no connection, no answer in time, or an answer cut short
            raise MturkUnreachable(_unsure(type(error).__name__)) from None
        return answer

    def pages(self, operation: str, key: str, **arguments: Any) -> Iterator[Json]:
        """Ask for a list page by page.

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


def _told(response: Mapping[str, Any]) -> AnnotationError:
    """Turn MTurk's error into a refusal, or into not knowing."""
    error = response.get("Error", {})
    code, words = str(error.get("Code", "")), _STAMP.sub("", str(error.get("Message", "")))
    status = int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    if code in _PASSING or "Throttl" in code or status == 429 or status >= 500:
        return MturkUnreachable(_unsure(code or str(status)))
    if code in _KEY_REFUSED:  # its own words may repeat what was sent
        return MturkRefused(_("MTurk does not take the key. Check the environment variables, and the site."), code)
    return MturkRefused(words or code, str(response.get("TurkErrorCode") or code))


def _unsure(what: str) -> str:
    return _("MTurk did not answer as it should (%(what)s). Nothing is lost or doubled: run this again later.") % {
        "what": what
    }
