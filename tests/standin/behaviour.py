"""How the stand-in behaves: set by its command line, or changed while it runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from random import Random
from typing import Any, get_type_hints


@dataclass(frozen=True)
class Behaviour:
    """Everything that can be set. Shares lie between 0 and 1 and exclude each other: one call goes wrong in one way.

    delay         : seconds before each answer
    too_many      : share of calls answered 429; `retry_after` seconds go with it, unless negative
    error         : share of calls answered 500
    malformed     : share of answers that are half a JSON
    slow          : share of answers whose body comes in pieces over `slow_seconds`
    refuse, declined : share of refusals, in words and in the field for them
    unreadable    : share of answers that name no choice
    parts         : share of answers whose content is a list of parts, the thoughts first
    thoughts      : share of answers that are nothing but thoughts, in a field of their own
    no_choices    : share of completions without any choice, whose tokens count all the same
    error_body    : share of calls answered 200 with the error `error_code` in the body
    answer        : `first`, `second`, `longer`, `random` (by the seed sent, else by the question)
    text          : one answer for everything, in place of an answer that fits the question
    rules         : pairs of a regular expression on the last message and the answer to what it matches
    reasoning     : tokens of reasoning, which nobody sees; `reasoning_in` says where they are counted: `within` the
                    completion's, `beside` them, in the `total` alone, or so that the completion has `none`
    no_counts     : all token counts are 0
    window        : tokens of a prompt, at most: what goes beyond is cut without a word; 0: any number
    served        : model, fingerprint and provider that answer, drawn from the question; empty: the model that is asked
    billed        : price in US dollars that `usage` names; 0: none
    prefix_cache  : prompts' beginnings are kept, and `usage` says how many tokens of a prompt were among them
    endless       : texts in a JSON schema go on to their longest, or for ever
    ignores       : what is taken without effect: `logprobs`, `tools`, `json_schema`, `schema_lengths`, `seed`, `n`
    rejects       : what is refused with 400, of the same names, and `temperature`, `max_tokens`, `max_completion_tokens`
    missing       : whole parts that answer 404: `chat`, `batches`, `files`
    key           : the only key that is let in, where one is needed
    seed          : draws what goes wrong
    batch_polls   : looks at a batch until it is done
    batch_expired : share of a batch's lines that were not done in time
    batch_broken  : a batch ends as `failed`
    batch_queue   : a batch fails when more than so many requests are queued with it; negative: any number are taken
    keep          : how many of the last requests can be looked at
    """

    delay: float = 0.0
    too_many: float = 0.0
    retry_after: float = -1.0
    error: float = 0.0
    malformed: float = 0.0
    slow: float = 0.0
    slow_seconds: float = 1.0
    refuse: float = 0.0
    declined: float = 0.0
    unreadable: float = 0.0
    parts: float = 0.0
    thoughts: float = 0.0
    no_choices: float = 0.0
    error_body: float = 0.0
    error_code: str = "model_not_found"
    answer: str = "first"
    text: str = ""
    rules: list[list[str]] = field(default_factory=list)
    reasoning: int = 0
    reasoning_in: str = "within"
    no_counts: bool = False
    window: int = 0
    served: list[list[str]] = field(default_factory=list)
    billed: float = 0.0
    prefix_cache: bool = False
    endless: bool = False
    ignores: list[str] = field(default_factory=list)
    rejects: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    key: str = ""
    seed: int = 1
    batch_polls: int = 1
    batch_expired: float = 0.0
    batch_broken: bool = False
    batch_queue: int = -1
    keep: int = 100

    def trouble(self, rng: Random) -> str:
        """Draw what goes wrong with one call; empty for nothing."""
        drawn = rng.random()
        for name in TROUBLES:
            drawn -= getattr(self, name)
            if drawn < 0:
                return name
        return ""


TROUBLES = (
    *("too_many", "error", "malformed", "slow", "refuse"),
    *("declined", "unreadable", "parts", "thoughts", "no_choices", "error_body"),
)
NO_ANSWER = frozenset({"too_many", "error", "malformed", "error_body"})
TYPES = get_type_hints(Behaviour)
NAMES = [one.name for one in fields(Behaviour)]


def changed(behaviour: Behaviour, changes: Mapping[str, Any]) -> Behaviour:
    """Return a behaviour with some settings changed.

    Raises: ValueError for a setting that doesn't exist or a value that it can't have.
    """
    if unknown := set(changes) - set(NAMES):
        raise ValueError(f"no such settings: {', '.join(sorted(unknown))}; there are: {', '.join(NAMES)}")
    return replace(behaviour, **{name: converted(name, value) for name, value in changes.items()})


def converted(name: str, value: Any) -> Any:
    """Read a setting's value, from JSON or from text."""
    kind = TYPES[name]
    if kind == list[str]:
        return value.split(",") if isinstance(value, str) else [str(one) for one in value]
    if kind == list[list[str]]:
        return [[str(part) for part in one] for one in value]
    if kind is bool:
        return value in (True, "1", "true", "yes")
    return kind(value)
