"""Money: what a run has spent, what its calls under way may still cost, and whether one more fits under the cap."""

from decimal import Decimal

from django.db.models import Max

from judging.models import Completion, Endpoint, JudgeRun
from judging.services.leases import Pulse
from judging.services.pricing import cost_of
from judging.services.requests import Request

LENGTH_FIELDS = ("max_completion_tokens", "max_tokens")
CHARACTERS = 4  # of a request in a token of its prompt, before anything is known: a guess for English
COMPLETION_TOKENS = 300  # of an answer, before anything is known


def longest_allowed(request: Request) -> int:
    """Return how many tokens a request lets its answer have: the most that it says; 0 when it says nothing."""
    limits = (request.body.get(name) for name in LENGTH_FIELDS)
    return max((limit for limit in limits if isinstance(limit, int) and not isinstance(limit, bool)), default=0)


class Sizes:
    """How large calls are: learnt from answers, for what has to be known before there is one."""

    def __init__(self) -> None:
        self.known = False
        self._prompt_share = 1 / CHARACTERS  # most tokens for a character so far
        self._completion = COMPLETION_TOKENS  # longest answer so far

    def learn(self, request: Request, prompt_tokens: int | None, completion_tokens: int | None) -> None:
        """Take in what a call took."""
        if prompt_tokens is None or completion_tokens is None:
            return
        share = prompt_tokens / request.length
        self._prompt_share = max(self._prompt_share, share) if self.known else share
        self._completion = max(self._completion, completion_tokens) if self.known else completion_tokens
        self.known = True

    def recall(self, run: JudgeRun) -> None:
        """Learn from the answers that a run has used so far, for its next start."""
        used = Completion.objects.filter(judgments__run=run, prompt_tokens__isnull=False)
        longest = used.order_by().aggregate(longest=Max("completion_tokens"))["longest"]
        if longest is not None:
            self.expect(longest)

    @property
    def longest(self) -> int | None:
        """Tokens of the longest answer so far; `None` before there is one."""
        return self._completion if self.known else None

    def expect(self, completion_tokens: int) -> None:
        """Take so many tokens for the longest answer so far."""
        self._completion, self.known = completion_tokens, True

    def guess(self, request: Request) -> tuple[int, int]:
        """Return the tokens of a call's prompt and answer: as large as any so far, or as the request itself allows."""
        prompt = int(self._prompt_share * request.length) + 1
        return prompt, longest_allowed(request) or self._completion


class Budget:
    """What this process may spend of a run's cap: what its last heartbeat reserved, beyond what was stored by then."""

    def __init__(self, endpoint: Endpoint, sizes: Sizes) -> None:
        self.endpoint = endpoint
        self.sizes = sizes
        self.granted: Decimal | None = None  # no cap
        self.cap: Decimal | None = None
        self.spent = Decimal(0)  # by the whole run, at the last heartbeat
        self.alone = True
        self.is_short = False  # a call was held back since then
        self._open: dict[str, Decimal] = {}  # calls under way, and answers that are not stored yet
        self._stored = Decimal(0)  # since then

    @property
    def owing(self) -> Decimal:
        """What calls may cost that are not stored yet."""
        return sum(self._open.values(), Decimal(0))

    def set(self, pulse: Pulse) -> None:
        """Take in what a heartbeat reserved; everything stored before it has been counted."""
        self.endpoint = pulse.endpoint or self.endpoint
        self.granted, self.cap = pulse.reserved, pulse.cap
        self.spent = pulse.spent or Decimal(0)
        self.alone = pulse.alone
        self.is_short = False
        self._stored = Decimal(0)

    def reserve(self, request: Request) -> bool:
        """Set money aside for a call; `False` when there is too little left for it.

        Where neither the request bounds its answer nor any call of the run was answered before, the first one goes
        alone, whatever it may cost: from then on it is known what calls take.
        """
        if self.granted is None:
            return True
        cost = cost_of(self.endpoint, *self.sizes.guess(request)) or Decimal(0)
        taken = self.owing + self._stored
        is_unknown = not (self.sizes.known or longest_allowed(request))
        if is_unknown and self._open:
            return False
        is_first = is_unknown and not taken and self.granted > 0
        if not is_first and taken + cost > self.granted:
            self.is_short = True
            return False
        self._open[request.key] = cost
        return True

    def settle(self, key: str, cost: Decimal | None) -> None:
        """Replace what was set aside for a call by what it cost; a call without an answer cost nothing."""
        if key in self._open:
            self._open[key] = cost or Decimal(0)

    def store(self, key: str) -> None:
        """Note that an answer is stored: it is the database's from the next heartbeat on."""
        self._stored += self._open.pop(key, Decimal(0))
