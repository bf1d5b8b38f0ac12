"""The rate limiter of an endpoint, with a virtual clock: which calls wait, and which proceed."""

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from judging.core.errors import RejectedCall, RunStopped, TransientFailure
from judging.endpoints.chat_answers import ChatAnswer, read_answer
from judging.endpoints.rate_limiter import Clock, RateLimiter
from judging.endpoints.retrying import RetryingClient, RetryPolicy
from tests.fakes import Body


class VirtualClock(Clock):
    """Time that passes only when all tasks wait: then it jumps to the next one that is due."""

    def __init__(self) -> None:
        super().__init__()
        self.time = 0.0
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.time + seconds, future))
        await future

    async def run(self, *work: Coroutine[Any, Any, Any]) -> list[Any]:
        tasks = [asyncio.create_task(one) for one in work]
        while not all(task.done() for task in tasks):
            for _ in range(50):
                await asyncio.sleep(0)
            if self._sleepers and not all(task.done() for task in tasks):
                self._sleepers.sort(key=lambda sleeper: sleeper[0])
                self.time, future = self._sleepers.pop(0)
                if not future.done():
                    future.set_result(None)
        return await asyncio.gather(*tasks, return_exceptions=True)


class Endpoint:
    """An endpoint that takes its time; `react` says what comes of a call, by its number and the calls under way."""

    def __init__(self, clock: Clock, react: Callable[[int, int], Exception | None], *, seconds: float = 1.0) -> None:
        self.clock = clock
        self.react = react
        self.seconds = seconds
        self.times: list[float] = []
        self.under_way = self.most = 0

    async def complete(self, body: Body) -> ChatAnswer:
        self.times.append(self.clock.now())
        failure = self.react(len(self.times), self.under_way + 1)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await self.clock.sleep(0.01 if failure else self.seconds)
        finally:
            self.under_way -= 1
        if failure:
            raise failure
        return read_answer('{"choices": [{"message": {"content": "A"}}]}')

    async def close(self) -> None:
        """Nothing is open."""


def play(
    react: Callable[[int, int], Exception | None],
    *,
    calls: int,
    most: int,
    set_up: Callable[[RateLimiter], None] = lambda limiter: None,
    tokens: float = 0,
    policy: RetryPolicy | None = None,
) -> tuple[Endpoint, list[Any], RateLimiter]:
    """Put so many calls through a gate; returns the endpoint, what came of each, and the gate."""

    async def main() -> tuple[Endpoint, list[Any], RateLimiter]:
        clock = VirtualClock()
        limiter = RateLimiter(most, clock=clock)
        set_up(limiter)
        endpoint = Endpoint(clock, react)
        client = RetryingClient(endpoint, rng=random.Random(1), policy=policy)
        client.clock = clock

        async def one(number: int) -> ChatAnswer:
            answer = await client.complete({"number": number}, limiter=limiter, tokens=tokens)
            limiter.release()
            return answer

        return endpoint, await clock.run(*(one(number) for number in range(calls))), limiter

    return asyncio.run(main())


def fine(number: int, under_way: int) -> None:
    """Let every call have its answer."""


def failed(results: list[Any]) -> list[Any]:
    return [one for one in results if isinstance(one, BaseException)]


def test_places_are_all_used_and_never_more() -> None:
    endpoint, results, limiter = play(fine, calls=40, most=4)
    assert (endpoint.most, endpoint.clock.now(), failed(results), limiter.in_flight) == (4, 10.0, [], 0)


def test_requests_of_a_minute_are_bounded() -> None:
    endpoint, results, _ = play(fine, calls=50, most=50, set_up=lambda limiter: limiter.set_limits(20, None))
    assert failed(results) == []
    for start in endpoint.times:
        assert sum(start <= time < start + 60 for time in endpoint.times) <= 20
    assert endpoint.times[-1] == pytest.approx(60 * 49 / 20, rel=0.001)


@pytest.mark.slow
def test_overload_is_answered_with_fewer_calls_and_nothing_is_lost() -> None:
    def busy(number: int, under_way: int) -> Exception | None:
        return TransientFailure("HTTP 429", throttled=True) if under_way > 6 else None

    endpoint, results, limiter = play(busy, calls=600, most=64)
    assert failed(results) == []
    assert limiter.concurrency.allowed < 20
    assert len(endpoint.times) < 1.5 * 600


def test_retry_after_is_waited_for_by_all_when_the_endpoint_is_overloaded() -> None:
    def closed(number: int, under_way: int) -> Exception | None:
        return TransientFailure("HTTP 429", retry_after=30) if endpoint_time[0]() < 20 else None

    endpoint_time: list[Callable[[], float]] = [lambda: 0.0]

    def set_up(limiter: RateLimiter) -> None:
        endpoint_time[0] = limiter.clock.now

    endpoint, results, _ = play(closed, calls=100, most=64, set_up=set_up)
    assert failed(results) == []
    assert not [time for time in endpoint.times if 1 < time < 30]
    assert sum(time < 1 for time in endpoint.times) < 80


def test_waiting_for_another_try_leaves_the_place_to_others() -> None:
    def first_fails(number: int, under_way: int) -> Exception | None:
        return TransientFailure("HTTP 500") if number == 1 else None

    endpoint, results, _ = play(first_fails, calls=5, most=1)
    assert failed(results) == []
    assert endpoint.times[1] == pytest.approx(0.01)  # the second call does not wait for the first one's pause


def test_a_dead_endpoint_is_given_up_with_its_reason_and_few_calls() -> None:
    endpoint, results, _ = play(lambda *_: TransientFailure("HTTP 500: oops"), calls=100, most=16)
    assert {type(one) for one in failed(results)} == {RunStopped}
    assert len(failed(results)) == 100
    assert "the last one: HTTP 500: oops" in str(results[0])
    assert len(endpoint.times) <= 2 * 16 + 8
    assert 60 < endpoint.clock.now() < 300


@pytest.mark.slow
def test_an_endpoint_that_comes_back_within_a_minute_costs_no_call_its_answer() -> None:
    now: list[Callable[[], float]] = []

    def away(number: int, under_way: int) -> Exception | None:
        return TransientFailure("no connection") if 5 < now[0]() < 50 else None

    endpoint, results, _ = play(away, calls=400, most=16, set_up=lambda limiter: now.append(limiter.clock.now))
    assert failed(results) == []
    assert sum(5 < time < 50 for time in endpoint.times) < 40


def test_one_question_that_always_fails_ends_alone() -> None:
    class Poisoned(Endpoint):
        async def complete(self, body: Body) -> ChatAnswer:
            self.react = (lambda *_: TransientFailure("HTTP 500")) if body["number"] == 3 else fine
            return await super().complete(body)

    async def main() -> list[Any]:
        clock = VirtualClock()
        limiter = RateLimiter(4, clock=clock)
        client = RetryingClient(Poisoned(clock, fine))
        client.clock = clock

        async def one(number: int) -> None:
            await client.complete({"number": number}, limiter=limiter)
            limiter.release()

        return await clock.run(*(one(number) for number in range(12)))

    results = asyncio.run(main())
    assert [type(one) for one in results if one is not None] == [TransientFailure]
    assert "(tried 10 times)" in str(results[3])


def test_refused_requests_do_not_open_the_breaker() -> None:
    _, results, limiter = play(lambda *_: RejectedCall("HTTP 400"), calls=50, most=4)
    assert {type(one) for one in results} == {RejectedCall}
    assert not limiter.breaker.is_open


def test_a_call_that_is_given_up_half_way_leaves_its_place() -> None:
    async def main() -> tuple[int, int]:
        limiter = RateLimiter(1)

        class Silent:
            async def complete(self, body: Body) -> ChatAnswer:
                await asyncio.Event().wait()
                raise AssertionError

            async def close(self) -> None:
                """Nothing is open."""

        client = RetryingClient(Silent())
        tasks = [asyncio.create_task(client.complete({}, limiter=limiter)) for _ in range(2)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        before = limiter.in_flight
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return before, limiter.in_flight + limiter.waiting

    assert asyncio.run(main()) == (1, 0)
