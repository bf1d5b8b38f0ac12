"""Growth of a reader's time with the length of its text."""

import time
from collections.abc import Callable
from contextlib import suppress

# What a pattern or a parser may follow again and again where it does not close: quotes, brackets, marks, blanks, digits.
UNITS = (
    *('"', "“", "„", "«", "(", "[", "{", "<", ">", "*", "_", "**", "*a ", "`", "```\n", "$", "$a ", "\\", "\\(", "\\boxed{"),
    *("|", "|a|b|\n", "~~", "-", "- a\n", ".", " ", "\t", "\n", "1", "1. a\n", "a", "\u0301", "\u200b", "<b>", "<s>", "<think>"),
    *("</think>", "<|x|>", "<|channel|>", "[THINK]", "[[A]]", "![](", "<!--", "&", '{"a":', "> ", "A is better. "),
    *("Preferred: A\n", "Human: x\n", "the ", "choice:\n", "score\n", "Comparison"),
)  # fmt: skip
SHORT, LONG = 6_000, 12_000  # characters
QUICK = 0.05  # seconds for the long text, below which growth can't be told from noise, and does not matter
MOST_GROWTH = 3.0  # of a text of twice the length: linear time gives 2, quadratic time 4
TRIES = 4


def seconds(read: Callable[[str], object], text: str, refusals: tuple[type[Exception], ...]) -> float:
    """Return the processor time that a text takes; a refusal to read it counts as well."""
    began = time.process_time()
    with suppress(*refusals):
        read(text)
    return time.process_time() - began


def slow_texts(
    read: Callable[[str], object], beginnings: tuple[str, ...], refusals: tuple[type[Exception], ...]
) -> list[tuple[str, str]]:
    """Return the beginnings and units of texts whose time more than triples where their length doubles."""
    return [
        (beginning, unit)
        for beginning in beginnings
        for unit in UNITS
        if not _is_linear(read, beginning, unit, refusals)
    ]


def _is_linear(read: Callable[[str], object], beginning: str, unit: str, refusals: tuple[type[Exception], ...]) -> bool:
    short, long = (f"{beginning}{unit * (length // len(unit))}" for length in (SHORT, LONG))
    longest = seconds(read, long, refusals)
    shortest = float("inf")
    for _ in range(TRIES):
        if longest < QUICK:
            return True
        shortest = min(shortest, seconds(read, short, refusals))
        if longest <= MOST_GROWTH * shortest:
            return True
        longest = min(longest, seconds(read, long, refusals))
    return False
