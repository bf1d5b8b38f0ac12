"""The client of Prolific's API.

Addresses and fields are those of docs.prolific.com/api-reference: submissions/get-submissions, get-submission and
transition-submission; bonuses/create-bonus-payments and pay-bonus-payments; well-known-endpoints/get-study-jwks.
A Retry-After header, which the documentation of its 429 doesn't mention, is respected.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from django.utils import timezone

from annotation.core.errors import AnnotationError
from annotation.core.http import tls_context
from annotation.core.reasons import reason
from annotation.recruitment.outbox import Json, PlatformRefused, PlatformUnreachable
from annotation.recruitment.prolific.site import ProlificSettings, address_problem

if TYPE_CHECKING:
    from tenacity import RetryCallState

PAGE = 100
MOST_PAGES = 1000
LONGEST_WORDS = 400
HASTY_CONNECT, HASTY_READ = 0.5, 2.0  # with a handshake for the connection and one for TLS
_UNCERTAIN = 500  # from this status on, a request may have taken effect


class ProlificUnreachable(PlatformUnreachable):
    """No usable answer of Prolific. `retry_after` is the seconds that it asks to wait."""

    retry_after: float | None = None


class ProlificRefused(PlatformRefused):
    """A refusal by Prolific. Its code is the HTTP status."""


class TokenMissing(AnnotationError):
    """The channel's environment variable holds no token, or may not be used."""


class ProlificClient:
    """A client for one channel.

    patient : several retries with pauses, for commands; otherwise short enough for a web request
    hasty   : one attempt of three seconds at most, for requests that any visitor can cause
    sleep   : replaces `time.sleep`
    """

    def __init__(
        self,
        prolific: ProlificSettings,
        *,
        patient: bool = True,
        hasty: bool = False,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.given = prolific
        self.hasty = hasty
        self.tries, self.seconds, self.longest_pause = (5, 20.0, 30.0) if patient else (2, 5.0, 2.0)
        if hasty:
            self.tries, self.seconds = 1, HASTY_READ
        self.sleep = sleep

    def submission(self, submission_id: str) -> Json:
        """Return a submission: with participant, study, status, and bonuses in cents."""
        return self._json("GET", f"/api/v1/submissions/{submission_id}/")

    def submissions(self, *, most_pages: int = MOST_PAGES) -> Iterator[Json]:
        """Yield the submissions of the channel's study, page by page.

        Counts pages instead of following addresses in answers; the last page is short, or a 404.
        """
        for page in range(1, most_pages + 1):
            params = {"study": self.given.study_id, "page": str(page), "page_size": str(PAGE)}
            try:
                answer = self._json("GET", "/api/v1/submissions/", params=params)
            except ProlificRefused as refusal:
                if page > 1 and refusal.code == 404:
                    return
                raise
            rows = [row for row in answer.get("results") or [] if isinstance(row, dict)]
            yield from rows
            if len(rows) < PAGE:
                return

    def transition(self, submission_id: str, action: str, **words: str) -> Json:
        """Approve or reject a submission. Idempotent at Prolific."""
        return self._json("POST", f"/api/v1/submissions/{submission_id}/transition/", body={"action": action, **words})

    def set_up_bonus(self, submission_id: str, amount: Decimal) -> Json:
        """Create a bonus, which pays nothing yet. Return its id and amount in cents."""
        body = {"study_id": self.given.study_id, "csv_bonuses": f"{submission_id},{amount:.2f}"}
        return self._json("POST", "/api/v1/submissions/bonus-payments/", body=body)

    def pay_bonus(self, bonus_id: str) -> None:
        """Pay a created bonus. Not idempotent: never retried if the request may have arrived.

        Raises: ProlificUnreachable, whose `may_have_worked` tells whether it may have been paid.
        """
        self._ask("POST", f"/api/v1/bulk-bonus-payments/{bonus_id}/pay/", body={}, pays=True)

    def create_study(self, draft: Json) -> Json:
        """Create a study as a draft. Not repeated once it may have arrived, as a second draft would be created.

        Raises: ProlificRefused, ProlificUnreachable.
        """
        return self._json("POST", "/api/v1/studies/", body=draft, pays=True)

    def study(self) -> Json:
        """Return the channel's study: with its status and places."""
        return self._json("GET", self._study_path)

    def change_study(self, changes: Json) -> Json:
        """Change the channel's study. The same change again changes nothing."""
        return self._json("PATCH", self._study_path, body=changes)

    def change_state(self, action: str) -> Json:
        """Publish, pause or stop the channel's study. Not repeated once it may have arrived."""
        return self._json("POST", f"{self._study_path}transition/", body={"action": action}, pays=True)

    @property
    def _study_path(self) -> str:
        return f"/api/v1/studies/{self.given.study_id}/"

    def signing_keys(self) -> list[Json]:
        """Return the public keys for Prolific's signed links."""
        keys = self._json("GET", "/.well-known/study/jwks.json", with_token=False).get("keys")
        return [key for key in keys if isinstance(key, dict)] if isinstance(keys, list) else []

    def _json(self, method: str, path: str, **more: Any) -> Json:
        response = self._ask(method, path, **more)
        with suppress(ValueError, RecursionError):
            answer = response.json()
            if isinstance(answer, dict):
                return answer
        raise ProlificUnreachable(reason("prolific_silent", error=reason("no_json_object")), may_have_worked=True)

    def _ask(
        self,
        method: str,
        path: str,
        *,
        params: dict[str, str] | None = None,
        body: Json | None = None,
        pays: bool = False,
        with_token: bool = True,
    ) -> Any:
        """Send a request, with retries where they are safe.

        Raises: TokenMissing, ProlificRefused, ProlificUnreachable.
        """
        # Imported here, since most processes don't need them.
        import httpx2
        from tenacity import Retrying, retry_if_exception, stop_after_attempt

        if problem := address_problem(self.given.api):  # may have changed since the channel was set up
            raise ProlificRefused(problem)
        headers = {"Authorization": f"Token {self.require_token()}"} if with_token else {}
        timeout = httpx2.Timeout(self.seconds, connect=HASTY_CONNECT if self.hasty else self.seconds)

        def send() -> Any:
            try:
                response = client.request(method, path, params=params, json=body)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                why = reason("prolific_silent", error=type(error).__name__)
                raise ProlificUnreachable(why, may_have_worked=False) from None
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                why = reason("prolific_silent", error=type(error).__name__)
                raise ProlificUnreachable(why, may_have_worked=True) from None
            if response.is_success:
                return response
            if response.status_code != 429 and response.status_code < _UNCERTAIN:
                raise _refusal(response)
            uncertain = response.status_code >= _UNCERTAIN
            why = reason("prolific_silent", error=response.status_code)
            trouble = ProlificUnreachable(why, may_have_worked=uncertain)
            trouble.retry_after = _retry_after(response.headers.get("Retry-After", ""))
            raise trouble

        def is_safe(error: BaseException) -> bool:
            return isinstance(error, ProlificUnreachable) and not (pays and error.may_have_worked)

        retrying = Retrying(
            retry=retry_if_exception(is_safe),
            stop=stop_after_attempt(self.tries),
            wait=self._pause,
            sleep=self.sleep,
            reraise=True,
        )
        with httpx2.Client(
            base_url=self.given.api, timeout=timeout, verify=tls_context(), trust_env=False, headers=headers
        ) as client:
            return retrying(send)

    def _pause(self, state: "RetryCallState") -> float:
        """Return the seconds that Prolific asks to wait, or a pause that doubles."""
        error = state.outcome and state.outcome.exception()
        retry_after = error.retry_after if isinstance(error, ProlificUnreachable) else None
        return float(min(2.0 ** (state.attempt_number - 1) if retry_after is None else retry_after, self.longest_pause))

    def require_token(self) -> str:
        """Return the token, which is checked before anything is stored.

        Raises: TokenMissing.
        """
        token, name = self.given.token, self.given.text("token_env", "–")
        if not token and (problem := self.given.secret_problems().get("token_env")):
            raise TokenMissing(problem[0])
        if not token:
            raise TokenMissing(f"Set this environment variable on the server first: {name}")
        if not (token.isascii() and token.isprintable()):
            raise TokenMissing(f"{name} holds no token of Prolific.")
        return token


def _retry_after(text: str) -> float | None:
    """Parse a Retry-After header: seconds, or a date."""
    if text.isascii() and text.isdigit():
        return float(text[:9])
    with suppress(ValueError):
        return max((parsedate_to_datetime(text) - timezone.now()).total_seconds(), 0.0)
    return None


def _refusal(response: Any) -> ProlificRefused:
    """Return the exception for a refusal. The answer to a wrong token is not repeated."""
    status = int(response.status_code)
    if status in (401, 403):
        return ProlificRefused(reason("prolific_key_refused"), status)
    words = ""
    with suppress(ValueError, RecursionError):
        answer = response.json()
        error = answer.get("error", answer) if isinstance(answer, dict) else answer
        words = _flat(error.get("detail") or error.get("title") if isinstance(error, dict) else error)
    words = words.replace("\x00", "")[:LONGEST_WORDS]
    return ProlificRefused(reason("prolific_refused", status=status, text=words or "–"), status)


def _flat(value: Any) -> str:
    """Flatten a text, a list of texts, or texts by field into one line."""
    if isinstance(value, dict):
        return "; ".join(f"{name}: {_flat(item)}" for name, item in list(value.items())[:10])
    if isinstance(value, list):
        return " ".join(_flat(item) for item in value[:10])
    return "" if value is None else str(value)[:LONGEST_WORDS]
