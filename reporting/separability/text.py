"""Separability and advice as plain text for a terminal."""

from collections.abc import Iterable
from typing import Any

from annotation.core.tables import fixed
from reporting.core.instance_selection import selection_note
from reporting.core.text import counted as count
from reporting.core.text import estimate_text, printable

READINGS = {
    "nothing": "no rating set has both consistency and separability yet",
    "too few": "too few rating sets or instances for a conclusion",
    "one value": "all rated instances have the same separability, so nothing can be learned",
    "all inconsistent": "every rating set is inconsistent, whatever its separability",
    "all consistent": "every rating set is fully consistent: nothing is gained by leaving instances out",
    "falling": "consistency falls with separability here: don't choose by it",
    "unsure": "whether consistency rises with separability is open: don't choose by it yet",
    "below support": "mostly consistent at every separability that was rated, and more so where it is higher",
    "above support": (
        "mostly inconsistent at every separability that was rated, though less so where it is higher: check the "
        "task and its guidelines first"
    ),
    "threshold": "below this separability, ratings are mostly inconsistent",
}
WARNING = (
    "Choosing by separability hides instances: real disagreement, and rare failures among alike texts. Results on "
    "chosen instances are about these, unless weighted back (importance, stratified)."
)


def as_text(numbers: dict[str, Any]) -> str:
    """Return the numbers, one block per configuration, then the pooled advice."""
    blocks = [f"study {printable(numbers['study'])} (version {numbers['version']})"]
    if "question" in numbers["filters"]:
        blocks.append(f"ratings: about the question {numbers['filters']['question']}")
    if not numbers["configurations"]:
        blocks.append("no configuration: import instances with generations of two systems")
    blocks += ["\n".join(_configuration(configuration)) for configuration in numbers["configurations"]]
    if numbers["pooled_advice"] is not None:
        blocks.append("\n".join(["all configurations on one scale", *_advice(numbers["pooled_advice"])]))
    if "note" in numbers:
        blocks.append(f"note: {numbers['note']}")
    return "\n\n".join([*blocks, WARNING])


def _configuration(configuration: dict[str, Any]) -> Iterable[str]:
    yield printable(
        f"{configuration['dataset']}: A = {configuration['system_a']}, B = {configuration['system_b']} "
        f"({count(configuration['matchups'], 'instances')})"
    )
    if "why" in configuration:
        yield f"  {configuration['why']}"
    for part in configuration["similarities"]:
        counts = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in part["scenarios"]["counts"].items())
        yield f"  {printable(part['label'])}: mean separability {estimate_text(part['mean'])}"
        yield f"    scenarios: {counts}"
    for pair in configuration["correlations"]:
        yield f"  rank correlation of {printable(' and '.join(pair['between']))}: {estimate_text(pair)}"
    if configuration["similarities"]:
        yield from _advice(configuration["advice"])


def _advice(advice: dict[str, Any]) -> Iterable[str]:
    if "why" in advice:
        yield f"  {advice['why']}"
    if note := selection_note(advice.get("chosen", [])):
        yield printable(f"  {note}")
    for rater in advice["raters"]:
        sets = f"{count(rater['rating_sets'], 'rating sets')} on {count(rater['instances'], 'instances')}"
        excluded = f", {rater['excluded']} left out" if rater["excluded"] else ""
        yield f"  {printable(rater['rater'])}, by {printable(advice['similarity'])}: {sets}{excluded}"
        yield f"    {READINGS[rater['reading']]}"
        yield from _further_evidence(rater)
        if "slope" in rater:
            yield f"    separability of a mean consistency of 0.5  {estimate_text(rater['threshold'])}"
            yield f"    slope (log-odds per unit)                  {estimate_text(rater['slope'])}"
            for cut in rater["cuts"]:
                yield from _cut(cut)


def _further_evidence(rater: dict[str, Any]) -> Iterable[str]:
    """Yield the evidence against the reading that the curve does not cross a half."""
    if rater["reading"] not in ("below support", "above support"):
        return
    if crossing := rater["threshold"]["rounds_inside_support"]:
        yield f"    in {crossing} of {rater['rounds']} resamples it crosses a half within what was rated"
    gain = estimate_text(rater["lowest_quarter"]["gain"])
    yield f"    leaving out the lowest quarter by separability changes the mean consistency by {gain}"


def _cut(cut: dict[str, Any]) -> Iterable[str]:
    yield (
        f"    leave out below {fixed(cut['threshold'])} ({cut['cut']}): {cut['matchups_below']} of "
        f"{count(cut['matchups_known'], 'instances')}, saves {cut['ratings_saved']} of "
        f"{count(cut['ratings_planned'], 'ratings')}"
    )
    yield f"      mean consistency of the kept  {estimate_text(cut['kept'])}; of all {estimate_text(cut['all'])}"
    yield f"      fully consistent among those left out  {estimate_text(cut['steady_left_out'])}"
