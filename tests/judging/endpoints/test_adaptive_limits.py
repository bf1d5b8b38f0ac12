"""Limits over a clock of the tests' own: what a minute may hold, how many calls at once, and when to stop asking."""

import random
from bisect import bisect_left

import pytest

from judging.endpoints.rate_limiter import AdaptiveConcurrency, CircuitBreaker, ProbePolicy, TokenBucket


def sent_in(bucket: TokenBucket, seconds: float, *, amount: float = 1.0) -> list[float]:
    """Send as fast as a bucket lets, and return when each was sent."""
    now, times = 0.0, []
    while now < seconds:
        if (wait := bucket.wait(now, amount)) > 0:
            now += wait
            continue
        bucket.take(now, amount)
        times.append(now)
    return times


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1, 7, 60, 500, 10_000])
def test_no_minute_holds_more_than_its_limit_and_little_is_wasted(limit: int) -> None:
    times = sent_in(TokenBucket(limit), 300)
    for start in times[:: max(1, limit // 20)]:
        assert bisect_left(times, start + 60) - bisect_left(times, start) <= limit
    assert len(times) >= 0.97 * 5 * limit


def test_bucket_without_a_limit_lets_everything_through() -> None:
    bucket = TokenBucket()
    assert [bucket.wait(0, 1e9), bucket.take(0, 1e9), bucket.wait(0, 1e9)] == [0, None, 0]


def test_tokens_are_paid_for_afterwards_when_a_call_is_larger_than_the_bucket() -> None:
    times = sent_in(TokenBucket(6000), 600, amount=500)
    assert len(times) == pytest.approx(120, abs=3)


def test_what_was_guessed_too_high_is_given_back() -> None:
    bucket = TokenBucket(6000)
    bucket.take(0, 500)
    waiting = bucket.wait(0, 500)
    bucket.take(0, -480)
    assert bucket.wait(0, 500) < waiting / 10


def test_lower_limit_holds_at_once_and_lifting_it_frees() -> None:
    bucket = TokenBucket(6000)
    bucket.set_limit(60)
    bucket.take(0)
    assert bucket.wait(0) == pytest.approx(1, rel=0.001)
    bucket.set_limit(None)
    assert bucket.wait(0) == 0


def run_flow(concurrency: AdaptiveConcurrency, capacity: int, rounds: int) -> list[int]:
    """Send as many calls as are allowed, again and again, to an endpoint that bears only so many at once."""
    allowed = []
    for _ in range(rounds):
        epoch, record_call = concurrency.epoch, concurrency.allowed
        allowed.append(record_call)
        for place in range(record_call):
            concurrency.record(epoch, throttled=place >= capacity)
    return allowed


def test_flow_comes_down_to_what_the_endpoint_bears_and_stays_near_it() -> None:
    allowed = run_flow(AdaptiveConcurrency(64), capacity=8, rounds=200)
    assert allowed[0] == 64
    assert max(allowed[20:]) <= 16
    assert min(allowed[20:]) >= 4


def test_flow_comes_back_when_the_endpoint_bears_more() -> None:
    concurrency = AdaptiveConcurrency(64)
    run_flow(concurrency, capacity=4, rounds=50)
    assert concurrency.allowed < 16
    assert run_flow(concurrency, capacity=1000, rounds=200)[-1] == 64


def test_flow_never_passes_its_bound() -> None:
    concurrency = AdaptiveConcurrency(5)
    assert max(run_flow(concurrency, capacity=1000, rounds=100)) == 5
    concurrency.set_maximum(3)
    assert concurrency.allowed == 3
    concurrency.set_maximum(0)
    assert concurrency.allowed == 0
    concurrency.set_maximum(9)
    assert concurrency.allowed == 9


@pytest.mark.parametrize("maximum", [8, 16, 64, 256])
def test_a_tenth_of_refusals_by_chance_does_not_slow_calls_down(maximum: int) -> None:
    concurrency, rng, allowed = AdaptiveConcurrency(maximum), random.Random(4), []
    for _ in range(20_000):
        concurrency.record(concurrency.epoch, throttled=rng.random() < 0.1)
        allowed.append(concurrency.allowed)
    assert sum(allowed) / len(allowed) > 0.85 * maximum


def test_calls_from_before_a_decrease_do_not_decrease_it_again() -> None:
    concurrency = AdaptiveConcurrency(64)
    epoch = concurrency.epoch
    for _ in range(64):
        concurrency.record(epoch, throttled=True)
    assert concurrency.allowed == int(64 * 0.6)


def test_breaker_opens_when_different_calls_fail_and_not_for_one_that_always_does() -> None:
    breaker = CircuitBreaker(3)
    for _ in range(10):
        breaker.record_failure("a", 0, probe=False)
    assert not breaker.is_open
    breaker.record_failure("b", 0, probe=False)
    breaker.record_success()
    breaker.record_failure("c", 0, probe=False)
    breaker.record_failure("d", 0, probe=False)
    assert not breaker.is_open
    breaker.record_failure("e", 0, probe=False)
    assert breaker.is_open


def test_open_breaker_lets_one_probe_through_at_a_time_with_growing_pauses_and_gives_up() -> None:
    breaker = CircuitBreaker(1, ProbePolicy(first_pause=1, longest_pause=4, probes=4))
    breaker.record_failure("a", 0, probe=False)
    now, pauses = 0.0, []
    while not breaker.has_given_up:
        wait = breaker.wait(now)
        assert wait is not None
        pauses.append(wait)
        now += wait
        assert breaker.record_call()
        assert breaker.wait(now) is None
        breaker.record_failure("b", now, probe=True)
    assert pauses == [1, 2, 4, 4]


def test_breaker_waits_as_long_as_the_endpoint_asks() -> None:
    breaker = CircuitBreaker(1)
    breaker.record_failure("a", 10, probe=False, at_least=45)
    assert breaker.wait(10) == 45
