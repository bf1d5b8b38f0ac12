"""A tuning in a terminal and as JSON."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from judging.models import JudgeTuning
from judging.tuning.planning import TuningEstimate


def as_json(tuning: JudgeTuning | TuningEstimate) -> dict[str, Any]:
    """Return everything for JSON."""
    if isinstance(tuning, TuningEstimate):
        return {**asdict(tuning), "cost": None if tuning.cost is None else float(tuning.cost)}
    names = ("name", "question", "settings", "status", "message", "found")
    description = {
        "study": tuning.study.slug,
        "judge": tuning.judge.name,
        "tuned": tuning.tuned.name if tuning.tuned else None,
    }
    return {**description, **{name: getattr(tuning, name) for name in names}, "rounds": tuning.plan["rounds"]}


def lines_of(tuning: JudgeTuning) -> list[str]:
    """Say what was tried, and how the tuned judge compares on the held-out part."""
    tried = sorted(tuning.found.get("tried", ()), key=lambda item: (-item["instances"], -item["agreement"]))
    lines = [f"tuning {tuning.name} of judge {tuning.judge.name}: {tuning.get_status_display().lower()}"]
    lines += [
        f"  {item['agreement']:.3f} of {item['votes']} votes on {item['instances']} instances: {item['candidate']}"
        + (f", tie_below {item['tie_below']:g}" if item["tie_below"] else "")
        for item in tried
    ]
    if compared := tuning.found.get("held_out"):
        lines.append(f"on {compared['instances']} held-out instances, {compared['pairs']} pairs with votes:")
        lines += [
            f"  {label}: {estimate_text(compared[key])}"
            for key, label in (
                ("tuned", "tuned judge agrees with"),
                ("untuned", "untuned judge agrees with"),
                ("difference", "difference"),
                ("people", "people agree with one another"),
            )
        ]
        lines.append(f"judge {tuning.name} is made; findings leave out the instances that it was tuned on")
    return lines


def estimate_text(estimate: Mapping[str, Any]) -> str:
    """Write a value with its interval and n, or why there is none."""
    if estimate["value"] is None:
        return f"undefined: no vote to compare with (n = {estimate['n']})"
    if estimate["low"] is None:
        return f"{estimate['value']:.3f} (no interval: too few instances; n = {estimate['n']})"
    return f"{estimate['value']:.3f} [{estimate['low']:.3f}, {estimate['high']:.3f}] (n = {estimate['n']})"
