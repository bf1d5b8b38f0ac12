"""A tuning in a terminal and as JSON."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from judging.models import JudgeTuning
from judging.tuning.planning import TuningEstimate


def as_json(found: JudgeTuning | TuningEstimate) -> dict[str, Any]:
    """Return everything for JSON."""
    if isinstance(found, TuningEstimate):
        return {**asdict(found), "cost": None if found.cost is None else float(found.cost)}
    names = ("name", "question", "settings", "status", "message", "found")
    about = {"study": found.study.slug, "judge": found.judge.name, "tuned": found.tuned.name if found.tuned else None}
    return {**about, **{name: getattr(found, name) for name in names}, "rounds": found.plan["rounds"]}


def lines_of(tuning: JudgeTuning) -> list[str]:
    """Say what was tried, and how the tuned judge compares on the held-out part."""
    tried = sorted(tuning.found.get("tried", ()), key=lambda one: (-one["instances"], -one["agreement"]))
    said = [f"tuning {tuning.name} of judge {tuning.judge.name}: {tuning.get_status_display().lower()}"]
    said += [
        f"  {one['agreement']:.3f} of {one['votes']} votes on {one['instances']} instances: {one['candidate']}"
        + (f", tie_below {one['tie_below']:g}" if one["tie_below"] else "")
        for one in tried
    ]
    if compared := tuning.found.get("held_out"):
        said.append(f"on {compared['instances']} held-out instances, {compared['pairs']} pairs with votes:")
        said += [
            f"  {label}: {estimate_text(compared[key])}"
            for key, label in (
                ("tuned", "tuned judge agrees with"),
                ("untuned", "untuned judge agrees with"),
                ("difference", "difference"),
                ("people", "people agree with one another"),
            )
        ]
        said.append(f"judge {tuning.name} is made; findings leave out the instances that it was tuned on")
    return said


def estimate_text(found: Mapping[str, Any]) -> str:
    """Write a value with its interval and n, or why there is none."""
    if found["value"] is None:
        return f"undefined: no vote to compare with (n = {found['n']})"
    if found["low"] is None:
        return f"{found['value']:.3f} (no interval: too few instances; n = {found['n']})"
    return f"{found['value']:.3f} [{found['low']:.3f}, {found['high']:.3f}] (n = {found['n']})"
