"""Expected token counts of prompts and answers."""

from dataclasses import dataclass

from judging.calls.dry_run import DryCall

# By kind of call, where no stored answer is known.
DEFAULT_ANSWER_TOKENS = {
    "verdict": 120,
    "critique": 250,
    "metrics": 200,
    "reference": 300,
    "aspects": 100,
    "score": 60,
} | {
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
