"""The effect of comparison tables as plain text for a terminal."""

from collections.abc import Iterable
from typing import Any

from reporting.core.text import counted as count
from reporting.core.text import estimate_text, printable
from reporting.table_effect.charts import NO_ARM

LETTERS = {-1.0: "A", 0.0: "tie", 1.0: "B", None: "—"}
SECONDS = ("first_seconds", "second_seconds")
WIDTH = 28


def as_text(effect: dict[str, Any], reasons: Iterable[dict[str, Any]] = ()) -> str:
    """Return the numbers, one block per arm, then the differences and the reasons."""
    blocks = [
        f"study {printable(effect['study'])} (version {effect['version']}): second votes that count: {effect['decisions']}"
    ]
    left_out = [f"{name.replace('_', ' ')} {count}" for name, count in effect["excluded"].items() if count]
    blocks[0] += f"\nleft out: {', '.join(left_out)}" if left_out else ""
    blocks[0] += f"\nnote: {effect['note']}" if "note" in effect else ""
    blocks[0] += f"\n{printable(effect['chosen_note'])}" if "chosen_note" in effect else ""
    blocks += ["\n".join(_arm(arm)) for arm in effect["arms"]]
    blocks += ["\n".join(_difference(difference)) for difference in effect["differences"]]
    if "why" in effect:
        blocks.append(effect["why"])
    lines = [_reason(reason) for reason in reasons]
    return "\n\n".join([*blocks, *(["\n".join(["reasons", *lines])] if lines else [])])


def _arm(arm: dict[str, Any]) -> Iterable[str]:
    yield (
        f"{_arm_name(arm['arm'])}: {count(arm['decisions'], 'decisions')} on {count(arm['pairs'], 'pairs')} of "
        f"{count(arm['instances'], 'instances')} by {count(arm['raters'], 'raters')}; {arm['with_gold']} with gold, {arm['without_gold']} without"
    )
    for name in ("score_before", "score_after", "score_change"):
        yield _line(name, arm[name])
    for name in ("agreement_before", "agreement_after", "agreement_change"):
        yield _line(name, arm[name])
    yield _line("revised", arm["revised"])
    for kinds in ("changes", "moves"):
        for name, share in arm[kinds].items():
            yield _line(name, share, share["count"])
    for name, share in arm["table_verdict"].items():
        if name != "known":
            yield _line(name, share, share["count"])
    for name in SECONDS:
        yield _time(name, arm[name])


def _difference(difference: dict[str, Any]) -> Iterable[str]:
    yield f"{_arm_name(difference['arm'])} less {_arm_name(difference['control'])}"
    for name, estimate in difference.items():
        if name not in ("arm", "control"):
            yield _time(name, estimate) if name in SECONDS else _line(name, estimate)


def _line(name: str, estimate: dict[str, Any], number: int | None = None, digits: int = 3) -> str:
    counted = "" if number is None else f"{number:>5}  "
    return f"  {name.replace('_', ' '):<{WIDTH}}{counted}{estimate_text(estimate, digits)}"


def _time(name: str, median: dict[str, Any]) -> str:
    return _line(f"median {name}", median, digits=1)


def _reason(reason: dict[str, Any]) -> str:
    change = f" ({reason['change'].replace('_', ' ')})" if reason["change"] else ""
    where = f"{reason['instance_id']} / {reason['pair_index']}"
    line = f"{reason['rater']}, {where}, {_arm_name(reason['arm'])}: {LETTERS[reason['before']]} → {LETTERS[reason['after']]}{change}: "
    return printable(f"  {line}{' '.join(reason['reason'].split())}")


def _arm_name(arm: str) -> str:
    return printable(arm) or NO_ARM
