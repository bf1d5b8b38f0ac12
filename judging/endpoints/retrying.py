"""Clients that retry after transient failures, by exponential back-off with jitter and Retry-After, and checks before calls."""

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception

from annotation.core.reasons import reason
from judging.core.errors import CallFailed, EndpointRefused, RunStopped, TransientFailure
from judging.endpoints.chat_answers import ChatAnswer
from judging.endpoints.checks import UnresolvedHost, check_host, check_key_env
from judging.endpoints.client import ChatClient, OpenAIClient
from judging.endpoints.rate_limiter import Clock, RateLimiter, Sleep
from judging.models import Endpoint

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RetryPolicy:
    """The number of retries, and their pauses in seconds."""

    attempts: int = 10
    first_pause: float = 1.0
    longest_pause: float = 30.0
    longest_retry_after: float = 600.0

    def pause(self, attempt: int, rng: random.Random) -> float:
        """Return the pause after a failed attempt (from 0): doubling, with jitter over its upper half."""
        ceiling = min(self.longest_pause, self.first_pause * 2.0**attempt)
        return ceiling * (0.5 + rng.random() / 2)

    def may_retry(self, error: BaseException) -> bool:
        """Tell whether the same request may be sent again: not one that was charged, as the budget may not allow another.

        Raises: TransientFailure with the reason, where the endpoint asks to wait for too long.
        """
        if not isinstance(error, TransientFailure) or error.charged is not None:
            return False
        if error.retry_after is not None and error.retry_after > self.longest_retry_after:
            wait = reason("asked_to_wait", why=error.reason, seconds=error.retry_after)
            raise TransientFailure(wait, kind=error.kind)
        return True


class RetryingClient:
    """A client that retries transient failures. While it waits, it holds no permit of the rate limiter.

    calls, errors : requests sent, and failures by kind
    """

    def __init__(
        self,
        client: ChatClient,
        *,
        policy: RetryPolicy | None = None,
        rng: random.Random | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.client = client
        self.policy = policy or RetryPolicy()
        self.rng = rng or random.Random()  # for jitter only: no result depends on it
        self.clock = Clock(sleep)
        self.calls = 0
        self.errors: Counter[str] = Counter()

    async def complete(
        self, body: Mapping[str, Any], *, limiter: RateLimiter | None = None, tokens: float = 0.0
    ) -> ChatAnswer:
        """Return the first answer. The caller has to release its place in the rate limiter once the answer is stored.

        Raises: CallFailed after the last attempt, or after one that was charged for; its place is then free again.
        """

        try:
            return await self._once(body, limiter, tokens)
        except CallFailed as error:
            if not self.policy.may_retry(error):
                raise
            failures = [error]

        async def attempt() -> ChatAnswer:
            # The first attempt is over: nearly all calls end there, and a tenth of their time would be tenacity's.
            if failures:
                raise failures.pop()
            return await self._once(body, limiter, tokens)

        def gives_up(state: RetryCallState) -> bool:
            # While the breaker is open, the failure is not this request's fault.
            return state.attempt_number >= self.policy.attempts and not (limiter and limiter.breaker.is_open)

        retrying = AsyncRetrying(
            retry=retry_if_exception(self.policy.may_retry),
            stop=gives_up,
            wait=self._pause,
            sleep=self.clock.sleep,
            retry_error_callback=_raise_last,
        )
        return await retrying(attempt)

    async def _once(self, body: Mapping[str, Any], limiter: RateLimiter | None, tokens: float) -> ChatAnswer:
        permit = await limiter.acquire(tokens) if limiter else None
        self.calls += 1
        try:
            answer = await self.client.complete(body)
        except CallFailed as failure:
            self.errors[failure.kind] += 1
            if limiter and permit:
                limiter.record_failure(permit, id(body), failure)
            raise
        except BaseException:
            if limiter and permit:
                limiter.record_cancelled(permit)
            raise
        if limiter and permit:
            limiter.record_success(permit)
        return answer

    def _pause(self, state: RetryCallState) -> float:
        pause = wanted_pause(state)
        if pause is None:
            return self.policy.pause(state.attempt_number - 1, self.rng)
        return pause + self.policy.first_pause * self.rng.random() / 4

    async def close(self) -> None:
        """Close the client."""
        await self.client.close()


def wanted_pause(state: RetryCallState) -> float | None:
    """Return the seconds that the endpoint asks to wait after a failed attempt."""
    error = state.outcome and state.outcome.exception()
    return error.retry_after if isinstance(error, TransientFailure) else None


def _raise_last(state: RetryCallState) -> NoReturn:
    """Raise the last failure, with the number of attempts."""
    error = state.outcome and state.outcome.exception()
    if not isinstance(error, CallFailed):
        raise TypeError("only failed calls are tried again")
    why = reason("tried_times", why=error.reason, number=state.attempt_number)
    raise TransientFailure(why, kind=error.kind) from None


MakeClient = Callable[[Endpoint], RetryingClient]


def retrying_client(endpoint: Endpoint) -> RetryingClient:
    """Return a client that retries transient failures."""
    return RetryingClient(OpenAIClient(endpoint))


@contextmanager
def checked(*endpoints: Endpoint | None) -> Iterator[None]:
    """Check endpoints' hosts and keys again before the calls within. Addresses, for site admins only, go to the log.

    Raises: RunStopped if one of them may not be called
    """
    endpoint = endpoints[0]
    try:
        for endpoint in filter(None, endpoints):
            check_host(endpoint.base_url)
            check_key_env(endpoint.key_env)
        yield
    except EndpointRefused as error:
        log.warning("endpoint %s: %s", endpoint, error)
        code = "host_not_found" if isinstance(error, UnresolvedHost) else "host_not_public"
        raise RunStopped(reason(code, endpoint=str(endpoint))) from None
