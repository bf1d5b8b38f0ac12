"""Expected token counts of prompts and answers."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from judging.calls.dry_run import DryCall

# By kind of call, where no stored answer is known.
DEFAULT_ANSWER_TOKENS = {
    "verdict": 120,
    "critique": 250,
    "metrics": 200,
    "reference": 300,
    "aspects": 100,
    "score": 60,
    "table": 350,
    "comparator": 80,
}
FALLBACK_ANSWER_TOKENS = 150
ASCII_PER_TOKEN = 4.0
OTHERS_PER_TOKEN = 2.0


@dataclass(frozen=True)
class CallKindEstimate:
    """Calls of one kind: to be made, with their tokens, and cached."""

    kind: str
    calls: int
    cached: int
    prompt_tokens: int
    completion_tokens: int


def expected_tokens(question: DryCall) -> float:
    """Estimate the tokens of a prompt from its characters."""
    return question.ascii / ASCII_PER_TOKEN + question.others / OTHERS_PER_TOKEN


@dataclass(frozen=True)
class LearnedSizes:
    """Sizes learned from stored answers of the same method at the same endpoint; by default none.

    ratio   : actual prompt tokens per token estimated from characters
    answers : mean tokens of an answer by kind; `lengths`: mean characters
    """

    count: int = 0
    ratio: float = 1.0
    answers: Mapping[str, float] = field(default_factory=dict)
    lengths: Mapping[str, int] = field(default_factory=dict)

    def answer_tokens(self, kind: str) -> float:
        """Return the expected tokens of an answer; a kind may begin with a more general one: `aspects-extract`."""
        return self.answers.get(kind, DEFAULT_ANSWER_TOKENS.get(kind.partition("-")[0], FALLBACK_ANSWER_TOKENS))


def estimates_by_kind(
    found: Collection[DryCall], sizes: LearnedSizes | None = None, *, scale: float = 1.0
) -> tuple[CallKindEstimate, ...]:
    """Sum the calls of a dry run by kind, and scale them to the whole."""
    sizes = sizes or LearnedSizes()
    calls: Counter[str] = Counter()
    cached: Counter[str] = Counter()
    sent: dict[str, float] = defaultdict(float)
    for one in found:
        if one.cached:
            cached[one.kind] += 1
        else:
            calls[one.kind] += 1
            sent[one.kind] += expected_tokens(one) * sizes.ratio
    return tuple(
        CallKindEstimate(
            kind=kind,
            calls=round(calls[kind] * scale),
            cached=round(cached[kind] * scale),
            prompt_tokens=round(sent[kind] * scale),
            completion_tokens=round(calls[kind] * scale * sizes.answer_tokens(kind)),
        )
        for kind in dict.fromkeys(one.kind for one in found)
    )
