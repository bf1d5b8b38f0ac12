"""The one place that talks to Prolific: requests out, answers or plain words back.

Addresses and fields are those of docs.prolific.com/api-reference: submissions/get-submissions, get-submission and
transition-submission; bonuses/create-bonus-payments and pay-bonus-payments; well-known-endpoints/get-study-jwks.
The documentation names no Retry-After header for its 429; where one comes it is kept to.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal
from email.utils import parsedate_to_datetime
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.errors import AnnotationError
from annotation.services.prolific_site import ProlificSettings, address_problem

Json = dict[str, Any]
PAGE = 100
MOST_PAGES = 1000
LONGEST_WORDS = 400
HASTY_CONNECT, HASTY_READ = 0.5, 2.0  # with a handshake for the connection and one for TLS
_UNCERTAIN = 500  # from this status on nobody knows what took effect


class ProlificUnreachable(AnnotationError):
    """No answer, or none that says yes or no. `may_have_worked` tells whether the request could have taken effect."""

    def __init__(self, words: str, *, may_have_worked: bool) -> None:
        self.may_have_worked = may_have_worked
        super().__init__(words)


class ProlificRefused(AnnotationError):
    """Prolific's no, in its own words."""

    def __init__(self, words: str, status: int = 0) -> None:
        self.status = status
        super().__init__(words)


class TokenMissing(AnnotationError):
    """The environment holds no token under the name that the channel gives, or none that it may use."""


class ProlificClient:
    """Requests of one channel.

    patient : several tries with pauses between them, for commands; otherwise what somebody may wait for at a page
    hasty   : one try of three seconds at most, as anybody can have the server ask by coming to its door
    sleep   : how to pause
    """

    def __init__(
        self,
        given: ProlificSettings,
        *,
        patient: bool = True,
        hasty: bool = False,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.given = given
        self.hasty = hasty
        self.tries, self.seconds, self.longest_pause = (5, 20.0, 30.0) if patient else (2, 5.0, 2.0)
        if hasty:
            self.tries, self.seconds = 1, HASTY_READ
        self.sleep = sleep

    def require_token(self) -> None:
        """Make sure that there is a token before anything is begun.

        Raises: TokenMissing.
        """
        self._token()

    def submission(self, submission_id: str) -> Json:
        """Return what Prolific knows of a submission: its participant, its study, its status, its bonuses in cents."""
        return self._json("GET", f"/api/v1/submissions/{submission_id}/")

    def submissions(self, *, most_pages: int = MOST_PAGES) -> Iterator[Json]:
        """Yield the submissions of the channel's study, page by page.

        Pages are counted here and no address in an answer is followed. The last one is short, or isn't there.
        """
        for page in range(1, most_pages + 1):
            params = {"study": self.given.study_id, "page": str(page), "page_size": str(PAGE)}
            try:
                answer = self._json("GET", "/api/v1/submissions/", params=params)
            except ProlificRefused as refusal:
                if page > 1 and refusal.status == 404:
                    return
                raise
            rows = [row for row in answer.get("results") or [] if isinstance(row, dict)]
            yield from rows
            if len(rows) < PAGE:
                return

    def transition(self, submission_id: str, action: str, **words: str) -> Json:
        """Approve or reject a submission; asked twice, Prolific does it once."""
        return self._json("POST", f"/api/v1/submissions/{submission_id}/transition/", body={"action": action, **words})

    def set_up_bonus(self, submission_id: str, amount: Decimal) -> Json:
        """Have Prolific write down a bonus, which pays nothing yet; return its id and what it comes to in cents."""
        body = {"study_id": self.given.study_id, "csv_bonuses": f"{submission_id},{amount:.2f}"}
        return self._json("POST", "/api/v1/submissions/bonus-payments/", body=body)

    def pay_bonus(self, bonus_id: str) -> None:
        """Pay what was written down. Each request that arrives pays again, so none is sent twice that may have arrived.

        Raises: ProlificUnreachable, whose `may_have_worked` tells whether the money may be on its way.
        """
        self._ask("POST", f"/api/v1/bulk-bonus-payments/{bonus_id}/pay/", body={}, pays=True)

    def signing_keys(self) -> list[Json]:
        """Return the public keys that Prolific's signed links are checked with."""
        keys = self._json("GET", "/.well-known/study/jwks.json", with_token=False).get("keys")
        return [key for key in keys if isinstance(key, dict)] if isinstance(keys, list) else []

    def _json(self, method: str, path: str, **more: Any) -> Json:
        response = self._ask(method, path, **more)
        with suppress(ValueError, RecursionError):
            answer = response.json()
            if isinstance(answer, dict):
                return answer
        raise ProlificUnreachable(_unsure(_("an answer that is no JSON object")), may_have_worked=True)

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
        """Send a request, again after a pause where that does no harm.

        Raises: TokenMissing, ProlificRefused, ProlificUnreachable.
        """
        # Loaded here only: web workers that never ask Prolific do without it.
        import httpx2

        if problem := address_problem(self.given.api):  # what was allowed when it was set may not be any more
            raise ProlificRefused(problem)
        headers = {"Authorization": f"Token {self._token()}"} if with_token else {}
        trouble = ProlificUnreachable("", may_have_worked=False)
        timeout = httpx2.Timeout(self.seconds, connect=HASTY_CONNECT if self.hasty else self.seconds)
        with httpx2.Client(base_url=self.given.api, timeout=timeout, trust_env=False, headers=headers) as client:
            for number in range(self.tries):
                wanted = None
                try:
                    response = client.request(method, path, params=params, json=body)
                except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                    trouble = ProlificUnreachable(_unsure(type(error).__name__), may_have_worked=False)
                except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                    trouble = ProlificUnreachable(_unsure(type(error).__name__), may_have_worked=True)
                else:
                    if response.is_success:
                        return response
                    if response.status_code != 429 and response.status_code < _UNCERTAIN:
                        raise _refusal(response)
                    uncertain = response.status_code >= _UNCERTAIN
                    trouble = ProlificUnreachable(_unsure(str(response.status_code)), may_have_worked=uncertain)
                    wanted = _retry_after(response.headers.get("Retry-After", ""))
                if pays and trouble.may_have_worked:
                    raise trouble
                if number + 1 < self.tries:
                    pause = 2.0**number if wanted is None else wanted
                    self.sleep(min(pause, self.longest_pause))
        raise trouble

    def _token(self) -> str:
        token = self.given.token
        if not token and (problem := self.given.token_problem):
            raise TokenMissing(problem)
        if not token:
            name = self.given.token_env or "–"
            raise TokenMissing(_("Set this environment variable on the server first: %(name)s") % {"name": name})
        if not (token.isascii() and token.isprintable()):
            raise TokenMissing(_("%(name)s holds no token of Prolific.") % {"name": self.given.token_env})
        return token


def _retry_after(text: str) -> float | None:
    """Read a Retry-After header: seconds, or a date."""
    if text.isascii() and text.isdigit():
        return float(text[:9])
    with suppress(ValueError):
        return max((parsedate_to_datetime(text) - timezone.now()).total_seconds(), 0.0)
    return None


def _refusal(response: Any) -> ProlificRefused:
    """Turn an answer that says no into words; a refused token's answer is not repeated."""
    status = int(response.status_code)
    if status in (401, 403):
        return ProlificRefused(_("Prolific does not take the token. Check the environment variable."), status)
    words = ""
    with suppress(ValueError, RecursionError):
        answer = response.json()
        error = answer.get("error", answer) if isinstance(answer, dict) else answer
        words = _flat(error.get("detail") or error.get("title") if isinstance(error, dict) else error)
    words = words.replace("\x00", "")[:LONGEST_WORDS]
    told = _("Prolific refuses (%(status)d): %(words)s") % {"status": status, "words": words or "–"}
    return ProlificRefused(told, status)


def _flat(value: Any) -> str:
    """Put a text, a list of texts, or texts by field into one line."""
    if isinstance(value, dict):
        return "; ".join(f"{name}: {_flat(one)}" for name, one in list(value.items())[:10])
    if isinstance(value, list):
        return " ".join(_flat(one) for one in value[:10])
    return "" if value is None else str(value)[:LONGEST_WORDS]


def _unsure(what: str) -> str:
    return _(
        "Prolific did not answer as it should (%(what)s). Nothing is lost or doubled: try the same again later."
    ) % {"what": what}
