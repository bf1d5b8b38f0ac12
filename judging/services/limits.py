"""How much may be sent: calls and tokens a minute, and calls at once, which adapt to what the endpoint bears.

Pure arithmetic over times that the caller gives, in seconds.
"""

from dataclasses import dataclass

BURST_SECONDS = 0.25  # of the limit may be sent at once: timers are late by some milliseconds, and that is made up for
WINDOW = 20  # answers, at least, before the number of calls in flight is changed
THROTTLED = 0.25  # share of them that may be "too many requests": some endpoints say so now and then at any rate
DECREASE = 0.6
INCREASE = 8  # a part of the limit, and at least one call


class Bucket:
    """A limit for each minute: in no 60 seconds does more leave it, save what a single large request goes over it.

    `None` as the limit lets everything through.
    """

    def __init__(self, per_minute: float | None = None) -> None:
        self.per_minute: float | None = None
        self.level = 0.0
        self._at: float | None = None
        self.set_limit(per_minute)

    def set_limit(self, per_minute: float | None) -> None:
        """Change the limit; a bucket that gets its first one starts full."""
        if per_minute is None:
            self.per_minute = None
            return
        fresh = self.per_minute is None
        self.per_minute = per_minute
        self.level = self.capacity if fresh else min(self.level, self.capacity)

    @property
    def capacity(self) -> float:
        """What may be sent at once."""
        return max(1.0, (self.per_minute or 0.0) * BURST_SECONDS // 60)

    @property
    def rate(self) -> float:
        """What comes in a second: what may be sent at once is taken off, so that a minute holds no more than its limit."""
        return ((self.per_minute or 0.0) - self.capacity + 0.999) / 60

    def wait(self, now: float, amount: float = 1.0) -> float:
        """Return in how many seconds this amount may be sent; 0 for at once."""
        if self.per_minute is None:
            return 0.0
        self._refill(now)
        missing = min(amount, self.capacity) - self.level
        return missing / self.rate if missing > 1e-9 else 0.0

    def take(self, now: float, amount: float = 1.0) -> None:
        """Note that so much is sent; more than there is leaves a debt."""
        if self.per_minute is not None:
            self._refill(now)
            self.level -= amount

    def _refill(self, now: float) -> None:
        if self._at is not None:
            self.level = min(self.capacity, self.level + (now - self._at) * self.rate)
        self._at = now


class Flow:
    """How many calls at once: more step by step while all is well, a share less when the endpoint wants fewer."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.limit = float(most)
        self.epoch = 0  # calls that began before the last decrease say nothing about what holds since
        self._answers = 0
        self._throttled = 0

    def set_most(self, most: int) -> None:
        """Change the bound; a limit that was at the bound follows it."""
        was_at_bound = self.limit >= self.most
        self.most = most
        self.limit = float(most) if was_at_bound else min(self.limit, float(most))

    @property
    def allowed(self) -> int:
        """Calls that may be under way."""
        return min(self.most, max(1, int(self.limit)))

    def note(self, epoch: int, *, throttled: bool) -> bool:
        """Take in how a call of an epoch ended; tell whether that made the limit lower."""
        if epoch != self.epoch:
            return False
        self._answers += 1
        self._throttled += throttled
        window = max(WINDOW, self.allowed)
        if self._throttled > THROTTLED * window:
            self.limit = max(1.0, self.limit * DECREASE)
            self.epoch += 1
            self._answers = self._throttled = 0
            return True
        if self._answers >= window:
            self.limit = min(float(self.most), self.limit + max(1.0, self.limit / INCREASE))
            self._answers = self._throttled = 0
        return False


@dataclass(frozen=True)
class Patience:
    """How long a breaker waits before each probe, and for how many of them. Times are in seconds."""

    first_pause: float = 1.0
    longest_pause: float = 30.0
    probes: int = 8

    def pause(self, probe: int) -> float:
        """Return the pause before a probe (from 0)."""
        return min(self.longest_pause, self.first_pause * 2.0**probe)


class Breaker:
    """Opens when one call after another fails: then a single probe is sent now and then, until one gets an answer.

    Different calls have to fail for that: one question that an endpoint can't answer is that question's failure.
    """

    def __init__(self, threshold: int, patience: Patience | None = None) -> None:
        self.threshold = threshold
        self.patience = patience or Patience()
        self.is_open = False
        self.probing = False
        self.probes = 0
        self.until = 0.0
        self.opened_at = 0.0
        self._failed: set[object] = set()

    @property
    def given_up(self) -> bool:
        """Tell whether no probe got an answer."""
        return self.is_open and self.probes >= self.patience.probes and not self.probing

    def wait(self, now: float) -> float | None:
        """Return in how many seconds a call may be sent; `None` while a probe is under way."""
        if not self.is_open:
            return 0.0
        return None if self.probing else max(0.0, self.until - now)

    def sent(self) -> bool:
        """Note that a call is sent; tell whether it is a probe."""
        if self.is_open:
            self.probing = True
            self.probes += 1
        return self.is_open

    def succeeded(self) -> None:
        """Note an answer: the endpoint is there."""
        self.is_open = self.probing = False
        self.probes = 0
        self._failed.clear()

    def failed(self, call: object, now: float, *, probe: bool, at_least: float = 0.0) -> None:
        """Note that a call failed; `at_least` is how long the endpoint asks to wait."""
        if self.is_open:
            if probe:
                self.probing = False
                self.until = now + max(self.patience.pause(self.probes), at_least)
            return
        self._failed.add(call)
        if len(self._failed) >= self.threshold:
            self.is_open, self.probing, self.probes = True, False, 0
            self.opened_at = now
            self.until = now + max(self.patience.pause(0), at_least)
