"""How the stand-in draws up lists of aspects and comparison tables, and which of two tables it picks.

Each table carries a grade, drawn from the question and the seed, by which the better one can be told.
"""

import hashlib
import json
import re
from collections.abc import Sequence

FENCED = re.compile(r"^\[(?P<fence>[0-9a-f]{16}) begin\]\n(?P<text>.*?)\n\[(?P=fence) end\]$", re.MULTILINE | re.DOTALL)
GRADE = re.compile(r"\bgrade (\d+)\b")
WORD = re.compile(r"\w+")
ASPECTS = ("main points", "accuracy", "order", "wording", "length", "examples", "tone", "detail")
MOST_WORDS = 8


def table_answer(question: str, *, seed: object) -> str | None:
    """Return the answer to a question about tables, their cells or aspects; `None` for any other one."""
    instructions = FENCED.sub("", question)
    texts = [found["text"] for found in FENCED.finditer(question)]
    if "- only_a:" in instructions:
        return json.dumps({"rows": rows_of(texts, number_of(question, seed))})
    if "Table 1:" in instructions and "Table 2:" in instructions:
        return compared(texts[-2:])
    if "its number, a colon, and its score" in instructions:
        return scored(texts[-1].splitlines(), number_of(question, seed))
    if "starts with a dash" in instructions:
        return "The two differ in several ways.\nAspects:\n" + "\n".join(f"- {one}" for one in listed(question, seed))
    return None


def scored(lines: Sequence[str], number: int) -> str:
    """Score each of some numbered lines: 1, 0.5 or 0."""
    return "\n".join(f"{place}: {(number + place) % 3 / 2:g}" for place, _line in enumerate(lines, 1))


def number_of(question: str, seed: object) -> int:
    """Draw a number from the question and the seed: the same for the same."""
    return int.from_bytes(hashlib.sha256(f"{question}\x00{seed}".encode()).digest()[:2], "big")


def listed(question: str, seed: object) -> list[str]:
    """Draw five aspects; lists differ by one or two."""
    start = number_of(question, seed) % 3
    return list(ASPECTS[start : start + 5])


def rows_of(texts: Sequence[str], grade: int) -> list[dict[str, str]]:
    """Fill a table in with words of the two texts; its grade stands in the first row."""
    first, second = (WORD.findall(text) for text in texts[-3:-1])
    aspects = [row["aspect"] for row in json.loads(texts[-1])["rows"]]
    cells = {
        "only_a": " ".join([word for word in first if word not in second][:MOST_WORDS]),
        "both": " ".join([word for word in first if word in second][:MOST_WORDS]),
        "only_b": " ".join([word for word in second if word not in first][:MOST_WORDS]),
    }
    return [
        {"aspect": aspect, **cells, **({"both": f"{cells['both']} grade {grade}".strip()} if place == 0 else {})}
        for place, aspect in enumerate(aspects)
    ]


def compared(tables: Sequence[str]) -> str:
    """Pick the one of two tables that has the higher grade."""
    one, other = (int(found[1]) if (found := GRADE.search(table)) else -1 for table in tables)
    return f"Choice: {1 if one > other else 2}\nReason: What it gives to both does not come again."
